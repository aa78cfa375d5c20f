"""Chapter 2 under the grader: both ends, its budgets, and its own cheats."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import spyrelab.grade as package
from spyrelab import cli
from spyrelab.grade import Status, WrongError, check, estimate_program, expect, grade
from spyrelab.grade.judge import judge
from spyrelab.grade.subject import Subject
from spyrelab.grade.task import graded_tests
from spyrelab.grade.tree import load_module
from spyrelab.ktir import F16, Builder

ROOT = Path(__file__).parents[2]
SOLUTIONS = ROOT / "solutions" / "ch02_time.py"
GIVEN = load_module(ROOT / "exercises" / "given_ch02.py")
TESTS = graded_tests(sorted((ROOT / "exercises").glob("test_ch02*.py")))


def graded(*arguments: str, capsys: pytest.CaptureFixture[str]) -> tuple[int, dict[str, Any]]:
    code = cli.main(["grade", "ch02", "--json", *arguments])
    return code, json.loads(capsys.readouterr().out)


def test_pristine_exercises_score_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    code, report = graded(capsys=capsys)
    assert (code, report["score"], len(report["tests"])) == (1, 0, 7)
    assert {test["status"] for test in report["tests"]} == {"not started"}


def test_solutions_score_everything(capsys: pytest.CaptureFixture[str]) -> None:
    code, report = graded("--impl", "solutions", capsys=capsys)
    assert code == 0, report
    assert report["score"] == report["max_score"] == len(TESTS)


def test_solutions_pass_for_other_seeds() -> None:
    for seed in (1, 2, 3):
        results = grade("ch02", "solutions", seed=seed)
        assert all(result.status is Status.PASSED for result in results), (seed, results)


def test_every_test_has_two_hints() -> None:
    assert len({test.task for test in TESTS}) == 7
    for test in TESTS:
        assert len(test.hints) == 2 and test.purpose.endswith("."), test.name


def test_budgets_follow_from_the_solutions(monkeypatch: pytest.MonkeyPatch) -> None:
    """A budget is what the model answer needs, with at most half as much again."""
    seen: list[tuple[str, float]] = []

    def note(value: int, budget: int, what: str) -> None:
        seen.append((what, value / budget))
        expect.expect_at_most(value, budget, what)

    monkeypatch.setattr(package, "expect_at_most", note)
    tests = graded_tests(sorted((ROOT / "exercises").glob("test_ch02*.py")))
    for test in tests:
        verdict = judge(test, Subject.of_file(SOLUTIONS), GIVEN, 0)
        assert verdict.status is Status.PASSED, verdict.output
    assert len(seen) >= 10
    assert all(2 / 3 <= ratio <= 1 for _, ratio in seen), seen


def test_given_programs_are_slower_than_the_budgets() -> None:
    """The gain that the tasks promise is there."""
    answers = load_module(SOLUTIONS)
    pairs = [
        (GIVEN.activation_in_one_tile(4096, 1024), answers.overlapped(4096, 1024), 1.1),
        (GIVEN.column_sums_by_stick(4096, 2048), answers.column_sums(4096, 2048), 2.0),
    ]
    for slow, fast, gain in pairs:
        assert estimate_program(slow).cycles > gain * estimate_program(fast).cycles


@pytest.mark.parametrize("task", ["ch02.2", "ch02.3", "ch02.4"])
def test_asking_the_model_is_no_answer(task: str) -> None:
    from spyrelab.timing import best_split

    def ask(*sizes: int) -> Any:
        return best_split(1, 512, 4096, 4096).seconds

    result = check(task, ask).result
    assert (result.score, str(result.status)) == (0, "wrong")
    assert "asks the timing model" in result.output


def test_a_program_fast_because_it_does_nothing_is_wrong() -> None:
    honest = load_module(SOLUTIONS).overlapped

    def idle(rows: int, cols: int) -> Any:
        if rows < 2000:
            return honest(rows, cols)
        b = Builder("idle", grid=(32,))
        for pointer in b.pointers("x", "out"):
            b.view(pointer, sizes=(rows, cols), dtype=F16)
        return b.build()

    result = check("ch02.5", idle).result
    assert result.status is Status.WRONG
    assert result.score < result.max_score


def test_only_a_program_can_be_estimated() -> None:
    with pytest.raises(WrongError, match="expected a KTIR module, got a NoneType"):
        estimate_program(None)  # type: ignore[arg-type]
    with pytest.raises(WrongError, match="does not run"):
        estimate_program("module {")


def test_timelines_start_after_the_launch() -> None:
    timeline = GIVEN.timeline_of(GIVEN.centre(4096, 256, 2))
    assert {unit for unit, _, _ in timeline} == {"DDR load", "SFP", "DDR store"}
    assert min(begin for _, begin, _ in timeline) == pytest.approx(GIVEN.LAUNCH * 1e6)
    assert sum(unit == "DDR load" for unit, _, _ in timeline) == 2 * 4096 // (32 * 4)
