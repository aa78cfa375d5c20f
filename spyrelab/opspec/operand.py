"""What a program needs to know about a tensor: element type and place of its elements."""

from __future__ import annotations

from dataclasses import dataclass

from spyrelab.ktir.types import (
    BF16,
    DF16,
    F8E4M3,
    F8E5M2,
    F16,
    F32,
    I1,
    I8,
    I16,
    I32,
    I64,
    ScalarType,
)
from spyrelab.layout.access import Access, Axis
from spyrelab.machine import SPYRE
from spyrelab.opspec.errors import OpSpecError, Unsupported
from spyrelab.opspec.views import AnyAccess

__all__ = ["DTYPES", "UNSIGNED", "Input", "Operand", "element_type", "stick_elements"]

DTYPES = {
    kind.name.removeprefix("!spyreop."): kind
    for kind in (F16, BF16, DF16, F32, F8E4M3, F8E5M2, I1, I8, I16, I32, I64)
}
"""Element types of device tensors, by name."""
UNSIGNED = "u8"
"""Bytes read without sign: i8 in memory. Only some families know what to do with them."""
DTYPES[UNSIGNED] = I8


@dataclass(frozen=True)
class Operand:
    """A tensor as programs see it; equal operands share programs.

    Attributes
    ----------
    dtype : str
        A key of `DTYPES`.
    access : Access
        Logical size, and where each element lies from the address given at launch.  Besides an
        `Access`, `spyrelab.opspec.compile` takes the other kinds that `place` finds.
    """

    dtype: str
    access: AnyAccess

    @property
    def size(self) -> tuple[int, ...]:
        """Logical extents."""
        return self.access.size

    @property
    def rank(self) -> int:
        return len(self.access.size)

    @property
    def axes(self) -> tuple[Axis, ...]:
        """The digits of each index; raises OpSpecError unless there is a plain `Access`."""
        if not isinstance(self.access, Access):
            raise OpSpecError(f"no plain access describes {self.access}")
        return self.access.axes

    @property
    def element(self) -> ScalarType:
        """The KTIR type of an element."""
        return element_type(self.dtype)


Input = Operand | str
"""A tensor, or the type (``"f32"``, ``"i64"``) of a number given at launch."""


def element_type(dtype: str) -> ScalarType:
    """The KTIR type called ``dtype``; raises Unsupported."""
    if dtype not in DTYPES:
        raise Unsupported(f"element type {dtype}; there are {', '.join(DTYPES)}")
    return DTYPES[dtype]


def stick_elements(kind: ScalarType) -> int:
    """Elements of one 128-byte stick."""
    return SPYRE.stick_bytes // kind.itemsize
