"""Whoever wants to see what is compiled: a list of everything, while it is open."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

__all__ = ["Seen", "observed", "watchers"]


@dataclass(eq=False)
class Seen:
    """What was seen of compilations.

    Attributes
    ----------
    graphs, codes : list of str
        Each graph that Inductor was given, and each module that it wrote.
    bundles : list of (Recorded, Recorded)
        Each run of native operations, before planning and after.
    passes : list of list of (str, tuple of str)
        For each of these runs the passes in order, and what each changed in words.
    programs : list of Program
        Each program made of a plan.
    others : list of (str, str)
        Each operation that is no program, and why.
    timeline : Timeline
        Of a call, if there was one.
    """

    graphs: list[str] = field(default_factory=list)
    codes: list[str] = field(default_factory=list)
    bundles: list[tuple[Any, Any]] = field(default_factory=list)
    passes: list[list[tuple[str, tuple[str, ...]]]] = field(default_factory=list)
    programs: list[Any] = field(default_factory=list)
    others: list[tuple[str, str]] = field(default_factory=list)
    timeline: Any = None


watchers: list[Seen] = []
"""Everybody who is looking."""


@contextlib.contextmanager
def observed() -> Iterator[Seen]:
    """See what is compiled, in any thread: backward passes are compiled in torch's own."""
    seen = Seen()
    watchers.append(seen)
    try:
        yield seen
    finally:
        watchers.remove(seen)
