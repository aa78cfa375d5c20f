"""Index ranges in which several operands split an index into the same digits.

A stick axis of 100 elements is one whole stick and a stick of 36: a box each. Programs treat
each box by itself, so that no padding is ever read or written.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass

from spyrelab.layout.access import Axis, Digit
from spyrelab.opspec.errors import OpSpecError

__all__ = ["MixedDigitsError", "Span", "common_spans", "joined", "plain"]


class MixedDigitsError(OpSpecError):
    """Operands whose digits have no common refinement.

    ``operand`` is the one that lies least simply.
    """

    def __init__(self, operand: int) -> None:
        super().__init__(f"the digits of operand {operand} cut those of another")
        self.operand = operand


@dataclass(frozen=True)
class Span:
    """A range of an index in whole digits.

    Attributes
    ----------
    low : int
        First index.
    counts : tuple of int
        Extents of the digits, outermost first; their product is the length of the range.
    strides : tuple of tuple of int
        For each operand the stride of each digit.
    offsets : tuple of int
        For each operand where the range begins.
    """

    low: int
    counts: tuple[int, ...]
    strides: tuple[tuple[int, ...], ...]
    offsets: tuple[int, ...]

    @property
    def extent(self) -> int:
        """Length of the range."""
        return math.prod(self.counts)

    @property
    def tile(self) -> int:
        """The least piece that cuts no inner digit: the innermost extent where there are more."""
        return self.counts[-1] if len(self.counts) > 1 else 1


def plain(extent: int, stride: int = 0) -> Axis:
    """An axis of one digit; stride 0 for an operand that does not have the axis."""
    return (Digit(extent, stride),)


def common_spans(extent: int, axes: Sequence[Axis]) -> list[Span]:
    """Ranges that cover ``extent`` indices, with digits that fit every operand's axis.

    Raises
    ------
    MixedDigitsError
        If the digits of two operands cut each other.
    """
    bounds = sorted({1, *(bound for axis in axes for bound in _bounds(axis))})
    for small, large in itertools.pairwise(bounds):
        if large % small:
            worst = max(range(len(axes)), key=lambda i: (len(axes[i]), len(_bounds(axes[i]))))
            raise MixedDigitsError(worst)
    strides = [tuple(_stride_at(axis, bound) for bound in reversed(bounds)) for axis in axes]
    inner = tuple(large // small for small, large in itertools.pairwise(bounds))[::-1]
    return _cover(extent, 0, inner, strides, tuple(0 for _ in axes))


def joined(spans: Sequence[Span]) -> Span:
    """One span that runs over several axes, the last fastest; at least one digit."""
    counts = tuple(count for span in spans for count in span.counts)
    operands = len(spans[0].offsets)
    strides = tuple(tuple(s for span in spans for s in span.strides[i]) for i in range(operands))
    offsets = tuple(sum(span.offsets[i] for span in spans) for i in range(operands))
    return _simple(Span(spans[-1].low, counts, strides, offsets))


def _bounds(axis: Axis) -> list[int]:
    """Products of the counts inside of every digit but the innermost."""
    found, product = [], 1
    for digit in reversed(axis[1:]):
        product *= digit.count
        found.append(product)
    return found


def _stride_at(axis: Axis, bound: int) -> int:
    """How far the operand moves when the index grows by ``bound``."""
    inner = 1
    for digit in reversed(axis[1:]):
        if bound < inner * digit.count:
            return bound // inner * digit.stride
        inner *= digit.count
    return bound // inner * axis[0].stride


def _cover(
    extent: int,
    low: int,
    inner: tuple[int, ...],
    strides: Sequence[tuple[int, ...]],
    offsets: tuple[int, ...],
) -> list[Span]:
    whole, rest = divmod(extent, math.prod(inner))
    found = []
    if whole:
        found.append(_simple(Span(low, (whole, *inner), tuple(strides), offsets)))
    if rest:
        begin = tuple(o + whole * s[0] for o, s in zip(offsets, strides, strict=True))
        shorter = [s[1:] for s in strides]
        found += _cover(rest, low + extent - rest, inner[1:], shorter, begin)
    return found


def _simple(span: Span) -> Span:
    """Without digits of one value, and with digits joined where every operand lets them."""
    counts: list[int] = []
    strides: list[list[int]] = [[] for _ in span.strides]
    for position, count in enumerate(span.counts):
        steps = [own[position] for own in span.strides]
        if count == 1:
            continue
        if counts and all(
            kept[-1] == step * count for kept, step in zip(strides, steps, strict=True)
        ):
            counts[-1] *= count
            for kept, step in zip(strides, steps, strict=True):
                kept[-1] = step
            continue
        counts.append(count)
        for kept, step in zip(strides, steps, strict=True):
            kept.append(step)
    if not counts:
        counts, strides = [1], [[0] for _ in span.strides]
    return Span(span.low, tuple(counts), tuple(map(tuple, strides)), span.offsets)
