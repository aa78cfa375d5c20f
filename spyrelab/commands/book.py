"""``spyrelab book``: make the notebooks from their sources, or check that they agree."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from spyrelab.commands.output import print_json, print_line, print_table

if TYPE_CHECKING:
    from spyrelab.book import Chapter, Report

__all__ = ["register", "run"]


def register(subparsers: Any) -> None:
    """Add the verb to the command line."""
    parser = subparsers.add_parser(
        "book",
        help="make the notebooks from their sources, or check them",
        description="Chapters are edited as book/chNN_slug.py (percent format) and read as"
        " notebooks with outputs. 'sync' runs each chapter and writes its notebook; with --check"
        " it writes nothing and compares. Exit code 1 when something does not agree.",
    )
    parser.add_argument("action", choices=("sync",), help="make the notebooks")
    parser.add_argument("chapter", nargs="*", help="such as ch01 (default: all)")
    parser.add_argument(
        "--check", action="store_true", help="write nothing: sources, outputs, time and size agree?"
    )
    parser.add_argument("--json", action="store_true", help="one JSON document")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Sync or check the chapters that were named."""
    from spyrelab.book import chapters, check, find_chapter, sync

    wanted = [find_chapter(name) for name in args.chapter] or chapters()
    reports = []
    for chapter in wanted:
        with _progress(chapter, "checking" if args.check else "running"):
            reports.append(check(chapter) if args.check else sync(chapter))
    if args.json:
        print_json({"chapters": [_as_json(report) for report in reports]})
    else:
        _print(reports)
    return 0 if all(report.passed for report in reports) else 1


@contextmanager
def _progress(chapter: Chapter, verb: str) -> Iterator[None]:
    """A line that goes away, on a terminal only."""
    if not sys.stderr.isatty():
        yield
        return
    from rich.console import Console

    with Console(stderr=True).status(f"{verb} {chapter.source.name} ..."):
        yield


def _as_json(report: Report) -> dict[str, Any]:
    return {
        "chapter": report.chapter.name,
        "notebook": report.chapter.notebook.name,
        "passed": report.passed,
        "written": report.written,
        "seconds": round(report.seconds, 2),
        "bytes": report.bytes,
        "pictures": report.pictures,
        "problems": list(report.problems),
    }


def _print(reports: list[Report]) -> None:
    columns = ("chapter", "notebook", "state", "CPU s", "KB", "pictures")
    rows = [
        (
            report.chapter.name,
            report.chapter.notebook.name,
            _state(report),
            f"{report.seconds:.1f}",
            f"{report.bytes / 1000:.0f}",
            str(report.pictures),
        )
        for report in reports
    ]
    print_table(columns, rows, right=("CPU s", "KB", "pictures"))
    for report in reports:
        for problem in report.problems:
            print_line(f"{report.chapter.name}: {problem}", "red")


def _state(report: Report) -> str:
    if not report.passed:
        return "differs" if not report.written else "written, with problems"
    return "written" if report.written else "up to date"
