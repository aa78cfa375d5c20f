"""What a lowered kernel asks of its launcher, and what is known about its memory accesses.

A kernel's TTIR function and its KTIR function take different arguments: KTIR has no pointers with
a type, no descriptors, no implicit grid. Each KTIR argument says here where its value comes from.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from spyrelab.ktir import Module

__all__ = ["AccessKind", "AccessNote", "KernelArgument", "Role", "Translation"]


class Role(StrEnum):
    """What a KTIR argument is, seen from the launch."""

    POINTER = "pointer"
    """Byte address of a tensor's first element, or of a host descriptor's base."""
    ADDRESS = "address"
    """The same as the host sees it, which is what ``data_ptr()`` gives: for computing with."""
    SCALAR = "scalar"
    """A number, as the kernel's caller gives it."""
    EXTENT = "extent"
    """Elements (of `KernelArgument.item_bytes`) from a pointer to the end of its allocation."""
    GRID = "grid"
    """Programs along axis ``number``: 0, 1 or 2."""
    SHAPE = "shape"
    """Elements along ``axis`` of a host descriptor."""
    STRIDE = "stride"
    """Elements between neighbours along ``axis`` of a host descriptor."""
    HOST_BASE = "host_base"
    """Host address of the card's first byte: what ``data_ptr()`` counts from."""
    CAPACITY = "capacity"
    """Elements (of `KernelArgument.item_bytes`) in the whole memory of the card."""


@dataclass(frozen=True)
class KernelArgument:
    """Where the launcher takes one KTIR argument from.

    Attributes
    ----------
    name : str
        The KTIR argument, without ``%``.
    role : Role
    number : int
        Which argument of the TTIR function (counted after tuples and descriptors were expanded,
        as ``tt.func`` lists them); the grid's axis for `Role.GRID`.
    axis : int
        Dimension of the descriptor, for `Role.SHAPE` and `Role.STRIDE`.
    item_bytes : int
        Size of one element as this argument sees it, for `Role.POINTER` and `Role.EXTENT`.
    """

    name: str
    role: Role
    number: int
    axis: int = 0
    item_bytes: int = 1

    def to_json(self) -> list[Any]:
        """As JSON has it."""
        return [self.name, str(self.role), self.number, self.axis, self.item_bytes]

    @classmethod
    def from_json(cls, data: list[Any]) -> KernelArgument:
        """The inverse of `to_json`."""
        name, role, number, axis, item_bytes = data
        return cls(name, Role(role), number, axis, item_bytes)


class AccessKind(StrEnum):
    """How an access to memory was recovered."""

    BOX = "box"
    DESCRIPTOR = "descriptor"
    INDIRECT = "indirect"
    GATHER = "gather"
    ATOMIC = "atomic"


@dataclass(frozen=True)
class AccessNote:
    """One access of the kernel to memory.

    Attributes
    ----------
    place : str
        ``file:line:column`` of the kernel's source; for an inlined call the innermost place.
    operation : str
        ``"load"``, ``"store"``, ``"atomic_rmw"``, ...
    argument : str
        The kernel's argument that is accessed; empty if it is not known.
    kind : AccessKind
    why : str
        For a gather, what could not be recovered.
    advice : str
        For a gather, how to write it better.
    """

    place: str
    operation: str
    argument: str
    kind: AccessKind
    why: str = ""
    advice: str = ""

    def to_json(self) -> list[str]:
        """As JSON has it."""
        values = (self.place, self.operation, self.argument, self.kind, self.why, self.advice)
        return [str(value) for value in values]

    @classmethod
    def from_json(cls, data: list[str]) -> AccessNote:
        """The inverse of `to_json`."""
        place, operation, argument, kind, why, advice = data
        return cls(place, operation, argument, AccessKind(kind), why, advice)


@dataclass(frozen=True)
class Translation:
    """A kernel in KTIR.

    Attributes
    ----------
    module : Module
    arguments : tuple of KernelArgument
        In the order of the KTIR function's arguments.
    notes : tuple of AccessNote
    barriers : int
        Grid barriers; where there are any, a launch runs one program on each core, so the
        module is lowered again for each number of programs.
    types : mapping of int to str
        For pointer arguments, by TTIR number: the MLIR element type, for checks at launch.
    """

    module: Module
    arguments: tuple[KernelArgument, ...]
    notes: tuple[AccessNote, ...] = ()
    barriers: int = 0
    types: Mapping[int, str] = field(default_factory=dict)
