"""Runs one test on one set of answers and says how it ended."""

from __future__ import annotations

import contextlib
import inspect
import io
import traceback
import zlib
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from spyrelab.grade.clock import TimeLimitError, time_limit, time_out
from spyrelab.grade.expect import OverBudgetError, WrongError
from spyrelab.grade.outcome import Status, TestResult
from spyrelab.grade.programs import prepare
from spyrelab.grade.seen import forget, timeline
from spyrelab.grade.subject import AnswerError, Subject
from spyrelab.grade.task import GradedTest
from spyrelab.grade.tree import GradeError

PRINTED_LINES = 10
PRINTED_WIDTH = 200
"""How much of what an answer prints is shown with a failure."""

PACKAGE = Path(__file__).parents[1]


def judge(
    test: GradedTest, subject: Subject, given: ModuleType | None, seed: int, draws: bool = False
) -> TestResult:
    """Run a test; its verdict, whatever the answer does short of taking the process down.

    ``draws``: also draw what the answer's program would take.
    """
    printed = io.StringIO()
    forget()
    with contextlib.redirect_stdout(printed):
        status, output = _verdict(test, subject, given, seed)
    lines = printed.getvalue().splitlines()[-PRINTED_LINES:]
    if lines and status is not Status.PASSED:
        output = "\n".join([output, "printed:", *(f"  {line[:PRINTED_WIDTH]}" for line in lines)])
    return TestResult(test, status, output, timeline() if draws else "")


def fixtures(
    test: GradedTest, subject: Subject, given: ModuleType | None, seed: int
) -> dict[str, Any]:
    """What a test may ask for by parameter name.

    ``rng`` follows from the answers' source, so that a sum of remembered results does not help,
    and yet the same answers always get the same verdict.
    """
    rng = np.random.default_rng([seed, subject.seed, zlib.crc32(test.name.encode())])
    return {"impl": subject.allowing(test.may_use), "given": given, "rng": rng}


def _verdict(
    test: GradedTest, subject: Subject, given: ModuleType | None, seed: int
) -> tuple[Status, str]:
    try:
        offered = fixtures(test, subject, given, seed)
        wanted = inspect.signature(test.function).parameters
        if "spyrelab.emulator" in test.may_use:
            prepare()
        with time_limit(test.seconds):
            test.function(**{name: offered[name] for name in wanted})
    except TimeLimitError:
        return Status.TIMED_OUT, time_out(test.seconds)
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        return classify(error, test.task)
    return Status.PASSED, ""


def classify(error: BaseException, task: str) -> tuple[Status, str]:
    """The status that an exception stands for, and what to say."""
    if isinstance(error, AnswerError):
        cause = error.__cause__
        if isinstance(cause, NotImplementedError) and _message(cause) == task:
            return Status.NOT_STARTED, ""
        if isinstance(cause, GradeError):
            return Status.CRASHED, str(cause)
        return Status.CRASHED, _last_line(cause or error)
    if isinstance(error, OverBudgetError):
        return Status.OVER_BUDGET, str(error)
    if isinstance(error, WrongError):
        return Status.WRONG, str(error)
    return Status.CRASHED, _last_line(error)


def _message(error: BaseException) -> str:
    try:
        return str(error)
    except Exception as worse:  # the answer's own __str__
        return f"its message raised {type(worse).__name__}"


def _last_line(error: BaseException) -> str:
    """Type and message, and the deepest line outside this package that led there."""
    text = f"{type(error).__name__}: {_message(error)}"
    if isinstance(error, SyntaxError):
        return f"{text}\n  {(error.text or '').strip()}"
    own = [
        frame
        for frame in traceback.extract_tb(error.__traceback__)
        if not frame.filename.startswith((str(PACKAGE), "<frozen"))
    ]
    if not own:
        return text
    return f"{text}\n  line {own[-1].lineno}, in {own[-1].name}: {own[-1].line}"
