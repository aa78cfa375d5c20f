"""How many elements of each view a tile touches, per core: exactly, or with the reason why not.

Boxes of plain views are clipped; every other tile is enumerated point by point, for which its
place must not move: the look at a loop then ends with the iteration.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from spyrelab.ktir.types import TensorType
from spyrelab.timing.arguments import Arguments
from spyrelab.timing.clipping import clip_indirect
from spyrelab.timing.enumerated import (
    Fixed,
    Touched,
    enumerate_tile,
    variables_of_map,
)
from spyrelab.timing.errors import UnknownValueError
from spyrelab.timing.motion import Course, plain
from spyrelab.timing.places import Tile, View, full
from spyrelab.timing.scalars import Unknown

__all__ = ["Touched", "loaded_shape", "touched"]


def touched(course: Course, arguments: Arguments, tile: Tile) -> Touched:
    """What a load or store of a tile touches.

    Raises
    ------
    UnknownValueError
        A size depends on a value that was not given.
    """
    for extent in tile.extents:
        if isinstance(extent, Unknown) and tile.points is None:
            raise UnknownValueError(extent.ask("the size of a transfer"))
    if tile.subscripts:
        return _indirect(course, arguments, tile)
    found = Touched()
    for part in tile.parts:
        _clip(course, tile, part, found)
    odd = tile.points is not None or any(part.points is not None for part in tile.parts)
    if odd or (len(tile.parts) > 1 and not _apart(tile.parts)):
        enumerate_tile(course, arguments, tile, found)
    return found


def _apart(parts: Sequence[View]) -> bool:
    """Whether no element lies in two parts."""
    return all(
        any(_separate(a, b, axis) for axis in range(len(a.sizes)))
        for i, a in enumerate(parts)
        for b in parts[:i]
    )


def _separate(a: View, b: View, axis: int) -> bool:
    ends = (a.lows[axis], a.sizes[axis], b.lows[axis], b.sizes[axis])
    if not all(isinstance(end, np.ndarray) for end in ends):
        return False
    low_a, size_a, low_b, size_b = (plain(end) for end in ends)
    return bool(np.all(low_a + size_a <= low_b) or np.all(low_b + size_b <= low_a))


def _clip(course: Course, tile: Tile, part: View, found: Touched) -> None:
    count: Any = np.ones(course.cores, np.int64)
    lows, highs = [], []
    axes: Any = zip(tile.starts, tile.lows, tile.extents, part.lows, part.sizes, strict=True)
    for start, low, extent, base, size in axes:
        if isinstance(extent, Unknown):  # of a set that is enumerated
            lows.append(full(0, course.cores))
            highs.append(full(0, course.cores))
            continue
        for limit in (low, base, size):
            if isinstance(limit, Unknown):
                raise UnknownValueError(limit.ask("what a transfer touches"))
        if isinstance(start, Unknown):
            found.placed = False
            found.reasons.append(f"a place depends on {start.reason}")
            first, last = full(0, course.cores), extent
        else:
            first = course.maximum(start + low, base)
            last = course.minimum(start + low + extent, base + size)
        held = course.maximum(last - first, full(0, course.cores))
        count = count * course.settle(held)
        lows.append(first)
        highs.append(first + held)
    found.counts.append(np.where(course.active, count, 0))
    found.low.append(lows)
    found.high.append(highs)


def loaded_shape(course: Course, tile: Tile, kind: TensorType) -> tuple[Any, ...] | None:
    """Shape of what a load of a tile gives: its box in visiting order."""
    sizes: list[Any]
    if tile.points is None:
        sizes = [e if isinstance(e, Unknown) else course.settle(e) for e in tile.extents]
    else:
        fixed = Fixed(course, tile)
        sizes = list(np.array([fixed.points(c).shape for c in range(course.cores)]).T)
    if any(isinstance(size, Unknown) for size in sizes):
        return None
    order = tile.order.permutation if tile.order is not None else range(len(sizes))
    if order is not None and len(sizes) == len(kind.shape):
        return tuple(sizes[axis] for axis in order)
    if kind.shape.count(None) > 1:
        return None
    known = math.prod(n for n in kind.shape if n is not None)
    whole: Any = math.prod(sizes)
    return tuple(whole // max(known, 1) if n is None else n for n in kind.shape)


# -- indirect tiles ----------------------------------------------------------------------------


def _indirect(course: Course, arguments: Arguments, tile: Tile) -> Touched:
    """An indirect tile: all of it where that is plain to see, else point by point."""
    cores = course.cores
    found = Touched(placed=False)
    sizes = [full(1 if n is None else n, cores) for n in tile.shape]
    for view in tile.parts:
        found.low.append([full(0, cores) for _ in view.sizes])
        shown = [*sizes, *[full(1, cores)] * len(view.sizes)][: len(view.sizes)]
        found.high.append(list(shown))
    unknown = next((c for c in tile.captures if isinstance(c, Unknown)), None)
    if unknown is not None and tile.points is None:
        found.reasons.append(f"a place depends on {unknown.reason}")
        found.counts = [_whole(course, tile), *[full(0, cores)] * (len(tile.parts) - 1)]
        found.indices = _whole_indices(course, tile)
        return found
    if not clip_indirect(course, arguments, tile, found):
        enumerate_tile(course, arguments, tile, found)
    return found


def _whole(course: Course, tile: Tile) -> np.ndarray:
    count: Any = np.ones(course.cores, np.int64)
    for extent in tile.extents:
        count = count * course.settle(extent)
    return np.where(course.active, count, 0)


def _whole_indices(course: Course, tile: Tile) -> list[tuple[View, np.ndarray]]:
    found = []
    for subscript in tile.subscripts:
        if subscript.view is not None:
            count: Any = np.ones(course.cores, np.int64)
            for axis in variables_of_map(subscript.map):
                count = count * course.settle(tile.extents[axis])
            view = tile.indices[subscript.view][0]
            found.append((view, np.where(course.active, count, 0)))
    return found
