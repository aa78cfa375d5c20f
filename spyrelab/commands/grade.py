"""``spyrelab grade``: run the graded tests on answers, and say how far they are."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from spyrelab.commands.output import print_json, print_line, print_table, require_place
from spyrelab.errors import UsageError

if TYPE_CHECKING:
    from spyrelab.grade.outcome import TaskResult, TestResult
    from spyrelab.grade.session import Listener

__all__ = ["register", "run"]

STYLES = {"passed": "green", "not started": "dim"}


def register(subparsers: Any) -> None:
    """Add the verb to the command line."""
    parser = subparsers.add_parser(
        "grade",
        help="grade the exercises of a chapter",
        description="Run the graded tests of the exercises: status, points and a hint per task."
        " Each test has a time limit. Exit code 0 only at full score.",
    )
    parser.add_argument(
        "chapter", nargs="*", help="chapters, such as ch01, or tasks, such as ch01.2 (default: all)"
    )
    parser.add_argument("--all", action="store_true", help="every chapter, which is the default")
    parser.add_argument(
        "--impl",
        default="exercises",
        metavar="WHICH",
        help="exercises (default), solutions, or the path of a file or folder with answers",
    )
    parser.add_argument("--hint", type=int, default=1, metavar="N", help="show N hints per failure")
    parser.add_argument("--seed", type=int, default=0, help="other sizes and values")
    parser.add_argument(
        "--seconds", type=float, default=0.0, help="time limit of a test instead of its own"
    )
    parser.add_argument("--json", action="store_true", help="one JSON document for autograders")
    parser.add_argument("--junit", type=Path, metavar="FILE", help="also write JUnit XML")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Grade and report; 0 only at full score.  Interrupted, report what is graded."""
    from spyrelab.grade.outcome import by_task
    from spyrelab.grade.report import totals
    from spyrelab.grade.tree import chapters

    if not 0 <= args.seconds < float("inf") or args.hint < 0 or args.seed < 0:
        raise UsageError("--hint, --seed and --seconds are numbers from 0 up")
    if args.junit:
        require_place(str(args.junit))
    if args.all and args.chapter:
        raise UsageError(f"either --all or {' '.join(args.chapter)}, not both")
    wanted = args.chapter or chapters()
    edited = _edited(wanted)
    tests: list[TestResult] = []
    try:
        _grade(args, wanted, tests)
    except KeyboardInterrupt:
        if tests:
            _report(args, by_task(tests), edited, interrupted=True)
        raise
    results = by_task(tests)
    _report(args, results, edited)
    score, most = totals(results)
    return 0 if score == most else 1


def _report(
    args: argparse.Namespace,
    results: list[TaskResult],
    edited: list[str],
    interrupted: bool = False,
) -> None:
    from spyrelab.grade.report import as_json, as_junit, describe, summary

    if args.junit:
        args.junit.write_text(as_junit(results, "spyrelab"), encoding="utf-8")
    if args.json:
        stopped = {"interrupted": True} if interrupted else {}
        print_json({**as_json(results, args.hint), "edited": edited, **stopped})
    else:
        for result in results:
            _print(describe(result, args.hint), str(result.status))
        if len({_chapter(result) for result in results}) > 1:
            _print_points(results)
        print_line(summary(results) + (", then interrupted" if interrupted else ""), "bold")
        if edited:
            names = ", ".join(edited)
            print_line(f"Not as handed out: {names}. Points count with the tests as they came.")


def _edited(wanted: list[str]) -> list[str]:
    """Tests that are not as they came, of the chapters that are graded."""
    from spyrelab.grade.handed_out import edited
    from spyrelab.grade.tree import find_chapter

    names = dict.fromkeys(find_chapter(name.partition(".")[0]).name for name in wanted)
    return [file for name in names for file in edited(find_chapter(name))]


def _chapter(result: TaskResult) -> str:
    return result.name.partition(".")[0]


def _print_points(results: list[TaskResult]) -> None:
    """A line for each chapter."""
    rows = []
    for name in dict.fromkeys(map(_chapter, results)):
        mine = [result for result in results if _chapter(result) == name]
        done = sum(str(result.status) == "passed" for result in mine)
        score, most = sum(r.score for r in mine), sum(r.max_score for r in mine)
        rows.append((name, f"{done} of {len(mine)}", f"{score:g}", f"{most:g}"))
    print_line()
    print_table(("chapter", "tasks", "points", "of"), rows, right=("tasks", "points", "of"))
    print_line()


def _grade(args: argparse.Namespace, wanted: list[str], tests: list[TestResult]) -> None:
    """Add the result of each test to ``tests`` as soon as there is one."""
    from spyrelab.grade.session import grade

    with _progress() as show:

        def note(result: TestResult) -> None:
            tests.append(result)
            show(result)

        for name in wanted:
            chapter, dot, _ = name.partition(".")
            task = name if dot else None
            grade(chapter, args.impl, task, args.seed, args.seconds, note)


@contextmanager
def _progress() -> Iterator[Listener]:
    """A line that changes on a terminal, nothing elsewhere."""
    if not sys.stderr.isatty():
        yield lambda result: None
        return
    from rich.console import Console

    with Console(stderr=True).status("grading ...") as status:

        def show(result: TestResult) -> None:
            status.update(f"{result.test.task} {result.test.subject}: {result.status}")

        yield show


def _print(text: str, status: str) -> None:
    head, *rest = text.splitlines()
    print_line(head, STYLES.get(status, "red"))
    for line in rest:
        print_line(line)
