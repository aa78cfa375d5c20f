"""What became of an answer: a status per test, a score per task."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from spyrelab.grade.task import GradedTest


class Status(StrEnum):
    """How a test ended."""

    PASSED = "passed"
    NOT_STARTED = "not started"
    WRONG = "wrong"
    CRASHED = "crashed"
    OVER_BUDGET = "over budget"
    TIMED_OUT = "timed out"


@dataclass(frozen=True)
class TestResult:
    """One test: its status, what to tell the reader, and perhaps a drawing of what ran (HTML)."""

    __test__ = False  # not for pytest to collect

    test: GradedTest
    status: Status
    output: str = ""
    timeline: str = ""

    @property
    def score(self) -> int:
        return self.test.points if self.status is Status.PASSED else 0


@dataclass(frozen=True)
class TaskResult:
    """One task: the sum of its tests; the first that did not pass speaks for it."""

    tests: tuple[TestResult, ...]

    @property
    def name(self) -> str:
        return self.tests[0].test.task

    @property
    def subject(self) -> str:
        """Name of the function to be written."""
        return self.tests[0].test.subject

    @property
    def score(self) -> int:
        return sum(result.score for result in self.tests)

    @property
    def max_score(self) -> int:
        return sum(result.test.points for result in self.tests)

    @property
    def first_failure(self) -> TestResult | None:
        return next((r for r in self.tests if r.status is not Status.PASSED), None)

    @property
    def status(self) -> Status:
        failure = self.first_failure
        return failure.status if failure else Status.PASSED

    @property
    def output(self) -> str:
        """What the first failing test checks, and what it found."""
        failure = self.first_failure
        if failure is None or failure.status is Status.NOT_STARTED:
            return ""
        return f"{failure.test.purpose}\n{failure.output}"

    @property
    def timeline(self) -> str:
        """Of the program that the last test ran of which there is a drawing."""
        return next((r.timeline for r in reversed(self.tests) if r.timeline), "")

    @property
    def hints(self) -> tuple[str, ...]:
        """Hints of the first failing test, the gentlest first."""
        failure = self.first_failure
        return failure.test.hints if failure else ()


def by_task(results: Sequence[TestResult]) -> list[TaskResult]:
    """Group results by task, in order of appearance."""
    groups: dict[str, list[TestResult]] = {}
    for result in results:
        groups.setdefault(result.test.task, []).append(result)
    return [TaskResult(tuple(group)) for group in groups.values()]
