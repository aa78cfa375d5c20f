"""Grades a chapter: tests run in another process, which is replaced when it hangs or dies."""

from __future__ import annotations

import contextlib
import os
import secrets
import signal
import subprocess
import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from spyrelab.grade.channel import Events, relay
from spyrelab.grade.clock import time_out
from spyrelab.grade.outcome import Status, TaskResult, TestResult, by_task
from spyrelab.grade.stubs import untouched
from spyrelab.grade.task import GradedTest, graded_tests
from spyrelab.grade.tree import Chapter, GradeError, find_chapter, subject_file

DRAWS = "SPYRELAB_GRADE_TIMELINE"
"""Set for workers whose results are drawn."""

GRACE = 2.0
"""Seconds that a worker has beyond a test's own alarm before it is stopped from outside."""

STARTUP = 120.0
"""Seconds that a worker has to start."""

Listener = Callable[[TestResult], None]


@dataclass(frozen=True)
class _Order:
    """What a worker is asked to run."""

    chapter: Chapter
    answers: Path
    seed: int
    seconds: float
    draws: bool = False

    @property
    def environment(self) -> dict[str, str]:
        return {DRAWS: "1"} if self.draws else {}

    def command(self, tests: Sequence[GradedTest]) -> list[str]:
        files = os.pathsep.join(map(str, self.chapter.tests))
        parts = [files, self.chapter.given, self.answers, self.seed, self.seconds]
        parts += [test.name for test in tests]
        return [sys.executable, "-m", "spyrelab.grade.worker", *map(str, parts)]


def grade(
    chapter: str,
    implementation: str = "exercises",
    task: str | None = None,
    seed: int = 0,
    seconds: float = 0.0,
    on_result: Listener | None = None,
    draws: bool = False,
) -> list[TaskResult]:
    """Grade a chapter, or one of its tasks.

    Parameters
    ----------
    implementation : str
        ``exercises``, ``solutions``, or the path of a file or folder.
    seed : int
        Other sizes and values for the same answers.
    seconds : float
        Time limit of each test instead of its own.
    on_result : callable, optional
        Is told each test's result as soon as there is one.
    draws : bool
        Whether results get timelines of what the answers' programs would take.

    Raises
    ------
    GradeError
        No such chapter, task or answers, or what the chapter hands out cannot be imported.
    """
    found = find_chapter(chapter)
    tests = select(graded_tests(found.tests), task)
    order = _Order(found, subject_file(found, implementation), seed, seconds, draws)
    stubs = [test for test in tests if untouched(order.answers, test.task, test.subject)]
    begun = _results(order, [test for test in tests if test not in stubs])
    results = []
    for test in tests:
        result = TestResult(test, Status.NOT_STARTED) if test in stubs else next(begun)
        results.append(result)
        if on_result:
            on_result(result)
    return by_task(results)


def select(tests: Sequence[GradedTest], task: str | None) -> list[GradedTest]:
    """The tests of one task, or all."""
    chosen = [test for test in tests if task in (None, test.task)]
    if not chosen:
        known = ", ".join(dict.fromkeys(test.task for test in tests))
        raise GradeError(f"no task {task!r}; there are: {known}")
    return chosen


def _results(order: _Order, tests: Sequence[GradedTest]) -> Iterator[TestResult]:
    pending = deque(tests)
    while pending:
        with _Worker(order, pending) as worker:
            for result in worker.results():
                pending.popleft()
                yield result
        # What made a worker hang or die would do so again in the rest of its task.
        while pending and pending[0].task == result.test.task:
            yield replace(result, test=pending.popleft())


class _Worker:
    """One worker process and the lines that it writes."""

    def __init__(self, order: _Order, tests: Iterable[GradedTest]) -> None:
        self._order = order
        self._tests = list(tests)
        secret = secrets.token_hex()
        self._process = subprocess.Popen(
            order.command(self._tests),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
            env={**os.environ, **order.environment, "PYTHONPATH": _python_path()},
        )
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        assert self._process.stderr is not None
        with contextlib.suppress(BrokenPipeError), self._process.stdin as stream:
            stream.write(f"{secret}\n".encode())
        self._events = Events(self._process.stdout, secret)
        self._relay = relay(self._process.stderr)

    def __enter__(self) -> _Worker:
        return self

    def __exit__(self, *exception: object) -> None:
        self._kill()
        self._process.wait()
        self._relay.join(1.0)

    def _kill(self) -> None:
        if self._process.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                if hasattr(os, "killpg"):
                    os.killpg(self._process.pid, signal.SIGKILL)
                else:
                    self._process.kill()

    def results(self) -> Iterator[TestResult]:
        """Results in order; the last one is made up here if the worker hangs or dies."""
        for test in self._tests:
            limit = self._order.seconds or test.seconds
            wait: float | None = STARTUP
            while True:
                event = self._events.next(wait)
                if event is None:
                    yield self._verdict(test, limit)
                    return
                if event["event"] == "refused":
                    raise GradeError(event["why"])
                if event["event"] == "result":
                    verdict = Status(event["status"]), event["output"], event["timeline"]
                    yield TestResult(test, *verdict)
                    break
                wait = None if event["event"] == "pause" else limit + GRACE

    def _verdict(self, test: GradedTest, limit: float) -> TestResult:
        try:
            code = self._process.wait(0.2)
        except subprocess.TimeoutExpired:
            return TestResult(test, Status.TIMED_OUT, time_out(limit))
        name = signal.Signals(-code).name if code < 0 else f"exit code {code}"
        return TestResult(test, Status.CRASHED, f"the process that ran the answer ended: {name}")


def _python_path() -> str:
    checkout = str(Path(__file__).parents[2])
    return os.pathsep.join(filter(None, [checkout, os.environ.get("PYTHONPATH")]))
