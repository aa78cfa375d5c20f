"""Every chapter under the grader: nothing done, everything done, other seeds, and its budgets."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import spyrelab.grade as package
from spyrelab import cli
from spyrelab.grade import Status, expect, grade
from spyrelab.grade.judge import judge
from spyrelab.grade.subject import Subject
from spyrelab.grade.task import graded_tests
from spyrelab.grade.tree import given

ROOT = Path(__file__).parents[2]
TASKS = 7


class Chapter(NamedTuple):
    """A chapter; seeds beside the first, and how often at least its tests set a budget."""

    name: str
    seeds: int
    budgets: int

    def tests(self) -> Any:
        return graded_tests(sorted((ROOT / "exercises").glob(f"test_{self.name}*.py")))

    def handed_out(self) -> Any:
        """The module that goes with the exercises, if there is one."""
        path = ROOT / "exercises" / f"given_{self.name}.py"
        return given(self.name) if path.exists() else None

    def graded(
        self, *arguments: str, capsys: pytest.CaptureFixture[str]
    ) -> tuple[int, dict[str, Any]]:
        code = cli.main(["grade", self.name, "--json", *arguments])
        return code, json.loads(capsys.readouterr().out)


CHAPTERS = [
    Chapter("ch02", 3, 10),
    Chapter("ch03", 2, 0),
    Chapter("ch04", 4, 10),
    Chapter("ch05", 4, 20),
    Chapter("ch06", 2, 0),
]
every_chapter = pytest.mark.parametrize("chapter", CHAPTERS, ids=lambda chapter: chapter.name)


@every_chapter
def test_pristine_exercises_score_nothing(
    chapter: Chapter, capsys: pytest.CaptureFixture[str]
) -> None:
    code, report = chapter.graded(capsys=capsys)
    assert (code, report["score"], len(report["tests"])) == (1, 0, TASKS)
    assert {test["status"] for test in report["tests"]} == {"not started"}


@every_chapter
def test_solutions_score_everything(chapter: Chapter, capsys: pytest.CaptureFixture[str]) -> None:
    code, report = chapter.graded("--impl", "solutions", capsys=capsys)
    assert code == 0, report
    assert report["score"] == report["max_score"] == len(chapter.tests())


@every_chapter
def test_solutions_pass_for_other_seeds(chapter: Chapter) -> None:
    for seed in range(1, chapter.seeds + 1):
        results = grade(chapter.name, "solutions", seed=seed)
        assert all(result.status is Status.PASSED for result in results), (seed, results)


@every_chapter
def test_every_test_has_two_hints(chapter: Chapter) -> None:
    tests = chapter.tests()
    assert len({test.task for test in tests}) == TASKS
    for test in tests:
        assert len(test.hints) == 2 and test.purpose.endswith("."), test.name


@pytest.mark.parametrize(
    "chapter", [c for c in CHAPTERS if c.budgets], ids=lambda chapter: chapter.name
)
def test_budgets_follow_from_the_solutions(
    chapter: Chapter, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A budget is what the model answer needs, or at most half as much again."""
    seen: list[tuple[str, float]] = []

    def note(value: int, budget: int, what: str) -> None:
        seen.append((what, value / budget if budget else 1.0))
        expect.expect_at_most(value, budget, what)

    monkeypatch.setattr(package, "expect_at_most", note)
    (solutions,) = (ROOT / "solutions").glob(f"{chapter.name}_*.py")
    for test in chapter.tests():
        verdict = judge(test, Subject.of_file(solutions), chapter.handed_out(), 0)
        assert verdict.status is Status.PASSED, verdict.output
    assert len(seen) >= chapter.budgets
    assert all(2 / 3 <= ratio <= 1 for _, ratio in seen), seen
