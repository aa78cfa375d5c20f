"""How many elements of a tile follow each other in memory."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from spyrelab.ktir.affine import Binary, Constant, Expr, Linear, linear
from spyrelab.timing.motion import plain
from spyrelab.timing.places import Tile, View
from spyrelab.timing.scalars import Scalar, Unknown

__all__ = ["run_elements"]

Axis = tuple[int, int, bool]
"""Elements from one point to the next, points, and whether they are all that the view has."""


def run_elements(tile: Tile, part: View) -> int:
    """Elements that follow each other in memory within the first core's tile.

    A box is moved in the order of memory, whatever the order in which a view names its axes.
    What an index decides lies anywhere; behind one index, points follow the view's strides.
    """
    axes = _indirect_axes(tile, part) if tile.subscripts else _box_axes(tile, part)
    run = 1
    for step, count, whole in sorted(axes):
        if step != run:
            break
        run *= count
        if not whole:
            break
    return run


def _box_axes(tile: Tile, part: View) -> list[Axis]:
    axes = []
    for extent, stride, size in zip(tile.extents, part.strides, part.sizes, strict=True):
        if isinstance(extent, Unknown) or isinstance(stride, Unknown):
            return []
        longest = _most(extent)
        if longest > 1:
            axes.append((abs(_first(stride)), longest, _covers(longest, size)))
    return axes


def _indirect_axes(tile: Tile, part: View) -> list[Axis]:
    found = []
    for variable, extent in enumerate(tile.extents):
        count = 1 if isinstance(extent, Unknown) else _most(extent)
        axis = _walked(tile, part, variable, count) if count > 1 else None
        if axis is not None:
            found.append(axis)
    return found


def _walked(tile: Tile, part: View, variable: int, count: int) -> Axis | None:
    """How a variable walks the view, until an index or a remainder takes it elsewhere."""
    step, whole = 0, False
    for picked, expr, stride, size in _coordinates(tile, part):
        form, operator, by = _taken_apart(expr, len(tile.extents), len(tile.captures))
        if form is None:
            return None
        if not form.dims[variable]:
            continue
        if operator == ("floordiv" if picked else "mod"):
            count = min(count, max(1, by // abs(form.dims[variable])))
        elif operator or picked:
            return None
        if not picked:
            if isinstance(stride, Unknown):
                return None
            step += form.dims[variable] * _first(stride)
            whole = _covers(count, size)
    return abs(step), count, whole


def _coordinates(tile: Tile, part: View) -> Iterator[tuple[bool, Expr, Scalar, Scalar]]:
    """Coordinates that decide on a place, and whether it is one in an index array."""
    for subscript, stride, size in zip(tile.subscripts, part.strides, part.sizes, strict=True):
        if subscript.view is None:
            found = [(False, subscript.map.results[0], stride, size)]
        else:
            view = tile.indices[subscript.view][0]
            ends = zip(subscript.map.results, view.strides, view.sizes, strict=True)
            found = [(True, expr, s, n) for expr, s, n in ends]
        # Steps of zero are masks: they end a tile, but lead nowhere.
        yield from (c for c in found if isinstance(c[2], Unknown) or np.any(plain(c[2])))


def _taken_apart(expr: Expr, dims: int, symbols: int) -> tuple[Linear | None, str, int]:
    match expr:
        case Binary("floordiv" | "mod" as operator, left, Constant(by)) if by > 0:
            return linear(left, dims, symbols), operator, by
    return linear(expr, dims, symbols), "", 1


def _first(value: Scalar) -> int:
    return int(plain(value)[0])


def _most(value: Scalar) -> int:
    return int(np.max(plain(value)))


def _covers(count: int, size: Scalar) -> bool:
    return not isinstance(size, Unknown) and count >= _most(size)
