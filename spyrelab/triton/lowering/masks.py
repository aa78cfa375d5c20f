"""Masks: what is known about which points of a tensor take part.

Most masks compare indices along one axis with a bound. Those become sizes of views; only what is
left over is ever computed as a tensor.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from spyrelab.ktir.builder import Scalar, Tensor
from spyrelab.ktir.types import I1, INDEX, TensorType
from spyrelab.triton.lowering.builder import Index, KernelBuilder
from spyrelab.triton.lowering.deferred import Deferred, Make
from spyrelab.triton.lowering.spread import iota, spread

__all__ = ["Mask", "Piece", "Side", "side_tensor"]


@dataclass(frozen=True)
class Side:
    """One bound of the index along an axis: ``index >= limit``, or ``index < limit``.

    ``multiple`` divides the limit.
    """

    axis: int
    is_low: bool
    limit: Index
    multiple: int = 1


@dataclass(frozen=True)
class Piece:
    """A computed part of a mask; axis ``i`` of it is axis ``axes[i]`` of the whole."""

    value: Deferred
    axes: tuple[int, ...]

    def tensor(self) -> Tensor:
        """The piece over its own axes."""
        shape = tuple(extent for extent in self.value.shape if extent > 1)
        return self.value.b.reshape(self.value.tensor(), shape)


def side_tensor(b: KernelBuilder, extent: int, side: Side) -> Tensor:
    """Where along its axis a side holds."""
    numbers = iota(b, extent, INDEX)
    bound = b.splat(b.scalar_of(side.limit), (extent,))
    predicate = {"predicate": "sge" if side.is_low else "slt"}
    kind = TensorType((extent,), I1)
    made: Tensor = b.pure("arith.cmpi", (numbers, bound), kind, predicate, "holds")
    return made


class Mask(Deferred):
    """Holds where all conditions, sides and pieces do; ``make`` gives exactly its values."""

    def __init__(
        self,
        b: KernelBuilder,
        shape: tuple[int, ...],
        conditions: Sequence[Scalar] = (),
        sides: Sequence[Side] = (),
        pieces: Sequence[Piece] = (),
        make: Make | None = None,
    ) -> None:
        super().__init__(b, shape, I1, make or self._joined)
        self.conditions = tuple(conditions)
        self.sides = tuple(sides)
        self.pieces = tuple(pieces)

    @classmethod
    def computed(cls, b: KernelBuilder, shape: tuple[int, ...], make: Make) -> Mask:
        """A mask that nothing is known about."""
        value = Deferred(b, shape, I1, make)
        axes = tuple(axis for axis, extent in enumerate(shape) if extent > 1)
        return cls(b, shape, (), (), (Piece(value, axes),), value.tensor)

    def both(self, other: Mask) -> Mask:
        """Where both hold."""

        def make() -> Tensor:
            return self.tensor() & other.tensor()

        return Mask(
            self.b,
            self.shape,
            (*self.conditions, *other.conditions),
            (*self.sides, *other.sides),
            (*self.pieces, *other.pieces),
            make,
        )

    def moved(self, places: Sequence[int], shape: tuple[int, ...], make: Make) -> Mask:
        """The mask where axis ``i`` has become axis ``places[i]`` of ``shape``."""
        return Mask(
            self.b,
            shape,
            self.conditions,
            [replace(s, axis=places[s.axis]) for s in self.sides],
            [Piece(p.value, tuple(places[axis] for axis in p.axes)) for p in self.pieces],
            make,
        )

    def limits(self, axis: int, extent: int) -> tuple[Index, Index]:
        """The first index along an axis that takes part, and the one behind the last."""
        b = self.b
        low: Index = 0
        high: Index = extent
        for side in self.sides:
            if side.axis != axis:
                continue
            if side.is_low:
                low = side.limit if low == 0 else b.most(low, side.limit)
            else:
                high = b.least(side.limit, high)
        return low, high

    def bounds(self, axis: int) -> bool:
        """Whether anything is known about the index along an axis."""
        return any(side.axis == axis for side in self.sides)

    def _joined(self) -> Tensor:
        """Used where a mask was put together without operations of the kernel's own."""
        b = self.b
        parts = [spread(b, piece.tensor(), piece.axes, self.shape) for piece in self.pieces]
        for side in self.sides:
            line = side_tensor(b, self.shape[side.axis], side)
            parts.append(spread(b, line, [side.axis], self.shape))
        if self.conditions:
            parts.append(b.splat(b.all_of(self.conditions), self.shape))
        total = parts[0] if parts else b.full(self.shape, True, I1)
        for part in parts[1:]:
            total = total & part
        return total
