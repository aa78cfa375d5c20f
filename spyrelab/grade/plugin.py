"""The pytest plugin behind ``pytest exercises/``: fixtures, ``--impl``, statuses and the score.

Loaded by ``exercises/conftest.py``.
"""

from __future__ import annotations

from collections.abc import Generator
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from spyrelab.grade.judge import classify, fixtures
from spyrelab.grade.outcome import Status, TestResult, by_task
from spyrelab.grade.report import describe, summary
from spyrelab.grade.subject import Subject
from spyrelab.grade.task import GradedTest, graded_test
from spyrelab.grade.tree import Chapter, GradeError, chapter_in, lend, load_module, subject_file

_MARKER = "task(name, points=1, hints=()): an exercise of the book and what it is worth"
_results = pytest.StashKey[list[TestResult]]()


def pytest_addoption(parser: pytest.Parser) -> None:
    """``--impl`` selects the answers."""
    parser.addoption(
        "--impl",
        default="exercises",
        help="answers to grade: exercises (default), solutions, or the path of a file or folder",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Register the marker, in case the exercises stand alone."""
    config.addinivalue_line("markers", _MARKER)
    config.stash[_results] = []


@pytest.fixture(scope="module")
def given(request: pytest.FixtureRequest) -> ModuleType | None:
    """The programs that the chapter hands out."""
    path = _chapter(request.path).given
    return load_module(path) if path.is_file() else None


@pytest.fixture(scope="module")
def answers(request: pytest.FixtureRequest) -> Subject:
    """The answers of the test's chapter."""
    chapter = _chapter(request.path)
    lend(chapter.given)
    try:
        return Subject.of_file(subject_file(chapter, request.config.getoption("--impl")))
    except GradeError as error:
        raise pytest.UsageError(str(error)) from None


@pytest.fixture
def impl(request: pytest.FixtureRequest, answers: Subject) -> Subject:
    """The answers, as the test may call them."""
    return fixtures(_test(request), answers, None, 0)["impl"]


@pytest.fixture
def rng(request: pytest.FixtureRequest, answers: Subject) -> np.random.Generator:
    """Random numbers that follow from the answers' source."""
    return fixtures(_test(request), answers, None, 0)["rng"]


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[Any]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Turn exceptions into statuses: not started is skipped, failures are short."""
    report = yield
    test = graded_test(item.function) if isinstance(item, pytest.Function) else None
    if test is None or call.when != "call":
        return report
    status, output = Status.PASSED, ""
    if call.excinfo is not None:
        status, output = classify(call.excinfo.value, test.task)
    item.config.stash[_results].append(TestResult(test, status, output))
    if status is Status.NOT_STARTED:
        report.outcome = "skipped"
        report.longrepr = (str(item.path), 0, f"{test.task} {test.subject}: not started")
    elif status is not Status.PASSED:
        hint = f"\nhint: {test.hints[0]}" if test.hints else ""
        report.longrepr = f"{test.task} {test.subject}: {status}\n{output}{hint}"
    return report


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """The score by task."""
    results = by_task(terminalreporter.config.stash[_results])
    if results:
        terminalreporter.section("grade")
        for result in results:
            terminalreporter.write_line(describe(result, hints=0).splitlines()[0])
        terminalreporter.write_line(summary(results))


def _test(request: pytest.FixtureRequest) -> GradedTest:
    test = graded_test(request.function)
    if test is None:
        raise pytest.UsageError(f"{request.node.name} asks for answers but has no @task")
    return test


def _chapter(tests: Path) -> Chapter:
    return chapter_in(tests.parent, tests.stem.split("_")[1])
