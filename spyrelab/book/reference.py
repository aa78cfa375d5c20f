"""Pages of the API reference: one a public package, with what its ``__all__`` names."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterator
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType

from spyrelab.book.chapters import BookError

__all__ = ["PACKAGES", "reference_index", "reference_page"]

PACKAGES = (
    "machine",
    "ktir",
    "emulator",
    "kernels",
    "timing",
    "opspec",
    "layout",
    "tiling",
    "inductor",
    "triton",
    "helion",
    "attention",
    "models",
    "bench",
    "grade",
    "book",
)
"""Public packages in the order of the chapters that introduce them."""


def reference_index() -> str:
    """reStructuredText of the page that lists the packages."""
    lines = ["API reference", "=============", ""]
    lines += ["What the packages offer; everything else is private to them.", ""]
    lines += [".. toctree::", "   :maxdepth: 1", ""]
    return "\n".join([*lines, *(f"   {name}" for name in PACKAGES), ""])


def reference_page(name: str) -> str:
    """reStructuredText of the page of ``spyrelab.<name>``.

    Raises
    ------
    BookError
        A name of ``__all__`` does not exist.
    """
    package = import_module(f"spyrelab.{name}")
    title = package.__name__
    lines = [title, "=" * len(title), "", f".. automodule:: {title}", "   :no-members:", ""]
    for member in sorted(package.__all__, key=lambda text: (text.isupper(), text.lower())):
        lines += [*_directive(package, member), ""]
    return "\n".join(lines)


def _directive(package: ModuleType, member: str) -> Iterator[str]:
    try:
        found = getattr(package, member)
    except AttributeError:
        raise BookError(f"{package.__name__}.__all__ names {member}, which is not there") from None
    path = f"{package.__name__}.{member}"
    if inspect.isclass(found):
        kind = "exception" if issubclass(found, BaseException) else "class"
        yield f".. auto{kind}:: {path}"
        yield "   :members:"
    elif inspect.ismodule(found):
        yield f".. automodule:: {found.__name__}"
    elif inspect.isroutine(found):
        yield f".. autofunction:: {path}"
    else:
        yield f".. autodata:: {_home(package.__name__, member)}.{member}"
        yield "   :no-value:"


def _home(module: str, member: str) -> str:
    """The module that assigns a value, and so has its docstring: values do not know it."""
    origin = find_spec(module)
    source = Path(origin.origin).read_text(encoding="utf-8") if origin and origin.origin else ""
    for node in ast.walk(ast.parse(source)):
        names = node.names if isinstance(node, ast.ImportFrom) and node.module else []
        if any((alias.asname or alias.name) == member for alias in names):
            return _home(str(getattr(node, "module", "")), member)
    return module
