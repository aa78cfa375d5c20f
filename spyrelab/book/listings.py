"""Pages that show files: a chapter's exercises without solutions, sources that chapters name."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from spyrelab.book.chapters import BookError

__all__ = ["exercise_page", "link_to_pages", "linked_sources", "source_page"]

LINK = re.compile(r"\]\(\.\./([\w./-]+)\.py\)")
OWN_PAGE = re.compile(r"exercises/ch\d\d_\w+")
STUB = re.compile(r"ch\d\d\.\d+")


def linked_sources(text: str) -> list[str]:
    """Paths of the ``.py`` files that a chapter links to, exercises aside: those have pages."""
    paths = LINK.findall(text)
    return [f"{path}.py" for path in paths if not OWN_PAGE.fullmatch(path)]


def link_to_pages(text: str) -> str:
    """The text with its links to ``.py`` files led to the pages that show them."""
    return LINK.sub(_page_of, text)


def _page_of(link: re.Match[str]) -> str:
    folder = "" if OWN_PAGE.fullmatch(link[1]) else "sources/"
    return f"](../{folder}{link[1]}.md)"


def exercise_page(path: Path) -> str:
    """Markdown of a chapter's exercises: what is asked, task by task, with the stubs to fill in.

    Raises
    ------
    BookError
        The file is no Python, or has no stubs.
    """
    text = path.read_text(encoding="utf-8")
    try:
        tree = ast.parse(text)
    except SyntaxError as error:
        raise BookError(f"{path.name}:{error.lineno}: {error.msg}") from None
    stubs = [(node, task) for node in tree.body if (task := _task(node))]
    if not stubs:
        raise BookError(f"{path.name} has no exercises")
    chapter = stubs[0][1].partition(".")[0]
    headline, _, about = (ast.get_docstring(tree) or path.stem).partition("\n")
    title, _, topics = headline.rstrip(".").partition(": ")
    parts = [
        f"# {title}",
        _markdown(topics and f"{topics[0].upper() + topics[1:]}."),
        _markdown(about),
    ]
    parts.append(_how(chapter, path.name))
    lines = text.splitlines()
    for node, task in stubs:
        name = getattr(node, "name", "")
        parts += [f"## {task}: `{name}`", *_stub(node, lines)]
    preamble = [node for node in tree.body[1:] if not _task(node)]
    if preamble:
        shown = "\n".join(lines[_first(preamble[0]) : preamble[-1].end_lineno])
        only = all((node.end_lineno or 0) < _first(stubs[0][0]) + 1 for node in preamble)
        if only:
            parts += ["## What the file begins with", _block(shown)]
    return "\n\n".join(part for part in parts if part) + "\n"


def source_page(path: Path) -> str:
    """Markdown that shows one Python file whole."""
    return f"---\norphan: true\n---\n\n# `{path.name}`\n\n" + _block(path.read_text("utf-8")) + "\n"


def _how(chapter: str, name: str) -> str:
    return (
        f"Fill them in in `exercises/{name}`. `spyrelab exercises list {chapter}` shows what each"
        f" is worth, `spyrelab grade {chapter}` marks them and gives a hint where one is needed."
    )


def _task(node: ast.stmt) -> str:
    """The task that a function or class is a stub of: what it raises names it."""
    if not isinstance(node, ast.FunctionDef | ast.ClassDef):
        return ""
    for inner in ast.walk(node):
        if isinstance(inner, ast.Raise) and isinstance(inner.exc, ast.Call):
            for argument in inner.exc.args:
                value = argument.value if isinstance(argument, ast.Constant) else None
                if isinstance(value, str) and STUB.fullmatch(value):
                    return value
    return ""


def _first(node: ast.stmt) -> int:
    decorators = getattr(node, "decorator_list", [])
    return min([node.lineno, *(item.lineno for item in decorators)]) - 1


def _markdown(text: str) -> str:
    """A docstring's double backticks as Markdown's single ones."""
    return text.strip().replace("``", "`")


def _stub(node: ast.stmt, lines: list[str]) -> Iterator[str]:
    """What is asked, set as text, then what is to be filled in."""
    code = lines[_first(node) : node.end_lineno]
    if isinstance(node, ast.FunctionDef | ast.ClassDef) and (about := ast.get_docstring(node)):
        yield f"```{{eval-rst}}\n{about}\n```"
        said = node.body[0]
        code = lines[_first(node) : said.lineno - 1] + lines[said.end_lineno : node.end_lineno]
    yield _block("\n".join(code))


def _block(code: str) -> str:
    return f"````python\n{code.rstrip()}\n````"
