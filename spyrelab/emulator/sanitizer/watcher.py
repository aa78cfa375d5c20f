"""The sanitizer's state for one launch: shadow of memory, clocks, findings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import count
from typing import TYPE_CHECKING

import numpy as np

from spyrelab.emulator.sanitizer.instrument import Watched
from spyrelab.emulator.vm_frame import address_of
from spyrelab.emulator.vm_watch import (
    FINDING,
    FIRST_RECORD,
    LOCKS,
    OTHERWISE,
    SPLIT,
    STICK_SHIFT,
    Site,
    Watch,
)
from spyrelab.machine import Allocation, DeviceMemory, map_pages

if TYPE_CHECKING:
    from spyrelab.emulator.program import Program

_RECORDS, _READERS, _MEMO = 1 << 20, 1 << 21, 1 << 22
_FINDINGS = 256
_launches = count(1)


class _History:
    """Tables that launches use one after the other, for clearing them takes too long."""

    def __init__(self) -> None:
        self.records = np.zeros((_RECORDS, 3), np.int64)
        self.records[:FIRST_RECORD] = -1
        self.readers = np.zeros((_READERS, 2), np.int64)
        self.memo = np.zeros((_MEMO, 3), np.int64)


_histories: list[_History] = []


_STICK = 1 << STICK_SHIFT


class Watcher:
    """State that WATCH instructions read and write.

    Attributes
    ----------
    state : int64 array
        `Watch`.
    sites : int64 array [transfers, len(Site)]
    findings : int64 array
        Rows that were found.
    scratchpads : list of (start, end)
        What the host wrote into scratchpads for this launch.
    reach : int64 array [transfers, cores, 2]
        Lowest and past-the-highest byte of main memory, 0 where there is none.
    """

    def __init__(
        self,
        program: Program,
        watched: Watched,
        values: Sequence[int | float],
        memory: DeviceMemory,
    ) -> None:
        self.program, self.watched, self.memory = program, watched, memory
        self.state = np.zeros(len(Watch), np.int64)
        self._kept: list[np.ndarray] = []
        self.blocks = [block for block in memory.allocations if block.nbytes]
        self.cores, sites = program.cores, max(len(watched.transfers), 1)
        self.state[Watch.CORES] = self.cores
        self.state[Watch.DDR_BYTES], self.state[Watch.LX_BYTES] = memory.ddr_bytes, memory.lx_bytes
        self._lay_out()
        self.pointed = self._pointed(values)
        self.sites = self._array(Watch.SITES_AT, (sites, len(Site)), Watch.SITES)
        self._enter_sites()
        clocks = self._array(Watch.CLOCKS_AT, (self.cores, self.cores))
        np.fill_diagonal(clocks, 1)
        exchanges = max(len(program.exchanges), 1)
        self._array(Watch.PUBLISHED_AT, (exchanges * self.cores, self.cores))
        self.state[Watch.EXCHANGES] = exchanges
        self._array(Watch.LOCKS_AT, (LOCKS, self.cores), Watch.LOCKS)
        self._history = history = _histories.pop() if _histories else _History()
        self.records = self._enter(Watch.RECORDS_AT, history.records, Watch.RECORDS)
        self._enter(Watch.READERS_AT, history.readers, Watch.READERS)
        self._enter(Watch.MEMO_AT, history.memo, Watch.MEMO)
        self.state[Watch.LAUNCH] = next(_launches)
        self._array(Watch.CURRENT_AT, (sites, self.cores))
        self._found = self._array(Watch.FINDINGS_AT, (_FINDINGS, FINDING), Watch.FINDINGS)
        self.reach = self._array(Watch.REACH_AT, (sites, self.cores, 2))
        self.state[Watch.RECORDS_USED], self.state[Watch.READERS_USED] = FIRST_RECORD, 1

    @property
    def findings(self) -> np.ndarray:
        return self._found[: self.state[Watch.FINDINGS_USED]]

    @property
    def is_full(self) -> bool:
        """Whether a part of the history was forgotten, so that races may be missed."""
        state = self.state
        return bool(
            state[Watch.RECORDS_USED] >= _RECORDS
            or state[Watch.READERS_USED] >= _READERS
            or state[Watch.FINDINGS_USED] >= _FINDINGS
        )

    def last_writes(self, block: int) -> np.ndarray:
        """Record of the last write to every granule of an allocation."""
        first, last = self._cells_of(block)
        per_stick = STICK_SHIFT - self.watched.shift
        cells = np.repeat(self._sticks[first >> per_stick : last >> per_stick], 1 << per_stick)
        split = cells == SPLIT
        cells[split] = self._cells[first:last][split]
        return cells >> 32

    def close(self) -> None:
        """Leave the tables to the next launch; this one is diagnosed."""
        _histories.append(self._history)

    def finish(self) -> None:
        """Tell device memory what was written."""
        for number, block in enumerate(self.blocks):
            unwritten = self.memory.unwritten(block)
            if unwritten is not None:
                still = np.repeat(self.last_writes(number) == OTHERWISE, 1 << self.watched.shift)
                offset = block.address % _STICK
                unwritten &= still[offset : offset + block.nbytes]
                self.memory.set_unwritten(block, unwritten)

    # -- building ----------------------------------------------------------------------------

    def _array(self, at: Watch, shape: tuple[int, ...], size: Watch | None = None) -> np.ndarray:
        return self._enter(at, np.zeros(shape, np.int64), size)

    def _enter(self, at: Watch, array: np.ndarray, size: Watch | None = None) -> np.ndarray:
        self._kept.append(array)
        self.state[at] = address_of(array)
        if size is not None:
            self.state[size] = len(array)
        return array

    def _lay_out(self) -> None:
        """Give every allocation and every scratchpad its cells."""
        self._shift = shift = self.watched.shift
        regions = self._array(Watch.REGIONS_AT, (max(len(self.blocks), 1), 3))
        self.state[Watch.REGIONS] = len(self.blocks)
        cell = 0
        for number, block in enumerate(self.blocks):
            regions[number] = block.address, block.end, cell
            cell += (-(-block.end // _STICK) - block.address // _STICK) << (STICK_SHIFT - shift)
        self._regions = regions
        self.state[Watch.LX_CELL] = cell
        cells = cell + (self.cores * self.memory.lx_bytes >> shift)
        sticks = cells >> (STICK_SHIFT - shift)
        self._pages = map_pages(8 * (cells + sticks), huge=False)
        both = np.frombuffer(self._pages, np.int64)
        self._cells, self._sticks = both[:cells], both[cells:]
        self.state[Watch.CELLS_AT], self.state[Watch.CELLS] = address_of(self._cells), cells
        self.state[Watch.STICKS_AT] = address_of(self._sticks)
        self.state[Watch.SHIFT] = shift
        for number, block in enumerate(self.blocks):
            self._mark_unwritten(number, block)
        self.scratchpads = self.memory.take_scratchpad_writes()
        for low, high in self.scratchpads:
            if low < self.memory.ddr_bytes + self.cores * self.memory.lx_bytes:
                self._mark(cell + ((low - self.memory.ddr_bytes) >> shift), (high - low) >> shift)

    def _cells_of(self, block: int) -> tuple[int, int]:
        """Cells of an allocation, in whole sticks."""
        first = int(self._regions[block, 2])
        after = int(self._regions[block + 1, 2]) if block + 1 < len(self.blocks) else None
        return first, int(self.state[Watch.LX_CELL]) if after is None else after

    def _mark_unwritten(self, number: int, block: Allocation) -> None:
        mask = self.memory.unwritten(block)
        if mask is None:
            return
        first, last = self._cells_of(number)
        if mask.all():
            per_stick = STICK_SHIFT - self._shift
            self._sticks[first >> per_stick : last >> per_stick] = OTHERWISE << 32
            return
        edges = np.flatnonzero(np.diff(np.concatenate([[0], mask.view(np.int8), [0]])))
        granule = 1 << self._shift
        for low, high in edges.reshape(-1, 2).tolist():
            low, high = low + block.address % _STICK, high + block.address % _STICK
            low, high = -(-low // granule), high // granule
            self._mark(first + low, high - low)

    def _mark(self, cell: int, count: int) -> None:
        """Enter that granules are not as they are in the rest of their memory."""
        per_stick = STICK_SHIFT - self._shift
        last, state = cell + count, OTHERWISE << 32
        while cell < last:
            stick = cell >> per_stick
            start, end = stick << per_stick, min(last, (stick + 1) << per_stick)
            if cell == start and last >= (stick + 1) << per_stick:
                whole = last >> per_stick
                self._sticks[stick:whole] = state
                cell = whole << per_stick
                continue
            if self._sticks[stick] != SPLIT:
                self._cells[start : (stick + 1) << per_stick] = self._sticks[stick]
                self._sticks[stick] = SPLIT
            self._cells[cell:end] = state
            cell = end

    def _pointed(self, values: Sequence[int | float]) -> Mapping[str, int | None]:
        """Number of the allocation that each pointer argument points into."""
        starts = [block.address for block in self.blocks]
        found: dict[str, int | None] = {}
        for argument, value in zip(self.program.arguments, values, strict=True):
            if argument.itemsize is not None:
                address = int(value) * argument.itemsize
                place = int(np.searchsorted(starts, address, side="right")) - 1
                inside = place >= 0 and address < self.blocks[place].end
                found[argument.name] = place if inside else None
        return found

    def _enter_sites(self) -> None:
        allowed: list[int] = []
        for site, transfer in enumerate(self.watched.transfers):
            self.sites[site, Site.FIRST], self.sites[site, Site.COUNT] = len(allowed), -1
            if transfer.arguments is not None:
                places = {self.pointed[name] for name in transfer.arguments}
                known = sorted(place for place in places if place is not None)
                self.sites[site, Site.COUNT] = len(known)
                allowed += known
            if transfer.indices:
                self.sites[site, Site.INDICES] = len(allowed)
                self.sites[site, Site.INDEX_COUNT] = len(transfer.indices)
                allowed += transfer.indices
        array = self._array(Watch.ALLOWED_AT, (max(len(allowed), 1),), Watch.ALLOWED)
        array[: len(allowed)] = allowed
