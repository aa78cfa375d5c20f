"""Rules of the card's own operations."""

from __future__ import annotations

from collections.abc import Callable

from spyrelab.ktir.check import Check
from spyrelab.ktir.errors import did_you_mean
from spyrelab.ktir.ir import EnumAttribute, Operation, Value
from spyrelab.ktir.types import I32, ScalarType, TensorType

Rule = Callable[[Check, Operation], None]

FLOATS = ("f16", "bf16", "f32", "!spyreop.df16")
KINDS = {
    "reduction_kind": ("add", "sub", "max", "min", "mul", "abs_max"),
    "reduction_scope": ("in_slice", "across_slice"),
}


def _float_scalar(check: Check, operation: Operation, value: Value, fused: bool = False) -> None:
    kind = value.type
    known = isinstance(kind, ScalarType) and (
        kind.name in FLOATS or (fused and kind.name.endswith("_fused"))
    )
    if not known:
        check.fail(
            operation,
            f"%{value.name} is a {kind}; it takes scalars of type {', '.join(FLOATS)}",
            "call it inside linalg.generic for a tensor",
        )


def scalars(check: Check, operation: Operation) -> None:
    """Floating point scalars of one type."""
    for value in (*operation.operands, operation.result):
        _float_scalar(check, operation, value)
        check.same(operation, f"%{value.name}", value.type, operation.result.type)


def softplus(check: Check, operation: Operation) -> None:
    """A scalar; beta must not be zero."""
    scalars(check, operation)
    for word in ("beta", "threshold"):
        if not isinstance(operation.attributes.get(word), int | float):
            check.fail(operation, f"it needs a number {word}")
    if operation.attributes["beta"] == 0:
        check.fail(operation, "beta must not be 0")


def integers(kind: ScalarType) -> Rule:
    """All operands and the result have one whole type."""

    def rule(check: Check, operation: Operation) -> None:
        for value in (*operation.operands, operation.result):
            check.same(operation, f"%{value.name}", value.type, kind)

    return rule


def address(check: Check, operation: Operation) -> None:
    """i32 operands, each of base and stride given once."""
    literals = sum(word in operation.attributes for word in ("base", "stride"))
    if len(operation.operands) + literals != 3:
        check.fail(operation, "it takes a number, a base and a stride")
    for value in (*operation.operands, operation.result):
        check.same(operation, f"%{value.name}", value.type, I32)


def layer_norm(low: int, high: int) -> Rule:
    """Between ``low`` and ``high`` scalars of one type."""

    def rule(check: Check, operation: Operation) -> None:
        if not low <= len(operation.operands) <= high:
            wanted = f"{low}" if low == high else f"{low} or {high}"
            check.fail(operation, f"it takes {wanted} operands, not {len(operation.operands)}")
        for value in (*operation.operands, *operation.results):
            _float_scalar(check, operation, value)
            check.same(operation, f"%{value.name}", value.type, operation.operands[0].type)

    return rule


def fused(check: Check, operation: Operation) -> None:
    """Scalars, of which one has a fused type."""
    for value in (*operation.operands, operation.result):
        _float_scalar(check, operation, value, fused=True)


def slice_reduction(check: Check, operation: Operation) -> None:
    """A ranked tensor and two known words."""
    kind = check.tensor(operation, "operand", operation.operands[0])
    result = operation.result.type
    if not isinstance(result, TensorType) or result.element != kind.element:
        check.fail(operation, f"the result is a {result}, not a tensor of {kind.element}")
    for word, known in KINDS.items():
        value = operation.attributes.get(word)
        if not isinstance(value, EnumAttribute):
            check.fail(operation, f"it needs {word} = #spyreop.{word}<..>")
        if value.value not in known:
            hint = did_you_mean(value.value, known) or f"it is one of {', '.join(known)}"
            check.fail(operation, f"unknown {word} {value.value}", hint)
