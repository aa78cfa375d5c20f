"""Where the code of an operation goes: a program of its own, or one that is being built.

Families describe an operation once. By default that becomes a whole program, divided over the
cores; while `emitting`, it becomes the code of one core in somebody else's program.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

from spyrelab.ktir.builder import Builder, Scalar, Tensor, TileGroups
from spyrelab.ktir.types import MemorySpace
from spyrelab.machine import SPYRE
from spyrelab.opspec.operand import Operand

__all__ = [
    "DDR",
    "SPARSE_BYTES",
    "Given",
    "Partners",
    "Target",
    "emitting",
    "target",
    "whole_program",
]

DDR = MemorySpace(core_local=False)

SPARSE_BYTES = SPYRE.stick_bytes + 32
"""Scratchpad bytes of an element that stands alone in a stick while it is moved: the stick, and
the element itself in several types."""


@dataclass(frozen=True)
class Given:
    """An operand inside a program.

    Attributes
    ----------
    pointer : Scalar
        Where its access starts, in elements of its memory.
    operand : Operand
        Type and access of what one core works on.
    space : MemorySpace
        Device memory, or this core's scratchpad.
    sparse : bool
        Every element stands alone in a stick: whole sticks are moved, and lane 0 counts.
    """

    pointer: Scalar
    operand: Operand
    space: MemorySpace = DDR
    sparse: bool = False

    @property
    def is_local(self) -> bool:
        """Whether every core has its own."""
        return self.space.core_local


@dataclass(frozen=True)
class Partners:
    """Cores that share the symbols along which an operation sums or looks at rows.

    Attributes
    ----------
    groups : TileGroups
        Who works together.
    part : Scalar
        Which part this core has.
    parts : int
    everyone : bool
        Whether every partner gets what was folded; otherwise only the first does.
    """

    groups: TileGroups
    part: Scalar
    parts: int
    everyone: bool


@dataclass(frozen=True)
class Target:
    """A program under construction that takes the code of one core.

    Attributes
    ----------
    scalars : mapping of str to Scalar
        Pointers and numbers by the names that families give arguments: ``in0``, ``out0``, ...
    given : mapping of str to Given
        Of those that are tensors.
    lx_bytes : int
        What live tiles may take.
    partners : Partners or None
        Cores that hold the other parts of what is reduced.
    sharing : bool
        Whether every partner needs what was folded, to go on with it.
    """

    builder: Builder
    scalars: Mapping[str, Scalar]
    given: Mapping[str, Given]
    lx_bytes: int
    partners: Partners | None
    sharing: bool = False

    def folded(self, total: Tensor, kind: str = "add", identity: float = 0) -> Tensor:
        """A partial result, folded over the partners."""
        if self.partners is None:
            return total
        everyone = self.sharing or self.partners.everyone
        groups = self.partners.groups
        return self.builder.produce_reduce(total, groups, kind, identity, everyone=everyone)

    @contextmanager
    def storing(self, name: str) -> Iterator[None]:
        """Where a folded result is stored: by one partner, or in every partner's scratchpad."""
        if self.partners is None or (self.given[name].is_local and self.partners.everyone):
            yield
            return
        with self.builder.if_(self.partners.part.equals(0)):
            yield


_TARGET: ContextVar[Target | None] = ContextVar("target", default=None)


def target() -> Target | None:
    """The program that takes the code; None where an operation is a program of its own."""
    return _TARGET.get()


@contextmanager
def emitting(into: Target) -> Iterator[None]:
    """Let families write into a program."""
    token = _TARGET.set(into)
    try:
        yield
    finally:
        _TARGET.reset(token)


@contextmanager
def whole_program() -> Iterator[None]:
    """Let families make programs of their own, even while `emitting`."""
    token = _TARGET.set(None)
    try:
        yield
    finally:
        _TARGET.reset(token)
