"""Formulas as MathML, which browsers draw with fonts of their own: no script, nothing fetched."""

from __future__ import annotations

__all__ = ["to_mathml"]


def to_mathml(source: str, *, block: bool) -> str:
    """The formula, in LaTeX, as a ``<math>`` element.

    Raises
    ------
    Exception
        Of several kinds that latex2mathml has no common base for: it is no formula.
    """
    from latex2mathml.converter import convert

    return str(convert(source.strip(), display="block" if block else "inline"))
