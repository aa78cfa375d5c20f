"""The program of an answer that a test ran last, to be drawn as a timeline."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from spyrelab.errors import SpyreLabError

if TYPE_CHECKING:
    from spyrelab.ktir import Module
    from spyrelab.timing import Estimate

__all__ = ["forget", "note_estimate", "note_program", "timeline"]

MOST_TEXT = 400_000
"""Characters of a drawing: a notebook keeps it."""

_last: list[Callable[[], Any]] = []


def forget() -> None:
    """Before a test."""
    _last.clear()


def note_program(module: Module) -> None:
    """A test runs this program."""

    def later() -> Any:
        from spyrelab.timing import estimate

        return estimate(module)

    _last[:] = [later]


def note_estimate(found: Estimate) -> None:
    """A test asked what a launch would take."""
    _last[:] = [lambda: found]


def timeline() -> str:
    """The last program's timeline as HTML; empty if there is none, or its time depends on data."""
    if not _last:
        return ""
    from spyrelab.viz.timeline_svg import timeline_svg

    try:
        drawn = timeline_svg(_last[0](), cores=1)
    except SpyreLabError:
        return ""
    return drawn if len(drawn) <= MOST_TEXT else ""
