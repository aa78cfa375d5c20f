"""The book's machinery: percent-format sources, and the executed notebooks made from them.

A chapter is edited as ``book/chNN_slug.py`` and read as ``book/chNN_slug.ipynb``.  `sync` makes the
second from the first and runs it; `check` says whether the two still agree, and whether running
the chapter again gives what was committed.
"""

from spyrelab.book.chapters import BookError, Chapter, chapters, find_chapter
from spyrelab.book.sync import Report, check, sync

__all__ = ["BookError", "Chapter", "Report", "chapters", "check", "find_chapter", "sync"]
