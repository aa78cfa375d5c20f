"""The chapters that can be measured: one file each in ``spyrelab/bench/chapters``."""

from __future__ import annotations

import difflib
import pkgutil
from collections.abc import Iterable, Mapping, Sequence
from fnmatch import fnmatchcase
from importlib import import_module

from spyrelab.bench import chapters as _chapters
from spyrelab.bench.case import Case, Chapter
from spyrelab.errors import UsageError

__all__ = [
    "all_cases",
    "all_chapters",
    "require_cases",
    "select_cases",
    "select_chapters",
    "select_implementations",
]


def all_chapters() -> Mapping[str, Chapter]:
    """Every chapter by name, in order."""
    names = sorted(module.name for module in pkgutil.iter_modules(_chapters.__path__))
    return {name: import_module(f"{_chapters.__name__}.{name}").CHAPTER for name in names}


def all_cases() -> dict[str, Case]:
    """Every case by name, those that stand in for a large one included."""
    found: dict[str, Case] = {}
    for chapter in all_chapters().values():
        for case in chapter.cases:
            for one in (case, case.reduced):
                if one is not None:
                    found.setdefault(one.name, one)
    return found


def select_chapters(names: Sequence[str]) -> list[Chapter]:
    """The chapters asked for, all if none is; UsageError for an unknown one."""
    known = all_chapters()
    for name in names:
        if name not in known:
            close = difflib.get_close_matches(name, known, n=1)
            hint = f"did you mean {close[0]}?" if close else f"there is {', '.join(known)}"
            raise UsageError(f"no chapter {name!r} to measure; {hint}")
    return [chapter for name, chapter in known.items() if not names or name in names]


def select_implementations(chapters: Iterable[Chapter], names: Sequence[str]) -> list[str]:
    """The implementations asked for, in the order of the chapters' own lists."""
    known = list(dict.fromkeys(name for chapter in chapters for name in chapter.implementations))
    for name in names:
        if name not in known:
            raise UsageError(f"no implementation {name!r}; there is {', '.join(known)}")
    return [name for name in known if not names or name in names]


def select_cases(chapter: Chapter, patterns: Sequence[str]) -> list[Case]:
    """The cases whose name contains, or matches, one of the patterns; all without patterns."""
    return [case for case in chapter.cases if not patterns or _matches(case.name, patterns)]


def require_cases(chapters: Sequence[Chapter], patterns: Sequence[str]) -> None:
    """UsageError for a pattern that no case of these chapters matches."""
    names = [case.name for chapter in chapters for case in chapter.cases]
    for pattern in patterns:
        if not any(_matches(name, [pattern]) for name in names):
            close = difflib.get_close_matches(pattern, names, 1, 0.3)
            hint = f"did you mean {close[0]}?" if close else "'spyrelab bench --list' shows them"
            raise UsageError(f"no case matches {pattern!r}; {hint}")


def _matches(name: str, patterns: Sequence[str]) -> bool:
    return any(pattern in name or fnmatchcase(name, pattern) for pattern in patterns)
