"""Where the results of a bench go: formats paired with files, standard output, a picture."""

from __future__ import annotations

import io
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING

from spyrelab.bench.formats import SUFFIXES, to_csv, to_json, to_markdown
from spyrelab.bench.table import make_table
from spyrelab.commands.output import print_json, print_line, print_table, require_place
from spyrelab.errors import UsageError

if TYPE_CHECKING:
    from spyrelab.bench.compare import Change, Comparison
    from spyrelab.bench.results import Results

__all__ = ["pair_outputs", "print_comparison", "write_outputs"]

Output = tuple[str, str | None]
"""A format and its file, None for standard output."""


def pair_outputs(given: Sequence[str | tuple[str]]) -> list[Output]:
    """Formats (str) and files (1-tuples) in the order of the command line, as pairs.

    A file takes the format right before it, else the one its suffix names. If everything goes
    to files, standard output gets the table too.
    """
    pairs: list[Output] = []
    for item in given:
        if isinstance(item, str):
            pairs.append((item, None))
        elif pairs and pairs[-1][1] is None:
            pairs[-1] = pairs[-1][0], item[0]
        else:
            pairs.append((_format_of(item[0]), item[0]))
    pairs = _join_late_formats(pairs)
    if all(file is not None for _, file in pairs):
        pairs.insert(0, ("table", None))
    for _, file in pairs:
        if file is not None:
            require_place(file)
    return pairs


def _join_late_formats(pairs: list[Output]) -> list[Output]:
    """``-o x.json --format json`` means one output, not two."""
    files = {chosen for chosen, file in pairs if file is not None}
    return [p for p in dict.fromkeys(pairs) if p[1] is not None or p[0] not in files]


def _format_of(file: str) -> str:
    chosen = SUFFIXES.get(Path(file).suffix.lower())
    if chosen is None:
        raise UsageError(f"{file}: give a --format before -o, or a suffix of {', '.join(SUFFIXES)}")
    return chosen


def write_outputs(results: Results, outputs: Sequence[Output], plot: str | None) -> None:
    """Write files first, so that a reader who leaves standard output early loses nothing.

    Raises
    ------
    UsageError
        A file cannot be written; all others are, and standard output has its part.
    """
    try:
        _write_files(results, outputs, plot)
    finally:
        for chosen, file in outputs:
            if file is None:
                _show(results, chosen)


def _write_files(results: Results, outputs: Sequence[Output], plot: str | None) -> None:
    failed: list[str] = []
    for chosen, file in outputs:
        if file is not None:
            with _noting(file, failed):
                Path(file).write_text(_plain(results, chosen), encoding="utf-8")
    if plot:
        from spyrelab.bench.plot import draw_results

        with _noting(plot, failed):
            draw_results(results, plot)
    if failed:
        raise UsageError(f"not written: {'; '.join(failed)}")


@contextmanager
def _noting(file: str, failed: list[str]) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        failed.append(f"{file} ({error.strerror})")


def _plain(results: Results, chosen: str) -> str:
    with redirect_stdout(io.StringIO()) as text:
        _show(results, chosen)
    return text.getvalue()


def _show(results: Results, chosen: str) -> None:
    if chosen == "table":
        _show_table(results)
    else:
        write = {"md": to_markdown, "csv": to_csv, "json": to_json}[chosen]
        sys.stdout.write(write(results))


def _show_table(results: Results) -> None:
    table = make_table(results)
    print_line(table.title, "bold")
    print_line()
    print_table(table.columns, table.rows, right=table.right, wrap=("case",))
    if table.remarks:
        print_line()
    for remark in table.remarks:
        print_line(remark)


def print_comparison(found: Comparison, as_json: bool) -> None:
    """Regressions and other changes of emulated numbers, then host times."""
    if as_json:
        changes = [_change(change) for change in found.changes]
        document = {"schema": 1, "rows": found.rows, "same_machine": found.same_machine}
        print_json({**document, "regressions": len(found.regressions), "changes": changes})
        return
    if not found.same_machine:
        print_line("The two results describe different machines.", "bold")
    rows = [
        (
            *change.key,
            change.metric,
            _number(change.old),
            _number(change.new),
            _by(change),
            change.verdict,
        )
        for change in sorted(found.changes, key=lambda change: not change.regression)
    ]
    if rows:
        columns = ("chapter", "case", "impl", "metric", "old", "new", "change", "verdict")
        print_table(columns, rows, right=("old", "new", "change"))
    count = len(found.regressions)
    print_line(f"{found.rows} rows compared, {count} regression{'' if count == 1 else 's'}.")


def _change(change: Change) -> dict[str, object]:
    chapter, case, impl = change.key
    worse = change.worse_by
    return {
        "chapter": chapter,
        "case": case,
        "impl": impl,
        "metric": change.metric,
        "old": change.old,
        "new": change.new,
        "worse_by": worse if worse is None or abs(worse) < float("inf") else None,
        "verdict": change.verdict,
    }


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.6g}" if isinstance(value, float) else f"{value:,}"


def _by(change: Change) -> str:
    if change.old is None or change.new is None or not change.old:
        return ""
    return f"{(change.new - change.old) / change.old:+.1%}"
