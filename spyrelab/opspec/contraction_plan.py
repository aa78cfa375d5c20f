"""How a block of a contraction is cut into parts for the cores, and those into tiles."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from spyrelab.kernels.arrays import KernelError
from spyrelab.kernels.division import LX_BYTES
from spyrelab.kernels.matmul_tiles import MatmulTiles, choose_tiles
from spyrelab.ktir.types import SCALARS, ScalarType
from spyrelab.machine import SPYRE
from spyrelab.opspec.errors import Unsupported
from spyrelab.opspec.spans import Span
from spyrelab.opspec.tiling import Tiling
from spyrelab.timing.errors import TimingError
from spyrelab.timing.splits import Split, split_times

__all__ = ["Plan"]

_PATIENCE = 1.1
"""How much more tiles may cost that keep the sum whole, as a program of its own mostly does: the
result is the same to the last bit then."""


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
        extents = tuple(span.extent for span in (*block, depth[0]))
        return Plan._divided(block, depth, kind, biased, _split(extents, kind.name), LX_BYTES)

    @staticmethod
    def alone(
        block: Sequence[Span],
        depth: Sequence[Span],
        kind: ScalarType,
        partial: bool,
        lx_bytes: int,
    ) -> Plan:
        """The plan of one core that does all of a block, within so much of the scratchpad."""
        room = lx_bytes
        while True:
            plan = Plan._divided(block, depth, kind, partial, (1, 1, 1, 1), room)
            needed = plan._live_bytes(kind.itemsize, partial)
            if needed <= lx_bytes:
                return plan
            # Tiles of whole sticks are larger than what was asked for.
            room = min(room - SPYRE.stick_bytes, room * lx_bytes // needed)
            if room <= 0:
                raise Unsupported(f"a product in {lx_bytes} bytes of scratchpad: it takes {needed}")

    def _live_bytes(self, itemsize: int, partial: bool) -> int:
        batch, rows, cols, depth = (tiling.elements for tiling in self.tilings)
        depth = max([depth, *(span.extent for span in self.depth[1:])])
        return MatmulTiles(batch, rows, cols, depth, 1, 1, 1, 1).live_bytes(itemsize, partial)

    @staticmethod
    def _divided(
        block: Sequence[Span],
        depth: Sequence[Span],
        kind: ScalarType,
        biased: bool,
        split: Split,
        lx_bytes: int,
    ) -> Plan:
        spans = (*block, depth[0])
        extents = tuple(span.extent for span in spans)
        stick = SPYRE.stick_bytes // kind.itemsize
        units = (1, 1, min(stick, extents[2]), min(stick, extents[3]))
        share = [
            min(extent, -(-extent // (parts * unit)) * unit)
            for extent, parts, unit in zip(extents, split, units, strict=True)
        ]
        tail = max((span.extent for span in depth[1:]), default=0)
        partial = split[3] > 1 or biased
        patience = 1.0 if lx_bytes == LX_BYTES else _PATIENCE
        tiles = _tiles(share, tail, kind.itemsize, partial, lx_bytes, patience)
        wanted = (tiles.batch, tiles.rows, tiles.cols, tiles.depth)
        tilings = [
            Tiling.of(span.counts, want, parts, unit)
            for span, want, parts, unit in zip(spans, wanted, split, units, strict=True)
        ]
        return Plan(tuple(block), tuple(depth), (*tilings,), split)  # type: ignore[arg-type]


def _tiles(
    share: Sequence[int], tail: int, itemsize: int, partial: bool, room: int, patience: float
) -> MatmulTiles:
    batch, rows, cols, depth = share
    try:
        return choose_tiles(
            batch, rows, cols, depth + tail, itemsize, partial, room=room, patience=patience
        )
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
