"""How a tensor that lies in sticks is walked: boxes of whole sticks, shared out over cores."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass

from spyrelab.kernels.division import BURST_ROWS, Split, ceil_div, round_up, steps
from spyrelab.ktir.builder import Builder, Scalar

__all__ = ["Boxes"]


@dataclass(frozen=True)
class Boxes:
    """Equal boxes of ``tile`` over ``extents``; the dimension ``split`` is shared over cores."""

    extents: tuple[int, ...]
    tile: tuple[int, ...]
    split: int
    shares: Split

    @staticmethod
    def of(extents: Sequence[int], cores: int, elements: int, stick: int, inner: int) -> Boxes:
        """Boxes of about ``elements``.

        Parameters
        ----------
        stick
            Boxes begin at multiples of this along the last dimension.
        inner
            The dimension along which sticks follow each other: boxes are long there, so that
            transfers are.
        """
        last = len(extents) - 1
        units = [stick if d == last else 1 for d in range(len(extents))]
        counts = [ceil_div(n, unit) for n, unit in zip(extents, units, strict=True)]
        split = max(range(last), key=lambda d: counts[d], default=last)
        if counts[split] < min(cores, counts[last]):
            split = last
        room = [round_up(n, unit) for n, unit in zip(extents, units, strict=True)]
        room[split] = ceil_div(counts[split], cores) * units[split]
        tile = list(units)
        # A burst of sticks for those in sticks, then long rows for row-major ones.
        for d, most in [(inner, BURST_ROWS * units[inner]), *_growth(inner, last, room)]:
            more = max(1, elements // math.prod(tile))
            tile[d] = max(tile[d], min(room[d], most, tile[d] * more))
        shares = Split.of(extents[split], cores, tile[split], units[split])
        tile[split] = round_up(shares.tile, units[split])
        return Boxes(tuple(extents), tuple(tile), split, shares)

    @contextmanager
    def walk(self, b: Builder) -> Iterator[list[Scalar]]:
        """Loops over the boxes of a core; where each begins."""
        core = b.compute_tile_id()
        with ExitStack() as loops:
            at: list[Scalar] = []
            for d, (extent, size) in enumerate(zip(self.extents, self.tile, strict=True)):
                name = f"at_{d}"
                if d == self.split:
                    at.append(loops.enter_context(self.shares.loop(b, core, name)))
                else:
                    count = ceil_div(extent, size)
                    walk = steps(b, b.constant(0), size, count, extent, name)
                    at.append(loops.enter_context(walk))
            yield at


def _growth(inner: int, last: int, room: Sequence[int]) -> list[tuple[int, int]]:
    """Dimensions in the order in which a box grows, and how far."""
    return [(d, room[d]) for d in dict.fromkeys((last, inner, *reversed(range(last))))]
