"""Make a chapter's notebook from its source, or say what keeps the two apart."""

from __future__ import annotations

from dataclasses import dataclass, field

from spyrelab.book.chapters import BookError, Chapter
from spyrelab.book.compare import compare
from spyrelab.book.execute import execute
from spyrelab.book.notebook import Notebook, from_source, images, read, same_sources, write

__all__ = ["LIMIT_BYTES", "LIMIT_SECONDS", "Report", "check", "sync"]

LIMIT_SECONDS = 30.0
"""CPU seconds that a chapter may take, so that a reader with two cores waits less than this."""

LONGER = {"ch06": 60.0, "ch07": 60.0}
"""Chapters that may take longer: they compile some twenty models afresh, and as many kernels in
two languages."""

LIMIT_BYTES = 300_000
"""Size of a notebook with its outputs."""


@dataclass(frozen=True)
class Report:
    """What happened to a chapter.

    Attributes
    ----------
    problems : tuple of str
        What is wrong, empty when all is well.
    written : bool
        Whether the notebook's file was changed.
    seconds : float
        CPU seconds of the run; 0 without one.
    bytes : int
        Size of the notebook.
    pictures : int
        Pictures among its outputs.
    """

    chapter: Chapter
    problems: tuple[str, ...] = ()
    written: bool = False
    seconds: float = 0.0
    bytes: int = 0
    pictures: int = field(default=0)

    @property
    def passed(self) -> bool:
        return not self.problems


def check(chapter: Chapter) -> Report:
    """Compare a notebook with its source, run it, compare what comes out.

    Nothing is written.
    """
    try:
        committed = read(chapter.notebook)
        source = from_source(chapter.source)
        problems = same_sources(source, committed)
        if problems:
            return Report(chapter, (*problems, f"'spyrelab book sync {chapter.name}' mends this"))
        run = execute(source, chapter.source.parent)
    except BookError as error:
        return Report(chapter, (str(error),))
    problems = [*compare(committed, run.notebook), *_shortcomings(committed)]
    size = chapter.notebook.stat().st_size
    problems += _excess(chapter, run.seconds, size)
    return Report(chapter, tuple(problems), False, run.seconds, size, len(images(committed)))


def sync(chapter: Chapter) -> Report:
    """Run a chapter and write its notebook.

    A notebook whose sources and compared outputs have not changed is left as it is, so that
    wall-clock times and the edges of letters make no difference to keep.
    """
    try:
        source = from_source(chapter.source)
        run = execute(source, chapter.source.parent)
    except BookError as error:
        return Report(chapter, (str(error),))
    written = not _is_current(chapter, run.notebook)
    if written:
        write(run.notebook, chapter.notebook)
    final = read(chapter.notebook)
    size = chapter.notebook.stat().st_size
    problems = (*_shortcomings(final), *_excess(chapter, run.seconds, size))
    return Report(chapter, problems, written, run.seconds, size, len(images(final)))


def _is_current(chapter: Chapter, fresh: Notebook) -> bool:
    try:
        committed = read(chapter.notebook)
    except BookError:
        return False
    return not same_sources(fresh, committed) and not compare(committed, fresh)


def _shortcomings(notebook: Notebook) -> list[str]:
    """What a reader would miss: pictures without words, complaints among the outputs."""
    problems = [
        f"cell {number}: a picture has no description (show it with spyrelab.viz.picture.show)"
        for number, text in images(notebook)
        if not text
    ]
    for number, cell in enumerate(notebook.cells, 1):
        for output in cell.get("outputs", []):
            if output.output_type == "stream" and output.name == "stderr":
                problems.append(f"cell {number} writes to standard error: {output.text[:80]!r}")
    return problems


def _excess(chapter: Chapter, seconds: float, size: int) -> list[str]:
    problems = []
    limit = LONGER.get(chapter.name, LIMIT_SECONDS)
    if seconds > limit:
        problems.append(f"takes {seconds:.1f} s of CPU time, more than {limit:.0f}")
    if size > LIMIT_BYTES:
        problems.append(f"has {size:,} bytes, more than {LIMIT_BYTES:,}")
    return problems
