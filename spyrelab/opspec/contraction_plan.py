"""How a block of a contraction is cut into parts for the cores, and those into tiles."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from spyrelab.kernels.arrays import KernelError
from spyrelab.kernels.matmul_tiles import MatmulTiles, choose_tiles
from spyrelab.ktir.types import SCALARS, ScalarType
from spyrelab.machine import SPYRE
from spyrelab.opspec.errors import Unsupported
from spyrelab.opspec.spans import Span
from spyrelab.opspec.tiling import Tiling
from spyrelab.timing.errors import TimingError
from spyrelab.timing.splits import Split, split_times

__all__ = ["Plan"]


@dataclass(frozen=True)
class Plan:
    """How one block is cut: spans, tilings of batch, rows, columns and first depth span."""

    spans: tuple[Span, ...]
    depth: tuple[Span, ...]
    tilings: tuple[Tiling, Tiling, Tiling, Tiling]
    split: Split

    @property
    def cores(self) -> int:
        """Cores that take part."""
        return math.prod(self.split)

    @staticmethod
    def of(block: Sequence[Span], depth: Sequence[Span], kind: ScalarType, biased: bool) -> Plan:
        """The plan for operands of type ``kind``, with a bias or without."""
        spans = (*block, depth[0])
        extents = tuple(span.extent for span in spans)
        split = _split(extents, kind.name)
        stick = SPYRE.stick_bytes // kind.itemsize
        units = (1, 1, min(stick, extents[2]), min(stick, extents[3]))
        share = [
            min(extent, -(-extent // (parts * unit)) * unit)
            for extent, parts, unit in zip(extents, split, units, strict=True)
        ]
        tail = max((span.extent for span in depth[1:]), default=0)
        partial = split[3] > 1 or biased
        tiles = _tiles(share, tail, kind.itemsize, partial)
        wanted = (tiles.batch, tiles.rows, tiles.cols, tiles.depth)
        tilings = [
            Tiling.of(span.counts, want, parts, unit)
            for span, want, parts, unit in zip(spans, wanted, split, units, strict=True)
        ]
        return Plan(tuple(block), tuple(depth), (*tilings,), split)  # type: ignore[arg-type]


def _tiles(share: Sequence[int], tail: int, itemsize: int, partial: bool) -> MatmulTiles:
    batch, rows, cols, depth = share
    try:
        return choose_tiles(batch, rows, cols, depth + tail, itemsize, partial)
    except KernelError as error:
        raise Unsupported(str(error)) from None


@lru_cache(maxsize=4096)
def _split(extents: tuple[int, int, int, int], dtype: str) -> Split:
    """The best split of a product over as many cores as it can be cut for."""
    known = dtype if dtype in SPYRE.macs_per_cycle else "f16"
    cores = SPYRE.cores
    while cores > 1:
        try:
            choices = split_times(*extents, known, cores=cores)
        except TimingError:
            cores //= 2
            continue
        # Cores that exchange sums have to be all cores of the launch.
        kept = [c for c in choices if cores == SPYRE.cores or c.split[3] == 1]
        if kept:
            return min(kept, key=lambda c: c.seconds * _waste(extents, c.split, dtype)).split
        cores //= 2
    return (1, 1, 1, 1)


def _waste(extents: tuple[int, int, int, int], split: Split, dtype: str) -> float:
    """How much longer the longest share is for being whole sticks of columns and depth."""
    stick = SPYRE.stick_bytes // SCALARS[dtype].itemsize
    factor = 1.0
    for extent, parts in zip(extents[2:], split[2:], strict=True):
        whole = -(-extent // (parts * stick)) * stick
        factor *= whole / -(-extent // parts) if parts > 1 else 1.0
    return factor
