"""Which cores read the same places of an indirect tile at the same step.

Numbers that the program computes tell most: cores that differ in none of them read the same, and
what differs in a number beside the indices is read apart. What is left are cores that look into
different places of an index array, such as the page tables of sequences with a common prefix.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from spyrelab.ktir.affine import Binary, Expr, Symbol
from spyrelab.ktir.ir import Subscript
from spyrelab.timing.arguments import Arguments, place_of
from spyrelab.timing.enumerated import Touched, variables_of_map
from spyrelab.timing.motion import Course, Moving, Turn, plain
from spyrelab.timing.places import Tile
from spyrelab.timing.scalars import Unknown

__all__ = ["readers_alike"]

MOST_ELEMENTS = 1 << 20
"""Indices that are compared at once, over all cores and turns."""


def readers_alike(
    course: Course, arguments: Arguments, tile: Tile, found: Touched
) -> np.ndarray | None:
    """A number per core, equal where cores read the same places; None if that is not known.

    The look at a loop ends where cores begin or cease to read alike.
    """
    part = tile.parts[0]
    odd = not tile.subscripts or len(tile.parts) > 1 or tile.points is not None
    if odd or found.reasons or part.space is not None or part.points is not None:
        return None
    if any(v.base in arguments.stored or v.points for views in tile.indices for v in views):
        return None
    busy = found.counts[0] > 0
    direct = [s for s in tile.subscripts if s.view is None]
    own = [part.address, *part.lows, *part.sizes, *part.strides, *tile.lows, *tile.extents]
    own += _captures(tile, direct)
    if _alone_now(own, busy):
        return np.arange(course.cores)
    apart = _groups(course, own, busy)
    if apart is None or len(direct) == len(tile.subscripts) or _alone(apart, busy):
        return apart
    views = [v for views in tile.indices for v in views]
    places = [n for v in views for n in (v.address, *v.lows, *v.sizes, *v.strides)]
    alike = _groups(course, [*own, *places, *tile.captures], busy)
    if alike is None or np.array_equal(alike[busy], apart[busy]):
        return alike
    return _by_value(course, arguments, tile, (alike, apart), busy)


def _captures(tile: Tile, subscripts: Iterable[Subscript]) -> list[Any]:
    used = {n for s in subscripts for e in s.map.results for n in _symbols(e)}
    return [tile.captures[number] for number in sorted(used)]


def _symbols(expr: Expr) -> set[int]:
    match expr:
        case Symbol(index):
            return {index}
        case Binary(_, left, right):
            return _symbols(left) | _symbols(right)
    return set()


def _alone_now(values: Sequence[Any], busy: np.ndarray) -> bool:
    """Whether a number alone tells all cores apart, and moves alike on all."""
    return any(
        isinstance(value, np.ndarray) and len(np.unique(value[busy])) == np.count_nonzero(busy)
        for value in values
    )


def _alone(groups: np.ndarray, busy: np.ndarray) -> bool:
    return len(np.unique(groups[busy])) == np.count_nonzero(busy)


def _groups(course: Course, values: Sequence[Any], busy: np.ndarray) -> np.ndarray | None:
    """The first busy core that has the same numbers, and will have as the loops go on."""
    if any(isinstance(value, Unknown) for value in values):
        return None
    opened = [_opened(course, value) for value in values]
    now = [np.broadcast_to(plain(value), busy.shape) for value in opened]
    moving = [value for value in opened if isinstance(value, Moving)]
    turns = sorted({t for value in moving for t in value.turns}, key=lambda t: t.depth)
    still = np.zeros_like(busy, np.int64)
    slopes = [value.slopes.get(turn, still) for value in moving for turn in turns]
    here, onward = _firsts(now, busy), _firsts([*now, *slopes], busy)
    if not np.array_equal(here[busy], onward[busy]):
        course.pin(turns)
    return here


def _opened(course: Course, value: Any) -> Any:
    """A value that moves evenly at most; one that only moves with loops that are pinned stands."""
    if not isinstance(value, Moving):
        return value
    pinned = all(turn.most == 1 for turn in value.turns)
    return value.now if pinned else course.open(value)


def _firsts(columns: Sequence[np.ndarray], busy: np.ndarray) -> np.ndarray:
    told = [c for c in columns if (c != c[0]).any()] or columns[:1]
    rows = [row.tobytes() for row in np.stack(told, axis=1).astype(np.int64)]
    first: dict[bytes, int] = {}
    for core in np.flatnonzero(busy).tolist():
        first.setdefault(rows[core], core)
    return np.array([first.get(row, core) for core, row in enumerate(rows)])


def _by_value(
    course: Course,
    arguments: Arguments,
    tile: Tile,
    known: tuple[np.ndarray, np.ndarray],
    busy: np.ndarray,
) -> np.ndarray:
    """The same from the indices themselves, now and for the turns to come."""
    alike, apart = known
    box = [_fixed(value, busy) for value in (*tile.lows, *tile.extents)]
    if None in box:
        return alike
    turn = course.turns[-1] if course.turns else None
    ahead = _Ahead(course, turn, tile, [int(number or 0) for number in box])
    marks = np.zeros((ahead.turns, course.cores), np.uint64)
    for number, subscript in enumerate(tile.subscripts):
        if subscript.view is not None:
            marks += ahead.marks(arguments, subscript) * np.uint64(2 * number + 1)
    pairs = busy[:, None] & busy & (apart[:, None] == apart)
    equal = (marks[:, :, None] == marks[:, None, :]) & pairs
    if turn is not None:
        left = np.broadcast_to(turn.left, busy.shape)
        there = np.arange(ahead.turns)[:, None] < left
        other = (equal != equal[0]) & there[:, :, None] & there[:, None, :]
        changes = np.flatnonzero(other.any(axis=(1, 2)))
        turn.most = min(turn.most, int(changes[0]) if changes.size else ahead.turns)
    return np.where(busy, equal[0].argmax(axis=1), np.arange(course.cores))


def _fixed(value: Any, busy: np.ndarray) -> int | None:
    if isinstance(value, Moving) or np.ptp(value[busy]):
        return None
    return int(value[busy][0])


class _Ahead:
    """Numbers of all cores in the turns of the innermost loop that are to come."""

    def __init__(self, course: Course, turn: Turn | None, tile: Tile, box: list[int]) -> None:
        self.course, self.turn, self.tile = course, turn, tile
        self.lows, self.extents = box[: len(tile.lows)], box[len(tile.lows) :]
        most = 1
        for subscript in tile.subscripts:
            if subscript.view is not None:
                axes = variables_of_map(subscript.map)
                most = max(most, math.prod(self.extents[a] for a in axes))
        room = max(1, MOST_ELEMENTS // (course.cores * most))
        self.turns = 1 if turn is None else min(turn.most, room)

    def number(self, value: Any) -> np.ndarray:
        """A scalar as [turns, cores]."""
        value = _opened(self.course, value)
        if not isinstance(value, Moving):
            return np.broadcast_to(value, (self.turns, self.course.cores))
        self.course.pin(t for t in value.turns if t is not self.turn)
        slope = value.slopes.get(self.turn, 0)
        return np.asarray(value.now + np.arange(self.turns)[:, None] * slope)

    def marks(self, arguments: Arguments, subscript: Subscript) -> np.ndarray:
        """A number for the indices that a subscript reads: equal for equal indices."""
        assert subscript.view is not None
        axes = sorted(variables_of_map(subscript.map))
        shape = [self.extents[axis] for axis in axes]
        grid = np.indices(shape).reshape(len(axes), math.prod(shape))
        points: list[Any] = [0] * len(self.extents)
        for row, axis in zip(grid, axes, strict=True):
            points[axis] = row + self.lows[axis]
        captures = [self.number(capture)[..., None] for capture in self.tile.captures]
        place = subscript.map(points, captures)
        values = np.zeros((self.turns, self.course.cores, grid.shape[1]), np.int64)
        free: Any = np.ones(values.shape, bool)
        for view in self.tile.indices[subscript.view]:
            data = arguments.array(view.base)
            assert data is not None, "an index that is not given is a reason"
            where = place_of(self.number(view.address))[..., None]
            within: Any = free
            axes_of: Any = zip(place, view.lows, view.sizes, view.strides, strict=True)
            for coordinate, low, size, stride in axes_of:
                step = coordinate - self.number(low)[..., None]
                within = within & (step >= 0) & (step < self.number(size)[..., None])
                where = where + step * self.number(stride)[..., None]
            free = free & ~within
            # Turns that are not reached may look behind the end.
            seen = within & (where >= 0) & (where < data.size)
            values += np.where(seen, data[np.where(seen, where, 0)], 0)
        weights = np.random.default_rng(0).integers(1, 1 << 62, grid.shape[1], np.uint64)
        return np.asarray((values.astype(np.uint64) * weights).sum(axis=-1, dtype=np.uint64))
