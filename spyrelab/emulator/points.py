"""The integer points of an affine set: bounding box and mask.

Nearly every set is a box and needs no enumeration.  Any other set is bounded by interval
propagation over its linear constraints, then enumerated with NumPy.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from spyrelab.emulator.errors import LoweringError
from spyrelab.ktir.affine import AffineSet, Linear, linear

Coordinates = list[NDArray[np.int64]]
"""One integer array per dimension; the arrays broadcast to one shape."""

_LIMIT = 1 << 40
_ROUNDS = 64


@dataclass(frozen=True)
class Points:
    """Bounding box of a set, and which of the box's points belong to it.

    Attributes
    ----------
    low : tuple of int
        Smallest coordinate in every dimension.
    shape : tuple of int
        Extent of the box in every dimension.
    mask : bool array of ``shape``, or None
        None where every point of the box belongs to the set.
    """

    low: tuple[int, ...]
    shape: tuple[int, ...]
    mask: NDArray[np.bool_] | None = None

    def coordinates(self) -> Coordinates:
        """Open grid: array ``d`` has the box's extent along axis ``d`` and 1 elsewhere."""
        return open_grid(self.low, self.shape)


def open_grid(low: Sequence[int], shape: Sequence[int]) -> Coordinates:
    """Coordinates of a box as broadcastable arrays."""
    rank = len(shape)
    return [
        (start + np.arange(extent, dtype=np.int64)).reshape(
            [-1 if axis == d else 1 for axis in range(rank)]
        )
        for d, (start, extent) in enumerate(zip(low, shape, strict=True))
    ]


def enumerate_set(points: AffineSet, symbols: Sequence[int] = ()) -> Points:
    """Bounding box and mask of a set for given symbols.

    Raises
    ------
    LoweringError
        If the constraints do not bound the set.
    """
    box = points.box
    if box is not None:
        low = tuple(int(lower(symbols)) for lower, _ in box)
        high = tuple(int(upper(symbols)) for _, upper in box)
        extents = tuple(max(0, b - a + 1) for a, b in zip(low, high, strict=True))
        return Points(low, extents)
    return _enumerate_general(points, symbols)


def _enumerate_general(points: AffineSet, symbols: Sequence[int]) -> Points:
    low, high = _propagate(points, symbols)
    shape = tuple(max(0, b - a + 1) for a, b in zip(low, high, strict=True))
    inside = points.contains(open_grid(low, shape), symbols)
    mask = np.broadcast_to(np.asarray(inside, bool), shape)
    if not mask.any():
        return Points(tuple(low), (0,) * points.dims)
    found = np.nonzero(mask)
    first = [int(axis.min()) for axis in found]
    last = [int(axis.max()) + 1 for axis in found]
    tight = mask[tuple(slice(a, b) for a, b in zip(first, last, strict=True))]
    corner = tuple(a + b for a, b in zip(low, first, strict=True))
    return Points(corner, tight.shape, None if tight.all() else tight)


def _propagate(points: AffineSet, symbols: Sequence[int]) -> tuple[list[int], list[int]]:
    low, high = [-_LIMIT] * points.dims, [_LIMIT] * points.dims
    forms = _inequalities(points)
    for _ in range(_ROUNDS):
        before = (list(low), list(high))
        for form in forms:
            _tighten(form, symbols, low, high)
        if (low, high) == before:
            break
    if any(a <= -_LIMIT or b >= _LIMIT for a, b in zip(low, high, strict=True)):
        raise LoweringError(f"{points} has no finite bounds; bound every dimension on both sides")
    return low, high


def _inequalities(points: AffineSet) -> list[Linear]:
    forms = []
    for constraint in points.constraints:
        form = linear(constraint.expr, points.dims, points.symbols)
        if form is not None:
            forms.append(form)
            if constraint.equality:
                negated = tuple(-c for c in form.dims), tuple(-c for c in form.symbols)
                forms.append(Linear(*negated, -form.constant))
    return forms


def _tighten(form: Linear, symbols: Sequence[int], low: list[int], high: list[int]) -> None:
    # form >= 0 bounds each dimension by the largest value that the other terms can take.
    constant = form.constant + sum(c * s for c, s in zip(form.symbols, symbols, strict=True))
    largest = [c * (high[d] if c > 0 else low[d]) for d, c in enumerate(form.dims)]
    for d, factor in enumerate(form.dims):
        rest = constant + sum(largest) - largest[d]
        if factor > 0:
            low[d] = max(low[d], -(rest // factor))
        elif factor < 0:
            high[d] = min(high[d], rest // -factor)
