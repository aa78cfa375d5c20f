"""Start addresses of equal runs, and the block of points that they were computed for."""

from __future__ import annotations

from dataclasses import dataclass, replace

from spyrelab.emulator.lowering.coordinates import Coordinates
from spyrelab.emulator.lowering.lowering import Lowering
from spyrelab.emulator.lowering.values import Size, Tile
from spyrelab.emulator.opcodes import Op
from spyrelab.ktir import ScalarType


@dataclass
class Inner:
    """The strided row behind each start address."""

    start: Size = 0
    extent: Size = 1
    stride: Size = 1
    limit: Size = 1


@dataclass
class Runs:
    """Start addresses (bytes, `MASKED` where there is none) and what follows each of them."""

    block: Coordinates
    addresses: Tile
    inner: Inner
    shape: tuple[Size, ...]
    space: int

    def move(self, lowering: Lowering, kind: ScalarType, at: int, store: bool) -> None:
        from spyrelab.emulator.lowering.transfers import ELEMENTS

        emitter, inner = lowering.emitter, self.inner
        sizes = (self.block.count, inner.start, inner.extent, inner.stride, inner.limit)
        entries = [int(ELEMENTS[kind.name]), at, self.addresses.place]
        entries += [emitter.place(size) for size in sizes] + [self.space]
        emitter.emit(Op.SCATTER if store else Op.GATHER, a=emitter.describe(entries))
        self.block.release()


@dataclass(frozen=True)
class Space:
    """A block of points: lows and extents per variable, in the order of visit."""

    lows: tuple[Size, ...]
    extents: tuple[Size, ...]
    order: tuple[int, ...]
    is_sorted: bool = False
    """The points of the whole block follow another order than that of the variables."""

    def without(self, variable: int) -> Space:
        return replace(self, order=tuple(v for v in self.order if v != variable))

    def only(self, variables: set[int]) -> Space:
        return replace(self, order=tuple(v for v in self.order if v in variables))

    def shape(self) -> tuple[Size, ...]:
        return tuple(self.extents[v] for v in self.order)
