"""Which bytes of device memory nobody has written yet."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from spyrelab.machine.allocator import Allocation

__all__ = ["Unwritten"]


class Unwritten:
    """The unwritten part of every allocation that has one, and what the host put into scratchpads.

    Not thread-safe: :class:`spyrelab.machine.memory.DeviceMemory` holds the lock.

    Attributes
    ----------
    scratchpads : list of (start, end)
        Scratchpad bytes written by the host for the next launch.
    """

    def __init__(self) -> None:
        self.scratchpads: list[tuple[int, int]] = []
        # Address of an allocation: one True per unwritten byte, None while all are unwritten.
        self._fresh: dict[int, NDArray[np.bool_] | None] = {}

    def add(self, block: Allocation) -> None:
        """Nothing of a new allocation is written."""
        if block.nbytes:
            self._fresh[block.address] = None

    def drop(self, address: int) -> None:
        """An allocation is gone, or wholly written."""
        self._fresh.pop(address, None)

    def clear(self) -> None:
        """Everything may have been written: a program ran that nobody watched."""
        self._fresh.clear()
        self.scratchpads.clear()

    def write(self, block: Allocation, start: int, end: int) -> None:
        """Bytes ``[start, end)`` of an allocation are written."""
        if block.address not in self._fresh:
            return
        if start <= block.address and block.end <= end:
            del self._fresh[block.address]
            return
        mask = self._fresh[block.address]
        if mask is None:
            mask = np.ones(block.nbytes, np.bool_)
        mask[max(start - block.address, 0) : end - block.address] = False
        self.keep(block, mask)

    def keep(self, block: Allocation, mask: NDArray[np.bool_]) -> None:
        """Enter the unwritten bytes of an allocation."""
        self._fresh[block.address] = mask
        if not mask.any():
            del self._fresh[block.address]

    def mask(self, block: Allocation) -> NDArray[np.bool_] | None:
        """True for every unwritten byte of an allocation; None if there is none."""
        if block.address not in self._fresh:
            return None
        mask = self._fresh[block.address]
        return np.ones(block.nbytes, np.bool_) if mask is None else mask
