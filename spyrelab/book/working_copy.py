"""A reader's own copy of the book and its exercises, so that the originals stay clean."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from spyrelab.book.chapters import BookError, book_folder
from spyrelab.errors import UsageError
from spyrelab.grade.handed_out import PRISTINE, keep_pristine

__all__ = ["WorkingCopy", "default_folder", "make_working_copy"]

LEFT_OUT = {"site", "__pycache__", ".ipynb_checkpoints", ".pytest_cache"}


@dataclass(frozen=True)
class WorkingCopy:
    """Where the copy lies, how many files were added to it and how many were there already."""

    folder: Path
    added: int
    kept: int


def default_folder() -> Path:
    """``spyrelab-book`` in the home folder."""
    return Path.home() / "spyrelab-book"


def make_working_copy(folder: Path | None = None) -> WorkingCopy:
    """Copy what the folder does not have yet; a file that is there is never touched.

    Raises
    ------
    BookError
        The folder is in the checkout, or cannot be written.
    """
    checkout = book_folder().parent
    target = (folder or default_folder()).resolve()
    if target == checkout and (target / "exercises" / PRISTINE).is_dir():
        there = sum(PRISTINE not in path.parts for path in _originals(target))
        return WorkingCopy(target, 0, there)  # called from inside the copy
    if target == checkout or checkout in target.parents:
        raise BookError(f"{target} is in the checkout itself; name another folder with --dir")
    added = kept = 0
    for original in _originals(checkout):
        copy = target / original.relative_to(checkout)
        if copy.exists():
            kept += 1
            continue
        try:
            copy.parent.mkdir(parents=True, exist_ok=True)
            _copy(original, copy)
        except OSError as error:
            why = error.strerror or "no reason given"
            raise BookError(
                f"{target} cannot be written ({why}); name another folder with --dir"
            ) from None
        added += 1
    _remember(checkout / "exercises", target / "exercises")
    return WorkingCopy(target, added, kept)


def _remember(source: Path, target: Path) -> None:
    """Keep how exercises came, so that they can be started again there; once."""
    try:
        contents = keep_pristine(source)
    except UsageError:  # a copy of a copy that git does not know: it goes without
        return
    for name, content in contents.items():
        path = target / name
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)


def _copy(original: Path, copy: Path) -> None:
    """All of the file or nothing, so that a copy that was cut short is made again."""
    unfinished = copy.with_name(f".{copy.name}.{os.getpid()}")
    try:
        shutil.copyfile(original, unfinished)
        unfinished.rename(copy)
    finally:
        unfinished.unlink(missing_ok=True)


def _originals(checkout: Path) -> Iterator[Path]:
    for name in ("book", "exercises"):
        for path in sorted((checkout / name).rglob("*")):
            parts = path.relative_to(checkout).parts
            if path.is_file() and not LEFT_OUT & set(parts):
                yield path
