"""The axes of a row operation: some are kept, the others are what a row runs over.

Every operand is bound to the axes that it has; size-1 dimensions are left out, and neighbouring
axes that lie in memory as one become one.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from spyrelab.ktir.types import ScalarType
from spyrelab.layout.access import Access, Axis, Digit
from spyrelab.opspec.errors import OpSpecError, Unsuitable
from spyrelab.opspec.operand import Input, Operand

__all__ = [
    "Bound",
    "Segment",
    "Space",
    "bind",
    "normal_axes",
    "refined",
    "require_simple",
    "segments_of",
    "simplified",
]


@dataclass(frozen=True)
class Space:
    """Extents of the axes, and which of them are reduced (make up a row)."""

    extents: tuple[int, ...]
    reduced: tuple[bool, ...]

    def axes(self, reduced: bool) -> tuple[int, ...]:
        """The reduced axes, or the kept ones."""
        return tuple(axis for axis, flag in enumerate(self.reduced) if flag == reduced)

    def count(self, reduced: bool) -> int:
        """Elements of a row, or rows."""
        return math.prod(self.extents[axis] for axis in self.axes(reduced))

    def weight(self, axis: int) -> int:
        """What a step along a reduced axis adds to the row-major index within the row."""
        return math.prod(self.extents[other] for other in self.axes(True) if other > axis)


@dataclass(frozen=True)
class Bound:
    """An operand and its digits along each axis of the space (None where it has no such axis).

    ``position`` counts inputs first, then outputs.
    """

    name: str
    kind: ScalarType
    digits: tuple[Axis | None, ...]
    position: int

    def has(self, axis: int) -> bool:
        return self.digits[axis] is not None

    def step(self, axis: int) -> int:
        """Smallest stride along an axis."""
        return min((d.stride for d in self.digits[axis] or ()), default=0)


def normal_axes(dims: Sequence[int] | int | None, rank: int) -> tuple[int, ...]:
    """Axes counted from 0, sorted; none given means all.  Raises OpSpecError."""
    given = (dims,) if isinstance(dims, int) else tuple(dims or range(rank))
    if rank == 0:
        return ()
    if any(not -rank <= axis < rank for axis in given):
        raise OpSpecError(f"dims {given} do not name axes of a tensor of rank {rank}")
    return tuple(sorted({axis % rank for axis in given}))


def bind(
    space: Space,
    name: str,
    position: int,
    operand: Input,
    axes: Sequence[int | tuple[int, ...]],
) -> Bound:
    """Bind each dimension of an operand to an axis, or to several that it is split into."""
    if not isinstance(operand, Operand):
        raise OpSpecError(f"operand {position} is a number; this operation takes tensors only")
    access = operand.access
    if not isinstance(access, Access):
        raise Unsuitable(position, "no digits lead through it")
    digits: list[Axis | None] = [None] * len(space.extents)
    if len(axes) != operand.rank:
        raise OpSpecError(f"operand {position} of size {operand.size} has {len(axes)} axes here")
    for axis, extent, held in zip(axes, operand.size, access.axes, strict=True):
        if extent == 1:
            continue
        targets = axis if isinstance(axis, tuple) else (axis,)
        sizes = [space.extents[target] for target in targets]
        if math.prod(sizes) != extent:
            raise OpSpecError(f"operand {position}: extent {extent} where {sizes} is needed")
        for target, part in zip(targets, _split(joined(held), sizes, position), strict=True):
            digits[target] = part
    return Bound(name, operand.element, tuple(digits), position)


def joined(axis: Axis) -> Axis:
    """Digits that step on where the next one ends become one."""
    found: list[Digit] = []
    for digit in axis:
        last = found[-1] if found else None
        if digit.count == 1 and len(axis) > 1:
            continue
        if last is not None and last.stride == digit.count * digit.stride:
            found[-1] = Digit(last.count * digit.count, digit.stride)
        else:
            found.append(digit)
    return tuple(found) or (Digit(1, 0),)


def _split(axis: Axis, sizes: Sequence[int], position: int) -> list[Axis]:
    """The digits of an index taken apart into indices of ``sizes``, outermost first."""
    parts: list[Axis] = []
    for size in reversed(sizes[1:]):
        inner = axis[-1]
        if len(axis) == 1:
            parts.insert(0, (Digit(size, inner.stride),))
            axis = (Digit(-(-inner.count // size), inner.stride * size),)
        elif inner.count % size == 0:
            parts.insert(0, (Digit(size, inner.stride),))
            axis = joined((*axis[:-1], Digit(inner.count // size, inner.stride * size)))
        elif size % inner.count == 0:
            outer, above = _split(axis[:-1], (0, size // inner.count), position)
            parts.insert(0, (*above, inner))
            axis = outer
        else:
            raise Unsuitable(position, f"a stick axis does not split into {tuple(sizes)}")
    return [axis, *parts]


def is_simple(axis: Axis | None) -> bool:
    """Whether an index has one stride, or tiles of a power of two of lanes."""
    if axis is None or len(axis) == 1:
        return True
    lanes = axis[-1].count
    return len(axis) == 2 and lanes & (lanes - 1) == 0


def require_simple(bounds: Sequence[Bound], axes: Sequence[int]) -> None:
    """Raise Unsuitable where an axis would have to be taken apart."""
    for bound in bounds:
        if not all(is_simple(bound.digits[axis]) for axis in axes):
            raise Unsuitable(bound.position, "the axis to walk along is several axes of memory")


def refined(space: Space, bounds: Sequence[Bound]) -> tuple[Space, list[Bound]]:
    """Axes of several digits that are no sticks, such as those of a flattened view, taken apart."""
    for axis, extent in enumerate(space.extents):
        for bound in bounds:
            digits = bound.digits[axis]
            if digits is None or is_simple(digits):
                continue
            inner = math.prod(digit.count for digit in digits[1:])
            if extent % inner:
                raise Unsuitable(bound.position, f"axis {axis} has {len(digits)} digits")
            sizes = (extent // inner, inner)
            made = [_with_axis_split(other, axis, sizes, bound.position) for other in bounds]
            extents = (*space.extents[:axis], *sizes, *space.extents[axis + 1 :])
            flags = space.reduced[: axis + 1] + space.reduced[axis:]
            return refined(Space(extents, flags), made)
    return space, list(bounds)


def _with_axis_split(bound: Bound, axis: int, sizes: tuple[int, int], culprit: int) -> Bound:
    digits = bound.digits[axis]
    parts: list[Axis | None] = [None, None]
    if digits is not None:
        try:
            parts = [*_split(digits, sizes, bound.position)]
        except Unsuitable as error:
            raise Unsuitable(culprit, error.reason) from None
    return replace(bound, digits=(*bound.digits[:axis], *parts, *bound.digits[axis + 1 :]))


def simplified(space: Space, bounds: Sequence[Bound]) -> tuple[Space, list[Bound]]:
    """The space without axes of one element, and with neighbours joined where all allow it."""
    axes = [axis for axis, extent in enumerate(space.extents) if extent > 1]
    extents = [space.extents[axis] for axis in axes]
    reduced = [space.reduced[axis] for axis in axes]
    table = [[bound.digits[axis] for axis in axes] for bound in bounds]
    axis = len(axes) - 2
    while axis >= 0:
        same = reduced[axis] == reduced[axis + 1]
        if same and all(_adjoin(row[axis], row[axis + 1], extents[axis + 1]) for row in table):
            extents[axis : axis + 2] = [extents[axis] * extents[axis + 1]]
            del reduced[axis]
            for row in table:
                inner = row[axis + 1]
                row[axis : axis + 2] = [inner and (Digit(extents[axis], inner[-1].stride),)]
        axis -= 1
    made = [replace(b, digits=tuple(row)) for b, row in zip(bounds, table, strict=True)]
    return Space(tuple(extents), tuple(reduced)), made


def _adjoin(outer: Axis | None, inner: Axis | None, extent: int) -> bool:
    if outer is None or inner is None:
        return outer is inner
    return len(outer) == len(inner) == 1 and outer[0].stride == extent * inner[0].stride


@dataclass(frozen=True)
class Segment:
    """A range of an axis in which every operand has whole sticks, or stays inside one.

    Tiles begin and end at multiples of ``block``, or are an even part of one.
    """

    low: int
    length: int
    block: int

    def lies_plain(self, axis: Axis) -> bool:
        """Whether one stride leads through the whole segment."""
        lanes = axis[-1].count
        return len(axis) == 1 or self.low // lanes == (self.low + self.length - 1) // lanes


def segments_of(space: Space, axis: int, bounds: Sequence[Bound]) -> list[Segment]:
    """Cut an axis so that no tile meets padding."""
    extent = space.extents[axis]
    held = [digits for bound in bounds if (digits := bound.digits[axis]) is not None]
    lanes = {digits[-1].count for digits in held if len(digits) > 1}
    largest = max(lanes, default=1)
    for bound in bounds:
        digits = bound.digits[axis]
        if digits is not None and len(digits) > 1 and largest % digits[-1].count:
            raise Unsuitable(bound.position, f"sticks of {digits[-1].count} against {largest}")
    found: list[Segment] = []
    low = 0
    for size in sorted(lanes | {1}, reverse=True):
        length = (extent - low) // size * size
        if length:
            whole = Segment(low, length, 1)
            spread = [d[-1].count for d in held if not whole.lies_plain(d)]
            found.append(Segment(low, length, max(spread, default=1)))
            low += length
    return found
