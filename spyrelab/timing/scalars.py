"""Scalars of all cores at once: int64 arrays, or the reason why they are not known."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from spyrelab.emulator.elementwise import TABLE
from spyrelab.ktir import Operation, TensorType
from spyrelab.ktir.types import RuntimeArgType, element_of

__all__ = ["Scalar", "Unknown", "constant", "evaluate"]


@dataclass(frozen=True)
class Unknown:
    """A value that depends on ``reason``, such as an argument that was not given."""

    reason: str


Scalar = np.ndarray | Unknown

_PLAIN = {
    "arith.addi": np.add,
    "arith.subi": np.subtract,
    "arith.muli": np.multiply,
    "arith.minsi": np.minimum,
    "arith.maxsi": np.maximum,
}


def constant(operation: Operation, cores: int) -> Scalar:
    """``arith.constant``: one value for every core; a tensor keeps its own axes."""
    value, kind = operation.attributes["value"], operation.result.type
    if not isinstance(kind, TensorType):
        dtype = np.int64 if element_of(kind).is_integer else np.float32
        return np.full(cores, value, dtype)
    shape = tuple(extent or 0 for extent in kind.shape)
    dtype = np.int64 if kind.element.is_integer else np.float32
    data = np.broadcast_to(np.asarray(value.values, dtype).reshape(-1)[:1], shape)
    if len(value.values) > 1:
        data = np.asarray(value.values, dtype).reshape(shape)
    return np.broadcast_to(data, (cores, *shape))


def evaluate(operation: Operation, operands: Sequence[Any]) -> Scalar:
    """An ``arith`` or ``math`` operation on scalars (or index tensors) of all cores."""
    for operand in operands:
        if isinstance(operand, Unknown):
            return operand
    kind = element_of(operation.result.type)
    if operation.name in _PLAIN and kind.bits == 64:
        return _PLAIN[operation.name](*operands)
    if operation.name == "ktdp.runtime_arg_extract":
        return _runtime(operation, operands[0])
    if operation.name == "arith.select" and operands[0].ndim == 1:
        return np.where(operands[0] != 0, operands[1], operands[2])
    row = TABLE.get(operation.name)
    if row is None:
        return Unknown(f"the result of {operation.name}")
    kinds = [element_of(value.type) for value in operation.operands]
    with np.errstate(all="ignore"):
        return np.asarray(row.reference(operands, kind, kinds, operation.attributes))


def _runtime(operation: Operation, value: np.ndarray) -> Scalar:
    kind, wanted = operation.operands[0].type, operation.attributes["field"]
    if wanted == "value" or not isinstance(kind, RuntimeArgType):
        return value
    promised = kind.granularity if wanted == "granularity" else kind.upperbound
    if promised is None:
        return Unknown(f"{kind}, which promises no {wanted}")
    return np.full(len(value), promised, np.int64)
