"""What may stay in a core's scratchpad: buffers with a life, and how much room there is."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property
from itertools import pairwise

from spyrelab.machine import SPYRE
from spyrelab.tiling.errors import TilingError

__all__ = ["Buffer", "Kind", "Problem", "default_capacity"]

STICK = SPYRE.stick_bytes


class Kind(StrEnum):
    """What a buffer holds; drawings give each kind a hue of its own."""

    INPUT = "input"
    WEIGHT = "weight"
    ACTIVATION = "activation"
    STATISTIC = "statistic"
    OUTPUT = "output"


def default_capacity() -> int:
    """Bytes of a core's scratchpad that the front end may plan: 80 % of 2 MiB, in whole sticks."""
    return int(SPYRE.lx_bytes * SPYRE.lx_front_end_fraction) // STICK * STICK


@dataclass(frozen=True, slots=True)
class Buffer:
    """A tensor, or one core's part of it, that may live in the scratchpad.

    Attributes
    ----------
    name : str
        Unique in its problem.
    nbytes : int
        Bytes on one core; `size` is in whole sticks.
    first, last : int
        First and last step of its life, both inclusive.
    uses : int
        How often it would be moved through DDR if it were not kept: once per write and per read.
    parents : tuple of str
        Buffers whose address it may take: each dies in the step in which this one is born, and
        is at least as large.
    clone_of : str or None
        The input that it copies.  Of the clones of one input at most one is alive at any step;
        making the copy costs a read, so ``uses`` is one less than the reads it serves.
    required : bool
        Whether it has to be kept.
    kind : Kind
    """

    name: str
    nbytes: int
    first: int
    last: int
    uses: int = 1
    parents: tuple[str, ...] = ()
    clone_of: str | None = None
    required: bool = False
    kind: Kind = Kind.ACTIVATION

    @property
    def size(self) -> int:
        """Bytes in whole sticks of 128."""
        return -(-self.nbytes // STICK) * STICK

    @property
    def avoided(self) -> int:
        """DDR bytes avoided by keeping it: size times uses."""
        return self.size * self.uses

    @property
    def steps(self) -> int:
        """How many steps it lives."""
        return self.last - self.first + 1

    def meets(self, other: Buffer) -> bool:
        """Whether both are alive at some step."""
        return self.first <= other.last and other.first <= self.last


@dataclass(frozen=True)
class Problem:
    """Which buffers to keep in a scratchpad, and where.

    Attributes
    ----------
    buffers : tuple of Buffer
    capacity : int
        Bytes.
    steps : tuple of str
        Names of the operations, for messages and drawings; may be empty.
    name : str

    Raises
    ------
    TilingError
        Two buffers of one name, a life that ends before it begins, no size, or a parent that
        does not die when its child is born, or is smaller.
    """

    buffers: tuple[Buffer, ...]
    capacity: int
    steps: tuple[str, ...] = ()
    name: str = field(default="", compare=False)

    def __post_init__(self) -> None:
        if self.capacity < 0:
            raise TilingError(f"a scratchpad of {self.capacity} bytes is none")
        if len(self.named) != len(self.buffers):
            names = sorted(b.name for b in self.buffers)
            twice = next(a for a, b in pairwise(names) if a == b)
            raise TilingError(f"two buffers are called {twice}")
        for buffer in self.buffers:
            _check(buffer)
            for parent in buffer.parents:
                _check_parent(buffer, self.named.get(parent), parent)

    @cached_property
    def named(self) -> dict[str, Buffer]:
        """Buffers by name."""
        return {buffer.name: buffer for buffer in self.buffers}

    @property
    def room(self) -> int:
        """Capacity in whole sticks, in bytes."""
        return self.capacity // STICK * STICK

    @property
    def total(self) -> int:
        """Bytes that would be avoided if everything were kept."""
        return sum(buffer.avoided for buffer in self.buffers)

    def step_name(self, step: int) -> str:
        """What the operation of a step is called."""
        return self.steps[step] if 0 <= step < len(self.steps) else f"step {step}"

    def alive(self, step: int) -> tuple[Buffer, ...]:
        """The buffers alive at a step."""
        return tuple(b for b in self.buffers if b.first <= step <= b.last)

    def links(self) -> Iterator[tuple[Buffer, Buffer]]:
        """Pairs of a parent and a child that may take its address."""
        for child in self.buffers:
            for parent in child.parents:
                yield self.named[parent], child


def _check(buffer: Buffer) -> None:
    if buffer.last < buffer.first:
        raise TilingError(
            f"{buffer.name} dies at step {buffer.last}, before its birth at step {buffer.first}"
        )
    if buffer.nbytes < 1 or buffer.uses < 0:
        raise TilingError(f"{buffer.name} has {buffer.nbytes} bytes and {buffer.uses} uses")


def _check_parent(child: Buffer, parent: Buffer | None, name: str) -> None:
    if parent is None:
        raise TilingError(f"{child.name} may take the address of {name}, which is no buffer")
    if not parent.first < parent.last == child.first:
        raise TilingError(
            f"{child.name} is born at step {child.first} and cannot take the address of {name}, "
            f"which lives from step {parent.first} to {parent.last}"
        )
    if parent.size < child.size:
        raise TilingError(f"{child.name} ({child.size} B) is larger than {name} ({parent.size} B)")
