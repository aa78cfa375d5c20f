"""Pointers: what they started from, and how many elements away they are."""

from __future__ import annotations

from dataclasses import dataclass

from spyrelab.ktir.builder import Scalar
from spyrelab.ktir.types import ScalarType
from spyrelab.triton.lowering.builder import Index
from spyrelab.triton.lowering.lanes import Lanes

__all__ = ["MEMORY", "Descriptor", "Origin", "Pointer"]

MEMORY = -2
"""Number of the origin that is the card's whole memory."""


@dataclass(frozen=True)
class Origin:
    """Where pointers start: an argument of the kernel, or an address put together from several.

    Attributes
    ----------
    name
        The kernel's argument; empty if there is not one.
    number
        Its place among the kernel's arguments; -1 if there is not one.
    addresses
        The address in elements, by the size of an element in bytes.
    is_written
        Whether anything in the kernel may write what it points to.
    """

    name: str
    number: int
    addresses: dict[int, Scalar]
    is_written: bool = True

    def __eq__(self, other: object) -> bool:
        return self is other

    def __hash__(self) -> int:
        return id(self)


@dataclass(frozen=True, eq=False)
class Pointer:
    """One pointer (the offset has no axes) or a tensor of them.

    ``offset`` counts elements of type ``element``.
    """

    origin: Origin
    element: ScalarType
    offset: Lanes

    @property
    def shape(self) -> tuple[int, ...]:
        return self.offset.shape

    @property
    def is_single(self) -> bool:
        return not self.offset.shape


@dataclass(frozen=True, eq=False)
class Descriptor:
    """A tensor in memory, read and written in blocks of ``block``; sizes in elements.

    What lies outside reads as zero, or as NaN with ``fills_nan``.
    """

    pointer: Pointer
    sizes: tuple[Index, ...]
    strides: tuple[Index, ...]
    block: tuple[int, ...]
    fills_nan: bool = False
