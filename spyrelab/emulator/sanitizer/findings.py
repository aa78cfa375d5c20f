"""What the sanitizer reports: kind, core, operation, place in the text, address, remedy."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from spyrelab.emulator.errors import AccessError
from spyrelab.errors import SpyreLabError
from spyrelab.ktir.ir import Location, Operation, Position

SHOWN = 8
"""Findings that an error message spells out."""


class Kind(StrEnum):
    """What is wrong."""

    OUT_OF_BOUNDS = "out-of-bounds"
    WRONG_ALLOCATION = "wrong-allocation"
    """Inside live memory, but not in the allocation that the view's pointer names."""
    UNWRITTEN = "unwritten-read"
    WRITE_WRITE = "write-write-race"
    READ_WRITE = "read-write-race"
    INDEX = "index-out-of-range"
    """A coordinate that was loaded from memory, such as a page id."""
    PADDING = "padding-dependent"
    MISALIGNED = "misaligned-stick"
    SPAN = "span-too-large"
    INCOMPLETE = "history-full"

    @property
    def is_lint(self) -> bool:
        """Worth knowing, but no error."""
        return self in (Kind.MISALIGNED, Kind.SPAN, Kind.INCOMPLETE)


@dataclass(frozen=True)
class Access:
    """One transfer of one core.

    Attributes
    ----------
    core : int
    operation : str
        Its name, such as ``ktdp.load``.
    position : Position or None
        Where it stands in the KTIR text.
    location : Location or None
        Where the front end's source has it.
    value : str
        Name of the value that is loaded or stored.
    """

    core: int
    operation: str
    position: Position | None = None
    location: Location | None = None
    value: str = ""

    @classmethod
    def of(cls, core: int, operation: Operation) -> Access:
        """A core's access by an operation."""
        named = (*operation.results, *operation.operands)
        return cls(
            core,
            operation.name,
            operation.position,
            operation.location,
            named[0].name if named else "",
        )

    def __str__(self) -> str:
        where = f" of %{self.value}" if self.value else ""
        if self.position is not None:
            where = f" at {self.position.line}:{self.position.column}"
        source = f" ({self.location})" if self.location is not None else ""
        return f"core {self.core}, {self.operation}{where}{source}"


@dataclass(frozen=True)
class Finding:
    """One fault or lint.

    Attributes
    ----------
    kind : Kind
    access : Access
        The lowest core's access.
    cores : tuple of int
        Every core that was caught doing it.
    address : int or None
        Byte address, in the flat space of main memory and scratchpads; a coordinate that is
        out of range has none.
    allocation : str
        Label and range of the memory there, or of the nearest one.
    message : str
        All of it in words, with the remedy.
    other : Access or None
        The access that a race is with.
    """

    kind: Kind
    access: Access
    cores: tuple[int, ...]
    address: int | None
    allocation: str
    message: str
    other: Access | None = None

    @property
    def core(self) -> int:
        return self.access.core

    @property
    def operation(self) -> str:
        return self.access.operation

    @property
    def position(self) -> Position | None:
        return self.access.position

    @property
    def location(self) -> Location | None:
        return self.access.location

    @property
    def is_lint(self) -> bool:
        return self.kind.is_lint

    def __str__(self) -> str:
        return self.message


class SanitizerError(SpyreLabError):
    """A launch that the sanitizer found at fault.

    Attributes
    ----------
    findings : tuple of Finding
        Every fault, the lowest core and the earliest operation first, then the lints.
    """

    def __init__(self, findings: Sequence[Finding]) -> None:
        self.findings = tuple(findings)
        SpyreLabError.__init__(self, _summary(self.findings))  # not that of `AccessError`

    @property
    def kinds(self) -> set[Kind]:
        """The kinds of fault, without lints."""
        return {finding.kind for finding in self.findings if not finding.is_lint}


class SanitizedAccessError(SanitizerError, AccessError):
    """A `SanitizerError` with an access outside its allocation: the core stopped before it."""

    def __init__(self, findings: Sequence[Finding]) -> None:
        SanitizerError.__init__(self, findings)
        first = next(f for f in findings if f.kind in OUTSIDE)
        self.core, self.operation, self.position = first.core, first.operation, first.position
        self.address, self.nearest = first.address or 0, first.allocation
        self.location = first.location


OUTSIDE = (Kind.OUT_OF_BOUNDS, Kind.WRONG_ALLOCATION)


def error_of(findings: Sequence[Finding]) -> SanitizerError | None:
    """The error of these findings, None if they are lints at most."""
    if all(finding.is_lint for finding in findings):
        return None
    if any(finding.kind in OUTSIDE for finding in findings):
        return SanitizedAccessError(findings)
    return SanitizerError(findings)


def _summary(findings: Sequence[Finding]) -> str:
    faults = [finding for finding in findings if not finding.is_lint]
    lines = [finding.message for finding in faults[:SHOWN]]
    if len(faults) > SHOWN:
        lines.append(f"... and {len(faults) - SHOWN} more; see the error's findings")
    return "\n".join(lines)
