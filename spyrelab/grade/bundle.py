"""A bundle for students: chapters, exercises and their tests, without any answer."""

from __future__ import annotations

import shutil
from pathlib import Path

from spyrelab import __version__
from spyrelab.errors import UsageError
from spyrelab.grade.handed_out import keep_pristine, pristine
from spyrelab.grade.tree import chapter_in, chapters, exercises_folder

__all__ = ["export"]

README = """# SpyreLab: exercises

This folder has {count} chapters of SpyreLab in `book/`, and their exercises in `exercises/`. You
need Python 3.11 or newer, and SpyreLab {version} as your instructor gives it to you:

```sh
pip install spyrelab=={version}    # or the file or folder that you were given
spyrelab doctor                    # says what is missing, if anything is
```

Start here, and work from the folder that this file is in:

```sh
jupyter lab --ServerApp.root_dir=. book/{first}
```

| command | what it does |
|---|---|
| `spyrelab exercises list` | the tasks, their functions and points |
| `spyrelab grade ch01` | runs the tests of a chapter: status, points, and a hint for what fails |
| `spyrelab grade ch01.2 --hint 2` | one task, and two hints |
| `spyrelab exercises reset ch01` | your file is kept under another name, and you start again |

You edit the files `exercises/chNN_*.py`, and nothing else. The tests (`test_*.py`) and what a
chapter hands out (`given_*.py`) are there to be read. Your instructor grades your files with files
of their own.
"""


def export(target: Path) -> list[Path]:
    """Write the bundle into a new or empty folder; returns what was written.

    Exercises are written as they came, whatever was filled in here since.

    Raises
    ------
    UsageError
        The folder is not empty or cannot be written, or there is no book beside the exercises.
    """
    source = exercises_folder()
    book = source.with_name("book")
    if not book.is_dir():
        raise UsageError(f"{source.parent} has no folder 'book': export from a SpyreLab checkout")
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise UsageError(f"{target} is not an empty folder; nothing was written")
    names = chapters()
    learners = [chapter_in(source, name).exercises for name in names]
    others = [
        path
        for path in sorted(source.glob("*.py"))
        if path.name == "conftest.py" or path.name.startswith(("test_ch", "given_ch"))
    ]
    try:
        written = [_put(target / "exercises" / path.name, pristine(path)) for path in learners]
        written += [_put(target / "exercises" / path.name, path.read_bytes()) for path in others]
        for name, content in keep_pristine(source).items():
            written.append(_put(target / "exercises" / name, content))
        for path in _chapters_of(book):
            written.append(_put(target / "book" / path.relative_to(book), path.read_bytes()))
        first = min(path.name for path in book.glob("ch01_*.ipynb"))
        text = README.format(count=len(names), version=__version__, first=first)
        written.append(_put(target / "README.md", text.encode()))
    except OSError as error:
        shutil.rmtree(target, ignore_errors=True)
        raise UsageError(f"{target} cannot be written: {error.strerror}") from None
    return written


def _chapters_of(book: Path) -> list[Path]:
    """Notebooks, and what they read."""
    kept = [*book.glob("ch[0-9][0-9]_*.ipynb"), *book.glob("data/*"), *book.glob("images/*.png")]
    return sorted(path for path in kept if path.is_file())


def _put(path: Path, content: bytes) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return path
