"""What can go wrong with a machine description or with device memory."""

from __future__ import annotations

from spyrelab.errors import SpyreLabError

__all__ = [
    "AllocationError",
    "MachineError",
    "MemoryReserveError",
    "OutOfMemoryError",
    "UnknownFieldError",
]


class MachineError(SpyreLabError, ValueError):
    """A hardware number that no machine can have, or a rate that nobody knows."""


class UnknownFieldError(MachineError, TypeError):
    """``Machine.replace`` was given a name that is not a field."""


class AllocationError(SpyreLabError, ValueError):
    """An address or size that device memory cannot serve: overlap, unknown address, double free."""


class OutOfMemoryError(SpyreLabError, MemoryError):
    """No hole of device memory is large enough.

    Attributes
    ----------
    requested, free, largest_hole : int
        Bytes asked for, bytes free in all holes together, and bytes that the largest hole serves.
    """

    def __init__(self, requested: int, free: int, largest_hole: int, label: str | None) -> None:
        what = f" for {label!r}" if label else ""
        super().__init__(
            f"out of device memory: asked for {requested:,} bytes{what}, {free:,} bytes are free, "
            f"the largest hole is {largest_hole:,} bytes; free some allocations"
            " or use a machine with a larger ddr_bytes"
        )
        self.requested, self.free, self.largest_hole = requested, free, largest_hole


class MemoryReserveError(SpyreLabError, OSError):
    """The system refused the address space that backs device memory."""
