"""What the sticks of a tensor hold: the one thing that operations ask of a layout."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

from spyrelab.layout.access import Access, Digit, access
from spyrelab.layout.element import elements_per_stick
from spyrelab.layout.errors import LayoutError
from spyrelab.layout.tensor_layout import SpyreTensorLayout, contiguous_strides

__all__ = ["Holding", "Sticks", "follow", "layout_of", "stick_layout", "sticks_of"]


class Holding(Enum):
    """What shares a stick."""

    SCALAR = "a single element"
    DENSE = "neighbours along one dimension"
    SPARSE = "one element per stick"
    MIXED = "elements of several rows"


class Sticks(NamedTuple):
    """What a stick holds, and the dimension that it runs along (dense sticks only)."""

    holding: Holding
    dimension: int = -1

    def __str__(self) -> str:
        if self.holding is Holding.DENSE:
            return f"sticks along dimension {self.dimension}"
        return str(self.holding.value)


@lru_cache(maxsize=1 << 14)
def sticks_of(layout: SpyreTensorLayout, size: tuple[int, ...]) -> Sticks:
    """What the sticks of a tensor of ``size`` hold, its host strides contiguous.

    >>> str(sticks_of(SpyreTensorLayout.default((512, 256)), (512, 256)))
    'sticks along dimension 1'

    Raises
    ------
    LayoutError
        The layout does not describe such a tensor.
    """
    found = access(layout, size, contiguous_strides(size))
    if found is None:
        raise LayoutError(f"{layout} does not describe a tensor of size {list(size)}")
    if found.access.numel <= 1:
        return Sticks(Holding.SCALAR)
    return _sticks(found.access, elements_per_stick(layout.dtype))


def _sticks(place: Access, lanes: int) -> Sticks:
    inside = [
        (dimension, position, axis)
        for dimension, axis in enumerate(place.axes)
        for position, digit in enumerate(axis)
        if digit.count > 1 and digit.stride % lanes
    ]
    if not inside:
        return Sticks(Holding.SPARSE)
    dimension, position, axis = inside[0]
    digit = axis[position]
    is_last = position == len(axis) - 1
    whole = len(axis) == 1 or digit.count % lanes == 0
    if len(inside) == 1 and digit.stride == 1 and is_last and whole:
        return Sticks(Holding.DENSE, dimension)
    return Sticks(Holding.MIXED)


def stick_layout(size: Sequence[int], dtype: str, dimension: int) -> SpyreTensorLayout:
    """The default layout with sticks along ``dimension``, or sparse where it has one element."""
    order = [d for d in range(len(size)) if d != dimension]
    if len(size) and size[dimension] == 1 and any(extent > 1 for extent in size):
        return SpyreTensorLayout.sparse(size, dtype)
    return SpyreTensorLayout.default(size, dtype, [*order, dimension] if size else None)


def follow(
    layout: SpyreTensorLayout,
    size: tuple[int, ...],
    stride: tuple[int, ...],
    offset: int = 0,
) -> SpyreTensorLayout | None:
    """The layout of a view: the same memory, seen as a contiguous tensor of the view's size.

    None where no layout says it, such as a slice that begins inside a stick.
    """
    found = access(layout, size, stride, offset)
    if found is None or found.start % elements_per_stick(layout.dtype):
        return None
    return layout_of(found.access, layout.dtype)


def layout_of(place: Access, dtype: str) -> SpyreTensorLayout | None:
    """The layout of a tensor with contiguous host strides that lies at ``place``, if any."""
    lanes = elements_per_stick(dtype)
    steps = _host_steps(place)
    if not steps:
        return SpyreTensorLayout.default(place.size, dtype)
    if any(digit.stride == 0 for digit, _ in steps):
        return None
    steps.sort(key=lambda step: -step[0].stride)
    smallest = steps[-1][0].stride
    if smallest > 1:
        if smallest % lanes:
            return None
        steps.append((Digit(1, 1), -1))
    sizes = [steps[0][0].count]
    for (outer, _), (inner, _) in pairwise(steps):
        if outer.stride % inner.stride or outer.stride // inner.stride < inner.count:
            return None
        sizes.append(outer.stride // inner.stride)
    layout = SpyreTensorLayout(sizes, [host for _, host in steps], dtype)
    again = access(layout, place.size, contiguous_strides(place.size))
    return layout if again is not None else None


def _host_steps(place: Access) -> list[tuple[Digit, int]]:
    """All digits of more than one value, each with the host elements that a step takes."""
    found = []
    for axis, step in zip(place.axes, contiguous_strides(place.size), strict=True):
        for digit in reversed(axis):
            if digit.count > 1:
                found.append((digit, step))
            step *= digit.count
    return found
