"""Which buffers are kept and where, and an independent check that this is possible."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations

from spyrelab.machine import SPYRE
from spyrelab.tiling.errors import TilingError
from spyrelab.tiling.lx.problem import Buffer, Problem

__all__ = ["Solution", "check", "faults"]


@dataclass(frozen=True)
class Solution:
    """An answer to a `Problem`.

    Attributes
    ----------
    problem : Problem
    method : str
    addresses : mapping
        Byte address in the scratchpad per buffer name; None for what stays in DDR.
    proven : bool
        Whether no answer avoids more bytes.
    bound : int
        Bytes that no answer can exceed.
    seconds : float
        Time taken.
    """

    problem: Problem
    method: str
    addresses: Mapping[str, int | None]
    proven: bool
    bound: int
    seconds: float

    @property
    def kept(self) -> tuple[Buffer, ...]:
        """The buffers in the scratchpad."""
        return tuple(b for b in self.problem.buffers if self.addresses[b.name] is not None)

    @property
    def avoided(self) -> int:
        """DDR bytes avoided."""
        return sum(buffer.avoided for buffer in self.kept)

    @property
    def peak(self) -> int:
        """First byte above everything that is kept."""
        return max((self.address(b) + b.size for b in self.kept), default=0)

    def address(self, buffer: Buffer) -> int:
        """Where a kept buffer lies."""
        found = self.addresses[buffer.name]
        if found is None:
            raise TilingError(f"{buffer.name} stays in DDR and has no address in the scratchpad")
        return found

    def in_place(self) -> tuple[tuple[Buffer, Buffer], ...]:
        """Pairs of a parent and the child that takes its address."""
        return tuple(
            (parent, child)
            for parent, child in self.problem.links()
            if self.addresses[parent.name] is not None
            and self.addresses[parent.name] == self.addresses[child.name]
        )


def faults(problem: Problem, addresses: Mapping[str, int | None]) -> list[str]:
    """Everything that is wrong with a placement; it shares no code with the solvers."""
    found = []
    if set(addresses) != {b.name for b in problem.buffers}:
        found.append("the answer does not speak of exactly the problem's buffers")
    placed = [(b, at) for b in problem.buffers if (at := addresses.get(b.name)) is not None]
    for buffer, at in placed:
        if at < 0 or at % SPYRE.stick_bytes:
            found.append(f"{buffer.name} lies at {at}, which is no stick of the scratchpad")
        if at + buffer.size > problem.capacity:
            found.append(f"{buffer.name} ends at {at + buffer.size}, beyond {problem.capacity}")
    for (one, at), (two, there) in combinations(placed, 2):
        if one.last < two.first or two.last < one.first:
            continue
        if one.clone_of is not None and one.clone_of == two.clone_of:
            found.append(f"{one.name} and {two.name} clone {one.clone_of} at the same time")
        inherits = one.name in two.parents or two.name in one.parents
        if not (inherits and at == there) and at < there + two.size and there < at + one.size:
            found.append(f"{one.name} and {two.name} overlap")
    lost = [b.name for b in problem.buffers if b.required and addresses.get(b.name) is None]
    return found + [f"{name} is required but stays in DDR" for name in lost]


def check(solution: Solution) -> Solution:
    """The solution itself, if it is possible.

    Raises
    ------
    TilingError
        Two buffers overlap in address and time, one is out of bounds, or one takes an address
        that it may not.
    """
    found = faults(solution.problem, solution.addresses)
    if found:
        raise TilingError("; ".join(found))
    return solution
