"""Notebooks as files: made from percent-format text, tidied so that equal runs give equal bytes."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import nbformat

from spyrelab.book.chapters import BookError

__all__ = ["Notebook", "from_source", "images", "read", "same_sources", "tidy", "write"]

Notebook = nbformat.NotebookNode

_format: Any = nbformat  # its functions carry no types

METADATA: dict[str, Any] = {
    "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}
"""All that is kept of a notebook's metadata: versions and paths differ between machines."""


def from_source(path: Path) -> Notebook:
    """The notebook that a percent-format file describes, without outputs."""
    import jupytext

    text = path.read_text(encoding="utf-8")
    notebook = jupytext.reads(text, fmt="py:percent")
    notebook.nbformat, notebook.nbformat_minor = 4, 5
    tidy(notebook)
    return notebook


def read(path: Path) -> Notebook:
    """A notebook file.

    Raises
    ------
    BookError
        There is none, or it is no notebook.
    """
    if not path.is_file():
        raise BookError(f"{path.name} does not exist; 'spyrelab book sync' makes it")
    try:
        return _format.reads(path.read_text(encoding="utf-8"), as_version=4)
    except Exception as error:
        raise BookError(f"{path.name} is no notebook: {error}") from None


def write(notebook: Notebook, path: Path) -> None:
    """Write a notebook file, the same bytes for the same notebook."""
    tidy(notebook)
    text = _format.writes(notebook, ensure_ascii=False)
    path.write_text(text.rstrip("\n") + "\n", encoding="utf-8")


def tidy(notebook: Notebook) -> None:
    """Drop what differs between machines and moments; name each cell by its content."""
    notebook.metadata = _format.from_dict(METADATA)
    seen: dict[str, int] = {}
    for cell in notebook.cells:
        tags = cell.metadata.get("tags")
        cell.metadata = _format.from_dict({"tags": list(tags)} if tags else {})
        digest = hashlib.sha256(f"{cell.cell_type}\n{cell.source}".encode()).hexdigest()[:12]
        seen[digest] = seen.get(digest, 0) + 1
        cell["id"] = digest if seen[digest] == 1 else f"{digest}-{seen[digest]}"


def same_sources(expected: Notebook, found: Notebook) -> list[str]:
    """Where two notebooks differ in cells, their order, kinds, text or tags."""
    problems = []
    if len(expected.cells) != len(found.cells):
        problems.append(
            f"the source has {len(expected.cells)} cells, the notebook {len(found.cells)}"
        )
    for number, (one, other) in enumerate(zip(expected.cells, found.cells, strict=False), 1):
        kinds = one.cell_type, other.cell_type
        if kinds[0] != kinds[1] or one.source != other.source:
            problems.append(f"cell {number} differs from the source: {_first_line(other.source)}")
        elif one.metadata.get("tags", []) != other.metadata.get("tags", []):
            problems.append(f"cell {number} has other tags than the source")
        if len(problems) >= 5:
            break
    return problems


def images(notebook: Notebook) -> list[tuple[int, str]]:
    """Number of the cell and description (alt text) of every picture among the outputs."""
    found = []
    for number, cell in enumerate(notebook.cells, 1):
        for output in cell.get("outputs", []):
            if "image/png" in output.get("data", {}):
                about = output.get("metadata", {}).get("image/png", {})
                found.append((number, str(about.get("alt", ""))))
    return found


def _first_line(source: str) -> str:
    return next(iter(source.splitlines()), "(empty)")
