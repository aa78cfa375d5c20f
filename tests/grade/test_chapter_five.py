"""Chapter 5 under the grader: its own cheats."""

from __future__ import annotations

from typing import Any

import pytest

from spyrelab.grade import check


def asks_for_a_box(space: dict[str, tuple[int, int]], core: int) -> Any:
    from spyrelab.tiling.blocks import Draft
    from spyrelab.tiling.candidates import Split, with_split
    from spyrelab.tiling.cut import Slicing

    draft = Draft()
    draft.op("exp", draft.input("x", *(extent for extent, _ in space.values())))
    split = Split(tuple(parts for _, parts in space.values()))
    return Slicing.of(with_split(draft.ops[0], split)).places


def asks_for_addresses(buffers: list[tuple[int, int, int]], capacity: int) -> Any:
    from spyrelab.tiling.lx import Buffer, Problem, solve

    named = tuple(Buffer(str(n), *buffer) for n, buffer in enumerate(buffers))
    return list(solve(Problem(named, capacity), "first-fit").addresses.values())


def asks_the_timing_model(rows: int, depth: int, cols: int) -> Any:
    from spyrelab.timing import best_split

    _, m, n, k = best_split(1, rows, cols, depth).split
    return (m, n, k), (m, n)


@pytest.mark.parametrize(
    ("task", "answer"),
    [
        ("ch05.1", asks_for_a_box),
        ("ch05.3", asks_for_addresses),
        ("ch05.6", asks_the_timing_model),
    ],
)
def test_asking_the_library_is_no_answer(task: str, answer: Any) -> None:
    result = check(task, answer).result
    assert (result.score, str(result.status)) == (0, "wrong")
    assert "the answer asks" in result.output and "without it" in result.output
