"""What an SSA value becomes while lowering."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from spyrelab.emulator.errors import LoweringError
from spyrelab.ktir import AffineMap, AffineSet, ScalarType
from spyrelab.ktir.ir import Operation, Subscript

if TYPE_CHECKING:
    from collections.abc import Sequence


@dataclass
class Buffer:
    """A range of an arena, counted by the values that alias it."""

    is_float: bool
    start: int
    capacity: int
    references: int = 0


@dataclass(frozen=True)
class Tile:
    """A scalar (rank 0) or tile in an arena.

    Attributes
    ----------
    kind : ScalarType
    place : int
        Offset of the first element in the I or F arena.
    shape : tuple of int or Tile
        Extents; a `Tile` is an I scalar known only at run time.
    kept : tuple of bool
        Axes that the stored elements really have; the others are broadcast.  The stored
        elements are contiguous, row-major over the kept axes.
    buffer : Buffer, optional
        The range to release; None for scalars and constants.
    constant : int, optional
        Value of an integer scalar known when lowering.
    """

    kind: ScalarType
    place: int
    shape: tuple[Size, ...] = ()
    kept: tuple[bool, ...] = ()
    buffer: Buffer | None = None
    constant: int | None = None

    @property
    def is_float(self) -> bool:
        return self.kind.is_float

    @property
    def is_contiguous(self) -> bool:
        return all(kept or extent == 1 for kept, extent in zip(self.kept, self.shape, strict=True))

    @property
    def is_splat(self) -> bool:
        """One stored element stands for all (true for scalars)."""
        return not any(
            kept and extent != 1 for kept, extent in zip(self.kept, self.shape, strict=True)
        )

    def reshaped(self, shape: Sequence[Size]) -> Tile:
        """The same stored elements seen with another shape (all kept, or all broadcast)."""
        keep = self.is_contiguous and not (self.is_splat and not any(self.kept))
        return replace(self, shape=tuple(shape), kept=(keep,) * len(shape), constant=None)


Size = int | Tile
"""An extent or stride: a number, or an I scalar."""


def static_sizes(sizes: Sequence[Size]) -> tuple[int, ...]:
    """Sizes that must all be known while lowering."""
    known = tuple(size for size in sizes if isinstance(size, int))
    if len(known) != len(sizes):
        raise LoweringError("a size that must be static is known only at run time")
    return known


@dataclass(frozen=True)
class View:
    """A memory view.

    ``address`` is the byte address (I scalar) of the smallest corner ``low`` of the coordinate
    set; ``limit`` are the extents of the set's box.  ``mask`` and ``symbols`` are given where
    the set is no box.  ``space``: 0 main memory, 1 own scratchpad, ``2 + c`` that of core c.
    ``origin`` constructed it.
    """

    element: ScalarType
    address: Tile
    strides: tuple[Size, ...]
    low: tuple[Size, ...]
    limit: tuple[Size, ...]
    space: int
    mask: AffineSet | None = None
    symbols: tuple[Tile, ...] = ()
    origin: Operation | None = None

    @property
    def parts(self) -> tuple[View, ...]:
        return (self,)

    @property
    def reach(self) -> int:
        """Elements from its address to its last one; 0 where lowering cannot tell."""
        steps = [
            (extent - 1) * stride
            for extent, stride in zip(self.limit, self.strides, strict=True)
            if isinstance(extent, int) and isinstance(stride, int) and extent > 0 and stride >= 0
        ]
        known = len(steps) == len(self.limit) and self.mask is None
        return sum(steps) + 1 if known else 0


@dataclass(frozen=True)
class DistributedView:
    """Partitions in order of precedence; ``space`` -1: each address tells its memory."""

    parts: tuple[View, ...]
    space: int = -1

    @property
    def element(self) -> ScalarType:
        return self.parts[0].element


@dataclass(frozen=True)
class BoxTile:
    """An access tile: subscripts (I scalars), set with its symbols, order of visit."""

    base: View | DistributedView
    starts: tuple[Tile, ...]
    points: AffineSet
    symbols: tuple[Tile, ...]
    order: AffineMap | None
    shape: tuple[int | None, ...]


@dataclass(frozen=True)
class IndirectTile:
    """An indirect access tile; see `spyrelab.ktir.ir.Subscript` for the subscripts."""

    base: View | DistributedView
    views: tuple[View | DistributedView, ...]
    captures: tuple[Tile, ...]
    subscripts: tuple[Subscript, ...]
    points: AffineSet
    symbols: tuple[Tile, ...]
    order: AffineMap | None
    shape: tuple[int | None, ...]


@dataclass(frozen=True)
class Future:
    """An exchange number, its tables in the pool, and the buffers of this core's partials."""

    number: int
    table: int
    partials: tuple[Tile, ...]


Lowered = Tile | View | DistributedView | BoxTile | IndirectTile | Future
Attributes = dict[str, Any]
