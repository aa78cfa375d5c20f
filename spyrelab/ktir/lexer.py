"""Tokens of KTIR text, read one at a time.

Types and affine maps make up most of a program's characters and repeat a lot, so the
coarse pattern takes a whole ``tensor<...>`` or ``affine_set<...>`` as one token, which
the parsers look up in a cache; `TokenStream.split` reads it again word by word.
"""

from __future__ import annotations

import re
from typing import NoReturn

from spyrelab.ktir.errors import KtirError, error_at_offset
from spyrelab.ktir.ir import Position

MAX_DEPTH = 100
"""How deep regions, brackets and types may nest: far below Python's own limit."""
MAX_DIGITS = 40

_SKIP = r"(?:[ \t\r\n]++|//[^\n]*+)*+"
_COARSE_TOKENS = (
    r"(?P<type>(?:tensor|memref|!ktdp\.access_tile)<[\w?!.]*+"
    r"(?:, \#ktdp\.memory_space<[\w =,]*+>)?+>)"
    r"|(?P<affine>affine_(?:map|set)<(?:[^<>\-]|->?+|[<>]=)*+>)|"
)
_TOKENS = (
    r"(?P<value>%(?:\d++|[A-Za-z_$.\-][\w$.\-]*+)(?:\#\d++)?+)"
    r"|(?P<word>[A-Za-z_][\w$.]*+)"
    r"|(?P<number>0x[0-9A-Fa-f]++|\d++(?:\.\d*+)?+(?:[eE][\-+]?+\d++)?+)"
    r"|(?P<sign>->|>=|<=|==|[\-+*(){}\[\]<>,:=?])"
    r"|(?P<hash>\#[A-Za-z_][\w$.\-]*+)"
    r"|(?P<bang>![A-Za-z_][\w$.]*+)"
    r"|(?P<caret>\^[\w$.]++)"
    r"|(?P<symbol>@(?:[A-Za-z_$.\-][\w$.\-]*+|\"(?:[^\"\\\n]|\\.)*+\"))"
    r"|(?P<string>\"(?:[^\"\\\n]|\\.)*+\")"
    r"|(?P<end>\Z)"
)
_COARSE = re.compile(_SKIP + "(?:" + _COARSE_TOKENS + _TOKENS + ")", re.ASCII).match
_FINE = re.compile(_SKIP + "(?:" + _TOKENS + ")", re.ASCII).match
_SKIP_ONLY = re.compile(_SKIP).match


class TokenStream:
    """The current token of a text: ``kind``, ``token`` (its characters), ``start``, ``stop``."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.kind = ""
        self.token = ""
        self.start = 0
        self.stop = 0
        self.depth = 0
        self._line = 1
        self._line_start = 0
        self._scanned = 0
        self.advance()

    def advance(self) -> None:
        """Go to the next token."""
        self._take(_COARSE(self.text, self.stop), self.stop)

    def split(self) -> None:
        """Read the current token again without joining types and affine maps."""
        self._take(_FINE(self.text, self.start), self.start)

    def resume(self, offset: int) -> None:
        """Go to the first token at or after a character position."""
        self._take(_COARSE(self.text, offset), offset)

    def _take(self, match: re.Match[str] | None, offset: int) -> None:
        if match is None:
            self._reject(offset)
        kind = match.lastgroup
        assert kind is not None  # every branch of the pattern is named
        self.kind = kind
        self.start, self.stop = match.span(kind)
        self.token = match[kind]

    def _reject(self, offset: int) -> NoReturn:
        match = _SKIP_ONLY(self.text, offset)
        self.start = match.end() if match else offset
        character = self.text[self.start]
        if character == '"':
            self.fail("this string does not end on its line", 'add the closing "')
        self.fail(f"unexpected character {character!r}")

    def position(self, offset: int) -> Position:
        """Line and column of a position; fast for positions asked for in order."""
        if offset < self._scanned:
            self._line, self._line_start, self._scanned = 1, 0, 0
        lines = self.text.count("\n", self._scanned, offset)
        if lines:
            self._line += lines
            self._line_start = self.text.rfind("\n", self._scanned, offset) + 1
        self._scanned = offset
        return Position(self._line, offset - self._line_start + 1)

    def fail(self, message: str, hint: str | None = None, at: int | None = None) -> NoReturn:
        """Raise the `error` at the current token, or at a given position."""
        raise self.error(message, hint, at)

    def error(self, message: str, hint: str | None = None, at: int | None = None) -> KtirError:
        """The error to raise at the current token, or at a given position."""
        return error_at_offset(self.text, self.start if at is None else at, message, hint)

    def found(self) -> str:
        """The current token as an error message shows it."""
        if self.kind == "end":
            return "the end of the text"
        shown = self.token if len(self.token) <= 40 else self.token[:37] + "..."
        return f"'{shown}'"

    def accept(self, token: str) -> bool:
        """Take the token if it is this one."""
        if self.token == token:
            self.advance()
            return True
        return False

    def expect(self, token: str, hint: str | None = None) -> None:
        """Take this token or fail."""
        if self.token != token or self.kind == "end":
            self.fail(f"expected '{token}', found {self.found()}", hint)
        self.advance()

    def expect_kind(self, kind: str, what: str, hint: str | None = None) -> str:
        """Take a token of a kind and return its characters, or fail naming ``what``."""
        if self.kind != kind:
            self.fail(f"expected {what}, found {self.found()}", hint)
        token = self.token
        self.advance()
        return token

    def enter(self) -> None:
        """Go one level deeper; `leave` goes back up (not needed after an error)."""
        self.depth += 1
        if self.depth > MAX_DEPTH:
            self.fail(f"nested more than {MAX_DEPTH} levels deep", "flatten the program")

    def leave(self) -> None:
        """Go one level up."""
        self.depth -= 1

    def integer(self, what: str = "an integer") -> int:
        """An integer literal, decimal or hexadecimal, at most with a minus sign."""
        negative = self.accept("-")
        if self.kind != "number" or not (self.token.isdigit() or self.token[:2] == "0x"):
            self.fail(f"expected {what}, found {self.found()}")
        if len(self.token) > MAX_DIGITS:
            self.fail("this number is too long", f"write at most {MAX_DIGITS} digits")
        value = int(self.token, 0) if self.token[:2] == "0x" else int(self.token)
        self.advance()
        return -value if negative else value

    def string(self, what: str = "a string") -> str:
        """A quoted string, without its quotes and escapes."""
        return unquote(self.expect_kind("string", what))


_ESCAPE = re.compile(r'\\(?:([0-9A-Fa-f]{2})|(["\\nt]))')
_ESCAPED = {"n": "\n", "t": "\t", '"': '"', "\\": "\\"}


def unquote(token: str) -> str:
    """The characters that a quoted string stands for."""
    return _ESCAPE.sub(lambda m: chr(int(m[1], 16)) if m[1] else _ESCAPED[m[2]], token[1:-1])
