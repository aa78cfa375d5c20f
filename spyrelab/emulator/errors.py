"""Typed errors of the emulator: what went wrong, on which core, at which operation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from spyrelab.errors import SpyreLabError
from spyrelab.ktir.ir import Operation, Position


def place(operation: Operation) -> str:
    """``name at line:column`` of an operation, for messages."""
    where = operation.position
    return operation.name + (f" at {where.line}:{where.column}" if where else "")


class LoweringError(SpyreLabError):
    """A program that is well formed but has no meaning or cannot be lowered."""


class UnsupportedError(LoweringError):
    """An operation, or a form of one, that this engine does not run."""


class ArgumentError(SpyreLabError):
    """An argument that is missing, unknown, misaligned or breaks a promise of its type."""


class LxOverflowError(SpyreLabError):
    """The values alive at one point do not fit the scratchpad of a core."""


class AccessError(SpyreLabError):
    """An access to bytes that no live allocation holds.

    Attributes
    ----------
    core : int
        Flat number of the core.
    operation : str
        Name of the operation that made the access.
    position : Position or None
        Where the operation stands in the KTIR text.
    address : int
        First byte address outside, in the flat space of main memory and scratchpads.
    nearest : str
        Description of the live allocation closest to the address.
    """

    def __init__(
        self, core: int, operation: str, position: Position | None, address: int, nearest: str
    ) -> None:
        self.core, self.operation, self.position = core, operation, position
        self.address, self.nearest = address, nearest
        where = f" at {position.line}:{position.column}" if position else ""
        super().__init__(
            f"core {core}, {operation}{where}: byte address {address} ({address:#x}) lies outside "
            f"every live allocation; nearest: {nearest}. Check the view's sizes and its base."
        )


@dataclass(frozen=True)
class Waiting:
    """One core that cannot go on: at which operation, for which tiles."""

    core: int
    operation: str
    position: Position | None
    tiles: tuple[int, ...]

    def __str__(self) -> str:
        where = f" at {self.position.line}:{self.position.column}" if self.position else ""
        return f"core {self.core}: {self.operation}{where} waits for tiles {list(self.tiles)}"


class DeadlockError(SpyreLabError):
    """No core can go on; ``waiting`` lists each core that has not finished."""

    def __init__(self, waiting: Sequence[Waiting]) -> None:
        self.waiting = tuple(waiting)
        lines = "\n  ".join(map(str, self.waiting))
        super().__init__(f"no core can go on:\n  {lines}")


class TensorIndexError(SpyreLabError, IndexError):
    """An index or slice outside a tensor value."""
