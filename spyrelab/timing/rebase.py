"""Boxes of views that move, in coordinates of the array that they move through.

A front end that knows no shapes makes a new view for every access, its address computed from an
argument. Where such a view moves with a loop, its own coordinates say nothing of what all turns
touch together, or of what cores share. So the way from the argument to the view is taken apart
into whole strides of the view.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from spyrelab.timing.arguments import start_of
from spyrelab.timing.motion import Course, Moving, plain
from spyrelab.timing.places import Tile, View
from spyrelab.timing.scalars import Unknown
from spyrelab.timing.touched import Touched

__all__ = ["rebased"]


def rebased(course: Course, tile: Tile, found: Touched) -> tuple[Tile, Touched]:
    """The same transfer, its boxes counted from the argument where the view moves."""
    if not found.placed or tile.subscripts:
        return tile, found
    parts = list(tile.parts)
    low, high = list(found.low), list(found.high)
    for number, part in enumerate(parts):
        steps = _steps(course, part)
        if steps is None:
            continue
        shifts, rest = steps
        low[number] = [a + b for a, b in zip(low[number], shifts, strict=True)] + [rest]
        high[number] = [a + b for a, b in zip(high[number], shifts, strict=True)] + [rest + 1]
        origin = start_of(plain(part.address))
        parts[number] = replace(part, address=origin)
    return replace(tile, parts=tuple(parts)), replace(found, low=low, high=high)


def _steps(course: Course, part: View) -> tuple[list[Any], Any] | None:
    """Whole strides from the argument to the view by axis, and elements that are left."""
    # The first look at a loop sees no motion yet, and has to count as the later ones do.
    if part.space is not None or not (isinstance(part.address, Moving) or course.turns):
        return None
    strides = _whole(part.strides)
    if strides is None:
        return None
    rest: Any = part.address - start_of(plain(part.address))
    shifts: list[Any] = [np.zeros(course.cores, np.int64)] * len(strides)
    for axis in sorted(range(len(strides)), key=lambda axis: -strides[axis]):
        whole = rest // strides[axis] if strides[axis] > 1 else rest
        shifts[axis] = whole
        rest = rest - whole * strides[axis]
        if strides[axis] == 1:
            break
    return shifts, rest


def _whole(strides: Sequence[Any]) -> list[int] | None:
    """Strides as positive numbers, the same on all cores; None if they are not."""
    found = []
    for stride in strides:
        if isinstance(stride, (Moving, Unknown)) or np.ptp(stride) or stride[0] < 1:
            return None
        found.append(int(stride[0]))
    return found
