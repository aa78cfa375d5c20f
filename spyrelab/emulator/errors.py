"""Typed errors of the emulator: what went wrong, on which core, at which operation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from spyrelab.errors import SpyreLabError
from spyrelab.ktir.ir import (
    CallSiteLocation,
    FileLocation,
    FusedLocation,
    Location,
    NameLocation,
    Operation,
    Position,
)


def place(operation: Operation) -> str:
    """``name at line:column`` of an operation, and its place in the front end's source."""
    return operation.name + where(operation.position, operation.location)


def where(position: Position | None, location: Location | None) -> str:
    """`` at line:column (file:line)``, as far as it is known."""
    text = f" at {position.line}:{position.column}" if position else ""
    source = source_place(location)
    return f"{text} ({source})" if source else text


def source_place(location: Location | None) -> str:
    """``file:line`` of a location, inlined calls innermost first; empty if there is none."""
    match location:
        case FileLocation(file, line, _):
            return f"{file}:{line}"
        case NameLocation(_, child):
            return source_place(child)
        case CallSiteLocation(callee, caller):
            inner, outer = source_place(callee), source_place(caller)
            return f"{inner}, called at {outer}" if inner and outer else inner or outer
        case FusedLocation(parts):
            return next(filter(None, map(source_place, parts)), "")
    return ""


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
    location : Location or None
        Where the operation stands in the front end's source.
    """

    def __init__(
        self,
        core: int,
        operation: str,
        position: Position | None,
        address: int,
        nearest: str,
        location: Location | None = None,
    ) -> None:
        self.core, self.operation, self.position = core, operation, position
        self.address, self.nearest, self.location = address, nearest, location
        super().__init__(
            f"core {core}, {operation}{where(position, location)}: byte address {address} "
            f"({address:#x}) lies outside every live allocation; nearest: {nearest}. "
            "Check the view's sizes and its base."
        )


@dataclass(frozen=True)
class Waiting:
    """One core that cannot go on: at which operation, for which tiles."""

    core: int
    operation: str
    position: Position | None
    tiles: tuple[int, ...]
    location: Location | None = None

    def __str__(self) -> str:
        at = where(self.position, self.location)
        whom = f"tiles {list(self.tiles)}" if self.tiles else "its turn"
        return f"core {self.core}: {self.operation}{at} waits for {whom}"


class DeadlockError(SpyreLabError):
    """No core can go on; ``waiting`` lists each core that has not finished."""

    def __init__(self, waiting: Sequence[Waiting]) -> None:
        self.waiting = tuple(waiting)
        lines = "\n  ".join(map(str, self.waiting))
        super().__init__(f"no core can go on:\n  {lines}")


class TensorIndexError(SpyreLabError, IndexError):
    """An index or slice outside a tensor value."""


class AssertionFailedError(SpyreLabError, AssertionError):
    """A ``spyrelab.assert`` (``tl.device_assert``) that does not hold.

    Attributes
    ----------
    core : int
        Flat number of the core.
    message : str
        What the program says.
    location : Location or None
        Where the assertion stands in the front end's source.
    """

    def __init__(self, core: int, operation: Operation) -> None:
        self.core, self.location = core, operation.location
        self.position = operation.position
        self.message = str(operation.attributes["message"])
        at = where(self.position, self.location)
        super().__init__(f"core {core}, assertion{at}: {self.message}")
