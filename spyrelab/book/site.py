"""The book as a web site: chapters as they were committed, exercises, results, reference."""

from __future__ import annotations

import base64
import hashlib
import io
import json
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from spyrelab.book.chapters import BookError, book_folder, chapters
from spyrelab.book.listings import exercise_page, link_to_pages, linked_sources, source_page
from spyrelab.book.notebook import Notebook, read, write
from spyrelab.book.reference import PACKAGES, reference_index, reference_page
from spyrelab.book.results import bench_page, ledger_page, plans_page
from spyrelab.book.sphinx_extension import WORDS

__all__ = ["Site", "build_site", "html_pages", "lay_out", "site_folder"]

NEEDED = ("sphinx", "myst_nb", "sphinx_book_theme", "latex2mathml")
MARK = ".spyrelab-site"
"""A file that says that a folder was made here, and may be made anew."""


@dataclass(frozen=True)
class Site:
    """A site that was built: its folder, and how many pages it has."""

    folder: Path
    pages: int


def site_folder() -> Path:
    """Where the site goes unless told otherwise: ``build/site`` in the checkout."""
    return book_folder().parent / "build" / "site"


def build_site(folder: Path | None = None) -> Site:
    """Make the site from the committed notebooks; nothing is executed and nothing fetched.

    Raises
    ------
    BookError
        A package of the extra ``book`` is missing, the folder holds something else, or Sphinx
        warns of anything; an earlier site is then left as it was.
    OSError
        The folder cannot be written.
    """
    _require_packages()
    target = (folder or site_folder()).resolve()
    if target.is_dir() and any(target.iterdir()) and not (target / MARK).is_file():
        raise BookError(f"{target} holds other files; name an empty or a new folder with --out")
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".site-", dir=target.parent) as scratch:
        source, made = Path(scratch, "source"), Path(scratch, "html")
        lay_out(source)
        _run_sphinx(source, made, Path(scratch, "doctrees"))
        (made / MARK).touch()
        if target.exists():
            shutil.rmtree(target)
        made.rename(target)
    return Site(target, len(html_pages(target)))


def html_pages(folder: Path) -> list[str]:
    """Names of a site's pages; what the theme leaves among its own files is none."""
    names = (str(page.relative_to(folder)) for page in folder.rglob("*.html"))
    return sorted(name for name in names if not name.startswith("_static"))


def lay_out(source: Path) -> None:
    """Write all that Sphinx reads into a new folder."""
    book = book_folder()
    checkout = book.parent
    shutil.copytree(book / "site", source, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("data", "images"):
        shutil.copytree(book / name, source / "book" / name, ignore=_all_but_data)
    named: set[str] = set()
    words: dict[str, str] = {}
    for chapter in chapters():
        notebook = read(chapter.notebook)
        for cell in notebook.cells:
            if cell.cell_type == "markdown":
                named.update(linked_sources(cell.source))
                cell.source = link_to_pages(cell.source)
        words.update(_picture_words(notebook))
        write(notebook, source / "book" / chapter.notebook.name)
        name = f"exercises/{chapter.source.stem}"
        _put(source / f"{name}.md", exercise_page(checkout / f"{name}.py"))
    for name in sorted(named):
        page = Path("sources", name).with_suffix(".md")
        _put(source / page, source_page(checkout / name))
    _put(source / "results" / "ledger.md", ledger_page(checkout / "tests/upstream/ledger.csv"))
    _put(source / "results" / "plans.md", plans_page(book / "data/block_plans.toml"))
    _put(source / "results" / "attention.md", bench_page(book / "data/ch07_sweep.json"))
    _put(source / "api" / "index.rst", reference_index())
    for name in PACKAGES:
        _put(source / "api" / f"{name}.rst", reference_page(name))
    _put(source / WORDS, json.dumps(words))


def _picture_words(notebook: Notebook) -> Iterator[tuple[str, str]]:
    for cell in notebook.cells:
        for output in cell.get("outputs", []):
            if picture := output.get("data", {}).get("image/png"):
                about = output.metadata.get("image/png", {}).get("alt", "")
                yield hashlib.sha256(base64.b64decode(picture)).hexdigest(), about


def _all_but_data(folder: str, names: list[str]) -> set[str]:
    return {name for name in names if name == "README.md" or name.endswith((".py", "__pycache__"))}


def _put(page: Path, text: str) -> Path:
    page.parent.mkdir(parents=True, exist_ok=True)
    page.write_text(text, encoding="utf-8")
    return page


def _require_packages() -> None:
    missing = [name for name in NEEDED if find_spec(name) is None]
    if missing:
        raise BookError(f"the site needs {', '.join(missing)}: pip install -e '.[book]'")


def _run_sphinx(source: Path, made: Path, doctrees: Path) -> None:
    from sphinx.application import Sphinx
    from sphinx.errors import SphinxError
    from sphinx.util.console import nocolor

    warnings = io.StringIO()
    nocolor()
    try:
        with _docutils(), redirect_stderr(io.StringIO()):
            app = Sphinx(source, source, made, doctrees, "html", status=None, warning=warnings)
            app.build()
    except SphinxError as error:
        raise BookError(f"the site was not built: {error}") from None
    found = [line for line in warnings.getvalue().splitlines() if line.strip()]
    if found:
        listed = "\n".join(line.replace(f"{source}/", "") for line in found)
        raise BookError(f"the site was not built; Sphinx warns: {listed}")


@contextmanager
def _docutils() -> Iterator[None]:
    """Roles and directives that Sphinx adds to docutils, for the time of a build only."""
    from sphinx.util.docutils import docutils_namespace, patch_docutils

    with patch_docutils(), docutils_namespace():
        yield
