"""Places in generated code, and where the lines come from that it was generated from.

Helion writes above each part of the Triton code that it generates which line that part is from::

    # src[kernels.py:28]: values = x[tile, :]
    values = tl.load(x + ...)

A reader knows that line, and has never seen the other.
"""

from __future__ import annotations

import linecache
import re
import sys
from functools import lru_cache
from itertools import chain
from pathlib import Path

from spyrelab.ktir.ir import (
    CallSiteLocation,
    FileLocation,
    FusedLocation,
    Location,
    NameLocation,
)
from spyrelab.triton.ttir.tree import TtirOperation

__all__ = ["origin_of", "to_origins"]

_NOTE = re.compile(r"\s*# src\[(?P<file>[^\]]+):(?P<line>\d+)(?:-\d+)?\]: ?(?P<text>.*)")
_HEADS = ("def ", "@")


def to_origins(module: TtirOperation) -> None:
    """Let every operation of a module say where it was written, not where it was generated."""
    known: dict[Location, Location] = {}
    for operation in module.walk():
        operation.location = _written(operation.location, known)
        for region in operation.regions:
            for block in region:
                for argument in block.arguments:
                    argument.location = _written(argument.location, known)


def _written(place: Location | None, known: dict[Location, Location]) -> Location | None:
    if place is None:
        return None
    found = known.get(place)
    if found is None:
        found = known[place] = _find(place, known)
    return found


def _find(place: Location, known: dict[Location, Location]) -> Location:
    match place:
        case FileLocation(file, line, _):
            return origin_of(file, line) or place
        case NameLocation(name, child):
            return NameLocation(name, _written(child, known))
        case CallSiteLocation(callee, caller):
            inner, outer = _written(callee, known), _written(caller, known)
            return CallSiteLocation(inner or callee, outer or caller)
        case FusedLocation(parts):
            return FusedLocation(tuple(_written(part, known) or part for part in parts))
    return place


def origin_of(file: str, line: int) -> FileLocation | None:
    """Where a line of generated code comes from; None where nothing says so."""
    lines = linecache.getlines(file)
    at = min(line, len(lines)) - 1
    if at >= 0 and lines[at].startswith(_HEADS):
        # The function as a whole: what it begins with.
        found = next((number for number in range(at, len(lines)) if _NOTE.match(lines[number])), -1)
        return origin_of(file, found + 1) if found >= 0 else None
    for above in range(at, -1, -1):
        if lines[above].startswith(_HEADS):
            return None
        note = _NOTE.match(lines[above])
        if note is None:
            continue
        # A loop is introduced by all of its lines; the first is the loop's own.
        while _is_inner(note) and above and (earlier := _NOTE.match(lines[above - 1])):
            note, above = earlier, above - 1
        return _place(note["file"], int(note["line"]), note["text"].strip())
    return None


def _is_inner(note: re.Match[str]) -> bool:
    return note["text"].startswith(" ") or note["text"] == "..."


def _place(name: str, line: int, text: str) -> FileLocation:
    """The line in full, where the file is one that this process has loaded."""
    for file in _loaded(name, len(sys.modules), len(linecache.cache)):
        found = linecache.getline(file, line)
        if found.strip() == text:
            return FileLocation(file, line, len(found) - len(found.lstrip()) + 1)
    return FileLocation(name, line, 1)


@lru_cache(maxsize=64)
def _loaded(name: str, modules: int, read: int) -> tuple[str, ...]:
    """Files of a name, as long as this many modules are loaded and this many files were read."""
    # Some modules have a __file__ that is no string.
    files = (str(getattr(module, "__file__", None)) for module in list(sys.modules.values()))
    named = (file for file in chain(files, list(linecache.cache)) if file.endswith(name))
    return tuple(dict.fromkeys(file for file in named if Path(file).name == name))
