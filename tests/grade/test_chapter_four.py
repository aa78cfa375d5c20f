"""Chapter 4 under the grader: both ends, its budgets, and its own cheats."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import spyrelab.grade as package
from spyrelab import cli
from spyrelab.grade import Status, check, expect, grade
from spyrelab.grade.judge import judge
from spyrelab.grade.subject import Subject
from spyrelab.grade.task import graded_tests

ROOT = Path(__file__).parents[2]
SOLUTIONS = ROOT / "solutions" / "ch04_layouts.py"
FILES = sorted((ROOT / "exercises").glob("test_ch04*.py"))
TESTS = graded_tests(FILES)
TASKS = 7


def graded(*arguments: str, capsys: pytest.CaptureFixture[str]) -> tuple[int, dict[str, Any]]:
    code = cli.main(["grade", "ch04", "--json", *arguments])
    return code, json.loads(capsys.readouterr().out)


def test_pristine_exercises_score_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    code, report = graded(capsys=capsys)
    assert (code, report["score"], len(report["tests"])) == (1, 0, TASKS)
    assert {test["status"] for test in report["tests"]} == {"not started"}


def test_solutions_score_everything(capsys: pytest.CaptureFixture[str]) -> None:
    code, report = graded("--impl", "solutions", capsys=capsys)
    assert code == 0, report
    assert report["score"] == report["max_score"] == len(TESTS)


def test_solutions_pass_for_other_seeds() -> None:
    for seed in (1, 2, 3, 4):
        results = grade("ch04", "solutions", seed=seed)
        assert all(result.status is Status.PASSED for result in results), (seed, results)


def test_every_test_has_two_hints() -> None:
    assert len({test.task for test in TESTS}) == TASKS
    for test in TESTS:
        assert len(test.hints) == 2 and test.purpose.endswith("."), test.name


def test_budgets_follow_from_the_solutions(monkeypatch: pytest.MonkeyPatch) -> None:
    """A budget is what the model answer needs, or at most half as much again."""
    seen: list[tuple[str, float]] = []

    def note(value: int, budget: int, what: str) -> None:
        seen.append((what, value / budget if budget else 1.0))
        expect.expect_at_most(value, budget, what)

    monkeypatch.setattr(package, "expect_at_most", note)
    for test in graded_tests(FILES):
        verdict = judge(test, Subject.of_file(SOLUTIONS), None, 0)
        assert verdict.status is Status.PASSED, verdict.output
    assert len(seen) >= 10
    assert all(2 / 3 <= ratio <= 1 for _, ratio in seen), seen


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
