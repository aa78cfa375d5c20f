"""A Sphinx extension: formulas as MathML, words for pictures, docstrings read as they are meant."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from spyrelab.book.mathml import to_mathml

__all__ = ["WORDS", "setup"]

WORDS = "image_words.json"
"""Beside the pages: descriptions of pictures in chapters, by the SHA-256 of their bytes."""

BEFORE_NAPOLEON, AFTER_NAPOLEON = 400, 600
SECTION = re.compile(r"\s*-{3,}\s*")


def setup(app: Any) -> dict[str, bool]:
    """Register all."""
    app.add_html_math_renderer("mathml", (_visit_math, None), (_visit_block, None))
    app.config.html_math_renderer = "mathml"
    app.connect("doctree-read", _describe_images)
    whole: dict[str, list[str]] = {}

    def keep(_app: Any, what: str, name: str, _obj: Any, _options: Any, lines: list[str]) -> None:
        if what == "property" and not any(map(SECTION.fullmatch, lines)):
            whole[name] = list(lines)

    def restore(_app: Any, _what: str, name: str, _obj: Any, _opts: Any, lines: list[str]) -> None:
        # Napoleon takes what stands before a property's first colon for its type.
        lines[:] = whole.pop(name, lines)

    app.connect("autodoc-process-docstring", keep, priority=BEFORE_NAPOLEON)
    app.connect("autodoc-process-docstring", restore, priority=AFTER_NAPOLEON)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def _describe_images(app: Any, doctree: Any) -> None:
    """Give outputs of notebooks their words: myst-nb names a picture by its hash."""
    from docutils import nodes

    words = json.loads(Path(app.srcdir, WORDS).read_text(encoding="utf-8"))
    for image in doctree.findall(nodes.image):
        if about := words.get(Path(image["uri"]).stem):
            image["alt"] = about


def _visit_math(translator: Any, node: Any) -> None:
    _write(translator, node, block=False)


def _visit_block(translator: Any, node: Any) -> None:
    _write(translator, node, block=True)


def _write(translator: Any, node: Any, *, block: bool) -> None:
    from docutils import nodes
    from sphinx.util import logging

    try:
        text = to_mathml(node.astext(), block=block)
    except Exception as error:  # the converter raises errors of many kinds
        complain = logging.getLogger(__name__).warning
        complain("no formula: %s (%r)", node.astext(), error, location=node)
        raise nodes.SkipNode from None
    translator.body.append(f'<div class="formula">{text}</div>' if block else text)
    raise nodes.SkipNode
