"""The marker of a graded test, and how marked tests are found."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from spyrelab.grade.tree import load_module

DEFAULT_SECONDS = 30.0
"""Time limit of one test, without the emulator's first compilation."""


@dataclass(frozen=True)
class GradedTest:
    """A test function and what it is worth.

    Attributes
    ----------
    name : str
        Of the test function.
    task, subject : str
        The task, such as ``ch01.2``, and the function that it asks for.
    hints : tuple of str
        For whoever fails this test first: a nudge, then a bigger one.
    may_use : tuple of str
        Packages that the answer may call although other answers may not.
    """

    name: str
    function: Callable[..., None]
    task: str
    subject: str
    points: int
    hints: tuple[str, ...]
    seconds: float
    may_use: tuple[str, ...]

    @property
    def purpose(self) -> str:
        """First line of the test's docstring."""
        return (inspect.getdoc(self.function) or self.name).splitlines()[0]


def task(
    name: str,
    subject: str,
    points: int = 1,
    hints: Sequence[str] = (),
    seconds: float = DEFAULT_SECONDS,
    may_use: Sequence[str] = (),
) -> Any:
    """Mark a test as part of a task; several tests may share one, in order of difficulty."""
    return pytest.mark.task(
        name,
        subject,
        points=points,
        hints=tuple(hints),
        seconds=seconds,
        may_use=tuple(may_use),
    )


def graded_test(function: Callable[..., None]) -> GradedTest | None:
    """The marked test behind a function, or None."""
    for mark in getattr(function, "pytestmark", ()):
        if mark.name == "task":
            name, subject = mark.args
            return GradedTest(function.__name__, function, name, subject, **mark.kwargs)
    return None


def graded_tests(files: Iterable[Path]) -> list[GradedTest]:
    """Every marked test of some files, in order."""
    functions = [value for path in files for value in vars(load_module(path)).values()]
    found = (graded_test(value) for value in functions if inspect.isfunction(value))
    return [test for test in found if test is not None]
