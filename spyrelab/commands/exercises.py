"""``spyrelab exercises``: list what there is to do, or start a chapter's file again."""

from __future__ import annotations

import argparse
import subprocess
from pathlib import Path
from typing import Any

from spyrelab.commands.output import print_json, print_line, print_table
from spyrelab.errors import UsageError

__all__ = ["register", "run"]


def register(subparsers: Any) -> None:
    """Add the verb to the command line."""
    parser = subparsers.add_parser(
        "exercises",
        help="list the exercises, or start a chapter again",
        description="List the tasks of the exercises, or put a chapter's file back to how the"
        " checkout came, keeping yours beside it.",
    )
    parser.add_argument(
        "words",
        nargs="*",
        metavar="list|reset|chNN",
        help="list (the default) or reset, then a chapter such as ch01; reset needs one",
    )
    parser.add_argument("--json", action="store_true", help="one JSON document")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """List or reset."""
    from spyrelab.grade.tree import chapters, find_chapter

    resets = args.words[:1] == ["reset"]
    named = args.words[1:] if args.words[:1] in (["list"], ["reset"]) else args.words
    if resets:
        if len(named) != 1:
            raise UsageError("reset needs a chapter, such as ch01")
        return _reset(find_chapter(named[0]).exercises, args.json)
    wanted = named or chapters()
    rows = [row for name in wanted for row in _tasks(name)]
    if args.json:
        print_json({"exercises": rows})
    else:
        cells = [(r["task"], r["function"], str(r["points"]), r["file"]) for r in rows]
        print_table(("task", "function", "points", "file"), cells, right=("points",))
    return 0


def _tasks(chapter: str) -> list[dict[str, Any]]:
    from spyrelab.grade.task import graded_tests
    from spyrelab.grade.tree import find_chapter

    found = find_chapter(chapter)
    tasks: dict[str, dict[str, Any]] = {}
    for test in graded_tests(found.tests):
        row = {"task": test.task, "function": test.subject, "points": 0}
        tasks.setdefault(test.task, {**row, "file": f"exercises/{found.exercises.name}"})
        tasks[test.task]["points"] += test.points
    return list(tasks.values())


def _reset(path: Path, json: bool) -> int:
    command = ["git", "show", f"HEAD:./{path.name}"]
    try:
        shown = subprocess.run(command, cwd=path.parent, capture_output=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        raise UsageError(f"{path.name}: git has no earlier version of it here") from None
    kept = _free_name(path)
    kept.write_bytes(path.read_bytes())
    path.write_bytes(shown.stdout)
    if json:
        print_json({"reset": path.name, "kept": kept.name})
    else:
        print_line(f"{path.name} is as it came; yours is kept as {kept.name}")
    return 0


def _free_name(path: Path) -> Path:
    count = 1
    while (kept := path.with_name(f"{path.name}.{count}")).exists():
        count += 1
    return kept
