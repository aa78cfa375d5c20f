"""Operands of the operations of the ``spyrelab`` dialect that touch single elements of memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from spyrelab.ktir.ir import Operation

Each = TypeVar("Each")

STORED = {
    "spyrelab.gather": 0,
    "spyrelab.scatter": 1,
    "spyrelab.atomic_rmw": 1,
    "spyrelab.atomic_cas": 2,
}
"""Operations on single elements, with how many tensors of values each takes."""

ATOMICS = ("spyrelab.atomic_rmw", "spyrelab.atomic_cas")

INTEGER_KINDS = ("add", "and", "or", "xor", "max", "min", "umax", "umin", "xchg")
FLOAT_KINDS = ("fadd", "xchg")
"""What ``atomic_rmw`` does with the old and the given value of an element."""


@dataclass(frozen=True)
class ElementAccess(Generic[Each]):
    """The operands of one of `STORED`, whatever stands for a value (types, arrays, tiles).

    Attributes
    ----------
    values
        What is written; the comparison first for ``atomic_cas``.
    view
        A view of one dimension.
    offsets
        Coordinate in the view of every element, or of the first element of every row.
    stride, limit
        Of the row form: coordinates between neighbours, and how many are not masked.
    mask
        Which elements (or rows) take part; None: all.
    """

    values: tuple[Each, ...]
    view: Each
    offsets: Each
    stride: Each | None
    limit: Each | None
    mask: Each | None


def element_access(operation: Operation, operands: Sequence[Each]) -> ElementAccess[Each]:
    """Name the operands of an operation on single elements."""
    count = STORED[operation.name]
    rest = list(operands[count:])
    view, offsets = rest[:2]
    del rest[:2]
    stride = limit = None
    if "extent" in operation.attributes:
        stride, limit = rest[:2]
        del rest[:2]
    mask = rest[0] if rest else None
    return ElementAccess(tuple(operands[:count]), view, offsets, stride, limit, mask)
