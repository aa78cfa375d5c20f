"""Bounding boxes and masks of affine sets."""

from __future__ import annotations

import numpy as np
import pytest

from spyrelab.emulator.errors import LoweringError
from spyrelab.emulator.points import enumerate_set
from spyrelab.ktir.affine import (
    AffineSet,
    Binary,
    Constant,
    Constraint,
    Dim,
    Symbol,
    add,
    box_set,
    multiply,
    negate,
)

D0, D1, S0 = Dim(0), Dim(1), Symbol(0)


def at_least(expr: object) -> Constraint:
    return Constraint(expr)  # type: ignore[arg-type]


def test_box_has_no_mask() -> None:
    points = enumerate_set(box_set((3, 4), (1, -2)))
    assert (points.low, points.shape, points.mask) == ((1, -2), (3, 4), None)


def test_box_bounds_may_be_symbols() -> None:
    upto = AffineSet(1, 1, (at_least(D0), at_least(add(add(negate(D0), S0), Constant(-1)))))
    assert enumerate_set(upto, (5,)).shape == (5,)
    assert enumerate_set(upto, (0,)).shape == (0,)
    assert enumerate_set(upto, (-3,)).shape == (0,)


def test_triangle_is_bounded_through_the_other_dimension() -> None:
    triangle = AffineSet(
        2,
        0,
        (
            at_least(D1),
            at_least(add(D0, negate(D1))),
            at_least(add(negate(D0), Constant(3))),
        ),
    )
    points = enumerate_set(triangle)
    assert (points.low, points.shape) == ((0, 0), (4, 4))
    np.testing.assert_array_equal(points.mask, np.tri(4, dtype=bool))


def test_bounding_box_is_tight() -> None:
    multiples = AffineSet(
        1,
        0,
        (
            Constraint(Binary("mod", D0, Constant(3)), equality=True),
            at_least(add(D0, Constant(-1))),
            at_least(add(negate(D0), Constant(10))),
        ),
    )
    points = enumerate_set(multiples)
    assert (points.low, points.shape) == ((3,), (7,))
    assert points.mask is not None
    assert points.mask.tolist() == [True, False, False, True, False, False, True]


def test_scaled_bounds_round_inwards() -> None:
    halves = AffineSet(
        1,
        0,
        (
            at_least(add(multiply(D0, Constant(2)), Constant(-3))),
            at_least(add(multiply(D0, Constant(-2)), Constant(9))),
        ),
    )
    points = enumerate_set(halves)
    assert (points.low, points.shape, points.mask) == ((2,), (3,), None)


def test_unbounded_set_is_refused() -> None:
    with pytest.raises(LoweringError, match="no finite bounds"):
        enumerate_set(AffineSet(1, 0, (at_least(D0),)))
