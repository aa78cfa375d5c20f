"""Tiles that are no boxes, point by point."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from spyrelab.emulator.errors import LoweringError
from spyrelab.emulator.points import Points, enumerate_set
from spyrelab.emulator.reference.tiles import variables_of
from spyrelab.ktir.affine import AffineMap
from spyrelab.ktir.ir import Subscript
from spyrelab.timing.arguments import Arguments, place_of
from spyrelab.timing.errors import TimingError, UnknownValueError
from spyrelab.timing.motion import Course
from spyrelab.timing.places import Tile, View
from spyrelab.timing.scalars import Unknown

__all__ = ["Fixed", "Touched", "enumerate_tile", "not_given", "variables_of_map"]

MOST_POINTS = 1 << 22
"""Points of one tile that are enumerated."""


@dataclass
class Touched:
    """Elements per core of every part of a tile.

    Attributes
    ----------
    counts : list of int64 arrays [cores]
    low, high : lists
        Per part the box in the view's coordinates, highs exclusive: numbers per core that move.
    indices : list of (View, int64 array)
        Elements read to find the places.
    reasons : list of str
        Why counts are not exact; empty where they are.
    placed : bool
        Whether the boxes are known.
    alike : int64 array [cores], optional
        Where boxes are not known: equal for cores that touch the same.
    """

    counts: list[np.ndarray] = field(default_factory=list)
    low: list[list[Any]] = field(default_factory=list)
    high: list[list[Any]] = field(default_factory=list)
    indices: list[tuple[View, np.ndarray]] = field(default_factory=list)
    reasons: list[str] = field(default_factory=list)
    placed: bool = True
    alike: np.ndarray | None = None


def enumerate_tile(course: Course, arguments: Arguments, tile: Tile, found: Touched) -> None:
    """Replace the counts by those of the points themselves."""
    fixed = Fixed(course, tile)
    counts = [np.zeros(course.cores, np.int64) for _ in tile.parts]
    reads = [(view, np.zeros(course.cores, np.int64)) for views in tile.indices for view in views]
    for core in np.flatnonzero(course.active):
        _count_core(fixed, arguments, int(core), counts, reads, found)
    found.counts, found.indices = counts, reads
    found.reasons = list(dict.fromkeys(found.reasons))


class Fixed:
    """The numbers of a tile, settled: one list of Python integers per core."""

    def __init__(self, course: Course, tile: Tile) -> None:
        self.course, self.tile = course, tile
        self.starts = self._all(tile.starts)
        self.lows, self.extents = self._all(tile.lows), self._all(tile.extents)
        self.symbols, self.captures = self._all(tile.symbols), self._all(tile.captures)
        views = (*tile.parts, *(view for views in tile.indices for view in views))
        self.views = {
            id(v): [self._all(t) for t in (v.lows, v.sizes, v.strides, v.symbols, (v.address,))]
            for v in views
        }

    def _all(self, values: Sequence[Any]) -> list[Any]:
        return [v if isinstance(v, Unknown) else self.course.settle(v) for v in values]

    def points(self, core: int) -> Points:
        """Points of the tile's variables on one core."""
        if self.tile.points is not None:
            symbols = _ints(self.symbols, core)[: self.tile.points.symbols]
            try:
                return enumerate_set(self.tile.points, symbols)
            except LoweringError as error:
                raise TimingError(str(error)) from error
        return Points(tuple(_ints(self.lows, core)), tuple(_ints(self.extents, core)))

    def inside(self, view: View, core: int, coordinates: Sequence[Any]) -> Any:
        """Which coordinates a view has."""
        lows, sizes, _, symbols, _ = self.views[id(view)]
        if view.points is not None:
            return view.points.contains(coordinates, _ints(symbols, core))
        within: Any = True
        bounds = zip(coordinates, _ints(lows, core), _ints(sizes, core), strict=True)
        for coordinate, low, size in bounds:
            within = within & (coordinate >= low) & (coordinate < low + size)
        return within

    def places(self, view: View, core: int, coordinates: Sequence[Any]) -> Any:
        """Addresses of coordinates, in elements."""
        lows, _, strides, symbols, address = self.views[id(view)]
        low = _ints(lows, core)
        if view.points is not None:
            low = list(enumerate_set(view.points, _ints(symbols, core)).low)
        place: Any = _ints(address, core)[0]
        for coordinate, first, stride in zip(coordinates, low, _ints(strides, core), strict=True):
            place = place + (coordinate - first) * stride
        return place


def _ints(values: Sequence[Any], core: int) -> list[int]:
    for value in values:
        if isinstance(value, Unknown):
            raise UnknownValueError(value.ask("what a transfer touches"))
    return [int(value[core]) for value in values]


def _count_core(
    fixed: Fixed,
    arguments: Arguments,
    core: int,
    counts: list[np.ndarray],
    reads: list[tuple[View, np.ndarray]],
    found: Touched,
) -> None:
    tile = fixed.tile
    points = fixed.points(core)
    if math.prod(points.shape) > MOST_POINTS:
        found.reasons.append(f"a tile of more than {MOST_POINTS:,} points that is no box")
        for count in counts:
            count[core] += math.prod(points.shape)
        return
    coordinates: list[Any] | None
    if tile.subscripts:
        coordinates = _subscripted(fixed, arguments, core, points, reads, found)
    else:
        starts = _ints(fixed.starts, core)
        coordinates = [c + s for c, s in zip(points.coordinates(), starts, strict=True)]
    free: Any = True if points.mask is None else points.mask
    if coordinates is None:
        counts[0][core] += int(np.count_nonzero(np.broadcast_to(free, points.shape)))
        return
    for count, part in zip(counts, tile.parts, strict=True):
        within = np.asarray(fixed.inside(part, core, coordinates))
        count[core] += int(np.count_nonzero(np.broadcast_to(within & free, points.shape)))
        free = free & ~within


def _subscripted(
    fixed: Fixed,
    arguments: Arguments,
    core: int,
    points: Points,
    reads: list[tuple[View, np.ndarray]],
    found: Touched,
) -> list[Any] | None:
    """Coordinates of an indirect tile; None where an index is not known."""
    variables, captures = points.coordinates(), _ints(fixed.captures, core)
    coordinates: list[Any] = []
    known = True
    for subscript in fixed.tile.subscripts:
        place = subscript.map(variables, captures)
        if subscript.view is None:
            coordinates.append(place[0])
            continue
        used = variables_of_map(subscript.map)
        shape = tuple(n if d in used else 1 for d, n in enumerate(points.shape))
        value = _index(fixed, arguments, core, subscript, place, shape, reads, found)
        known = known and value is not None
        coordinates.append(value)
    return coordinates if known else None


def _index(
    fixed: Fixed,
    arguments: Arguments,
    core: int,
    subscript: Subscript,
    place: Sequence[Any],
    shape: tuple[int, ...],
    reads: list[tuple[View, np.ndarray]],
    found: Touched,
) -> Any:
    """Indices that a tile reads, zero outside of the index view."""
    assert subscript.view is not None
    free: Any = np.ones(shape, bool)
    total: Any = np.zeros(shape, np.int64)
    for view in fixed.tile.indices[subscript.view]:
        within = np.broadcast_to(fixed.inside(view, core, place), shape) & free
        free = free & ~within
        count = next(count for known, count in reads if known is view)
        count[core] += int(np.count_nonzero(within))
        data = arguments.array(view.base) if view.space is None else None
        if total is None or data is None or data.dtype.kind == "f":
            found.reasons.append(not_given(view))
            total = None
            continue
        where = place_of(np.broadcast_to(fixed.places(view, core, place), shape))
        bad = within & (where >= data.size)
        if bad.any():
            raise TimingError(
                f"array {view.base!r} has {data.size} elements; the program reads element "
                f"{int(where[bad][0])}"
            )
        total = total + np.where(within, data[np.where(within, where, 0)], 0)
    return total


def not_given(view: View) -> str:
    """Why an index is not known."""
    if view.space is not None:
        return "indices that the program computes in the scratchpad"
    return f"the indices in {view.base!r}, which were not given"


def variables_of_map(mapping: AffineMap) -> set[int]:
    """Variables that a subscript depends on."""
    return variables_of(mapping.results)
