"""Reading affine expressions, maps and sets."""

from __future__ import annotations

from collections.abc import Callable

from spyrelab.ktir.affine import (
    AffineMap,
    AffineSet,
    Binary,
    Constant,
    Constraint,
    Dim,
    Expr,
    Symbol,
    add,
    multiply,
    negate,
)
from spyrelab.ktir.lexer import TokenStream

MAX_NAMES = 64
MAX_PARTS = 256
MAX_OPERATORS = 150
MAX_INTEGER_DIGITS = 15
_CACHE_SIZE = 4096
_cache: dict[str, AffineMap | AffineSet] = {}

Atom = Callable[[str], Expr | None]
"""Gives the expression that a name stands for; None if the name is not known."""


class AffineParser(TokenStream):
    """Adds affine expressions, maps and sets to the token stream."""

    _operators = 0

    def affine(self) -> AffineMap | AffineSet:
        """``affine_map<..>`` or ``affine_set<..>``."""
        if self.kind != "affine":
            if self.token not in ("affine_map", "affine_set"):
                self.fail(f"expected affine_map<..> or affine_set<..>, found {self.found()}")
            return self._affine_body()
        key = self.token
        known = _cache.get(key)
        if known is not None:
            self.advance()
            return known
        self.split()
        result = self._affine_body()
        if len(_cache) >= _CACHE_SIZE:
            _cache.clear()
        _cache[key] = result
        return result

    def _affine_body(self) -> AffineMap | AffineSet:
        is_map = self.token == "affine_map"
        self.advance()
        self.expect("<")
        names: dict[str, Expr] = {}
        dims = self._names("(", ")", names, Dim)
        symbols = self._names("[", "]", names, Symbol) if self.token == "[" else 0
        self.expect("->" if is_map else ":")
        self.expect("(")
        results: list[Expr] = []
        constraints: list[Constraint] = []
        while self.token != ")":
            if len(results) + len(constraints) == MAX_PARTS:
                self.fail(f"more than {MAX_PARTS} parts in one {'map' if is_map else 'set'}")
            if is_map:
                results.append(self.expression(names.get))
            else:
                constraints.append(self._constraint(names.get))
            if not self.accept(","):
                break
        self.expect(")")
        self.expect(">")
        if is_map:
            return AffineMap(dims, symbols, tuple(results))
        return AffineSet(dims, symbols, tuple(constraints))

    def _names(
        self, opening: str, closing: str, names: dict[str, Expr], make: Callable[[int], Expr]
    ) -> int:
        self.expect(opening)
        count = 0
        while self.token != closing:
            if self.token in names:
                self.fail(f"{self.token} is named twice")
            if count == MAX_NAMES:
                self.fail(f"more than {MAX_NAMES} dimensions or symbols")
            names[self.expect_kind("word", "a dimension name")] = make(count)
            count += 1
            if not self.accept(","):
                break
        self.expect(closing)
        return count

    def _constraint(self, atom: Atom) -> Constraint:
        left = self.expression(atom)
        relation = self.token
        if relation not in (">=", "<=", "=="):
            self.fail(f"expected >=, <= or ==, found {self.found()}", "a constraint ends in '>= 0'")
        self.advance()
        right = self.expression(atom)
        if relation == "<=":
            left, right = right, left
        difference = add(left, negate(right))
        if isinstance(left, Constant):
            difference = add(negate(right), left)
        return Constraint(difference, relation == "==")

    def expression(self, atom: Atom) -> Expr:
        """An affine expression over names that ``atom`` explains."""
        self._operators = 0
        return self._sum(atom)

    def _sum(self, atom: Atom) -> Expr:
        left = self._product(atom)
        while self.token in ("+", "-"):
            self._count_operator()
            minus = self.token == "-"
            self.advance()
            right = self._product(atom)
            left = add(left, negate(right) if minus else right)
        return left

    def _product(self, atom: Atom) -> Expr:
        left = self._unary(atom)
        while self.token in ("*", "mod", "floordiv", "ceildiv"):
            self._count_operator()
            operator, at = self.token, self.start
            self.advance()
            right = self._unary(atom)
            if operator == "*":
                left = self._times(left, right, at)
            else:
                left = self._divided(operator, left, right, at)
        return left

    def _times(self, left: Expr, right: Expr, at: int) -> Expr:
        if not (_is_symbolic(left) or _is_symbolic(right)):
            self.fail(
                "a product of two variables is not affine", "compute it with arith.muli", at=at
            )
        return multiply(left, right)

    def _divided(self, operator: str, left: Expr, right: Expr, at: int) -> Expr:
        positive = isinstance(right, Constant) and right.value > 0
        if not positive and not (_is_symbolic(right) and not isinstance(right, Constant)):
            self.fail(f"{operator} needs a positive constant on its right", at=at)
        return Binary(operator, left, right)

    def _unary(self, atom: Atom) -> Expr:
        if self.token == "-":
            self._count_operator()
            self.advance()
            self.enter()
            inner = self._unary(atom)
            self.leave()
            return negate(inner)
        if self.token == "(":
            self.advance()
            self.enter()
            inner = self._sum(atom)
            self.leave()
            self.expect(")")
            return inner
        if self.kind == "number":
            if len(self.token) > MAX_INTEGER_DIGITS:
                self.fail("this number is too large", "coordinates have at most 15 digits")
            return Constant(self.integer("an integer"))
        if self.kind not in ("word", "value"):
            self.fail(f"expected an affine expression, found {self.found()}")
        found = atom(self.token)
        if found is None:
            self.fail(
                f"{self.found()} is not a dimension or symbol here",
                "name it in the parentheses or brackets at the front",
            )
        self.advance()
        return found

    def _count_operator(self) -> None:
        self._operators += 1
        if self._operators > MAX_OPERATORS:
            self.fail(f"more than {MAX_OPERATORS} operators in one expression")


def _is_symbolic(expr: Expr) -> bool:
    match expr:
        case Constant() | Symbol():
            return True
        case Binary(_, left, right):
            return _is_symbolic(left) and _is_symbolic(right)
    return False
