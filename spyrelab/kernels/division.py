"""How work is divided: elements or rows over cores, then into tiles that fit the scratchpad."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from spyrelab.kernels.arrays import KernelError
from spyrelab.ktir.builder import Builder, Loop, Scalar, Tensor
from spyrelab.ktir.types import ScalarType
from spyrelab.machine import SPYRE

TILE_ELEMENTS = 16384
"""Elements of a tile of a streaming kernel: large against the cost of issuing a tile
operation, small against the scratchpad (and against the host's caches)."""

LX_BYTES = SPYRE.lx_front_end_bytes
"""Scratchpad bytes that the live tiles of a kernel may take."""


BURST_ROWS = SPYRE.l3_burst_bytes // SPYRE.stick_bytes
"""Rows of one stick each that make a burst, where they follow each other in memory."""

_ROW_BYTES = 32
"""Scratchpad bytes per element that kernels along rows need at most."""


def positive(**sizes: int) -> None:
    """Reject sizes below one, by name."""
    for name, size in sizes.items():
        if not isinstance(size, int) or size < 1:
            raise KernelError(f"{name} = {size!r}: sizes are whole numbers from 1 up")


def ceil_div(a: int, b: int) -> int:
    return -(-a // b)


def round_up(a: int, multiple: int) -> int:
    return ceil_div(a, multiple) * multiple


def stick_elements(dtype: ScalarType) -> int:
    """Elements in one stick."""
    return SPYRE.stick_bytes // dtype.itemsize


@dataclass(frozen=True)
class Split:
    """``total`` items over cores: each core owns ``per_core``, in tiles of ``tile``.

    ``per_core`` is a whole number of tiles, so that no tile reaches into another core's
    share; the last tile of all may overhang the end.
    """

    total: int
    per_core: int
    tile: int

    @staticmethod
    def of(total: int, cores: int, tile: int, multiple: int = 1, share: int = 0) -> Split:
        """Even shares in even tiles of at most ``tile`` items, in units of ``multiple``."""
        share = round_up(share or ceil_div(total, cores), multiple)
        size = round_up(ceil_div(share, ceil_div(share, max(tile, multiple))), multiple)
        per_core = round_up(share, size)
        return Split(total, per_core, min(size, total))

    def loop(
        self, b: Builder, core: Scalar, name: str = "first", carry: Sequence[Any] = ()
    ) -> Loop:
        """The loop over the tiles of ``core``; the index is the tile's first item."""
        lower = core if self.per_core == 1 else (core * self.per_core).named("begin")
        upper = b.minimum(lower + self.per_core, self.total).named("end")
        return b.loop(lower, upper, self.tile, carry=carry, names=name)


def fold_columns(
    b: Builder,
    total: int,
    width: int,
    carry: Mapping[str, Tensor],
    body: Callable[..., Sequence[Any]],
) -> tuple[Any, ...]:
    """Run ``body(column, width, *state)`` over column tiles; the last one has its exact width.

    No tile overhangs, so that sums and maxima see no padding.
    """
    state = tuple(carry.values())
    full = total // width * width
    if full > width:
        loop = b.loop(0, full, width, carry=state, names=("column", *carry))
        with loop as inside:
            column, *inner = inside if state else (inside,)
            loop.yield_(*body(column, width, *inner))
        state = loop.results
    elif full:
        state = tuple(body(0, width, *state))
    return tuple(body(full, total - full, *state)) if full < total else state


@contextmanager
def steps(
    b: Builder, start: Scalar, step: int, count: int, limit: int | None = None, name: str = "i"
) -> Iterator[Scalar]:
    """``count`` positions from ``start``, those below ``limit``; no loop for a single one."""
    if count == 1:
        yield start
        return
    upper = start + step * count
    with b.loop(start, upper if limit is None else b.minimum(upper, limit), step, names=name) as i:
        yield i


def rows_per_tile(columns: int, rows_adjoin: bool = False) -> int:
    """Rows whose elements make about one tile.

    Where a stick of one row is followed by that of the next (``rows_adjoin``), enough rows for
    a whole burst, if they fit.
    """
    rows = max(1, TILE_ELEMENTS // columns)
    if not rows_adjoin:
        return rows
    fit = LX_BYTES // (_ROW_BYTES * columns)
    return max(rows, min(BURST_ROWS, fit - 1))
