"""Where the book lies, and the two files of a chapter."""

from __future__ import annotations

import difflib
import re
from dataclasses import dataclass
from pathlib import Path

from spyrelab.errors import UsageError

PATTERN = "ch[0-9][0-9]_*.py"


class BookError(UsageError):
    """There is no such book, chapter or notebook, or a chapter does not run."""


@dataclass(frozen=True)
class Chapter:
    """A chapter: what is edited, and the notebook that is made from it."""

    source: Path

    @property
    def name(self) -> str:
        """Short name, such as ``ch01``."""
        return self.source.stem.partition("_")[0]

    @property
    def notebook(self) -> Path:
        """The generated file."""
        return self.source.with_suffix(".ipynb")


def book_folder(start: Path | None = None) -> Path:
    """The folder ``book``, looked for from the working folder upwards, then in the checkout."""
    here = (start or Path.cwd()).resolve()
    for folder in (here, *here.parents, Path(__file__).parents[2]):
        for candidate in (folder / "book", folder):
            if candidate.name == "book" and any(candidate.glob(PATTERN)):
                return candidate
    raise BookError(f"no folder 'book' with chapters in {here} or above")


def chapters() -> list[Chapter]:
    """Every chapter, in order."""
    return [Chapter(path) for path in sorted(book_folder().glob(PATTERN))]


def find_chapter(name: str) -> Chapter:
    """The chapter called ``name``: ``ch01``, ``1``, ``ch01_machine``, or a path of its files.

    Raises
    ------
    BookError
        No such chapter; the message says which there are.
    """
    known = {chapter.name: chapter for chapter in chapters()}
    digits = re.fullmatch(r"(?:ch)?0*(\d{1,2})(?:_\w+)?(?:\.py|\.ipynb)?", Path(name).name)
    wanted = f"ch{int(digits[1]):02d}" if digits else name
    if wanted not in known:
        close = difflib.get_close_matches(wanted, known, n=1)
        hint = f"did you mean {close[0]}?" if close else f"the chapters are {', '.join(known)}"
        raise BookError(f"no chapter {name!r} in the book; {hint}")
    return known[wanted]
