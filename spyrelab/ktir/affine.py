"""Affine expressions, maps and sets.

Expressions are small frozen nodes over dimensions ``d0, d1, ...`` and symbols
``s0, s1, ...``.  A set is a conjunction of ``expression >= 0`` and
``expression == 0``.  Nearly every set in real programs is a box, so `AffineSet.box`
recognises that case; everything else goes through `evaluate`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any


@dataclass(frozen=True, slots=True)
class Constant:
    value: int


@dataclass(frozen=True, slots=True)
class Dim:
    index: int


@dataclass(frozen=True, slots=True)
class Symbol:
    index: int


@dataclass(frozen=True, slots=True)
class Binary:
    """``operator`` is one of ``+ * floordiv ceildiv mod``."""

    operator: str
    left: Expr
    right: Expr


Expr = Constant | Dim | Symbol | Binary
Evaluation = Callable[[Sequence[Any], Sequence[Any]], Any]
"""The value of an expression, given its dimensions and symbols."""


def add(left: Expr, right: Expr) -> Expr:
    """Sum, folding constants and zeros."""
    if isinstance(left, Constant) and isinstance(right, Constant):
        return Constant(left.value + right.value)
    if left == Constant(0):
        return right
    return left if right == Constant(0) else Binary("+", left, right)


def multiply(left: Expr, right: Expr) -> Expr:
    """Product, folding constants, zeros and ones; a constant factor stands on the right."""
    if isinstance(left, Constant) and isinstance(right, Constant):
        return Constant(left.value * right.value)
    if isinstance(left, Constant):
        left, right = right, left
    match left, right:
        case Binary("*", inner, Constant(first)), Constant(second):
            left, right = inner, Constant(first * second)
    if right == Constant(1):
        return left
    return Constant(0) if right == Constant(0) else Binary("*", left, right)


def negate(expr: Expr) -> Expr:
    return multiply(expr, Constant(-1))


def evaluate(expr: Expr, dims: Sequence[Any], symbols: Sequence[Any] = ()) -> Any:
    """Value of an expression; operands may be ints or integer arrays.

    Division and remainder follow MLIR: ``floordiv`` rounds down, ``ceildiv`` up, and
    ``mod`` is never negative for a positive modulus.
    """
    match expr:
        case Constant(value):
            return value
        case Dim(index):
            return dims[index]
        case Symbol(index):
            return symbols[index]
        case Binary(operator, left, right):
            a, b = evaluate(left, dims, symbols), evaluate(right, dims, symbols)
            return _APPLY[operator](a, b)


def evaluation(expr: Expr) -> Evaluation:
    """`evaluate` of one expression as a function: several times faster where it is asked often."""
    match expr:
        case Constant(value):
            return lambda dims, symbols: value
        case Dim(index):
            return lambda dims, symbols: dims[index]
        case Symbol(index):
            return lambda dims, symbols: symbols[index]
        case Binary(operator, left, right):
            apply, one, other = _APPLY[operator], evaluation(left), evaluation(right)
            return lambda dims, symbols: apply(one(dims, symbols), other(dims, symbols))


_APPLY: dict[str, Callable[[Any, Any], Any]] = {
    "+": lambda a, b: a + b,
    "*": lambda a, b: a * b,
    "floordiv": lambda a, b: a // b,
    "ceildiv": lambda a, b: -(-a // b),
    "mod": lambda a, b: a % b,
}


@dataclass(frozen=True, slots=True)
class Linear:
    """``sum(dims[i] * d_i) + sum(symbols[j] * s_j) + constant``."""

    dims: tuple[int, ...]
    symbols: tuple[int, ...]
    constant: int


def linear(expr: Expr, dims: int, symbols: int = 0) -> Linear | None:
    """Coefficients of an expression, or None if it is not linear."""
    match expr:
        case Constant(value):
            return Linear((0,) * dims, (0,) * symbols, value)
        case Dim(index):
            return Linear(_unit(index, dims), (0,) * symbols, 0)
        case Symbol(index):
            return Linear((0,) * dims, _unit(index, symbols), 0)
        case Binary("+", left, right):
            a, b = linear(left, dims, symbols), linear(right, dims, symbols)
            return None if a is None or b is None else _sum(a, b)
        case Binary("*", left, Constant(factor)) | Binary("*", Constant(factor), left):
            a = linear(left, dims, symbols)
            return None if a is None else _scale(a, factor)
    return None


def _unit(index: int, length: int) -> tuple[int, ...]:
    return tuple(int(i == index) for i in range(length))


def _sum(a: Linear, b: Linear) -> Linear:
    return Linear(
        tuple(x + y for x, y in zip(a.dims, b.dims, strict=True)),
        tuple(x + y for x, y in zip(a.symbols, b.symbols, strict=True)),
        a.constant + b.constant,
    )


def _scale(a: Linear, factor: int) -> Linear:
    return Linear(
        tuple(x * factor for x in a.dims), tuple(x * factor for x in a.symbols), a.constant * factor
    )


def expression_text(
    expr: Expr,
    dims: Sequence[str] | None = None,
    symbols: Sequence[str] | None = None,
    parent: int = 0,
) -> str:
    """Text of an expression, with names in place of ``d0`` and ``s0`` where given.

    ``parent`` is how tightly the surrounding operator binds: 1 sum, 2 product, 3 factor.
    """
    match expr:
        case Constant(value):
            return str(value)
        case Dim(index):
            return f"d{index}" if dims is None else dims[index]
        case Symbol(index):
            return f"s{index}" if symbols is None else symbols[index]
        case Binary("*", left, Constant(-1)) if parent <= 2:
            return f"-{expression_text(left, dims, symbols, 3)}"
        case Binary("+", left, right):
            sign, term = _signed(right)
            first = expression_text(left, dims, symbols, 1)
            text = f"{first} {sign} {expression_text(term, dims, symbols, 2)}"
            return f"({text})" if parent > 1 else text
        case Binary(operator, left, right):
            first = expression_text(left, dims, symbols, 2)
            text = f"{first} {operator} {expression_text(right, dims, symbols, 3)}"
            return f"({text})" if parent > 2 else text


def _signed(term: Expr) -> tuple[str, Expr]:
    match term:
        case Constant(value) if value < 0:
            return "-", Constant(-value)
        case Binary("*", inner, Constant(factor)) if factor < 0:
            return "-", inner if factor == -1 else Binary("*", inner, Constant(-factor))
    return "+", term


@dataclass(frozen=True)
class AffineMap:
    """``(d0, ..)[s0, ..] -> (results)``."""

    dims: int
    symbols: int
    results: tuple[Expr, ...]

    def __str__(self) -> str:
        results = ", ".join(map(expression_text, self.results))
        return f"affine_map<{_header(self.dims, self.symbols)} -> ({results})>"

    def __call__(self, dims: Sequence[Any], symbols: Sequence[Any] = ()) -> tuple[Any, ...]:
        return tuple(evaluate(result, dims, symbols) for result in self.results)

    @cached_property
    def permutation(self) -> tuple[int, ...] | None:
        """Indices of the dimensions in order of the results, if that is all the map does."""
        order = tuple(r.index for r in self.results if isinstance(r, Dim))
        ok = len(order) == len(self.results) == self.dims and sorted(order) == list(
            range(self.dims)
        )
        return order if ok else None


def identity_map(rank: int) -> AffineMap:
    return AffineMap(rank, 0, tuple(Dim(i) for i in range(rank)))


@dataclass(frozen=True)
class Bound:
    """A limit of one dimension of a box: ``sum(symbols[j] * s_j) + constant``."""

    symbols: tuple[int, ...]
    constant: int

    def __call__(self, symbols: Sequence[Any] = ()) -> Any:
        terms = (c * s for c, s in zip(self.symbols, symbols, strict=True) if c)
        return sum(terms, self.constant)


@dataclass(frozen=True)
class Constraint:
    """``expr >= 0``, or ``expr == 0`` where ``equality`` holds."""

    expr: Expr
    equality: bool = False

    def __str__(self) -> str:
        return f"{expression_text(self.expr)} {'==' if self.equality else '>='} 0"


@dataclass(frozen=True)
class AffineSet:
    """Integer points ``(d0, ..)`` that satisfy every constraint."""

    dims: int
    symbols: int
    constraints: tuple[Constraint, ...]

    def __str__(self) -> str:
        body = ", ".join(map(str, self.constraints))
        return f"affine_set<{_header(self.dims, self.symbols)} : ({body})>"

    def contains(self, point: Sequence[Any], symbols: Sequence[Any] = ()) -> Any:
        """Whether a point (ints, or arrays of coordinates) lies in the set."""
        inside: Any = True
        for value_of, equality in self._tests:
            value = value_of(point, symbols)
            inside = inside & ((value == 0) if equality else (value >= 0))
        return inside

    @cached_property
    def _tests(self) -> tuple[tuple[Evaluation, bool], ...]:
        return tuple((evaluation(c.expr), c.equality) for c in self.constraints)

    @cached_property
    def box(self) -> tuple[tuple[Bound, Bound], ...] | None:
        """Inclusive ``(low, high)`` of each dimension if the set is a box, else None.

        Bounds may depend on symbols.  A dimension with two bounds on one side (which
        would need a minimum) or with none is not a box.
        """
        low: list[Bound | None] = [None] * self.dims
        high: list[Bound | None] = [None] * self.dims
        for constraint in self.constraints:
            form = linear(constraint.expr, self.dims, self.symbols)
            if form is None or sorted(map(abs, form.dims))[-1:] != [1]:
                return None
            used = [i for i, c in enumerate(form.dims) if c]
            if len(used) != 1:
                return None
            axis, sign = used[0], form.dims[used[0]]
            bound = Bound(tuple(-sign * c for c in form.symbols), -sign * form.constant)
            for side, wanted in ((low, 1), (high, -1)):
                if constraint.equality or sign == wanted:
                    if side[axis] is not None and side[axis] != bound:
                        return None
                    side[axis] = bound
        pairs = tuple((a, b) for a, b in zip(low, high, strict=True) if a and b)
        return pairs if len(pairs) == self.dims else None


def box_set(extents: Sequence[int], lows: Sequence[int] | None = None) -> AffineSet:
    """The box ``low <= d < low + extent`` (default from zero)."""
    return _box_set(tuple(extents), tuple(lows or (0,) * len(extents)))


@lru_cache(maxsize=4096)
def _box_set(extents: tuple[int, ...], lows: tuple[int, ...]) -> AffineSet:
    constraints: list[Constraint] = []
    for axis, (extent, start) in enumerate(zip(extents, lows, strict=False)):
        constraints.append(Constraint(add(Dim(axis), Constant(-start))))
        constraints.append(Constraint(add(negate(Dim(axis)), Constant(start + extent - 1))))
    return AffineSet(len(extents), 0, tuple(constraints))


def _header(dims: int, symbols: int) -> str:
    names = ", ".join(f"d{i}" for i in range(dims))
    brackets = "[" + ", ".join(f"s{i}" for i in range(symbols)) + "]" if symbols else ""
    return f"({names}){brackets}"
