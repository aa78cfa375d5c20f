"""Chapter 6 under the grader: both ends, other seeds, and the library asked instead."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from spyrelab import cli
from spyrelab.grade import Status, check, grade
from spyrelab.grade.task import graded_tests

ROOT = Path(__file__).parents[2]
FILES = sorted((ROOT / "exercises").glob("test_ch06*.py"))
TESTS = graded_tests(FILES)
TASKS = 7


def graded(*arguments: str, capsys: pytest.CaptureFixture[str]) -> tuple[int, dict[str, Any]]:
    code = cli.main(["grade", "ch06", "--json", *arguments])
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
    for seed in (1, 2):
        results = grade("ch06", "solutions", seed=seed)
        assert all(result.status is Status.PASSED for result in results), (seed, results)


def test_every_test_has_two_hints() -> None:
    assert len({test.task for test in TESTS}) == TASKS
    for test in TESTS:
        assert len(test.hints) == 2 and test.purpose.endswith("."), test.name


def asks_the_planner(plan: Any) -> Any:
    from spyrelab.tiling import Bundle, Plan

    return Plan(tuple(Bundle(bundle.specs) for bundle in plan.bundles)).port_bytes


def test_asking_the_library_is_no_answer() -> None:
    result = check("ch06.3", asks_the_planner).result
    assert (result.score, str(result.status)) == (0, "wrong")
    assert "the answer asks spyrelab.tiling" in result.output
