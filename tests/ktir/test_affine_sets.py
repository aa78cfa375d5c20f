"""Affine expressions as functions, and sets that are asked for again."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from spyrelab.ktir.affine import (
    AffineSet,
    Binary,
    Constant,
    Constraint,
    Dim,
    Expr,
    Symbol,
    box_set,
    evaluate,
    evaluation,
)

NUMBERS = st.integers(-9, 9)
LEAVES: st.SearchStrategy[Expr] = st.one_of(
    NUMBERS.map(Constant), st.sampled_from([Dim(0), Dim(1), Symbol(0)])
)


def _larger(inner: st.SearchStrategy[Expr]) -> st.SearchStrategy[Expr]:
    both = st.builds(Binary, st.sampled_from("+*"), inner, inner)
    whole = st.sampled_from(["floordiv", "ceildiv", "mod"])
    return both | st.builds(Binary, whole, inner, st.integers(1, 7).map(Constant))


EXPRESSIONS = st.recursive(LEAVES, _larger, max_leaves=8)
POINTS = st.tuples(NUMBERS, NUMBERS)


@given(EXPRESSIONS, POINTS, NUMBERS)
def test_a_function_gives_what_evaluating_gives(
    expr: Expr, point: tuple[int, int], symbol: int
) -> None:
    assert evaluation(expr)(point, (symbol,)) == evaluate(expr, point, (symbol,))


@given(st.lists(EXPRESSIONS, max_size=3), POINTS, NUMBERS)
def test_a_set_holds_points_that_meet_every_constraint(
    expressions: list[Expr], point: tuple[int, int], symbol: int
) -> None:
    found = AffineSet(2, 1, tuple(map(Constraint, expressions)))
    expected = all(evaluate(expr, point, (symbol,)) >= 0 for expr in expressions)
    assert bool(found.contains(point, (symbol,))) == expected


def test_equal_boxes_are_one_object() -> None:
    assert box_set([3, 4]) is box_set((3, 4))
    assert box_set([3, 4]) is box_set((3, 4), (0, 0))
    assert box_set([3, 4], [1, 0]) != box_set([3, 4])
