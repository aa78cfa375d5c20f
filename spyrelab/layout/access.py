"""From the index of an element of a view to its place in device memory."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from spyrelab.layout.errors import LayoutError
from spyrelab.layout.tensor_layout import Level, SpyreTensorLayout

__all__ = ["Access", "Axis", "Digit", "Located", "Piece", "access", "element_offsets"]


class Digit(NamedTuple):
    """One digit of an index: ``count`` values, ``stride`` device elements apart."""

    count: int  # type: ignore[assignment]  # hides tuple.count, which no digit needs
    stride: int


Axis = tuple[Digit, ...]
"""The digits of one index, outermost first: the index is read in their mixed radix."""


@dataclass(frozen=True)
class Piece:
    """A box of a view without padding.

    ``low`` and ``size`` are logical, one entry per dimension; the elements, in row-major order,
    lie at ``offset`` in a strided box of ``shape`` and ``strides`` (device elements).
    """

    low: tuple[int, ...]
    size: tuple[int, ...]
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    offset: int

    @property
    def slices(self) -> tuple[slice, ...]:
        """Where the box lies in the view."""
        return tuple(slice(a, a + n) for a, n in zip(self.low, self.size, strict=True))


@dataclass(frozen=True)
class Access:
    """How each index of a view moves through device memory: ``axes[d]`` for dimension d.

    The index i of a dimension is written in the mixed radix of its digits; the device offset of
    an element is the sum over all digits of digit times stride. A plain axis has one digit; the
    stick axis of a tiled tensor has two, tile and lane. The outermost count is rounded up, so a
    last stick may hold padding beyond ``size``. A broadcast axis has stride 0.
    """

    size: tuple[int, ...]
    axes: tuple[Axis, ...]

    def __hash__(self) -> int:
        return self._hash

    @cached_property
    def _hash(self) -> int:
        return hash((self.size, self.axes))

    @cached_property
    def numel(self) -> int:
        """Elements of the view."""
        return math.prod(self.size)

    @cached_property
    def pieces(self) -> tuple[Piece, ...]:
        """Boxes that cover the view exactly, without padding."""
        runs = [_runs(axis, extent) for axis, extent in zip(self.axes, self.size, strict=True)]
        return tuple(_piece(chosen) for chosen in itertools.product(*runs))


class Located(NamedTuple):
    """An access, and the device element at which it starts.

    Views of one shape share the access and differ in ``start``: so they share programs too.
    """

    access: Access
    start: int


class _Run(NamedTuple):
    low: int
    length: int
    digits: Axis
    offset: int


def _runs(axis: Axis, extent: int, low: int = 0, offset: int = 0) -> list[_Run]:
    inner = math.prod(digit.count for digit in axis[1:])
    whole, rest = divmod(extent, inner)
    found = []
    if whole:
        head = Digit(whole, axis[0].stride)
        found.append(_Run(low, whole * inner, (head, *axis[1:]), offset))
    if rest:
        found += _runs(axis[1:], rest, low + whole * inner, offset + whole * axis[0].stride)
    return found


def _piece(runs: Sequence[_Run]) -> Piece:
    digits = [digit for run in runs for digit in run.digits]
    return Piece(
        tuple(run.low for run in runs),
        tuple(run.length for run in runs),
        tuple(digit.count for digit in digits),
        tuple(digit.stride for digit in digits),
        sum(run.offset for run in runs),
    )


@lru_cache(maxsize=1 << 16)
def access(
    layout: SpyreTensorLayout, size: tuple[int, ...], stride: tuple[int, ...], offset: int = 0
) -> Located | None:
    """How a view of a tensor in ``layout`` lies in device memory.

    Parameters
    ----------
    size, stride, offset
        Of the view, in host elements of the tensor's storage.

    Returns
    -------
    Located or None
        None where no digits describe the view, such as a slice that starts inside a stick and
        runs across its end: see :func:`element_offsets`.
    """
    levels = layout.levels
    start = _coordinates(levels, offset)
    if start is None:
        return None
    axes: list[_Steps] = []
    for extent, step in zip(size, stride, strict=True):
        found = _axis(levels, extent, step)
        if found is None:
            return None
        axes.append(found)
    if not _stays_inside(levels, start, axes):
        return None
    first = sum(at * level.device_stride for at, level in zip(start, levels, strict=True))
    digits = tuple(tuple(digit for digit, _ in axis.digits) for axis in axes)
    return Located(Access(tuple(size), digits), first)


class _Steps(NamedTuple):
    """An axis: its digits, each with its steps per level, and the host elements it spans."""

    digits: tuple[tuple[Digit, tuple[int, ...]], ...]
    smallest: int
    largest: int
    span: int


def _coordinates(levels: tuple[Level, ...], offset: int) -> tuple[int, ...] | None:
    found = []
    for level in levels:
        at, offset = divmod(offset, level.stride)
        found.append(at)
    return None if offset else tuple(found)


def _axis(levels: tuple[Level, ...], extent: int, step: int) -> _Steps | None:
    nowhere = (0,) * len(levels)
    if extent <= 1 or step == 0:
        return _Steps(((Digit(extent, 0), nowhere),), 0, 0, 0)
    digits: list[tuple[Digit, tuple[int, ...]]] = []
    count, current = extent, step
    while True:
        moves = _coordinates(levels, current)
        if moves is None:
            return None
        stride = sum(at * level.device_stride for at, level in zip(moves, levels, strict=True))
        upper = min((level.stride for level in levels if level.stride > current), default=None)
        if upper is None or (count - 1) * current < upper:
            digits.insert(0, (Digit(count, stride), moves))
            return _Steps(tuple(digits), step, current, (extent - 1) * step)
        if upper % current:
            return None
        inner = upper // current
        digits.insert(0, (Digit(inner, stride), moves))
        count, current = -(-count // inner), upper


def _stays_inside(
    levels: tuple[Level, ...], start: tuple[int, ...], axes: Sequence[_Steps]
) -> bool:
    """Whether no coordinate leaves its extent, and no sum of steps carries into the level above."""
    for top, level in enumerate(levels):
        furthest = start[top] + sum(
            (digit.count - 1) * moves[top] for axis in axes for digit, moves in axis.digits
        )
        if furthest >= level.size:
            return False
        if not top:
            continue
        limit, lower = levels[top - 1].stride, levels[top:]
        reach = sum(at * below.stride for at, below in zip(start[top:], lower, strict=True))
        for axis in axes:
            if axis.largest < limit:
                reach += axis.span
                continue
            for digit, moves in axis.digits:
                low = sum(m * below.stride for m, below in zip(moves[top:], lower, strict=True))
                reach += (digit.count - 1) * low
        if reach >= limit:
            return False
    return True


def element_offsets(
    layout: SpyreTensorLayout, size: Sequence[int], stride: Sequence[int], offset: int = 0
) -> NDArray[np.int64]:
    """The device element of every element of any view at all, int64 of shape ``size``.

    Raises
    ------
    LayoutError
        The view reaches elements that the tensor does not have.
    """
    rest = np.full(tuple(size), offset, np.int64)
    for dimension, (extent, step) in enumerate(zip(size, stride, strict=True)):
        shape = [1] * len(rest.shape)
        shape[dimension] = extent
        rest += (np.arange(extent, dtype=np.int64) * step).reshape(shape)
    found = np.zeros_like(rest)
    for level in layout.levels:
        at, rest = np.divmod(rest, level.stride)
        if at.size and (at.min() < 0 or at.max() >= level.size):
            raise LayoutError(_outside(layout, size, stride, offset))
        found += at * level.device_stride
    if rest.any():
        raise LayoutError(_outside(layout, size, stride, offset))
    return found


def _outside(
    layout: SpyreTensorLayout, size: Sequence[int], stride: Sequence[int], offset: int
) -> str:
    return (
        f"a view of size {list(size)}, stride {list(stride)} and offset {offset} reaches elements"
        f" that a tensor in {layout} does not have"
    )
