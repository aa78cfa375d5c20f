"""``spyrelab bench``: run kernels on the emulated card, check and time them; compare results."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from spyrelab.commands.output import print_json, print_line, print_table, require_place
from spyrelab.errors import UsageError

if TYPE_CHECKING:
    from spyrelab.bench.case import Case, Chapter
    from spyrelab.bench.session import Session

__all__ = ["register", "run"]

FORMATS = ("table", "md", "csv", "json")


def register(subparsers: Any) -> None:
    """Add the verb to the command line."""
    parser = subparsers.add_parser(
        "bench",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        help="run kernels on the emulated card, check them and time them",
        description="Run the kernels of a chapter on the emulated card and in PyTorch, check\n"
        "every result, and show times, ratios, bytes moved and scratchpad use.",
        usage="spyrelab bench [options] [CHAPTER ...]\n"
        "       spyrelab bench compare OLD.json NEW.json [--fail-above PERCENT]",
        epilog="compare: a number of the emulated card that got worse, a row that became wrong or\n"
        "is gone, is exit code 1; host times are listed and never judged. A bench exits with 1\n"
        "if a result is wrong. Ctrl-C writes the rows so far everywhere and exits with 130.",
    )
    parser.add_argument("names", nargs="*", metavar="CHAPTER", help="such as ch01; default all")
    what = parser.add_argument_group("what is run")
    what.add_argument(
        "--quick", action="store_true", help="a minute or two: fewer cases, the reference on less"
    )
    what.add_argument("--all", action="store_true", help="every chapter, which is the default")
    what.add_argument(
        "--case",
        action="append",
        default=[],
        metavar="NAME",
        help="only cases whose name contains NAME (or matches it, with *); may be repeated",
    )
    what.add_argument("--impl", metavar="A,B", help="only these implementations")
    what.add_argument("--baseline", metavar="A", help="what ratios refer to; default the first")
    what.add_argument(
        "--threads",
        type=int,
        metavar="N",
        help="host threads; default SPYRELAB_THREADS, else the number of CPUs",
    )
    what.add_argument("--repeats", type=int, default=None, metavar="N", help="at least 7")
    what.add_argument(
        "--keep-going",
        action="store_true",
        help="an implementation that fails is a row, not the end",
    )
    what.add_argument(
        "--resume",
        metavar="FILE.json",
        help="keep finished cases in a file, and take from it those that it has",
    )
    what.add_argument("--list", action="store_true", help="show chapters, cases, implementations")
    output = parser.add_argument_group("what comes out")
    output.add_argument(
        "--format",
        dest="outputs",
        action="append",
        default=[],
        choices=FORMATS,
        help="may be repeated; to standard output, or to the -o that follows",
    )
    output.add_argument(
        "-o",
        "--output",
        dest="outputs",
        action=_File,
        metavar="FILE",
        help="write to a file; without a --format the suffix chooses one",
    )
    output.add_argument("--json", action="store_true", help="the same as --format json")
    output.add_argument(
        "--report",
        metavar="DIR",
        help="write a page with all tables and pictures, and go on there after an interruption",
    )
    output.add_argument("--plot", metavar="FILE", help="draw host times (png, pdf, svg)")
    output.add_argument(
        "--trace",
        metavar="FILE",
        help="write the predicted timelines of all cases (JSON for ui.perfetto.dev)",
    )
    parser.add_argument(
        "--fail-above",
        metavar="PERCENT",
        help="compare: what may get worse, such as 0%% (default) or 2%%",
    )
    parser.set_defaults(run=run)


class _File(argparse.Action):
    """Put the file behind the formats given so far, in one list, so that pairs can be found."""

    def __call__(self, parser: Any, namespace: Any, values: Any, option: Any = None) -> None:
        namespace.outputs = [*namespace.outputs, (str(values),)]


def run(args: argparse.Namespace) -> int:
    """Bench, list, or compare."""
    if args.names[:1] == ["compare"]:
        return _compare(args)
    if args.fail_above is not None:
        raise UsageError("--fail-above belongs to 'spyrelab bench compare OLD.json NEW.json'")
    if args.all and args.names:
        raise UsageError(f"either --all or {' '.join(args.names)}, not both")
    from spyrelab.bench.registry import select_chapters

    chapters = select_chapters(args.names)
    return _list(chapters, args.json) if args.list else _bench(args, chapters)


def _list(chapters: list[Chapter], as_json: bool) -> int:
    if as_json:
        document = [
            {
                "chapter": chapter.name,
                "implementations": chapter.implementations,
                "cases": [case.name for case in chapter.cases],
            }
            for chapter in chapters
        ]
        print_json({"schema": 1, "chapters": document})
        return 0
    for chapter in chapters:
        print_line(f"{chapter.name}: {chapter.title}", "bold")
        print_line(f"  implementations, baseline first: {', '.join(chapter.implementations)}")
        rows = [
            (
                f"  {case.name}",
                case.reduced.shape if case.reduced else "",
                _when(case),
            )
            for case in chapter.cases
        ]
        print_table(("  case", "reduced for the reference", "when"), rows)
    return 0


def _when(case: Case) -> str:
    if case.detail:
        return "left out by --quick"
    return "always" if case.slow else "with --quick" if case.reduced else ""


def _bench(args: argparse.Namespace, chapters: list[Chapter]) -> int:
    from spyrelab.bench.harness import count_left_out, plan
    from spyrelab.bench.registry import require_cases, select_implementations
    from spyrelab.bench.report import ROWS
    from spyrelab.bench.session import Session, host_threads
    from spyrelab.commands.bench_output import pair_outputs

    outputs = pair_outputs([*args.outputs, *(["json"] if args.json else [])])
    if args.plot:
        from spyrelab.bench.plot import require_picture

        require_place(args.plot)
        require_picture(args.plot)
    if args.report:
        args.resume = args.resume or str(_report_folder(args.report) / ROWS)
    if args.resume:
        require_place(args.resume)
    names = select_implementations(chapters, args.impl.split(",") if args.impl else [])
    if args.trace:
        _require_programs(args.trace, names)
    baseline = args.baseline or names[0]
    if baseline not in names:
        raise UsageError(f"the baseline {baseline!r} is not run; that is {', '.join(names)}")
    require_cases(chapters, args.case)
    jobs = plan(chapters, names, args.case, args.quick)
    left_out = count_left_out(chapters, names, args.case, args.quick)
    threads = host_threads(args.threads)
    session = Session(jobs, threads, baseline, args.repeats, args.keep_going, left_out, args.resume)
    try:
        session.run()
    except BaseException:  # Ctrl-C, above all
        if session.results.rows:
            session.results.environment["interrupted"] = True
            _write(session, outputs, args)
        raise
    _write(session, outputs, args)
    return 0 if session.results.correct else 1


def _report_folder(name: str) -> Path:
    folder = Path(name)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"--report {name}: {error.strerror}") from None
    return folder


def _require_programs(trace: str, names: list[str]) -> None:
    from spyrelab.bench.attention import ATTENTION
    from spyrelab.bench.predictions import WITHOUT_PROGRAM

    require_place(trace)
    if {*WITHOUT_PROGRAM, *ATTENTION}.issuperset(names):
        raise UsageError(f"--trace: {', '.join(names)} runs no program of the card to be drawn")


def _write(session: Session, outputs: list[Any], args: argparse.Namespace) -> None:
    from spyrelab.commands.bench_output import write_outputs

    try:
        if args.trace:
            from spyrelab.bench.trace import write_results

            write_results(session.results, session.jobs, args.trace)
    finally:  # a trace that cannot be written costs no result
        try:
            if args.report:
                from spyrelab.bench.report import write_report

                page = write_report(session.results, args.report)
                print(f"wrote {page}", file=sys.stderr)
        finally:
            write_outputs(session.results, outputs, args.plot)


def _compare(args: argparse.Namespace) -> int:
    from spyrelab.bench.compare import compare
    from spyrelab.bench.results import read_results
    from spyrelab.commands.bench_output import print_comparison

    if len(args.names) != 3:
        raise UsageError("compare takes two files: spyrelab bench compare OLD.json NEW.json")
    old, new = (read_results(path) for path in args.names[1:])
    found = compare(old, new, _percent(args.fail_above or "0%"))
    print_comparison(found, args.json)
    return 1 if found.regressions else 0


def _percent(text: str) -> float:
    try:
        value = float(text.removesuffix("%"))
    except ValueError:
        value = -1.0
    if not 0 <= value < float("inf"):
        raise UsageError(f"--fail-above {text!r} is not a percentage from 0% up, such as 2%")
    return value / 100
