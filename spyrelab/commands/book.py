"""``spyrelab book``: the site, JupyterLab in a working copy, notebooks made from their sources."""

from __future__ import annotations

import argparse
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from spyrelab.commands.output import print_json, print_line, print_table
from spyrelab.errors import UsageError

if TYPE_CHECKING:
    from spyrelab.book import Report

__all__ = ["register", "run"]


def register(subparsers: Any) -> None:
    """Add the verb to the command line."""
    parser = subparsers.add_parser(
        "book",
        help="read the book in a browser or in JupyterLab; make it from its sources",
        description="build: make the web site from the committed notebooks, without running them"
        " and without a network. serve: show it on this machine only. lab: open JupyterLab in a"
        " working copy, where your files are never overwritten. sync: run chapters, edited as"
        " book/chNN_slug.py, and write their notebooks; with --check it writes nothing and"
        " compares. Exit code 1 when something does not agree.",
    )
    parser.add_argument("action", nargs="?", choices=tuple(ACTIONS), help="what to do")
    parser.add_argument(
        "chapter", nargs="*", help="such as ch01; for sync (default: all) and lab (default: ch01)"
    )
    parser.add_argument(
        "--check", action="store_true", help="sync: do sources, outputs, time and size agree?"
    )
    parser.add_argument(
        "--out", type=Path, metavar="DIR", help="build, serve: folder of the site (build/site)"
    )
    parser.add_argument("--port", type=int, default=8000, help="serve: 0 takes any that is free")
    parser.add_argument(
        "--dir", type=Path, help="lab: folder of the working copy (~/spyrelab-book)"
    )
    parser.add_argument("--copy-only", action="store_true", help="lab: open nothing")
    parser.add_argument("--json", action="store_true", help="one JSON document")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Do what was asked for."""
    if args.action is None:
        raise UsageError(f"say what to do: spyrelab book {'|'.join(ACTIONS)}")
    if args.action in ("build", "serve") and args.chapter:
        raise UsageError(f"{args.action} takes no chapters: a site has all of them")
    return ACTIONS[args.action](args)


def _sync(args: argparse.Namespace) -> int:
    from spyrelab.book import chapters, check, find_chapter, sync

    wanted = [find_chapter(name) for name in args.chapter] or chapters()
    reports = []
    for chapter in wanted:
        with _progress(f"{'checking' if args.check else 'running'} {chapter.source.name}"):
            reports.append(check(chapter) if args.check else sync(chapter))
    if args.json:
        print_json({"chapters": [_as_json(report) for report in reports]})
    else:
        _print(reports)
    return 0 if all(report.passed for report in reports) else 1


def _build(args: argparse.Namespace) -> int:
    from spyrelab.book.site import build_site

    with _progress("building the site"):
        site = build_site(args.out)
    if args.json:
        print_json({"folder": str(site.folder), "pages": site.pages})
    else:
        print_line(f"{site.pages} pages in {site.folder}; 'spyrelab book serve' shows them")
    return 0


def _serve(args: argparse.Namespace) -> int:
    from spyrelab.book.serving import open_server
    from spyrelab.book.site import site_folder

    with open_server(args.out or site_folder(), args.port) as server:
        address = f"http://127.0.0.1:{server.server_address[1]}"
        if args.json:
            print_json({"address": address})
        else:
            print_line(f"{address} (Ctrl-C ends)")
        sys.stdout.flush()
        server.serve_forever()
    return 0


def _lab(args: argparse.Namespace) -> int:
    from spyrelab.book import find_chapter
    from spyrelab.book.working_copy import make_working_copy

    if len(args.chapter) > 1:
        raise UsageError("lab opens one chapter")
    if not args.copy_only and find_spec("jupyterlab") is None:
        raise UsageError("jupyterlab is not installed: pip install jupyterlab, or use --copy-only")
    chapter = find_chapter(args.chapter[0] if args.chapter else "ch01")
    copy = make_working_copy(args.dir)
    if args.json:
        print_json({"folder": str(copy.folder), "added": copy.added, "kept": copy.kept})
    else:
        print_line(f"{copy.folder}: {copy.added} files added, {copy.kept} left as they were")
    if args.copy_only:
        return 0
    sys.stdout.flush()
    notebook = copy.folder / "book" / chapter.notebook.name
    root = f"--ServerApp.root_dir={copy.folder}"
    command = [sys.executable, "-m", "jupyter", "lab", root, str(notebook)]
    return subprocess.run(command, cwd=copy.folder, check=False).returncode


ACTIONS: dict[str, Callable[[argparse.Namespace], int]] = {
    "build": _build,
    "serve": _serve,
    "lab": _lab,
    "sync": _sync,
}


@contextmanager
def _progress(text: str) -> Iterator[None]:
    """A line that goes away, on a terminal only."""
    if not sys.stderr.isatty():
        yield
        return
    from rich.console import Console

    with Console(stderr=True).status(f"{text} ..."):
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
