"""Rules and rows of operations that work element by element on scalars and tensors."""

from __future__ import annotations

from collections.abc import Callable

from spyrelab.ktir.check import Check
from spyrelab.ktir.dialects.form import (
    Form,
    elements_of,
    generic_flags,
    read_cast,
    read_same,
    write_cast,
    write_same,
)
from spyrelab.ktir.ir import Operation
from spyrelab.ktir.types import ScalarType, TensorType

Kind = Callable[[ScalarType], bool]


def is_float(kind: ScalarType) -> bool:
    """Floating point elements."""
    return kind.is_float


def is_integer(kind: ScalarType) -> bool:
    """Whole numbers: index and iN."""
    return kind.is_integer


def is_fixed_integer(kind: ScalarType) -> bool:
    """iN, but not index."""
    return kind.is_integer and kind.name != "index"


_WORDS: dict[Kind, str] = {
    is_float: "floating point",
    is_integer: "whole",
    is_fixed_integer: "whole (iN, not index)",
}


def require_kind(check: Check, operation: Operation, what: str, kind: object, wanted: Kind) -> None:
    """The elements of a type must be of a kind of number."""
    scalar = elements_of(kind) if isinstance(kind, ScalarType | TensorType) else None
    if scalar is None or not wanted(scalar):
        check.fail(operation, f"{what} is a {kind}; it takes {_WORDS[wanted]} numbers")


def same(name: str, operands: int, kind: Kind) -> Form:
    """Row of an operation whose operands and result have one type."""

    def rule(check: Check, operation: Operation) -> None:
        result = operation.result.type
        require_kind(check, operation, "the result", result, kind)
        for value in operation.operands:
            check.same(operation, f"%{value.name}", value.type, result)

    return Form(name, read_same, write_same, rule, operands, generic=generic_flags)


def cast(name: str, source: Kind, target: Kind, width: int = 0) -> Form:
    """Row of a cast; ``width`` is 1 if it must widen, -1 if it must narrow."""

    def rule(check: Check, operation: Operation) -> None:
        (operand,) = operation.operands
        before, after = operand.type, operation.result.type
        require_kind(check, operation, "the operand", before, source)
        require_kind(check, operation, "the result", after, target)
        _same_shape(check, operation, before, after)
        first, second = elements_of(before), elements_of(after)
        if first is None or second is None:
            return
        growth = second.bits - first.bits
        if growth * width < 0 or (width and first == second):
            word = "wider" if width > 0 else "narrower"
            check.fail(operation, f"{second} is not {word} than {first}")

    return Form(name, read_cast, write_cast, rule, 1, generic=generic_flags)


def _same_shape(check: Check, operation: Operation, before: object, after: object) -> None:
    first = before.shape if isinstance(before, TensorType) else None
    second = after.shape if isinstance(after, TensorType) else None
    if first != second and (first is None or second is None or len(first) != len(second)):
        check.fail(operation, f"{before} and {after} have different shapes")
    if first and second and any(a != b and a and b for a, b in zip(first, second, strict=True)):
        check.fail(operation, f"{before} and {after} have different shapes")


def bitcast_rule(check: Check, operation: Operation) -> None:
    """Operand and result of a bitcast have the same number of bits."""
    before, after = operation.operands[0].type, operation.result.type
    first, second = elements_of(before), elements_of(after)
    if first is None or second is None or first.bits != second.bits:
        check.fail(operation, f"{before} and {after} differ in size")
    _same_shape(check, operation, before, after)
