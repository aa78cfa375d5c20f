"""Affine expressions: what they mean, how they print, and that printing loses nothing."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spyrelab.ktir import AffineMap, AffineSet, box_set, parse
from spyrelab.ktir.affine import Binary, Constant, Dim, Expr, Symbol, add, multiply, negate
from tests.ktir.programs import frame


def read_map(text: str) -> AffineMap:
    module = parse(frame("", f"#m = affine_map<{text}>\n").replace("{grid = [4]}", "{a = #m}"))
    found = module.functions[0].attributes["a"]
    assert isinstance(found, AffineMap)
    return found


def read_set(text: str) -> AffineSet:
    module = parse(frame("", f"#s = affine_set<{text}>\n").replace("{grid = [4]}", "{a = #s}"))
    found = module.functions[0].attributes["a"]
    assert isinstance(found, AffineSet)
    return found


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("i + j * 2 - 1", lambda i, j: i + 2 * j - 1),
        ("-i + -j", lambda i, j: -i - j),
        ("-(i - j) * 3", lambda i, j: -(i - j) * 3),
        ("i floordiv 3 + j ceildiv 2", lambda i, j: i // 3 - (-j // 2)),
        ("-i mod 4", lambda i, j: -i % 4),
        ("-(i mod 4)", lambda i, j: -(i % 4)),
        ("i - (j - 4)", lambda i, j: i - j + 4),
        ("2 * (i + j) floordiv 5", lambda i, j: 2 * (i + j) // 5),
        ("i mod 5 * 3 - -2", lambda i, j: i % 5 * 3 + 2),
        ("0", lambda i, j: 0),
    ],
)
def test_meaning(text: str, values: object) -> None:
    affine = read_map(f"(i, j) -> ({text})")
    assert callable(values)
    for i, j in itertools.product(range(-7, 8), repeat=2):
        assert affine((i, j)) == (values(i, j),)
    body = str(affine).removeprefix("affine_map<").removesuffix(">")
    assert read_map(body) == affine


def expressions() -> st.SearchStrategy[Expr]:
    leaves = st.one_of(
        st.integers(-40, 40).map(Constant),
        st.integers(0, 2).map(Dim),
        st.integers(0, 1).map(Symbol),
    )

    def grow(inner: st.SearchStrategy[Expr]) -> st.SearchStrategy[Expr]:
        divisor = st.integers(1, 9).map(Constant)
        return st.one_of(
            st.builds(add, inner, inner),
            st.builds(multiply, inner, st.integers(-5, 5).map(Constant)),
            st.builds(negate, inner),
            st.builds(Binary, st.sampled_from(["mod", "floordiv", "ceildiv"]), inner, divisor),
        )

    return st.recursive(leaves, grow, max_leaves=12)


@given(expressions())
def test_printing_loses_nothing(expression: Expr) -> None:
    affine = AffineMap(3, 2, (expression,))
    assert read_map(str(affine).removeprefix("affine_map<").removesuffix(">")) == affine


@given(st.lists(st.tuples(st.integers(-9, 9), st.integers(1, 9)), min_size=1, max_size=4))
def test_boxes(bounds: list[tuple[int, int]]) -> None:
    lows, extents = [low for low, _ in bounds], [extent for _, extent in bounds]
    box = box_set(extents, lows)
    again = read_set(str(box).removeprefix("affine_set<").removesuffix(">"))
    assert again == box
    assert again.box is not None
    assert [(a.constant, b.constant) for a, b in again.box] == [
        (low, low + extent - 1) for low, extent in bounds
    ]


def test_symbols_and_equalities() -> None:
    points = read_set("(i)[g] : ((i - g) mod 2 == 0, i >= g, i <= g + 6)")
    members = [i for i in range(12) if points.contains((i,), (1,))]
    assert members == [1, 3, 5, 7]
    assert str(points) == (
        "affine_set<(d0)[s0] : ((d0 - s0) mod 2 == 0, d0 - s0 >= 0, s0 + 6 - d0 >= 0)>"
    )
