"""Indirect tiles that are boxes: what bounds one variable alone cuts it off.

A mask of a kernel becomes a coordinate such as ``(d0)`` or ``(base + d0) floordiv 16`` of a view
that ends where the mask does. The points that are left are a box, whose size is known without a
look at any point, and for as long as the box moves evenly.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from spyrelab.ktir.affine import AffineMap, Binary, Constant, Expr, Linear, linear
from spyrelab.timing.arguments import Arguments
from spyrelab.timing.enumerated import Touched, not_given, variables_of_map
from spyrelab.timing.motion import Course
from spyrelab.timing.places import Tile, View, full
from spyrelab.timing.scalars import Unknown

__all__ = ["clip_indirect"]


def clip_indirect(course: Course, arguments: Arguments, tile: Tile, found: Touched) -> bool:
    """Count the elements of an indirect tile; False where it has to be enumerated."""
    numbers = (*tile.captures, *tile.lows, *tile.extents)
    if len(tile.parts) > 1 or tile.points is not None or _missing(numbers):
        return False
    part = tile.parts[0]
    if part.points is not None or _missing((*part.lows, *part.sizes)):
        return False
    box = _Box.of(tile)
    reads: list[tuple[View, np.ndarray]] = []
    reasons: list[str] = []
    for axis, subscript in enumerate(tile.subscripts):
        if subscript.view is None:
            continue
        if len(tile.indices[subscript.view]) > 1:
            return False
        view = tile.indices[subscript.view][0]
        if view.points is not None or _missing((*view.lows, *view.sizes)):
            return False
        shown = _Box.of(tile)
        if not shown.fit(course, tile, subscript.map, view.lows, view.sizes):
            return False
        used = variables_of_map(subscript.map)
        reads.append((view, shown.count(course, used)))
        if not _values_fit(course, arguments, view, part.lows[axis], part.sizes[axis], reasons):
            return False
    for axis, subscript in enumerate(tile.subscripts):
        if subscript.view is None:
            low, size = (part.lows[axis],), (part.sizes[axis],)
            if not box.fit(course, tile, subscript.map, low, size):
                return False
    found.counts = [box.count(course, range(len(box.lows)))]
    found.indices, found.reasons = reads, list(dict.fromkeys(reasons))
    return True


def _missing(values: Sequence[Any]) -> bool:
    return any(isinstance(value, Unknown) for value in values)


@dataclass
class _Box:
    """What is left of the variables of a tile: lows, and highs exclusive."""

    lows: list[Any]
    highs: list[Any]

    @classmethod
    def of(cls, tile: Tile) -> _Box:
        ends: Any = zip(tile.lows, tile.extents, strict=True)
        return cls(list(tile.lows), [low + extent for low, extent in ends])

    def fit(
        self,
        course: Course,
        tile: Tile,
        mapping: AffineMap,
        lows: Sequence[Any],
        sizes: Sequence[Any],
    ) -> bool:
        """Keep what has coordinates in a view; False where that is no box."""
        rest = []
        for expr, low, size in zip(mapping.results, lows, sizes, strict=True):
            if not self._cut(course, tile, mapping, expr, (low, low + size)):
                rest.append((expr, low, low + size - 1))
        for expr, least, most in rest:
            ends = self._bounds(course, tile, mapping, expr)
            if ends is None:
                return False
            for gap in (ends[0] - least, most - ends[1]):
                if not np.all(course.reaches(gap)[course.active]):
                    return False
        return True

    def _cut(
        self, course: Course, tile: Tile, mapping: AffineMap, expr: Expr, ends: tuple[Any, Any]
    ) -> bool:
        by = 1
        match expr:
            case Binary("floordiv", left, Constant(value)) if value > 0:
                by, expr = value, left
        form = linear(expr, mapping.dims, mapping.symbols)
        if form is None or sum(map(bool, form.dims)) != 1 or 1 not in form.dims:
            return False
        axis, offset = form.dims.index(1), _offset(form, tile, course.cores)
        first, last = (end * by - offset for end in ends)
        self.lows[axis] = course.maximum(self.lows[axis], first)
        self.highs[axis] = course.minimum(self.highs[axis], last)
        return True

    def _bounds(self, course: Course, tile: Tile, mapping: AffineMap, expr: Expr) -> Any:
        """What a coordinate lies between, over the box."""
        form = linear(expr, mapping.dims, mapping.symbols)
        if form is not None:
            return self._linear_bounds(form, tile, course.cores)
        match expr:
            case Binary("mod", _, Constant(by)) if by > 0:
                return full(0, course.cores), full(by - 1, course.cores)
            case Binary("+", left, right):
                one = self._bounds(course, tile, mapping, left)
                other = self._bounds(course, tile, mapping, right)
                return one and other and (one[0] + other[0], one[1] + other[1])
            case Binary("*", left, Constant(by)):
                ends = self._bounds(course, tile, mapping, left)
                return ends and (ends[by < 0] * by, ends[by >= 0] * by)
            case Binary("floordiv" | "ceildiv" as operator, left, Constant(by)) if by > 0:
                up = by - 1 if operator == "ceildiv" else 0
                ends = self._bounds(course, tile, mapping, left)
                return ends and ((ends[0] + up) // by, (ends[1] + up) // by)
        return None

    def _linear_bounds(self, form: Linear, tile: Tile, cores: int) -> tuple[Any, Any]:
        least = most = _offset(form, tile, cores)
        for factor, low, high in zip(form.dims, self.lows, self.highs, strict=False):
            if factor:
                ends = low * factor, (high - 1) * factor
                least, most = least + ends[factor < 0], most + ends[factor > 0]
        return least, most

    def count(self, course: Course, axes: Any) -> np.ndarray:
        """Points over some axes; the look ends where that changes."""
        count: Any = np.ones(course.cores, np.int64)
        for axis in axes:
            extent = self.highs[axis] - self.lows[axis]
            count = count * course.settle(course.maximum(extent, full(0, course.cores)))
        return np.where(course.active, count, 0)


def _offset(form: Linear, tile: Tile, cores: int) -> Any:
    offset: Any = full(form.constant, cores)
    captures: Any = zip(form.symbols, tile.captures, strict=False)
    for factor, capture in captures:
        offset = offset + capture * factor if factor else offset
    return offset


def _values_fit(
    course: Course,
    arguments: Arguments,
    view: View,
    low: Any,
    size: Any,
    reasons: list[str],
) -> bool:
    """Whether every index leads into the view; zero does where an index is cut off."""
    data = arguments.array(view.base) if view.space is None else None
    if data is None or data.dtype.kind == "f":
        reasons.append(not_given(view))
        return True
    ends = arguments.range_of(view.base)
    if ends is None:
        return False
    gaps = (min(0, ends[0]) - low, low + size - 1 - max(0, ends[1]))
    return all(np.all(course.reaches(gap)[course.active]) for gap in gaps)
