"""Why operations cannot be planned."""

from __future__ import annotations

from collections.abc import Sequence

from spyrelab.errors import SpyreLabError

__all__ = ["TilingError", "WorkingSetError"]


class TilingError(SpyreLabError, ValueError):
    """Operations, hints or buffers that cannot be planned as asked."""


class WorkingSetError(TilingError):
    """Buffers that have to be in the scratchpad together do not fit.

    Attributes
    ----------
    operation : str
        The operation that has them all alive.
    alive : tuple of (str, int)
        Name and bytes of each of its buffers, the largest first.
    least : int
        The least scratchpad in bytes with which a placement exists.
    capacity : int
        What there is.
    """

    def __init__(
        self, operation: str, alive: Sequence[tuple[str, int]], least: int, capacity: int
    ) -> None:
        self.operation = operation
        self.alive = tuple(sorted(alive, key=lambda pair: -pair[1]))
        self.least = least
        self.capacity = capacity
        buffers = ", ".join(f"{name} {size:,} B" for name, size in self.alive)
        super().__init__(
            f"{operation} does not fit the scratchpad: alive are {buffers}; it needs at least "
            f"{least:,} B of LX and may use {capacity:,} B; use more tiles or more cores"
        )
