"""A program as HTML for notebooks: numbered lines, each with a link to where it came from."""

from __future__ import annotations

import hashlib
import linecache
import re
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

from spyrelab.ktir.printer import dumps

if TYPE_CHECKING:
    from spyrelab.ktir.ir import Module

__all__ = ["module_html"]

_PLACE = re.compile(r'"((?:[^"\\]|\\.)*)":(\d+):\d+')
"""In a location. Of a call, the caller comes last, which is what a reader wrote."""

MOST_LINES = 2_000
"""A notebook keeps what it shows."""


def module_html(module: Module) -> str:
    """A program with numbered lines; where it came from other source, each line leads there."""
    text = dumps(module)
    lines = text.splitlines()
    # Folders do not count: a notebook is the same wherever it was executed.
    named = _PLACE.sub(lambda place: Path(place[1]).name, text)
    mark = hashlib.sha256(named.encode()).hexdigest()[:8]
    places: dict[tuple[str, int], str] = {}
    shown = []
    for number, line in enumerate(lines[:MOST_LINES], 1):
        link = ""
        code, loc, location = line.partition(" loc(")
        found = _PLACE.findall(location) if loc else []
        if found:
            place = found[-1][0], int(found[-1][1])
            anchor = places.setdefault(place, f"{mark}-s{len(places)}")
            name = f"{Path(place[0]).name}:{place[1]}"
            link = f"  <a href='#{anchor}'>{escape(name)}</a>"
        text = code if found else line
        shown.append(f"<span id='{mark}-{number}'>{number:5}  {escape(text)}{link}</span>")
    if len(lines) > MOST_LINES:
        shown.append(f"       ... {len(lines) - MOST_LINES:,} lines more")
    style = "line-height:1.35;overflow-x:auto;font-size:12px"
    page = f"<pre style='{style}'>" + "\n".join(shown) + "</pre>"
    source = [_source_line(place, anchor) for place, anchor in sorted(places.items())]
    if any(source):
        page += f"<details open><summary>source</summary><pre style='{style}'>"
        page += "\n".join(line for line in source if line) + "</pre></details>"
    return f"<div>{page}</div>"


def _source_line(place: tuple[str, int], anchor: str) -> str:
    file, number = place
    text = linecache.getline(file, number).rstrip()
    return f"<span id='{anchor}'>{escape(Path(file).name)}:{number:<5} {escape(text)}</span>"
