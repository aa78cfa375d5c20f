"""Scalars of all cores at once: int64 arrays, or the reason why they are not known."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from spyrelab.emulator.elementwise import TABLE
from spyrelab.emulator.errors import source_place
from spyrelab.ktir import Operation, TensorType
from spyrelab.ktir.types import RuntimeArgType, element_of
from spyrelab.timing.motion import Course, Moving, pick, plain

__all__ = ["Scalar", "Unknown", "constant", "evaluate", "said"]


@dataclass(frozen=True)
class Unknown:
    """A value that depends on ``reason``, such as an argument that was not given.

    ``passed`` says whether the caller can give it.
    """

    reason: str
    passed: bool = False

    def ask(self, what: str) -> str:
        """Say what is missing, and whether it can be had."""
        if self.passed:
            return f"{what} depends on {self.reason}; pass it in args to estimate"
        return f"{what} depends on {self.reason}: that cannot be known without running the program"


Scalar = np.ndarray | Moving | Unknown

_PLAIN = {
    "arith.addi": lambda a, b: a + b,
    "arith.subi": lambda a, b: a - b,
    "arith.muli": lambda a, b: a * b,
}
_SIGNED = {
    "eq": lambda sign: sign == 0,
    "ne": lambda sign: sign != 0,
    "lt": lambda sign: sign < 0,
    "le": lambda sign: sign <= 0,
    "gt": lambda sign: sign > 0,
    "ge": lambda sign: sign >= 0,
}
_PASSED = ("arith.index_cast", "arith.extsi", "arith.trunci")
_PASSED_UP = ("arith.index_castui", "arith.extui")
_SHIFTS = ("arith.shli", "arith.shrsi", "arith.shrui")
_QUOTIENTS = ("arith.divsi", "arith.divui", "arith.floordivsi")
_REMAINDERS = ("arith.remsi", "arith.remui")


def constant(operation: Operation, cores: int) -> Scalar:
    """``arith.constant``: one value for every core; a tensor keeps its own axes."""
    value, kind = operation.attributes["value"], operation.result.type
    if not isinstance(kind, TensorType):
        dtype = np.int64 if element_of(kind).is_integer else np.float32
        return np.full(cores, value, dtype)
    shape = tuple(extent or 0 for extent in kind.shape)
    dtype = np.int64 if kind.element.is_integer else np.float32
    data = np.asarray(value.values, dtype).reshape(-1)
    data = np.full(shape, data[0]) if data.size == 1 else data.reshape(shape)
    return np.broadcast_to(data, (cores, *shape))


def said(operation: Operation) -> str:
    """What a message calls an operation."""
    line = f" in line {operation.position.line}" if operation.position else ""
    source = source_place(operation.location)
    return f"{operation.name}{line}{f' ({source})' if source else ''}"


def evaluate(operation: Operation, operands: Sequence[Any]) -> Scalar:
    """An ``arith`` or ``math`` operation on scalars (or index tensors) of all cores."""
    for operand in operands:
        if isinstance(operand, Unknown):
            return operand
    if operation.name == "ktdp.runtime_arg_extract":
        return _runtime(operation, operands[0])
    course = next((v.course for v in operands if isinstance(v, Moving)), None)
    found = _computed(operation, [plain(v) for v in operands])
    if course is None or isinstance(found, Unknown):
        return found
    moved = _moved(course, operation, operands, found)
    return course.hide(found, operands) if moved is None else moved


def _computed(operation: Operation, operands: Sequence[np.ndarray]) -> np.ndarray | Unknown:
    kind = element_of(operation.result.type)
    if operation.name in _PLAIN and kind.bits == 64:
        return np.asarray(_PLAIN[operation.name](*operands))
    if operation.name == "arith.select" and operands[0].ndim == 1:
        axes = (1,) * (operands[1].ndim - 1)
        return np.where(operands[0].reshape(-1, *axes) != 0, operands[1], operands[2])
    row = TABLE.get(operation.name)
    if row is None:
        return Unknown(f"the result of {said(operation)}")
    kinds = [element_of(value.type) for value in operation.operands]
    with np.errstate(all="ignore"):
        return np.asarray(row.reference(operands, kind, kinds, operation.attributes))


def _moved(course: Course, operation: Operation, operands: Sequence[Any], found: np.ndarray) -> Any:
    """The result as it moves with loops; None where that is not known."""
    kind, name = element_of(operation.result.type), operation.name
    if (
        any(plain(v).ndim != 1 for v in operands)
        or not element_of(operation.operands[-1].type).is_integer
    ):
        return None
    if name == "arith.cmpi":
        return _compared(course, operation, *operands)
    if name == "arith.select":
        return pick(course.settle(operands[0]) != 0, operands[1], operands[2])
    if name in _PASSED_UP and not np.all(course.reaches(operands[0])[course.active]):
        return None
    made = _arithmetic(course, name, operands)
    if made is None or kind.bits == 64 or not isinstance(made, Moving):
        return made
    if np.any((plain(made) != found)[course.active]):
        return None
    most = 1 << (kind.bits - 1)
    course.require(made + most)
    course.require(most - 1 - made)
    return made


def _arithmetic(course: Course, name: str, operands: Sequence[Any]) -> Any:
    if name in _PLAIN:
        return _PLAIN[name](*operands)
    if name in _PASSED or name in _PASSED_UP:
        return operands[0]
    if name in ("arith.minsi", "arith.maxsi"):
        return (course.minimum if name == "arith.minsi" else course.maximum)(*operands)
    if name in _SHIFTS or name == "arith.andi":
        return _shifted(course, name, *operands)
    if name in _QUOTIENTS + _REMAINDERS + ("arith.ceildivsi",):
        return _divided(course, name, *operands)
    return None


def _shifted(course: Course, name: str, value: Any, by: Any) -> Any:
    """A shift or mask as the product, quotient or remainder that it is."""
    if isinstance(by, Moving) or np.any(by < 0):
        return None
    if name == "arith.andi":
        whole = bool(np.all(by & (by + 1) == 0))
        return value % (by + 1) if whole else None
    if np.any(by >= 62):
        return None
    power = np.left_shift(np.int64(1), by)
    if name == "arith.shli":
        return value * power
    if name == "arith.shrui" and not np.all(course.reaches(value)[course.active]):
        return None
    return value // power


def _divided(course: Course, name: str, value: Any, divisor: Any) -> Any:
    if isinstance(divisor, Moving) or np.any(divisor <= 0):
        return None
    if name == "arith.ceildivsi":
        return -(-value // divisor)
    rounds_down = name == "arith.floordivsi" or bool(np.all(course.reaches(value)[course.active]))
    if not rounds_down:
        return None
    return value // divisor if name in _QUOTIENTS else value % divisor


def _compared(course: Course, operation: Operation, one: Any, other: Any) -> Any:
    predicate = operation.attributes["predicate"]
    if predicate[0] == "u" and not all(
        np.all(course.reaches(v)[course.active]) for v in (one, other)
    ):
        return None
    sign = course.sign(one - other)
    return _SIGNED[predicate[-2:]](sign).astype(np.int64)


def _runtime(operation: Operation, value: Scalar) -> Scalar:
    kind, wanted = operation.operands[0].type, operation.attributes["field"]
    if wanted == "value" or not isinstance(kind, RuntimeArgType):
        return value
    promised = kind.granularity if wanted == "granularity" else kind.upperbound
    if promised is None:
        return Unknown(f"{kind}, which promises no {wanted}, so it")
    return np.full(len(plain(value)), promised, np.int64)
