"""Plausible wrong answers fail, and the reader gets the hint that was meant for them."""

from __future__ import annotations

import inspect
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from spyrelab.grade import Status, check
from spyrelab.grade.task import graded_tests
from spyrelab.grade.tree import load_module

ROOT = Path(__file__).parents[2]
LEAST_PER_TASK = 3


def wrong_answers() -> list[tuple[str, Callable[..., Any]]]:
    found = []
    for path in sorted((ROOT / "tests" / "wrong").glob("ch[0-9][0-9]_*.py")):
        module = load_module(path)
        answers = [f for f in vars(module).values() if inspect.isfunction(f)]
        found += [
            (module.TASK, f) for f in answers if f.__module__ == module.__name__ and f.__doc__
        ]
    return found


ANSWERS = wrong_answers()


@pytest.mark.parametrize(
    ("task", "answer"), ANSWERS, ids=[f"{task}-{answer.__name__}" for task, answer in ANSWERS]
)
def test_a_wrong_answer_gets_its_hint(task: str, answer: Callable[..., Any]) -> None:
    status, hint = (answer.__doc__ or "").split(": ", 1)
    result = check(task, answer).result
    assert result.status == status, result.output
    assert result.hints[0].startswith(hint), result.output
    assert result.score < result.max_score


def test_every_task_has_wrong_answers() -> None:
    counts = Counter(task for task, _ in ANSWERS)
    for path in sorted((ROOT / "exercises").glob("test_ch*.py")):
        for task in {test.task for test in graded_tests([path])}:
            assert counts[task] >= LEAST_PER_TASK, task


def test_every_hint_is_earned_by_a_wrong_answer() -> None:
    """No graded test is there in vain: each is the first to fail for some wrong answer."""
    opened = {(task, (f.__doc__ or "").split(": ", 1)[1]) for task, f in ANSWERS}
    for path in sorted((ROOT / "exercises").glob("test_ch*.py")):
        for test in graded_tests([path]):
            known = [hint for task, hint in opened if task == test.task]
            assert any(test.hints[0].startswith(hint) for hint in known), test.name


def test_statuses_have_names() -> None:
    assert {str(status) for status in Status} >= {"not started", "wrong", "crashed", "over budget"}
