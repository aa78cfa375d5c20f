"""Device memory: one reserve of address space that holds DDR and every core's scratchpad."""

from __future__ import annotations

import contextlib
import mmap
import os
import sys
import threading
from types import TracebackType
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from spyrelab.machine.allocator import Allocation, Allocator
from spyrelab.machine.card import SPYRE, Machine
from spyrelab.machine.errors import AllocationError, MachineError, MemoryReserveError
from spyrelab.machine.written import Unwritten

__all__ = ["DeviceMemory", "map_pages", "reserve_bytes"]

MEMORY_SETTING = "SPYRELAB_MEMORY_GIB"
GIVE_BACK_BYTES = 64 << 20
"""A freed block of at least this size returns its pages at once: below it, faulting the pages in
again costs more than the memory is worth."""

_LINUX = sys.platform == "linux"
_FLAGS = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS
# Python names MAP_NORESERVE only from 3.13 on; without it a strict system counts the whole reserve.
_FLAGS |= getattr(mmap, "MAP_NORESERVE", 0x4000 if _LINUX else 0)


def reserve_bytes(machine: Machine = SPYRE) -> int:
    """Return the DDR bytes to reserve: ``SPYRELAB_MEMORY_GIB`` if set, else the machine's own.

    Raises
    ------
    MachineError
        The setting is not a positive number.
    """
    text = os.environ.get(MEMORY_SETTING)
    if not text:
        return machine.ddr_bytes
    try:
        gib = float(text)
    except ValueError:
        gib = 0.0
    if not 0 < gib <= 1 << 20:
        raise MachineError(f"{MEMORY_SETTING}={text!r} must be a positive number of GiB, such as 8")
    return max(int(gib * (1 << 30)) // machine.stick_bytes, 1) * machine.stick_bytes


class DeviceMemory:
    """DDR at ``[0, ddr_bytes)``, then the scratchpad of core c at ``ddr_bytes + c * lx_bytes``.

    The space is reserved in one piece and backed by real memory only where it is touched.
    The allocator hands out DDR; scratchpads are planned by programs. All methods may be called
    from any thread, but not from ``__del__`` or a garbage-collection callback.

    The sanitizer reports loads of bytes that nobody wrote. Launches say themselves what they
    store; a host that writes through the arrays below says so with :meth:`mark_written`.

    Parameters
    ----------
    ddr_bytes : int, optional
        DDR to reserve, a multiple of the stick. Default: :func:`reserve_bytes`.
    machine : Machine
        Gives the number and size of scratchpads and the stick.

    Attributes
    ----------
    bytes, i8, u16, i16, u32, i32, f32, i64 : numpy.ndarray
        The whole reserve (DDR and scratchpads) as elements of each type; one memory.
    version : int
        Changes whenever :attr:`live` does.

    Raises
    ------
    MemoryReserveError
        The system refuses the address space.
    """

    def __init__(self, ddr_bytes: int | None = None, *, machine: Machine = SPYRE) -> None:
        self.ddr_bytes = reserve_bytes(machine) if ddr_bytes is None else ddr_bytes
        if self.ddr_bytes <= 0 or self.ddr_bytes % machine.stick_bytes:
            raise MachineError(
                f"device memory needs a positive multiple of {machine.stick_bytes} bytes,"
                f" not {self.ddr_bytes}"
            )
        self.machine, self.lx_bytes, self.cores = machine, machine.lx_bytes, machine.cores
        self.size = self.ddr_bytes + self.cores * self.lx_bytes
        self.version = 0
        self._lock = threading.Lock()
        self._allocator = Allocator(self.ddr_bytes, machine.stick_bytes)
        self._live: tuple[int, NDArray[np.int64], NDArray[np.int64]] | None = None
        self._unwritten = Unwritten()
        self._map: mmap.mmap | None = map_pages(self.size)
        self._set_views(np.frombuffer(self._map, np.uint8))

    def lx_base(self, core: int) -> int:
        """Return the address of the first scratchpad byte of ``core``."""
        if not 0 <= core < self.cores:
            raise AllocationError(f"core {core} does not exist: cores are 0 to {self.cores - 1}")
        return self.ddr_bytes + core * self.lx_bytes

    def allocate(self, nbytes: int, label: str | None = None, *, zero: bool = False) -> int:
        """Return the address of ``nbytes`` fresh DDR bytes, on a stick boundary.

        A zero-size allocation has an address of its own. Old contents remain unless ``zero``.

        Raises
        ------
        OutOfMemoryError
            No hole is large enough; nothing has changed.
        AllocationError
            The size is negative.
        """
        with self._lock:
            self.require_open()
            block = self._allocator.allocate(nbytes, label)
            self.version += 1
            self._unwritten.add(block)
        if zero:
            self._zero(block.address, block.address + block.extent)
            self.mark_written(block.address, nbytes)
        return block.address

    def reserve(self, address: int, nbytes: int, label: str | None = None) -> int:
        """Take the DDR bytes ``[address, address + nbytes)`` and return ``address``.

        For kernels whose addresses are literals: nothing is rounded.

        Raises
        ------
        AllocationError
            The range overlaps a live one or does not lie in DDR.
        """
        with self._lock:
            self.require_open()
            block = self._allocator.reserve(address, nbytes, label)
            self.version += 1
            self._unwritten.add(block)
        return block.address

    def free(self, address: int) -> None:
        """Give back the allocation that starts at ``address``; a large one drops its pages.

        Raises
        ------
        AllocationError
            Nothing is allocated there.
        """
        with self._lock:
            self.require_open()
            block = self._allocator.free(address)
            self.version += 1
            self._unwritten.drop(address)
            if block.extent >= GIVE_BACK_BYTES:
                self._drop_pages(block.address, block.address + block.extent)

    def resize(self, address: int, nbytes: int) -> None:
        """Let an allocation count as ``nbytes`` of what it takes; contents become unwritten.

        Its address stays, and so does what it takes: accesses past ``nbytes`` are out of bounds.

        Raises
        ------
        AllocationError
            Nothing is allocated there, or it takes less.
        """
        with self._lock:
            self.require_open()
            block = self._allocator.resize(address, nbytes)
            self.version += 1
            self._unwritten.drop(address)
            self._unwritten.add(block)

    def trim(self) -> None:
        """Give the pages of every hole and of every scratchpad back to the system."""
        with self._lock:
            self.require_open()
            for start, end in self._allocator.holes:
                self._drop_pages(start, end)
            self._drop_pages(self.ddr_bytes, self.size)

    def mark_written(self, address: int, nbytes: int) -> None:
        """Tell the sanitizer that the host has written a range of DDR or of a scratchpad.

        What is written into a scratchpad lasts for the next launch only.
        """
        end = address + nbytes
        with self._lock:
            if address >= self.ddr_bytes:
                self._unwritten.scratchpads.append((address, end))
                return
            while address < end and (block := self._allocator.owner(address)):
                self._unwritten.write(block, address, end)
                address = block.end

    def assume_written(self) -> None:
        """Tell the sanitizer that all of memory may have been written, by a launch unwatched."""
        with self._lock:
            self._unwritten.clear()

    def unwritten(self, block: Allocation) -> NDArray[np.bool_] | None:
        """True for every byte of an allocation that nobody wrote; None if there is none."""
        with self._lock:
            return self._unwritten.mask(block)

    def set_unwritten(self, block: Allocation, mask: NDArray[np.bool_]) -> None:
        """Enter what :meth:`unwritten` gives from now on: after a launch that was watched."""
        with self._lock:
            self._unwritten.keep(block, mask)

    def take_scratchpad_writes(self) -> list[tuple[int, int]]:
        """Return, and forget, the scratchpad ranges that the host wrote for the next launch."""
        with self._lock:
            ranges, self._unwritten.scratchpads = self._unwritten.scratchpads, []
        return ranges

    def owner(self, address: int) -> Allocation | None:
        """Return the allocation that holds ``address``, or None."""
        with self._lock:
            return self._allocator.owner(address)

    @property
    def allocations(self) -> list[Allocation]:
        """Every live allocation, by ascending address."""
        with self._lock:
            return [self._allocator.live[start] for start in self._allocator.starts]

    @property
    def live(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """First and past-the-last DDR address of every live allocation, ascending."""
        with self._lock:
            if self._live is None or self._live[0] != self.version:
                blocks = [self._allocator.live[start] for start in self._allocator.starts]
                ends = np.array([block.end for block in blocks], np.int64)
                self._live = self.version, np.array(self._allocator.starts, np.int64), ends
            return self._live[1], self._live[2]

    @property
    def allocated_bytes(self) -> int:
        """DDR bytes taken now, in whole sticks."""
        return self._allocator.allocated

    @property
    def peak_bytes(self) -> int:
        """Most DDR bytes ever taken at once, since creation or :meth:`reset_peak`."""
        return self._allocator.peak

    @property
    def free_bytes(self) -> int:
        """DDR bytes not taken."""
        return self._allocator.free_bytes

    @property
    def largest_hole(self) -> int:
        """Bytes of the largest allocation that would succeed now."""
        return self._allocator.largest_hole

    @property
    def allocation_count(self) -> int:
        """Live allocations."""
        return self._allocator.count

    @property
    def total_allocation_count(self) -> int:
        """Allocations and reservations ever made."""
        return self._allocator.total_count

    @property
    def total_allocated_bytes(self) -> int:
        """DDR bytes ever taken, counting each allocation."""
        return self._allocator.total_bytes

    def reset_peak(self) -> None:
        """Let :attr:`peak_bytes` start again from what is taken now."""
        with self._lock:
            self._allocator.peak = self._allocator.allocated

    def close(self) -> None:
        """Unmap the reserve; arrays that others still hold keep it mapped until they die."""
        with self._lock:
            pages, self._map = self._map, None
            self._set_views(np.empty(0, np.uint8))
        if pages is not None:
            try:
                pages.close()
            except BufferError:  # someone holds a view: its death unmaps the pages
                return

    def require_open(self) -> None:
        """Raise AllocationError once the memory is closed."""
        if self._map is None:
            raise AllocationError("this device memory is closed")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        state = "" if self._map is not None else ", closed"
        return (
            f"DeviceMemory({self.ddr_bytes / (1 << 30):g} GiB, {self.allocation_count} allocations,"
            f" {self.allocated_bytes:,} bytes{state})"
        )

    def _set_views(self, pages: NDArray[np.uint8]) -> None:
        self.bytes = pages
        self.i8: NDArray[np.int8] = pages.view(np.int8)
        self.u16: NDArray[np.uint16] = pages.view(np.uint16)
        self.i16: NDArray[np.int16] = pages.view(np.int16)
        self.u32: NDArray[np.uint32] = pages.view(np.uint32)
        self.i32: NDArray[np.int32] = pages.view(np.int32)
        self.f32: NDArray[np.float32] = pages.view(np.float32)
        self.i64: NDArray[np.int64] = pages.view(np.int64)

    def _zero(self, start: int, end: int) -> None:
        first, last = self._drop_pages(start, end) if end - start >= GIVE_BACK_BYTES else (end, end)
        self.bytes[start:first] = 0
        self.bytes[last:end] = 0

    def _drop_pages(self, start: int, end: int) -> tuple[int, int]:
        """Drop the whole pages in a range and return the part that now reads as zero."""
        first = -(-start // mmap.PAGESIZE) * mmap.PAGESIZE
        last = end // mmap.PAGESIZE * mmap.PAGESIZE
        if first >= last or self._map is None:
            return end, end
        self._map.madvise(mmap.MADV_DONTNEED, first, last - first)
        # Only Linux promises zeros after MADV_DONTNEED.
        return (first, last) if _LINUX else (end, end)


def map_pages(size: int, huge: bool = True) -> mmap.mmap:
    """Return zero bytes that take address space now and memory only where they are touched.

    Memory comes in ``huge`` pages where the system has them.
    """
    try:
        pages: Any = mmap.mmap(-1, size, flags=_FLAGS, prot=mmap.PROT_READ | mmap.PROT_WRITE)
    except (OSError, OverflowError) as error:
        raise MemoryReserveError(
            f"the system refused to reserve {size / (1 << 30):.1f} GiB of address space for device"
            f" memory ({error}); set {MEMORY_SETTING} to a smaller number of GiB, such as"
            f" {MEMORY_SETTING}=4, or raise the limit (ulimit -v, vm.overcommit_memory)"
        ) from error
    if huge and hasattr(mmap, "MADV_HUGEPAGE"):
        # Tiles walk down columns of large matrices: small pages would miss the TLB at every row.
        with contextlib.suppress(OSError):
            pages.madvise(mmap.MADV_HUGEPAGE)
    return pages
