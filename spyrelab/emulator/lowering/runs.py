"""Start addresses of equal runs, and the block of points that they were computed for."""

from __future__ import annotations

from dataclasses import dataclass, replace

from spyrelab.emulator.lowering.coordinates import Coordinates
from spyrelab.emulator.lowering.lowering import Lowering
from spyrelab.emulator.lowering.values import DistributedView, Size, Tile, View
from spyrelab.emulator.opcodes import Op
from spyrelab.ktir import ScalarType


@dataclass
class Inner:
    """The strided row behind each start address."""

    start: Size = 0
    extent: Size = 1
    stride: Size = 1
    limit: Size = 1


@dataclass(frozen=True)
class Indices:
    """Coordinates that were loaded, each with its limit; ``guard``: where they must be right.

    Nothing is moved for a wrong one; the sanitizer reports it.
    """

    guard: Tile
    limits: tuple[tuple[Tile, Tile], ...]

    def places(self) -> tuple[int, ...]:
        """Place and step of the guard, then of every coordinate with the place of its limit."""
        entries = [self.guard.place, int(bool(self.guard.shape))]
        for index, limit in self.limits:
            entries += [index.place, int(bool(index.shape)), limit.place]
        return tuple(entries)


@dataclass
class Runs:
    """Start addresses (bytes, `MASKED` where there is none) and what follows each of them."""

    block: Coordinates
    addresses: Tile
    inner: Inner
    shape: tuple[Size, ...]
    base: View | DistributedView
    indices: Indices | None = None

    def move(self, lowering: Lowering, kind: ScalarType, at: int, store: bool) -> None:
        from spyrelab.emulator.lowering.transfers import ELEMENTS

        emitter, inner = lowering.emitter, self.inner
        sizes = (self.block.count, inner.start, inner.extent, inner.stride, inner.limit)
        entries = [int(ELEMENTS[kind.name]), at, self.addresses.place]
        entries += [emitter.place(size) for size in sizes] + [self.base.space]
        origins = [part.origin for part in self.base.parts]
        indices = self.indices.places() if self.indices else ()
        emitter.transfer(Op.SCATTER if store else Op.GATHER, entries, origins, indices)
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
