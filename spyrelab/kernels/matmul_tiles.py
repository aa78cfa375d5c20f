"""Tile sizes of one core's share of a matmul, chosen to fit the scratchpad."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from spyrelab.kernels.arrays import KernelError
from spyrelab.kernels.division import LX_BYTES, ceil_div, round_up
from spyrelab.machine import SPYRE

_ACCUMULATOR_BYTES = 8
"""An f32 sum, and one more for the product of the step that is added to it."""


_STEP_BYTES = int(SPYRE.loop_iteration_seconds * SPYRE.ddr_read_bytes_per_second / SPYRE.cores)
"""What one core could read while a counted loop takes another step."""


@dataclass(frozen=True)
class MatmulTiles:
    """Extents of a tile, and how many of them make a core's share of each dimension."""

    batch: int
    rows: int
    cols: int
    depth: int
    batch_count: int
    row_count: int
    col_count: int
    depth_count: int

    def live_bytes(self, itemsize: int, partial: bool) -> int:
        """Scratchpad bytes of a step: operands and sums.

        Double buffers are the back end's, in the share of the scratchpad that it keeps.
        """
        operands = self.depth * (self.rows + self.cols) * itemsize
        wide = _ACCUMULATOR_BYTES + (4 if partial else 0)
        return self.batch * (operands + self.rows * self.cols * wide)

    def cost(self, itemsize: int) -> int:
        """Bytes of A and B that one core reads per batch entry, in whole sticks.

        Every further step of a loop counts as the bytes that the core could read meanwhile.
        """
        stick = SPYRE.stick_bytes
        again = self.col_count if self.depth_count > 1 else 1
        left = self.rows * self.row_count * again * round_up(self.depth * itemsize, stick)
        right = self.depth * self.row_count * self.col_count * round_up(self.cols * itemsize, stick)
        steps = self.row_count * self.col_count * self.depth_count
        return (left + right) * self.depth_count + steps * _STEP_BYTES


@lru_cache(maxsize=1024)
def choose_tiles(
    batch: int,
    rows: int,
    cols: int,
    depth: int,
    itemsize: int,
    partial: bool,
    wide: int = 1,
    deep: int = 1,
    room: int = LX_BYTES,
    patience: float = 1.0,
) -> MatmulTiles:
    """The tiles of least cost that fit; of equals, those with least padding.

    ``batch, rows, cols, depth`` is one core's share; ``partial`` says that its result is
    folded over partner cores.  Tiles hold multiples of ``wide`` columns and ``deep`` depth.
    Tiles fit ``room`` bytes.  Those with the whole depth may cost ``patience`` times as much as
    others: their sums do not depend on the scratchpad.  Raises KernelError if nothing fits.
    """
    best: tuple[tuple[float, int], MatmulTiles] | None = None
    for tiles in _candidates(batch, rows, cols, depth, itemsize, partial, wide, deep, room):
        padded = tiles.rows * tiles.row_count * tiles.cols * tiles.col_count
        factor = patience if tiles.depth_count > 1 else 1.0
        key = (tiles.cost(itemsize) * factor, padded * tiles.depth * tiles.depth_count)
        if best is None or key < best[0]:
            best = key, tiles
    if best is None:
        raise KernelError(
            f"no tile of a {rows} x {cols} x {depth} matmul fits {room} bytes of scratchpad"
        )
    return best[1]


def _candidates(
    batch: int,
    rows: int,
    cols: int,
    depth: int,
    itemsize: int,
    partial: bool,
    wide: int,
    deep: int,
    room: int,
) -> Iterator[MatmulTiles]:
    """For each cut of rows and columns, the least cut of depth that fits."""
    for row_count in _counts(rows):
        for col_count in _counts(ceil_div(cols, wide)):
            for depth_count in _counts(ceil_div(depth, deep)):
                whole = row_count == col_count == depth_count == 1
                found = None
                for entries in _entries(batch) if whole else (1,):
                    tiles = MatmulTiles(
                        entries,
                        ceil_div(rows, row_count),
                        ceil_div(ceil_div(cols, wide), col_count) * wide,
                        ceil_div(ceil_div(depth, deep), depth_count) * deep,
                        ceil_div(batch, entries),
                        row_count,
                        col_count,
                        depth_count,
                    )
                    if tiles.live_bytes(itemsize, partial) <= room:
                        found = tiles
                        break
                if found:
                    yield found
                    break
        if row_count == col_count == 1 and found:
            return


def _entries(batch: int) -> Iterator[int]:
    return (batch // count for count in range(1, batch + 1) if batch % count == 0)


def _counts(extent: int) -> list[int]:
    """Ways to cut an extent: its divisors to 64, and powers of two."""
    divisors = {count for count in range(1, min(extent, 64) + 1) if extent % count == 0}
    powers = {1 << power for power in range(extent.bit_length())}
    return sorted(divisors | powers)
