"""Chapter 4 under the grader: its own cheats."""

from __future__ import annotations

from typing import Any

import pytest

from spyrelab.grade import check
from spyrelab.grade.subject import Subject


def asks_for_the_default(size: tuple[int, ...]) -> Any:
    from spyrelab.layout import SpyreTensorLayout

    layout = SpyreTensorLayout.default(size)
    return list(layout.device_size), list(layout.stride_map)


def asks_for_the_pattern(bits: Any) -> Any:
    from spyrelab.layout import convert

    return convert(bits, "f16", "df16")


def asks_for_a_program(rows: int, cols: int) -> Any:
    from spyrelab.layout import SpyreTensorLayout
    from spyrelab.layout.restickify import restickify

    return restickify(
        (rows, cols),
        SpyreTensorLayout.default((rows, cols)),
        SpyreTensorLayout.default((rows, cols), "f16", [1, 0]),
    )


@pytest.mark.parametrize(
    ("task", "answer"),
    [
        ("ch04.1", asks_for_the_default),
        ("ch04.3", asks_for_the_pattern),
        ("ch04.6", asks_for_a_program),
    ],
)
def test_asking_the_library_is_no_answer(task: str, answer: Any) -> None:
    result = check(task, answer).result
    assert (result.score, str(result.status)) == (0, "wrong")
    assert "the answer" in result.output and "without it" in result.output


def test_the_same_answer_meets_the_same_numbers() -> None:
    """Also one with functions inside it, whose code objects lie somewhere else each time."""
    source = "def answer(n):\n    return [k for k in map(lambda i: i + 1, range(n))]\n"
    seeds = set()
    for _ in range(3):
        names: dict[str, Any] = {}
        exec(compile(source, "answer", "exec"), names)
        seeds.add(Subject.of_function(names["answer"]).seed)
    assert len(seeds) == 1
