"""Chapter 5 under the grader: both ends, its budgets, and its own cheats."""

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
from spyrelab.grade.tree import given

ROOT = Path(__file__).parents[2]
SOLUTIONS = ROOT / "solutions" / "ch05_tiling.py"
FILES = sorted((ROOT / "exercises").glob("test_ch05*.py"))
TESTS = graded_tests(FILES)
TASKS = 7


def graded(*arguments: str, capsys: pytest.CaptureFixture[str]) -> tuple[int, dict[str, Any]]:
    code = cli.main(["grade", "ch05", "--json", *arguments])
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
        results = grade("ch05", "solutions", seed=seed)
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
        verdict = judge(test, Subject.of_file(SOLUTIONS), given("ch05"), 0)
        assert verdict.status is Status.PASSED, verdict.output
    assert len(seen) >= 20
    assert all(2 / 3 <= ratio <= 1 for _, ratio in seen), seen


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
