"""Formulas as MathML, which browsers draw with fonts of their own: no script, nothing fetched."""

from __future__ import annotations

import re

__all__ = ["to_mathml"]

ESCAPED = re.compile(r"\\([_%#$])")
"""What LaTeX escapes in text, and the converter leaves as it is."""


def to_mathml(source: str, *, block: bool) -> str:
    """The formula, in LaTeX, as a ``<math>`` element.

    Raises
    ------
    Exception
        Of several kinds that latex2mathml has no common base for: it is no formula, or has a
        command that is not known.
    """
    from latex2mathml.converter import convert

    made = str(convert(source.strip(), display="block" if block else "inline"))
    made = ESCAPED.sub(r"\1", made)
    # What the converter does not know, it passes on as text.
    if unknown := re.search(r"\\\w*", made):
        raise ValueError(f"{unknown[0]} is unknown to latex2mathml")
    return made
