"""The one exception that KTIR text or a KTIR program can raise."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches

from spyrelab.errors import SpyreLabError

_WIDTH = 100


class KtirError(SpyreLabError, ValueError):
    """KTIR that cannot be read or that breaks a rule of the language.

    Parameters
    ----------
    message
        What is wrong.
    line, column
        Where, counted from 1; None for a program that was not read from text.
    source_line
        The line in question (a part of it, if it is very long).
    hint
        What to do about it.
    caret
        Column of the caret inside ``source_line``, where that is not ``column``.
    """

    def __init__(
        self,
        message: str,
        line: int | None = None,
        column: int | None = None,
        source_line: str | None = None,
        hint: str | None = None,
        caret: int | None = None,
    ) -> None:
        super().__init__(message, line, column, source_line, hint, caret)
        self.message = message
        self.line = line
        self.column = column
        self.source_line = source_line
        self.hint = hint
        self.caret = column if caret is None else caret

    def __str__(self) -> str:
        place = "" if self.line is None else f"{self.line}:{self.column}: "
        text = place + self.message
        if self.source_line is not None and self.caret is not None:
            text += f"\n  {self.source_line}\n  {' ' * (self.caret - 1)}^"
        return text + (f"\nhint: {self.hint}" if self.hint else "")


def error_at(
    source: str | None, line: int | None, column: int | None, message: str, hint: str | None = None
) -> KtirError:
    """An error at a place of a text, with the source line cut to a readable width."""
    if source is None or line is None or column is None:
        return KtirError(message, line, column, hint=hint)
    begin = 0
    for _ in range(line - 1):
        begin = source.find("\n", begin) + 1
    return _error(source, begin, line, column, message, hint)


def error_at_offset(source: str, offset: int, message: str, hint: str | None = None) -> KtirError:
    """The same for a character position counted from 0."""
    begin = source.rfind("\n", 0, offset) + 1
    line = source.count("\n", 0, begin) + 1
    return _error(source, begin, line, offset - begin + 1, message, hint)


def _error(
    source: str, begin: int, line: int, column: int, message: str, hint: str | None
) -> KtirError:
    end = source.find("\n", begin)
    end = len(source) if end < 0 else end
    first, last = begin, end
    if end - begin > _WIDTH:
        first = max(begin, min(begin + column - 1 - _WIDTH // 2, end - _WIDTH))
        last = first + _WIDTH
    shown = "".join(c if c.isprintable() else " " for c in source[first:last])
    return KtirError(message, line, column, shown, hint, column - (first - begin))


def did_you_mean(name: str, known: Iterable[str]) -> str | None:
    """A hint naming the closest known word, or None where none is close."""
    close = get_close_matches(name[:80], list(known), n=1, cutoff=0.6)
    return f"did you mean {close[0]}?" if close else None
