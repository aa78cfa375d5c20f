"""`check`: one task, graded where the reader is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from html import escape
from typing import Any

from spyrelab.grade.judge import judge
from spyrelab.grade.outcome import Status, TaskResult, TestResult
from spyrelab.grade.report import describe, shown_hints
from spyrelab.grade.session import grade, select
from spyrelab.grade.subject import Subject
from spyrelab.grade.task import GradedTest, graded_tests
from spyrelab.grade.tree import find_chapter, lend, load_module

_COLOURS = {Status.PASSED: "#1f8a4c", Status.NOT_STARTED: "#666666"}
_FAILURE_COLOUR = "#c2477f"
"""Of a middling lightness, to be read on white and on black."""


@dataclass(frozen=True)
class Check:
    """The verdict on one task, as text or as a small box in a notebook."""

    result: TaskResult
    hints: int = 1

    @property
    def passed(self) -> bool:
        return self.result.status is Status.PASSED

    def __repr__(self) -> str:
        return describe(self.result, self.hints)

    def _repr_html_(self) -> str:
        result = self.result
        colour = _COLOURS.get(result.status, _FAILURE_COLOUR)
        head = (
            f"<b>{escape(result.name)} {escape(result.subject)}</b>: "
            f"<b style='color:{colour}'>{escape(str(result.status))}</b>, "
            f"{result.score} of {result.max_score} points"
        )
        lines = [*result.output.splitlines(), *shown_hints(result, self.hints)]
        body = f"<pre style='white-space:pre-wrap'>{escape(chr(10).join(lines))}</pre>"
        style = f"border-left:4px solid {colour};padding-left:8px"
        drawn = (
            f"<p>The program of the last test, on one core:</p>{result.timeline}"
            if result.timeline
            else ""
        )
        return f"<div style='{style}'>{head}{body if lines else ''}{drawn}</div>"


def check(task: str, answer: Callable[..., Any] | None = None, hint: int = 1) -> Check:
    """Grade one task, such as ``"ch01.2"``.

    Parameters
    ----------
    answer : callable, optional
        The function to grade; default the one in the exercises file, as it was last saved.
    hint : int
        How many hints to show with a failure.

    Raises
    ------
    GradeError
        No such chapter or task.
    """
    chapter = task.partition(".")[0]
    if answer is None:
        (result,) = grade(chapter, task=task, draws=True)
        return Check(result, hint)
    found = find_chapter(chapter)
    subject = Subject.of_function(answer)
    lend(found.given)
    given = load_module(found.given) if found.given.is_file() else None
    tests = select(graded_tests(found.tests), task)
    results: list[TestResult] = []
    for test in tests:
        results.append(_once(test, subject, given, results))
    return Check(TaskResult(tuple(results)), hint)


def _once(test: GradedTest, subject: Subject, given: Any, before: list[TestResult]) -> TestResult:
    if before and before[-1].status is Status.TIMED_OUT:
        return TestResult(test, Status.TIMED_OUT, before[-1].output)
    return judge(test, subject, given, seed=0, draws=True)
