"""What has to stay, and the message when it cannot."""

from __future__ import annotations

from itertools import count

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spyrelab.errors import SpyreLabError
from spyrelab.tiling.errors import WorkingSetError
from spyrelab.tiling.lx import Buffer, Problem, check, faults, least_at, least_bytes, place, solve

STICK = 128


def buffer(name: str, sticks: int, first: int, last: int, **more: object) -> Buffer:
    return Buffer(name, sticks * STICK, first, last, **more)  # type: ignore[arg-type]


def test_the_error_says_what_would_do() -> None:
    buffers = (
        buffer("q", 3, 0, 1, required=True),
        buffer("scores", 5, 1, 2, required=True),
        buffer("spare", 1, 0, 2),
    )
    problem = Problem(buffers, 7 * STICK, ("load", "product", "softmax"))
    with pytest.raises(WorkingSetError) as raised:
        solve(problem)
    assert isinstance(raised.value, SpyreLabError)
    assert raised.value.operation == "product"
    assert raised.value.alive == (("scores", 640), ("q", 384))
    assert raised.value.least == 1024
    for word in ("product", "scores 640 B", "q 384 B", "1,024 B", "896 B"):
        assert word in str(raised.value)


def test_in_place_lowers_the_least() -> None:
    one, two = buffer("a", 4, 0, 1), buffer("b", 4, 1, 2, parents=("a",))
    problem = Problem((one, two), 4 * STICK)
    assert least_at(problem, 1) == least_bytes(problem) == 4 * STICK
    assert place(problem).peak == 4 * STICK


@pytest.mark.parametrize("method", ["greedy", "first-fit", "best-fit", "default", "exact"])
def test_what_is_required_goes_first(method: str) -> None:
    buffers = (
        buffer("early", 3, 0, 3, uses=9),
        buffer("needed", 3, 1, 2, required=True, uses=0),
    )
    found = check(solve(Problem(buffers, 4 * STICK), method))
    assert {b.name for b in found.kept} == {"needed"}


def lowest(problem: Problem) -> int:
    """The least capacity by trying all addresses."""
    buffers = problem.buffers

    def fits(number: int, addresses: dict[str, int | None], room: Problem) -> bool:
        if number == len(buffers):
            return True
        mine = buffers[number]
        for at in range(0, room.capacity - mine.size + 1, STICK):
            tried = addresses | {mine.name: at}
            rest: dict[str, int | None] = {b.name: None for b in buffers[number + 1 :]}
            if not faults(room, tried | rest) and fits(number + 1, tried, room):
                return True
        return False

    tries = (Problem(buffers, sticks * STICK) for sticks in count())
    return next(room.capacity for room in tries if fits(0, {}, room))


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_least_bytes_is_what_brute_force_finds(data: st.DataObject) -> None:
    buffers: list[Buffer] = []
    for number in range(data.draw(st.integers(1, 6))):
        first, size = data.draw(st.integers(0, 4)), data.draw(st.integers(1, 3))
        parents = tuple(
            b.name for b in buffers if b.first < b.last == first and b.size >= size * STICK
        )
        last = first + data.draw(st.integers(0, 2))
        buffers.append(buffer(f"b{number}", size, first, last, parents=parents))
    problem = Problem(tuple(buffers), 0)
    assert least_bytes(problem) == lowest(problem), repr(problem)
    roomy = Problem(problem.buffers, least_bytes(problem))
    assert len(check(place(roomy)).kept) == len(buffers)
