"""The table of pointwise operations: what each computes, on tiles of a program.

Names and the order of inputs follow ATen; numbers at the end may be left out and take ATen's
defaults. Everything is computed in f32, or in i64 where all operands are whole numbers, and
rounded once to the result's type.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any

from spyrelab.ktir.builder import Builder, Tensor
from spyrelab.ktir.types import F32, I1, I64, ScalarType, TensorType

__all__ = [
    "LARGEST",
    "TABLE",
    "Domain",
    "Pointwise",
    "as_type",
    "compute_type",
    "define",
    "function",
    "is_nonzero",
    "question",
]

Default = float | str | None
Emit = Callable[..., Any]

LARGEST = {
    "f16": 65504.0,
    "bf16": (2 - 2.0**-7) * 2.0**127,
    "f32": (2 - 2.0**-23) * 2.0**127,
    "!spyreop.df16": (2 - 2.0**-8) * 2.0**32,
    "f8E4M3FN": 448.0,
    "f8E5M2": 57344.0,
}
"""The largest finite number of each float type."""


class Domain(Enum):
    """What an operation computes with."""

    FLOAT = "f32"
    NUMBER = "f32, or i64 for whole numbers"
    WHOLE = "i64, or i1 for truth values"
    TRUTH = "i1"
    SAME = "whatever comes in"


@dataclass(frozen=True)
class Pointwise:
    """One operation.

    Attributes
    ----------
    emit : callable
        ``(builder, *tiles, **attributes) -> tile`` (or a tuple of them).
    inputs : int
        How many there are, defaults included.
    defaults : tuple
        Of the last inputs; None where `emit` does without, "max" and "lowest" where it is that
        of the result's type.
    conditions : frozenset of int
        Inputs that are truth values whatever the domain.
    rounds_numbers : bool
        Whether ATen first rounds a Python number to the tensors' type.
    """

    name: str
    emit: Emit
    inputs: int
    domain: Domain = Domain.FLOAT
    defaults: tuple[Default, ...] = ()
    conditions: frozenset[int] = frozenset()
    rounds_numbers: bool = False


TABLE: dict[str, Pointwise] = {}
"""Every pointwise operation, by name."""


def define(
    name: str,
    inputs: int,
    emit: Emit,
    domain: Domain = Domain.FLOAT,
    defaults: tuple[Default, ...] = (),
    conditions: tuple[int, ...] = (),
    rounds_numbers: bool = False,
) -> None:
    """Enter an operation into the table."""
    TABLE[name] = Pointwise(
        name, emit, inputs, domain, defaults, frozenset(conditions), rounds_numbers
    )


# ---- building blocks ---------------------------------------------------------------------------


def function(b: Builder, name: str, *operands: Tensor) -> Tensor:
    """Any elementwise operation whose result has the type of its operands."""
    result: Tensor = b.pure(name, operands, operands[0].type, hint=name.partition(".")[2])
    return result


def question(b: Builder, name: str, operand: Tensor) -> Tensor:
    """An elementwise operation with a truth value for result."""
    kind = TensorType(operand.shape, I1)
    result: Tensor = b.pure(name, (operand,), kind, hint=name.partition(".")[2])
    return result


def is_nonzero(tile: Tensor) -> Tensor:
    """What a number is as a truth value: NaN is true."""
    if tile.dtype == I1:
        return tile
    result: Tensor = tile.differs(0)
    return result


def as_type(tile: Any, kind: ScalarType) -> Any:
    """The same values in another type, as a tensor library converts: nonzero is true."""
    return is_nonzero(tile) if kind == I1 else tile.to(kind)


def compute_type(domain: Domain, kinds: Sequence[ScalarType]) -> ScalarType:
    """The type that operands of these types are brought to."""
    if domain is Domain.SAME:
        return kinds[0]
    if domain is Domain.FLOAT or (domain is Domain.NUMBER and any(kind.is_float for kind in kinds)):
        return F32
    if domain is Domain.TRUTH or (domain is Domain.WHOLE and all(kind == I1 for kind in kinds)):
        return I1
    return I64
