"""From operations to lives."""

from __future__ import annotations

import pytest

from spyrelab.tiling.errors import TilingError
from spyrelab.tiling.lx import Kind, Problem, Step, check, clones, lifetimes, solve

SOFTMAX = [
    Step("max", ["x"], ["m"]),
    Step("minus", ["x", "m"], ["d"], True),
    Step("exp", ["d"], ["e"], True),
    Step("sum", ["e"], ["s"]),
    Step("divide", ["e", "s"], ["y"], True),
]
ROWS, COLUMNS = 64, 128
BYTES = dict.fromkeys("xdey", 2 * ROWS * COLUMNS) | dict.fromkeys("ms", 128 * ROWS)


def test_softmax() -> None:
    found = {b.name: b for b in lifetimes(SOFTMAX, BYTES)}
    assert {n: (b.first, b.last, b.uses) for n, b in found.items()} == {
        "x@0-1": (0, 1, 1),
        "m": (0, 1, 2),
        "d": (1, 2, 2),
        "e": (2, 4, 3),
        "s": (3, 4, 2),
    }
    assert found["d"].parents == ("x@0-1",)
    assert found["e"].parents == ("d",)
    assert found["x@0-1"].kind is Kind.INPUT


def test_softmax_avoids_all_but_input_and_output() -> None:
    # 8MN + 256M elements through DDR: x, d and e read twice or once, m and s a stick per row.
    solution = check(solve(Problem(lifetimes(SOFTMAX, BYTES), 1 << 20), "exact"))
    mn = 2 * ROWS * COLUMNS
    assert solution.avoided == (8 - 2) * mn + 4 * 128 * ROWS
    # With one buffer for x, d and e, and a statistic at a time.
    assert solve(Problem(lifetimes(SOFTMAX, BYTES), mn + 128 * ROWS), "exact").proven
    tight = check(solve(Problem(lifetimes(SOFTMAX, BYTES), mn + 128 * ROWS)))
    assert tight.avoided == solution.avoided


def test_live_out_is_written_in_any_case() -> None:
    items = [Step("a", ["x"], ["y"]), Step("b", ["y"], ["z"])]
    (kept,) = lifetimes(items, {"x": 1, "y": 1, "z": 1}, live_out={"y", "z"})
    assert (kept.name, kept.uses) == ("y", 1)


def test_a_result_that_is_overwritten() -> None:
    items = [Step("a", [], ["y"]), Step("b", ["y"], ["y"], True), Step("c", ["y"], ["z"])]
    (kept,) = lifetimes(items, {"y": 1, "z": 1})
    assert (kept.first, kept.last, kept.uses) == (0, 2, 4)
    # An input that is overwritten is no candidate for a copy.
    assert lifetimes(items[1:], {"y": 1, "z": 1}, live_in={"y"}) == ()


def test_clones_of_runs_of_reads() -> None:
    found = {b.name: b.uses for b in clones("x", 1, [0, 1, 7, 9])}
    assert found == {"x@0-9": 3, "x@0-1": 1, "x@7-9": 1}
    assert clones("x", 1, [4]) == []


def test_reading_the_same_twice_in_a_step_counts_once() -> None:
    assert lifetimes([Step("square", ["x", "x"], ["y"])], {"x": 1, "y": 1}) == ()


def test_errors() -> None:
    with pytest.raises(TilingError, match="y has no size"):
        lifetimes([Step("a", ["x"], ["y"])], {"x": 1})
    with pytest.raises(TilingError, match="b reads y before"):
        lifetimes([Step("b", ["y"], ["z"])], {"y": 1, "z": 1}, live_in=())
