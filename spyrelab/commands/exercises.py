"""``spyrelab exercises``: list what there is to do, start a file again, hand out a bundle."""

from __future__ import annotations

import argparse
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from spyrelab.commands.output import print_json, print_line, print_table
from spyrelab.errors import UsageError

__all__ = ["register", "run"]

ACTIONS = ("list", "reset", "export")


def register(subparsers: Any) -> None:
    """Add the verb to the command line."""
    parser = subparsers.add_parser(
        "exercises",
        help="list the exercises, or start a chapter again",
        description="List the tasks of the exercises; put a chapter's file back to how it came,"
        " keeping yours beside it; or write a bundle for students: chapters, exercises and tests,"
        " without answers.",
    )
    parser.add_argument(
        "words",
        nargs="*",
        metavar="list|reset|export|chNN",
        help="list (the default) or reset, then a chapter such as ch01, which reset needs; or"
        " export, then a folder",
    )
    parser.add_argument("--json", action="store_true", help="one JSON document")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """List or reset."""
    from spyrelab.grade.tree import chapters, find_chapter

    resets = args.words[:1] == ["reset"]
    named = args.words[1:] if args.words[:1] in (["list"], ["reset"]) else args.words
    if args.words[:1] == ["export"]:
        return _export(args.words[1:], args.json)
    for word in args.words[:1]:
        close = get_close_matches(word, ACTIONS, n=1)
        if close and word not in ACTIONS:
            raise UsageError(f"no action {word!r}; did you mean {close[0]}?")
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
    from spyrelab.grade.handed_out import pristine

    content = pristine(path)
    kept = _free_name(path)
    kept.write_bytes(path.read_bytes())
    path.write_bytes(content)
    if json:
        print_json({"reset": path.name, "kept": kept.name})
    else:
        print_line(f"{path.name} is as it came; yours is kept as {kept.name}")
    return 0


def _export(words: list[str], json: bool) -> int:
    from spyrelab.grade.bundle import export

    if len(words) != 1:
        raise UsageError("export needs a folder that does not exist yet, or is empty")
    target = Path(words[0])
    written = export(target)
    if json:
        print_json({"exported": [str(path.relative_to(target)) for path in written]})
    else:
        print_line(f"{target}: {len(written)} files for students, without answers; see README.md")
    return 0


def _free_name(path: Path) -> Path:
    count = 1
    while (kept := path.with_name(f"{path.name}.{count}")).exists():
        count += 1
    return kept
