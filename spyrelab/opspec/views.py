"""Views that no plain access describes: shifted against the sticks, or scattered."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from spyrelab.layout.access import Access, Digit, access, element_offsets
from spyrelab.layout.tensor_layout import SpyreTensorLayout, contiguous_strides

__all__ = [
    "AnyAccess",
    "Placed",
    "Scattered",
    "Shifted",
    "aligned",
    "contiguous",
    "flipped",
    "offsets_of",
    "place",
]


@dataclass(frozen=True)
class Shifted:
    """The rest of an access after the first ``skip`` indices of each dimension.

    What a slice is that begins inside a stick and runs across its end: index ``i`` of dimension
    d is index ``i + skip[d]`` of the aligned view around it.
    """

    around: Access
    skip: tuple[int, ...]

    @cached_property
    def size(self) -> tuple[int, ...]:
        """Logical extents."""
        pairs = zip(self.around.size, self.skip, strict=True)
        return tuple(extent - skipped for extent, skipped in pairs)


@dataclass(frozen=True)
class Scattered:
    """A view without any structure that programs could use; its start is that of the tensor."""

    layout: SpyreTensorLayout
    size: tuple[int, ...]
    stride: tuple[int, ...]
    offset: int


AnyAccess = Access | Shifted | Scattered


class Placed(NamedTuple):
    """An access of any kind, and the device element that it starts from."""

    access: AnyAccess
    start: int


@lru_cache(maxsize=1 << 16)
def place(
    layout: SpyreTensorLayout, size: tuple[int, ...], stride: tuple[int, ...], offset: int = 0
) -> Placed:
    """How any view of a tensor in ``layout`` lies in device memory.

    Parameters
    ----------
    size, stride, offset
        Of the view, in host elements of the tensor's storage; no extent is 0.

    Returns
    -------
    Placed
        An `Access` where there is one, a `Shifted` slice, or a `Scattered` view.
    """
    plain = access(layout, size, stride, offset)
    if plain is not None:
        return Placed(*plain)
    for dimension, step in enumerate(stride):
        inner = [level.stride for level in layout.levels if level.stride <= step]
        if size[dimension] == 1 or step == 0 or not inner:
            continue
        for back in _steps_back(layout, step, offset):
            grown = tuple(n + back * (d == dimension) for d, n in enumerate(size))
            around = access(layout, grown, stride, offset - back * step)
            if around is not None:
                skip = tuple(back * (d == dimension) for d in range(len(size)))
                return Placed(Shifted(around.access, skip), around.start)
    return Placed(Scattered(layout, size, stride, offset), 0)


def _steps_back(layout: SpyreTensorLayout, step: int, offset: int) -> list[int]:
    """How many steps before ``offset`` a coordinate of some device dimension would be zero."""
    found, rest = [], offset
    remainders = []
    for level in layout.levels:
        remainders.append(rest % level.stride)
        rest %= level.stride
    for remainder in remainders:
        if remainder and remainder % step == 0:
            found.append(remainder // step)
    return sorted(set(found))


def aligned(found: Access | Shifted) -> tuple[Access, tuple[int, ...]]:
    """The access around a view, and how many indices of it come before the view."""
    if isinstance(found, Shifted):
        return found.around, found.skip
    return found, (0,) * len(found.size)


def flipped(placed: Placed, dimensions: Sequence[int]) -> Placed | None:
    """The same view read backwards along some dimensions; None for a scattered one."""
    found, start = placed
    if isinstance(found, Scattered):
        return None
    around, skip = aligned(found)
    axes, size, skips = list(around.axes), list(around.size), list(skip)
    for d in dimensions:
        whole = math.prod(digit.count for digit in axes[d])
        start += sum((digit.count - 1) * digit.stride for digit in axes[d])
        axes[d] = tuple(Digit(digit.count, -digit.stride) for digit in axes[d])
        extent = size[d] - skips[d]
        skips[d] = whole - size[d]
        size[d] = extent + skips[d]
    turned = Access(tuple(size), tuple(axes))
    return Placed(Shifted(turned, tuple(skips)) if any(skips) else turned, start)


def offsets_of(found: AnyAccess) -> NDArray[np.int64]:
    """The device element of every element, relative to the start, int64 of the view's size."""
    if isinstance(found, Scattered):
        return element_offsets(found.layout, found.size, found.stride, found.offset)
    around, skip = aligned(found)
    total = np.zeros(found.size, np.int64)
    for d, axis in enumerate(around.axes):
        index = np.arange(found.size[d], dtype=np.int64) + skip[d]
        along = np.zeros_like(index)
        for digit in reversed(axis[1:]):
            index, at = np.divmod(index, digit.count)
            along += at * digit.stride
        along += index * axis[0].stride
        shape = [1] * len(found.size)
        shape[d] = -1
        total += along.reshape(shape)
    return total


def contiguous(size: tuple[int, ...]) -> Access:
    """The access of a row-major array: each element's number."""
    pairs = zip(size, contiguous_strides(size), strict=True)
    axes = tuple((Digit(n, step if n > 1 else 0),) for n, step in pairs)
    return Access(size, axes)
