"""The program that moves a tensor from one layout to another."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from contextlib import ExitStack
from typing import NamedTuple

from spyrelab.ktir.builder import Builder, Scalar
from spyrelab.ktir.ir import Module
from spyrelab.ktir.types import ScalarType
from spyrelab.layout.access import Access, access
from spyrelab.layout.element import element_type
from spyrelab.layout.errors import LayoutError
from spyrelab.layout.moves import Dimension, Move, moves
from spyrelab.layout.tensor_layout import SpyreTensorLayout, contiguous_strides
from spyrelab.machine import SPYRE
from spyrelab.timing import estimate

__all__ = ["access_of", "restickify"]

_TILE_ELEMENTS = 16384
"""Large against the cost of issuing a tile operation, small against the scratchpad."""

_RUN = 8
"""Sticks in a row from which on the port loses little to the start of a transfer."""

_SIDE = 128
"""Lanes of a square tile that is turned: two sticks of 16-bit elements each way."""


def restickify(
    size: Sequence[int],
    source: SpyreTensorLayout,
    target: SpyreTensorLayout,
    host_stride: Sequence[int] | None = None,
    cores: int = SPYRE.cores,
) -> Module:
    """Copy a tensor of ``size`` from one layout to another, on all cores.

    Other sticks, other orders, sparse or dense, tiled or linear, more or less padding, other
    float types. Padding is neither read nor written.

    Arguments of the kernel: source, target (addresses of whole allocations).
    Bytes moved: ``prod(size)`` elements each way, in as many sticks as the layouts spread them.

    Raises
    ------
    LayoutError
        A layout does not describe the tensor, or the two cut a dimension in ways that do not
        nest.
    """
    places = [access_of(layout, size, host_stride) for layout in (source, target)]
    kinds = [element_type(layout.dtype) for layout in (source, target)]
    found = moves(*places)
    # Fewer cores with larger tiles move longer bursts; which is faster depends on the strides.
    # So do tiles that are several sticks wide on the side where they would be one.
    shapes = [(max(1, cores >> fewer), 1) for fewer in range(4)]
    if any(_run(move.dimensions) for move in found):
        shapes += [(cores, _RUN), (cores >> 2, _RUN)]
    plans = dict.fromkeys(
        tuple(_Plan.of(move, cores, busy, run) for move in found) for busy, run in shapes
    )
    programs = [_program(each, kinds, cores) for each in plans]
    return min(programs, key=lambda program: estimate(program).seconds)


def access_of(
    layout: SpyreTensorLayout, size: Sequence[int], host_stride: Sequence[int] | None = None
) -> Access:
    """Where a whole tensor lies in ``layout``; raises LayoutError where it does not."""
    stride = contiguous_strides(size) if host_stride is None else tuple(host_stride)
    found = access(layout, tuple(size), stride)
    if found is None:
        raise LayoutError(f"{layout} does not describe a tensor of size {list(size)}")
    return found.access


def _program(plans: Sequence[_Plan], kinds: Sequence[ScalarType], cores: int) -> Module:
    b = Builder("restickify", grid=(cores,))
    pointers = b.pointers("source", "target")
    core = b.compute_tile_id()
    for plan in plans:
        plan.emit(b, core, pointers, kinds)
    return b.build()


class _Plan(NamedTuple):
    """A move cut into tiles: their extents, and parts over cores, one per dimension."""

    move: Move
    tile: tuple[int, ...]
    parts: tuple[int, ...]
    run: int

    @staticmethod
    def of(move: Move, cores: int, busy: int, run: int) -> _Plan:
        tile = _tile(move.dimensions, busy, run)
        counts = [-(-d.count // extent) for d, extent in zip(move.dimensions, tile, strict=True)]
        return _Plan(move, tile, _parts(counts, cores), run)

    def emit(
        self, b: Builder, core: Scalar, pointers: Sequence[Scalar], kinds: Sequence[ScalarType]
    ) -> None:
        dimensions = self.move.dimensions
        new = sorted(range(len(dimensions)), key=lambda d: -dimensions[d].target)
        old = sorted(range(len(dimensions)), key=lambda d: -dimensions[d].source)
        if old[-1] == new[-1] and self.run == 1:
            old = new  # both run along the same lanes: nothing has to be turned
        views = []
        for side, order in enumerate((old, new)):
            views.append(
                b.view(
                    pointers[side] + self.move[side],
                    sizes=[dimensions[d].count for d in order],
                    strides=[dimensions[d][1 + side] for d in order],
                    dtype=kinds[side],
                )
            )
        with ExitStack() as loops:
            at = self._loops(b, core, loops)
            values = b.load(views[0][tuple(at[d] for d in old)], [self.tile[d] for d in old])
            if old != new:
                values = b.transpose(values, [old.index(d) for d in new])
            b.store(values.to(kinds[1]), views[1][tuple(at[d] for d in new)])

    def _loops(self, b: Builder, core: Scalar, loops: ExitStack) -> list[Scalar]:
        """The first index of a tile in every dimension; each core walks its own share."""
        used = math.prod(self.parts)
        if used < b.grid[0]:
            loops.enter_context(b.if_(core < used))
        at, rest = [], used
        for dimension, extent, parts in zip(
            self.move.dimensions, self.tile, self.parts, strict=True
        ):
            rest //= parts
            share = -(-dimension.count // (extent * parts)) * extent
            first = (core // rest if rest > 1 else core) % parts * share
            first = b.constant(0) if parts == 1 else first
            if share > extent:
                upper = b.minimum(first + share, dimension.count)
                first = loops.enter_context(b.loop(first, upper, extent, names="at"))
            at.append(first)
        return at


def _run(dimensions: Sequence[Dimension]) -> tuple[int, ...]:
    """Where the sides share their lanes but not what lies next to them: the two neighbours."""
    if sum(1 in d[1:] for d in dimensions) != 1:
        return ()
    outer = [at for at, d in enumerate(dimensions) if 1 not in d[1:]]
    next_to = {min(outer, key=lambda at: dimensions[at][side]) for side in (1, 2) if outer}
    return tuple(next_to) if len(next_to) == 2 else ()


def _tile(dimensions: Sequence[Dimension], busy: int, run: int = 1) -> tuple[int, ...]:
    """Extents of a tile: the lanes of both sides first, then what lies next to them."""
    total = math.prod(d.count for d in dimensions)
    tile = [min(d.count, _SIDE) if 1 in d[1:] else 1 for d in dimensions]
    for neighbour in _run(dimensions) if run > 1 else ():
        tile[neighbour] = min(dimensions[neighbour].count, run)
    budget = max(min(_TILE_ELEMENTS, total // busy), 1)
    for position in sorted(range(len(tile)), key=lambda d: min(dimensions[d][1:])):
        room = budget // math.prod(tile)
        if room > 1:
            count = dimensions[position].count
            tile[position] = _even(count, min(count, tile[position] * room), tile[position])
    return tuple(tile)


def _even(count: int, most: int, unit: int) -> int:
    """An extent of at most ``most`` that cuts ``count`` into nearly equal tiles."""
    pieces = -(-count // most)
    return min(most, -(-count // (pieces * unit)) * unit)


def _parts(counts: Sequence[int], cores: int) -> tuple[int, ...]:
    """How many cores share each dimension, for the fewest tiles on the busiest core."""
    choices = [sorted({min(count, 1 << p) for p in range(6)} | {1}) for count in counts]
    best, least = (1,) * len(counts), math.prod(counts)
    for parts in itertools.product(*choices):
        if math.prod(parts) <= cores:
            work = math.prod(-(-n // p) for n, p in zip(counts, parts, strict=True))
            if work < least:
                best, least = parts, work
    return best
