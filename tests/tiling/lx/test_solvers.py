"""The solvers: legal always, optimal where they say so, and better than greedy."""

from __future__ import annotations

from statistics import mean

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spyrelab.errors import UsageError
from spyrelab.tiling.errors import TilingError
from spyrelab.tiling.lx import Buffer, Method, Problem, check, faults, solve
from spyrelab.tiling.lx.families import FAMILIES, generated
from spyrelab.tiling.lx.models import MODELS, model_problems
from spyrelab.tiling.lx.report import Row, compare, summary

STICK = 128


@st.composite
def small_problems(draw: st.DrawFn) -> Problem:
    buffers: list[Buffer] = []
    for number in range(draw(st.integers(2, 7))):
        first = draw(st.integers(0, 5))
        size = draw(st.integers(1, 4)) * STICK
        parents = tuple(
            b.name
            for b in buffers
            if b.first < b.last == first and b.size >= size and draw(st.booleans())
        )
        buffers.append(
            Buffer(
                f"b{number}",
                size,
                first,
                first + draw(st.integers(0, 3)),
                draw(st.integers(0, 4)),
                parents,
                None if parents else draw(st.sampled_from([None, None, "x"])),
            )
        )
    return Problem(tuple(buffers), draw(st.integers(1, 7)) * STICK)


def most_avoided(problem: Problem) -> int:
    """Bytes avoided by the best placement, by trying every address of every buffer."""
    buffers = problem.buffers
    best = 0

    def go(number: int, addresses: dict[str, int | None], value: int) -> None:
        nonlocal best
        if value + sum(b.avoided for b in buffers[number:]) <= best:
            return
        if number == len(buffers):
            best = value
            return
        buffer = buffers[number]
        for at in range(0, problem.capacity - buffer.size + 1, STICK):
            tried = addresses | {buffer.name: at}
            if not faults(problem, tried | {b.name: None for b in buffers[number + 1 :]}):
                go(number + 1, tried, value + buffer.avoided)
        go(number + 1, addresses | {buffer.name: None}, value)

    go(0, {}, 0)
    return best


@settings(max_examples=120, deadline=None)
@given(small_problems())
def test_exact_is_what_brute_force_finds(problem: Problem) -> None:
    found = check(solve(problem, "exact"))
    assert found.proven
    assert found.avoided == found.bound == most_avoided(problem), repr(problem)
    for method in Method:
        assert check(solve(problem, method)).avoided <= found.avoided, repr(problem)


@pytest.fixture(scope="module")
def rows() -> list[Row]:
    return compare([*generated(30), *model_problems()])


def test_there_are_enough_problems(rows: list[Row]) -> None:
    assert sum(row.family in FAMILIES for row in rows) >= 200
    assert sum(row.family == "models" for row in rows) == len(MODELS) == 20
    assert not any(row.problem.name == "" for row in rows)


def test_few_are_unproven(rows: list[Row]) -> None:
    assert sum(not row.proven for row in rows) <= len(rows) // 100, summary(rows)


def test_the_default_is_within_three_percent_and_all_beat_greedy(rows: list[Row]) -> None:
    print(summary(rows))
    for family in {row.family for row in rows}:
        proven = [row for row in rows if row.family == family and row.proven]
        average = {m: mean(row.ratio(m) for row in proven) for m in Method}
        assert average[Method.DEFAULT] >= 0.97, family
        assert average[Method.EXACT] == 1
        for method in (Method.FIRST_FIT, Method.BEST_FIT, Method.DEFAULT):
            assert average[Method.GREEDY] < average[method], (family, method)
    for row in rows:
        default, greedy = row.solutions[Method.DEFAULT], row.solutions[Method.GREEDY]
        assert default.avoided >= greedy.avoided, row.problem.name


def test_problems_repeat_with_their_seed() -> None:
    first, second, other = ([problem for _, problem in generated(1, seed)] for seed in (3, 3, 4))
    assert first == second != other


def test_looking_ahead_beats_greedy() -> None:
    # Greedy keeps the long cheap one and has no room for the three that are used often.
    often = (Buffer(f"often{i}", 4 * STICK, 1 + 2 * i, 2 + 2 * i, 3) for i in range(3))
    problem = Problem((Buffer("long", 3 * STICK, 0, 7), *often), 4 * STICK)
    assert solve(problem, "greedy").avoided == 3 * STICK
    for method in ("first-fit", "best-fit", "default", "exact"):
        assert check(solve(problem, method)).avoided == 36 * STICK


def test_in_place_halves_what_a_chain_needs() -> None:
    chain = [Buffer("t0", 4 * STICK, 0, 1)]
    chain += [Buffer(f"t{i}", 4 * STICK, i, i + 1, parents=(f"t{i - 1}",)) for i in range(1, 6)]
    for method in Method:
        found = check(solve(Problem(tuple(chain), 4 * STICK), method))
        assert len(found.kept) == 6
        assert len(found.in_place()) == 5
        assert found.peak == 4 * STICK


def test_one_clone_of_an_input_at_a_time() -> None:
    whole = Buffer("x@0-9", STICK, 0, 9, 3, clone_of="x")
    parts = (
        Buffer("x@0-1", STICK, 0, 1, 1, clone_of="x"),
        Buffer("x@8-9", STICK, 8, 9, 1, (), "x"),
    )
    middle = Buffer("t", 2 * STICK, 4, 5, 4)
    roomy = check(solve(Problem((whole, *parts, middle), 4 * STICK), "exact"))
    assert {b.name for b in roomy.kept} == {"x@0-9", "t"}
    tight = check(solve(Problem((whole, *parts, middle), 2 * STICK), "exact"))
    assert {b.name for b in tight.kept} == {"x@0-1", "x@8-9", "t"}


def test_sizes_are_whole_sticks() -> None:
    found = solve(Problem((Buffer("a", 1, 0, 1), Buffer("b", 129, 0, 1)), 3 * STICK + 5), "exact")
    assert found.avoided == 3 * STICK
    assert sorted(a for a in found.addresses.values() if a is not None) in ([0, 128], [0, 256])


def test_nothing_to_keep() -> None:
    for method in Method:
        assert solve(Problem((), 0), method).proven
        assert solve(Problem((Buffer("a", 1, 0, 0),), 0), method).kept == ()


def test_time_over_is_not_proven() -> None:
    problem = next(p for family, p in generated(1) if family == "tight")
    found = check(solve(problem, "exact", time_limit=0.0))
    assert found.bound >= found.avoided
    assert found.proven == (found.bound == found.avoided)


def test_the_checker_sees_faults() -> None:
    one, two = Buffer("a", 2 * STICK, 0, 2), Buffer("b", 2 * STICK, 2, 3)
    heir = Buffer("c", STICK, 2, 3, parents=("a",))
    problem = Problem((one, two, heir), 4 * STICK)
    assert faults(problem, {"a": 0, "b": 256, "c": 0}) == []
    assert faults(problem, {"a": 0, "b": 0, "c": None}) == ["a and b overlap"]
    assert faults(problem, {"a": 0, "b": None, "c": 128}) == ["a and c overlap"]
    assert "beyond" in faults(problem, {"a": 384, "b": None, "c": None})[0]
    assert "no stick" in faults(problem, {"a": 5, "b": None, "c": None})[0]
    assert faults(problem, {"a": 0})


@pytest.mark.parametrize(
    "buffers",
    [
        (Buffer("a", 1, 0, 1), Buffer("a", 1, 0, 1)),
        (Buffer("a", 1, 2, 1),),
        (Buffer("a", 0, 0, 1),),
        (Buffer("a", 1, 0, 1, parents=("b",)),),
        (Buffer("a", 128, 0, 1), Buffer("b", 128, 0, 1, parents=("a",))),
        (Buffer("a", 128, 0, 1), Buffer("b", 129, 1, 2, parents=("a",))),
    ],
)
def test_problems_that_make_no_sense(buffers: tuple[Buffer, ...]) -> None:
    with pytest.raises(TilingError):
        Problem(buffers, 1024)


def test_unknown_method() -> None:
    with pytest.raises(UsageError, match="first-fit"):
        solve(Problem((), 0), "worst-fit")
