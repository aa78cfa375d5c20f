"""Chapter 3 under the grader: both ends, other seeds, and its own cheats."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from spyrelab import cli
from spyrelab.grade import Status, check, grade
from spyrelab.grade.task import graded_tests
from spyrelab.grade.tree import load_module

ROOT = Path(__file__).parents[2]
TESTS = graded_tests(sorted((ROOT / "exercises").glob("test_ch03*.py")))


def graded(*arguments: str, capsys: pytest.CaptureFixture[str]) -> tuple[int, dict[str, Any]]:
    code = cli.main(["grade", "ch03", "--json", *arguments])
    return code, json.loads(capsys.readouterr().out)


def test_pristine_exercises_score_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    code, report = graded(capsys=capsys)
    assert (code, report["score"], len(report["tests"])) == (1, 0, 7), report
    assert {test["status"] for test in report["tests"]} == {"not started"}


def test_solutions_score_everything(capsys: pytest.CaptureFixture[str]) -> None:
    code, report = graded("--impl", "solutions", capsys=capsys)
    assert code == 0, report
    assert report["score"] == report["max_score"] == len(TESTS)


def test_solutions_pass_for_other_seeds() -> None:
    for seed in (1, 2):
        results = grade("ch03", "solutions", seed=seed)
        assert all(result.status is Status.PASSED for result in results), (seed, results)


def test_every_test_has_two_hints() -> None:
    assert len({test.task for test in TESTS}) == 7
    for test in TESTS:
        assert len(test.hints) == 2 and test.purpose.endswith("."), test.name


def test_the_given_module_leaves_the_device() -> None:
    """What the task is about has to be there: as given, it falls back."""
    answer = load_module(ROOT / "exercises" / "given_ch03.py").MaskedMean.forward
    result = check("ch03.6", answer).result
    assert (result.score, result.status) == (1, Status.WRONG)
    assert "operations that ran on the CPU" in result.output


def test_asking_the_layout_is_no_answer() -> None:
    from spyrelab.layout import SpyreTensorLayout

    def ask(*arguments: Any) -> int:
        return SpyreTensorLayout.default((4, 4), "f16").numel

    result = check("ch03.1", ask).result
    assert "asks spyrelab.layout" in result.output
