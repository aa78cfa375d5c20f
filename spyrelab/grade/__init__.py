"""Grading: the exercises of the book, their tests, and what a reader is told about an answer.

Tests of a chapter are plain functions marked with `task`.  They ask for ``impl`` (the answers),
``given`` (the programs that the chapter hands out) and ``rng``, and complain through `expect_close`
and its relatives.  ``spyrelab grade``, ``pytest exercises/`` and `check` run the same functions.
"""

from spyrelab.grade.expect import (
    OverBudgetError,
    WrongError,
    expect_at_least,
    expect_at_most,
    expect_close,
    expect_equal,
)
from spyrelab.grade.notebook import check
from spyrelab.grade.outcome import Status, TaskResult
from spyrelab.grade.programs import estimate_program, expect_work, run_program, scratchpad_peak
from spyrelab.grade.session import grade
from spyrelab.grade.task import task
from spyrelab.grade.tree import GradeError, given

__all__ = [
    "GradeError",
    "OverBudgetError",
    "Status",
    "TaskResult",
    "WrongError",
    "check",
    "estimate_program",
    "expect_at_least",
    "expect_at_most",
    "expect_close",
    "expect_equal",
    "expect_work",
    "given",
    "grade",
    "run_program",
    "scratchpad_peak",
    "task",
]
