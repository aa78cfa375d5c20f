"""Device coordinates as expressions of iteration symbols: ``c1//64``, ``c1%64``, ``2*c0+3``."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass

from spyrelab.layout import LayoutError

__all__ = ["Coordinate", "Term"]


@dataclass(frozen=True)
class Term:
    """``factor * (symbol // divisor % modulus)``."""

    symbol: str
    factor: int = 1
    divisor: int = 1
    modulus: int | None = None

    def __str__(self) -> str:
        text = self.symbol
        if self.divisor != 1:
            text += f"//{self.divisor}"
        if self.modulus is not None:
            text += f"%{self.modulus}"
        if self.factor == 1:
            return text
        return f"{self.factor}*({text})" if text != self.symbol else f"{self.factor}*{text}"


@dataclass(frozen=True)
class Coordinate:
    """A sum of terms and a constant."""

    terms: tuple[Term, ...] = ()
    constant: int = 0

    def __str__(self) -> str:
        parts = [str(term) for term in self.terms]
        if self.constant or not parts:
            parts.append(str(self.constant))
        return " + ".join(parts)

    def __call__(self, values: Mapping[str, int]) -> int:
        """The coordinate at given values of the symbols."""
        total = self.constant
        for term in self.terms:
            digit = values[term.symbol] // term.divisor
            total += term.factor * (digit if term.modulus is None else digit % term.modulus)
        return total

    @staticmethod
    def parse(text: str) -> Coordinate:
        """Read what :meth:`__str__` writes.

        Raises
        ------
        LayoutError
            The text is something else.
        """
        try:
            return _sum(ast.parse(text, mode="eval").body)
        except (SyntaxError, ValueError, _UnreadableError):
            raise LayoutError(
                f"cannot read the coordinate {text!r}: it is a sum of terms such as"
                " 2*(c1//64%8) and a number"
            ) from None


class _UnreadableError(Exception):
    pass


def _sum(node: ast.expr) -> Coordinate:
    match node:
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            one, other = _sum(left), _sum(right)
            return Coordinate(one.terms + other.terms, one.constant + other.constant)
        case ast.BinOp(left=left, op=ast.Mult(), right=inner):
            return Coordinate((_digit(inner, _number(left)),))
        case ast.Constant() | ast.UnaryOp():
            return Coordinate((), _number(node))
    return Coordinate((_digit(node, 1),))


def _number(node: ast.expr) -> int:
    match node:
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant() as inner):
            return -_number(inner)
        case ast.Constant(value=int() as number) if not isinstance(number, bool):
            return number
    raise _UnreadableError


def _digit(node: ast.expr, factor: int) -> Term:
    modulus: int | None = None
    divisor = 1
    match node:
        case ast.BinOp(left=left, op=ast.Mod(), right=right):
            node, modulus = left, _number(right)
    match node:
        case ast.BinOp(left=left, op=ast.FloorDiv(), right=right):
            node, divisor = left, _number(right)
    if not isinstance(node, ast.Name) or divisor < 1 or (modulus is not None and modulus < 1):
        raise _UnreadableError
    return Term(node.id, factor, divisor, modulus)
