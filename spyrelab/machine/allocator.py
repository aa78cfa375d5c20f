"""Which addresses are taken: best-fit allocation with coalescing, on numbers alone."""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from dataclasses import dataclass, replace

from spyrelab.machine.errors import AllocationError, OutOfMemoryError

__all__ = ["Allocation", "Allocator"]


@dataclass(frozen=True, slots=True)
class Allocation:
    """One live range of device memory.

    Attributes
    ----------
    address : int
        First byte.
    nbytes : int
        Bytes asked for; an access at ``address + nbytes`` is out of bounds.
    extent : int
        Bytes taken: ``nbytes`` rounded up to whole sticks, at least one.
    label : str or None
        What the owner calls it.
    """

    address: int
    nbytes: int
    extent: int
    label: str | None = None

    @property
    def end(self) -> int:
        """First address past the bytes asked for."""
        return self.address + self.nbytes


class Allocator:
    """Best fit over ``[0, size)``; every method takes logarithmic time plus a list shift.

    Holes and live ranges tile the space without gaps, so a range's neighbours are found by their
    ends, and the hole round any address starts where the live range before it stops.

    Not thread-safe: :class:`spyrelab.machine.memory.DeviceMemory` holds the lock.
    """

    def __init__(self, size: int, alignment: int) -> None:
        self.size, self.alignment = size, alignment
        self.live: dict[int, Allocation] = {}
        self.starts: list[int] = []
        self._hole_end: dict[int, int] = {}
        self._hole_start: dict[int, int] = {}
        self._by_room: list[tuple[int, int]] = []
        self.allocated = self.peak = self.count = self.total_count = self.total_bytes = 0
        self._add_hole(0, size)

    @property
    def free_bytes(self) -> int:
        """Bytes in no live range."""
        return self.size - self.allocated

    @property
    def largest_hole(self) -> int:
        """Bytes of the largest aligned allocation that would succeed now."""
        return self._by_room[-1][0] if self._by_room else 0

    @property
    def holes(self) -> list[tuple[int, int]]:
        """Free ranges as (start, end), ascending."""
        return sorted(self._hole_end.items())

    def allocate(self, nbytes: int, label: str | None = None) -> Allocation:
        """Take the smallest hole that serves ``nbytes``; the lowest one among equals."""
        if nbytes < 0:
            raise AllocationError(f"an allocation cannot have {nbytes} bytes")
        extent = max(self._align(nbytes), self.alignment)
        place = bisect_left(self._by_room, (extent, -1))
        if place == len(self._by_room):
            raise OutOfMemoryError(nbytes, self.free_bytes, self.largest_hole, label)
        hole = self._by_room[place][1]
        return self._take(hole, Allocation(self._align(hole), nbytes, extent, label))

    def reserve(self, address: int, nbytes: int, label: str | None = None) -> Allocation:
        """Take exactly ``[address, address + nbytes)``; an empty range still takes one byte."""
        extent = max(nbytes, 1)
        if nbytes < 0 or address < 0 or address + extent > self.size:
            raise AllocationError(
                f"bytes {address:,} to {address + nbytes:,} do not lie in device memory,"
                f" which has {self.size:,} bytes"
            )
        before = self._before(address)
        hole = before.address + before.extent if before else 0
        end = self._hole_end.get(hole, hole)
        if address < hole or address + extent > end:
            self._refuse_overlap(address, extent, before)
        return self._take(hole, Allocation(address, nbytes, extent, label))

    def free(self, address: int) -> Allocation:
        """Return the range that starts at ``address``, joined with the holes beside it."""
        block = self.live.pop(address, None)
        if block is None:
            raise AllocationError(self._explain_missing(address))
        self.starts.pop(bisect_left(self.starts, address))
        self.allocated -= block.extent
        self.count -= 1
        start, end = address, address + block.extent
        if start in self._hole_start:
            start = self._drop_hole(self._hole_start[start])[0]
        if end in self._hole_end:
            end = self._drop_hole(end)[1]
        self._add_hole(start, end)
        return block

    def resize(self, address: int, nbytes: int) -> Allocation:
        """Let the range that starts at ``address`` count as ``nbytes`` of what it takes."""
        block = self.live.get(address)
        if block is None:
            raise AllocationError(self._explain_missing(address))
        if not 0 <= nbytes <= block.extent:
            raise AllocationError(
                f"{nbytes:,} bytes do not lie in the {block.extent:,} that are taken at {address:,}"
            )
        self.live[address] = made = replace(block, nbytes=nbytes)
        return made

    def owner(self, address: int) -> Allocation | None:
        """Return the live range whose asked-for bytes hold ``address``."""
        block = self._before(address)
        return block if block and address < block.end else None

    def _align(self, address: int) -> int:
        return -(-address // self.alignment) * self.alignment

    def _before(self, address: int) -> Allocation | None:
        place = bisect_right(self.starts, address)
        return self.live[self.starts[place - 1]] if place else None

    def _take(self, hole: int, block: Allocation) -> Allocation:
        start, end = self._drop_hole(hole)
        self._add_hole(start, block.address)
        self._add_hole(block.address + block.extent, end)
        self.live[block.address] = block
        insort(self.starts, block.address)
        self.allocated += block.extent
        self.peak = max(self.peak, self.allocated)
        self.count += 1
        self.total_count += 1
        self.total_bytes += block.extent
        return block

    def _room(self, start: int, end: int) -> tuple[int, int]:
        return max(0, end - self._align(start)), start

    def _add_hole(self, start: int, end: int) -> None:
        if start < end:
            self._hole_end[start], self._hole_start[end] = end, start
            insort(self._by_room, self._room(start, end))

    def _drop_hole(self, start: int) -> tuple[int, int]:
        end = self._hole_end.pop(start)
        del self._hole_start[end]
        del self._by_room[bisect_left(self._by_room, self._room(start, end))]
        return start, end

    def _refuse_overlap(self, address: int, extent: int, before: Allocation | None) -> None:
        if before is None or before.address + before.extent <= address:
            before = self.live[self.starts[bisect_right(self.starts, address)]]
        name = before.label or "an allocation"
        raise AllocationError(
            f"bytes {address:,} to {address + extent:,} overlap {name}"
            f" at {before.address:,} to {before.address + before.extent:,}"
        )

    def _explain_missing(self, address: int) -> str:
        block = self._before(address)
        if block and address < block.address + block.extent:
            name = f" ({block.label})" if block.label else ""
            return (
                f"address {address:,} lies inside the allocation{name} at {block.address:,};"
                " free that address"
            )
        return f"nothing is allocated at address {address:,}: freed twice, or never allocated"
