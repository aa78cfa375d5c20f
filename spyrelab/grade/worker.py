"""The process that runs tests for `spyrelab.grade.session`: one JSON line per event.

``python -m spyrelab.grade.worker TESTS GIVEN ANSWERS SEED SECONDS NAME...``

The first line of standard input is a word that every event repeats: a line without it was written
by an answer, and is none.
"""

from __future__ import annotations

import json
import os
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

from spyrelab.grade.clock import on_pause
from spyrelab.grade.judge import judge
from spyrelab.grade.outcome import Status, TestResult
from spyrelab.grade.session import DRAWS
from spyrelab.grade.subject import Subject
from spyrelab.grade.task import graded_tests
from spyrelab.grade.tree import lend, load_module


def main(arguments: list[str]) -> None:
    """Run the tests called NAME and report each start, pause and result."""
    tests, given, answers, seed, seconds, *names = arguments
    # The channel is a copy of standard output: what answers print must not get into it.
    channel = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    secret = sys.stdin.readline().strip()

    def report(**event: Any) -> None:
        channel.write(json.dumps({**event, "secret": secret}) + "\n")
        channel.flush()

    on_pause(lambda paused: report(event="pause" if paused else "resume"))
    subject = Subject.of_file(Path(answers))
    try:
        lend(Path(given))
        programs = load_module(Path(given)) if Path(given).is_file() else None
    except ModuleNotFoundError as error:
        report(
            event="refused", why=f"{Path(given).name} needs {error.name}, which is not installed"
        )
        return
    result: TestResult | None = None
    for test in graded_tests(map(Path, tests.split(os.pathsep))):
        if test.name not in names:
            continue
        report(event="start", test=test.name)
        # What ran too long once would do so again in the rest of its task.
        if not (result and result.status is Status.TIMED_OUT and result.test.task == test.task):
            limited = replace(test, seconds=float(seconds) or test.seconds)
            try:
                result = judge(limited, subject, programs, int(seed), DRAWS in os.environ)
            except KeyboardInterrupt:  # of the answer's making: terminals do not reach this process
                result = TestResult(test, Status.CRASHED, "the answer raised KeyboardInterrupt")
        report(
            event="result",
            test=test.name,
            status=result.status,
            output=result.output,
            timeline=result.timeline,
        )


if __name__ == "__main__":
    main(sys.argv[1:])
