"""Chapter 7 under the grader: both ends, other seeds, and somebody else's kernel."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from typing import Any

import pytest

from spyrelab import cli
from spyrelab.grade import Status, check, grade
from spyrelab.grade.task import graded_tests

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("triton") is None, reason="the answers are Triton kernels"
)

ROOT = Path(__file__).parents[2]
FILES = sorted((ROOT / "exercises").glob("test_ch07*.py"))
TESTS = graded_tests(FILES)
TASKS = 8


def graded(*arguments: str, capsys: pytest.CaptureFixture[str]) -> tuple[int, dict[str, Any]]:
    code = cli.main(["grade", "ch07", "--json", *arguments])
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
        results = grade("ch07", "solutions", seed=seed)
        assert all(result.status is Status.PASSED for result in results), (seed, results)


def test_every_test_has_two_hints() -> None:
    assert len({test.task for test in TESTS}) == TASKS
    for test in TESTS:
        assert len(test.hints) == 2 and test.purpose.endswith("."), test.name


def somebody_elses() -> Any:
    from spyrelab.triton.examples import softmax_kernel

    return softmax_kernel


def test_a_kernel_of_the_library_is_no_answer() -> None:
    result = check("ch07.2", somebody_elses).result
    assert (result.score, str(result.status)) == (0, "wrong")
    assert "write your own" in result.output


def test_what_does_not_compile_is_said_with_its_line() -> None:
    def broken() -> Any:
        import triton

        @triton.jit
        def kernel(x, y, out, alpha, n, BLOCK):  # type: ignore[no-untyped-def]
            out.store(unknown)  # type: ignore[name-defined]  # noqa: F821

        return kernel

    result = check("ch07.1", broken).result
    assert str(result.status) == "wrong"
    assert "the kernel does not run" in result.output and "unknown" in result.output
