"""Tables and JSON on standard output: coloured on a terminal, plain text elsewhere."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Literal

from rich.cells import cell_len
from rich.console import Console
from rich.table import Table
from rich.text import Text

from spyrelab.errors import UsageError

__all__ = ["print_json", "print_line", "print_table", "require_place"]

WRAPPED = 10
"""Characters that a column which wraps needs to be readable, with the gap before it."""


def print_json(document: Any) -> None:
    """Write one JSON document; numbers that JSON does not know are an error."""
    sys.stdout.write(json.dumps(document, indent=2, allow_nan=False) + "\n")


def print_line(text: str = "", style: str = "") -> None:
    """Write one line, styled on a terminal; brackets in the text mean nothing."""
    if sys.stdout.isatty():
        Console(highlight=False).print(Text(text, style=style))
    else:
        sys.stdout.write(text + "\n")


def print_table(
    columns: Sequence[str],
    rows: Iterable[Sequence[str]],
    *,
    right: Sequence[str] = (),
    wrap: Sequence[str] = (),
) -> None:
    """Write a table; away from a terminal, aligned text that is never cut to a width.

    A terminal too narrow for the columns that do not wrap gets that text, too.

    Parameters
    ----------
    columns : sequence of str
        Headings.
    rows : iterable of sequences of str
        Cells, as many as columns.
    right : sequence of str
        Headings of the columns that are set flush right.
    wrap : sequence of str
        Headings of the columns that a narrow terminal may break over lines.
    """
    cells = [[str(cell) for cell in row] for row in rows]
    if not sys.stdout.isatty():
        sys.stdout.write(_format_plain(columns, cells, right))
        return
    console = Console(highlight=False)
    fixed = [column for column in columns if column not in wrap]
    kept = [[cell for cell, c in zip(row, columns, strict=True) if c in fixed] for row in cells]
    # Rich would leave out what does not fit.
    if _width(_format_plain(fixed, kept, right)) + WRAPPED * len(wrap) > console.width:
        sys.stdout.write(_format_plain(columns, cells, right))
        return
    table = Table(box=None, header_style="bold", pad_edge=False)
    for column in columns:
        side: Literal["left", "right"] = "right" if column in right else "left"
        table.add_column(column, justify=side, overflow="fold", no_wrap=column not in wrap)
    for row in cells:
        table.add_row(*(Text(cell) for cell in row))
    console.print(table)


def _width(text: str) -> int:
    return max(map(cell_len, text.splitlines()), default=0)


def _format_plain(columns: Sequence[str], cells: list[list[str]], right: Sequence[str]) -> str:
    widths = [max(map(len, column)) for column in zip(columns, *cells, strict=True)]
    text = ""
    for row in [list(columns), *cells]:
        padded = [
            cell.rjust(width) if column in right else cell.ljust(width)
            for column, cell, width in zip(columns, row, widths, strict=True)
        ]
        text += "  ".join(padded).rstrip() + "\n"
    return text


def require_place(file: str) -> None:
    """Say before a long run, not after it, that a file cannot be written.

    Raises
    ------
    UsageError
        Its folder is missing, or it is a folder.
    """
    if not Path(file).resolve().parent.is_dir():
        raise UsageError(f"{file}: there is no such folder")
    if Path(file).is_dir():
        raise UsageError(f"{file} is a folder")
