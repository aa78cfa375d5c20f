"""What can be said of coordinates before a program runs."""

from __future__ import annotations

from collections.abc import Sequence

from spyrelab.ktir.affine import AffineMap, AffineSet, Binary, Bound, Constant, Dim, Expr, Symbol
from spyrelab.ktir.check import Check
from spyrelab.ktir.ir import Value
from spyrelab.ktir.types import Dimension, MemRefType, TensorType

Range = tuple[int, int] | None
"""Least and greatest value, or None where they are not known."""


def set_ranges(points: AffineSet) -> list[Range] | None:
    """Range of each dimension of a box; None for a set that is not a box."""
    if points.box is None:
        return None
    return [_range(low, high) for low, high in points.box]


def _range(low: Bound, high: Bound) -> Range:
    if any(low.symbols) or any(high.symbols):
        return None
    return low.constant, high.constant


def extents(ranges: Sequence[Range]) -> list[Dimension]:
    """Numbers of points of ranges."""
    return [None if pair is None else pair[1] - pair[0] + 1 for pair in ranges]


def view_ranges(check: Check, view: Value) -> list[Range]:
    """Coordinates that a view holds: those of its set, else ``0 <= d < size``."""
    kind = view.type
    shape = kind.shape if isinstance(kind, MemRefType | TensorType) else ()
    ranges: list[Range] = [None if extent is None else (0, extent - 1) for extent in shape]
    definition = check.definitions.get(view)
    if definition is None or definition.name != "ktdp.construct_memory_view":
        return ranges
    points = definition.attributes.get("coordinate_set")
    if points is None:
        return ranges
    return set_ranges(points) or [None] * len(ranges)


def constant_ranges(check: Check, values: Sequence[Value]) -> list[Range]:
    """Ranges of values: single points where they are constants."""
    known = (check.constant(value) for value in values)
    return [None if number is None else (number, number) for number in known]


def expression_range(expr: Expr, dims: Sequence[Range], symbols: Sequence[Range]) -> Range:
    """Range of an expression over ranges of its variables."""
    match expr:
        case Constant(value):
            return value, value
        case Dim(index):
            return dims[index]
        case Symbol(index):
            return symbols[index]
        case Binary(operator, left, right):
            first = expression_range(left, dims, symbols)
            second = expression_range(right, dims, symbols)
            if first is None or second is None:
                return None
            return _combine(operator, first, second)


def _combine(operator: str, first: tuple[int, int], second: tuple[int, int]) -> Range:
    if operator == "+":
        return first[0] + second[0], first[1] + second[1]
    factor = second[0]
    if second[1] != factor:
        return None
    if operator == "*":
        low, high = first[0] * factor, first[1] * factor
        return min(low, high), max(low, high)
    if factor <= 0:
        return None
    if operator == "floordiv":
        return first[0] // factor, first[1] // factor
    if operator == "ceildiv":
        return -(-first[0] // factor), -(-first[1] // factor)
    if first[0] // factor == first[1] // factor:
        return first[0] % factor, first[1] % factor
    return 0, factor - 1


def visited_shape(shape: Sequence[Dimension], order: AffineMap | None) -> list[Dimension] | None:
    """Shape of a tile whose points are visited in an order; None if that is no permutation."""
    if order is None:
        return list(shape)
    if order.permutation is None:
        return None
    return [shape[axis] for axis in order.permutation]
