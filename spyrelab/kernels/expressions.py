"""Pointwise expressions: one text or callable, evaluated on builder handles or on arrays."""

from __future__ import annotations

import ast
import inspect
import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import erf as numpy_erf
from scipy.special import expit

from spyrelab.kernels.arrays import KernelError
from spyrelab.ktir.builder_values import Element

Expression = str | Callable[..., Any]


@dataclass(frozen=True)
class Function:
    """A named function with its two meanings: operations in KTIR, and NumPy."""

    name: str
    arity: int
    emit: Callable[..., Any]
    numpy: Callable[..., Any]

    def __call__(self, *operands: Any) -> Any:
        if len(operands) != self.arity:
            raise KernelError(f"{self.name} takes {self.arity} operands, not {len(operands)}")
        handle = next((o for o in operands if isinstance(o, Element)), None)
        if handle is None:
            return self.numpy(*operands)
        return self.emit(handle.builder, *operands)


def _sigmoid(b: Any, x: Any) -> Any:
    return 1.0 / (b.exp(-x) + 1.0)


def _gelu(b: Any, x: Any) -> Any:
    return x * 0.5 * (b.erf(x * (0.5**0.5)) + 1.0)


def _gelu_tanh(b: Any, x: Any) -> Any:
    return x * 0.5 * (b.tanh((x + x * x * x * 0.044715) * (2 / np.pi) ** 0.5) + 1.0)


def _numpy_gelu_tanh(x: Any) -> Any:
    return x * 0.5 * (np.tanh((x + x**3 * 0.044715) * (2 / np.pi) ** 0.5) + 1.0)


_TABLE = [
    Function("exp", 1, lambda b, x: b.exp(x), np.exp),
    Function("log", 1, lambda b, x: b.log(x), np.log),
    Function("sqrt", 1, lambda b, x: b.sqrt(x), np.sqrt),
    Function("rsqrt", 1, lambda b, x: b.rsqrt(x), lambda x: 1 / np.sqrt(x)),
    Function("tanh", 1, lambda b, x: b.tanh(x), np.tanh),
    Function("erf", 1, lambda b, x: b.erf(x), numpy_erf),
    Function("abs", 1, lambda b, x: b.absolute(x), np.abs),
    Function("square", 1, lambda b, x: x * x, np.square),
    Function("reciprocal", 1, lambda b, x: 1.0 / x, np.reciprocal),
    Function("sigmoid", 1, _sigmoid, expit),
    Function("silu", 1, lambda b, x: x * _sigmoid(b, x), lambda x: x * expit(x)),
    Function("relu", 1, lambda b, x: b.maximum(x, 0.0), lambda x: np.maximum(x, 0)),
    Function("gelu", 1, _gelu, lambda x: x * 0.5 * (numpy_erf(x * 0.5**0.5) + 1)),
    Function("gelu_tanh", 1, _gelu_tanh, _numpy_gelu_tanh),
    Function("max", 2, lambda b, x, y: b.maximum(x, y), np.maximum),
    Function("min", 2, lambda b, x, y: b.minimum(x, y), np.minimum),
    Function("where", 3, lambda b, c, x, y: b.select(c, x, y), np.where),
]
FUNCTIONS: Mapping[str, Function] = {function.name: function for function in _TABLE}
"""Functions that expressions may call, by name."""

_BINARY: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
}
_COMPARE: dict[type[ast.cmpop], Callable[[Any, Any], Any]] = {
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}


def parse(text: str) -> ast.expr:
    """The syntax tree of an expression; raises KernelError with the reason."""
    try:
        return ast.parse(text, mode="eval").body
    except (SyntaxError, ValueError, MemoryError, RecursionError) as error:
        raise KernelError(f"cannot read the expression {text[:80]!r}: {error}") from None


def input_names(expression: Expression) -> list[str]:
    """Names of the inputs, in order of appearance (or of a callable's parameters)."""
    if callable(expression):
        return list(inspect.signature(expression).parameters)
    found: dict[str, None] = {}
    _collect(parse(expression), found)
    if not found:
        raise KernelError(f"the expression {expression!r} has no input")
    return list(found)


def _collect(node: ast.AST, found: dict[str, None]) -> None:
    if isinstance(node, ast.Name) and node.id not in FUNCTIONS:
        found[node.id] = None
    for child in ast.iter_child_nodes(node):
        _collect(child, found)


def operation_count(expression: Expression) -> int | None:
    """How many operators and calls a text has; None for a callable."""
    if callable(expression):
        return None
    return sum(
        isinstance(n, (ast.BinOp, ast.Call, ast.Compare)) for n in ast.walk(parse(expression))
    )


def evaluate(expression: Expression, inputs: Mapping[str, Any]) -> Any:
    """The expression on handles (emits operations) or on arrays (computes)."""
    if callable(expression):
        return expression(**inputs)
    return _value(parse(expression), inputs)


def _value(node: ast.expr, inputs: Mapping[str, Any]) -> Any:
    match node:
        case ast.Constant(value=int() | float() as number):
            return number
        case ast.Name(id=name) if name in inputs:
            return inputs[name]
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return -_value(operand, inputs)
        case ast.BinOp(left=left, op=ast.Pow(), right=ast.Constant(value=exponent)):
            return _power(_value(left, inputs), exponent)
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _BINARY:
            return _BINARY[type(op)](_value(left, inputs), _value(right, inputs))
        case ast.Compare(left=left, ops=[op], comparators=[right]) if type(op) in _COMPARE:
            return _COMPARE[type(op)](_value(left, inputs), _value(right, inputs))
        case ast.Call(func=ast.Name(id=name), args=args, keywords=[]) if name in FUNCTIONS:
            return FUNCTIONS[name](*(_value(argument, inputs) for argument in args))
    raise KernelError(
        f"{ast.unparse(node)!r} is not part of pointwise expressions; "
        f"they have + - * / ** < <= > >= and {', '.join(FUNCTIONS)}"
    )


def _power(base: Any, exponent: Any) -> Any:
    if exponent == 0.5:
        return FUNCTIONS["sqrt"](base)
    if not isinstance(exponent, int) or not 1 <= exponent <= 16:
        raise KernelError(f"the power {exponent} is not one of 0.5, 1, 2, ..., 16")
    result = base
    for _ in range(exponent - 1):
        result = result * base
    return result
