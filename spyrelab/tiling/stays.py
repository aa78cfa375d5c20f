"""What cores have of a tensor while a loop goes round, and whether it is what others need."""

from __future__ import annotations

from functools import cached_property
from typing import Any, NamedTuple

from spyrelab.machine import Machine
from spyrelab.opspec import element_type
from spyrelab.tiling.buffers import Held, holding
from spyrelab.tiling.cut import Slicing
from spyrelab.tiling.signature import signature_of
from spyrelab.tiling.surrogate import guess

__all__ = ["Sliced", "Stay"]


class Stay(NamedTuple):
    """What the cores have of a tensor: in the first turn of the loop, and in all turns.

    ``maker`` is the operation whose operand at ``position`` it is; ``gaps`` is what
    `Slicing.gaps` says of it.
    """

    now: Held
    all: Held
    nbytes: int
    key: bytes
    maker: Sliced
    position: int
    gaps: Any = None

    def serves(self, other: Stay) -> bool:
        """Whether every core finds what it needs, in every turn."""
        if not self.nbytes:
            return False
        if self.gaps is not None:
            return self.gaps == other.gaps and self.key == other.key
        if self.key == other.key:
            return True
        apart = self.now.apart(other.now)
        if apart is None:
            return False
        if self.all is self.now and other.all is other.now:
            return True
        always = self.all.apart(other.all)
        return always is not None and bool((apart == always).all())

    def nowhere(self) -> Stay:
        """The same where no core can rely on finding anything."""
        return self._replace(nbytes=0, key=b"nowhere" + self.key)


class Sliced:
    """An operation cut in one way, and what follows from it, found when asked for."""

    def __init__(self, slicing: Slicing, machine: Machine) -> None:
        self.slicing, self.machine = slicing, machine
        self._stays: dict[int, Stay] = {}

    def stay(self, position: int) -> Stay:
        """What the cores touch of the operand at a position."""
        if position not in self._stays:
            arg = self.slicing.spec.args[position]
            now = every = holding(self.slicing, arg, whole=False)
            if self._is_looped:
                every = holding(self.slicing, arg)
            nbytes = now.nbytes(element_type(arg.dtype).itemsize)
            key = now.boxes.tobytes() + every.boxes.tobytes()
            self._stays[position] = Stay(
                now, every, nbytes, key, self, position, self.slicing.gaps(arg)
            )
        return self._stays[position]

    @cached_property
    def mixed(self) -> frozenset[str]:
        """Tensors of which different operands are different parts: these have no one place."""
        keys: dict[str, bytes] = {}
        found = set()
        for position, arg in enumerate(self.slicing.spec.inputs):
            key = self.stay(position).key
            if keys.setdefault(arg.name, key) != key:
                found.add(arg.name)
        return frozenset(found)

    @cached_property
    def _is_looped(self) -> bool:
        return any(cut.turns > 1 for cut in self.slicing.cuts.values())

    @cached_property
    def shared(self) -> tuple[str, ...]:
        """Symbols that cores share and sum over."""
        found = signature_of(self.slicing.spec)
        shared = found.shared if found is not None else ()
        return tuple(symbol for symbol in shared if self.slicing.cuts[symbol].parts > 1)

    @property
    def has_partners(self) -> bool:
        """Whether cores share what is summed."""
        return bool(self.shared)

    @cached_property
    def guess(self) -> float:
        """A quick guess of the seconds."""
        return guess(self.slicing, self.machine)
