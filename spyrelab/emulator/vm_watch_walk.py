"""The sanitizer's steps: every transfer is walked here, before the VM makes it."""

from __future__ import annotations

from spyrelab.emulator.linkage import FLOATS, INT, INTS, Floats, Integers, tile_function
from spyrelab.emulator.native import machine_code
from spyrelab.emulator.opcodes import MASKED, Status
from spyrelab.emulator.vm_frame import integers_at, table_at
from spyrelab.emulator.vm_poison import poison_box, poison_runs, poison_tile
from spyrelab.emulator.vm_runs import element_size
from spyrelab.emulator.vm_transfer import box_axes
from spyrelab.emulator.vm_watch import (
    STICK_SHIFT,
    Fault,
    Site,
    Step,
    Watch,
    acquire,
    collect,
    next_epoch,
    publish,
    record_of,
    release,
    report,
    touch,
)

_STOPPED = int(Status.STOPPED)
_OUTSIDE, _INDEX = int(Fault.OUTSIDE), int(Fault.INDEX)
_FIELDS = len(Watch)
_SITE = len(Site)
_LOAD_BOX, _STORE_BOX, _GATHER, _SCATTER, _COLLECT, _PUBLISH, _BOX, _TILE, _RUNS, _ATOMIC = map(
    int, Step
)
_STICK = 1 << STICK_SHIFT


@machine_code(makes_arrays=True)
def _cell_of(s, site, space, core, low, high):
    """Cell of byte ``low`` if ``[low, high)`` is memory that the transfer may touch, else -1."""
    shift = s[Watch.SHIFT]
    if space != 0:
        owner = core if space == 1 else space - 2
        base = s[Watch.DDR_BYTES] + owner * s[Watch.LX_BYTES]
        if owner >= s[Watch.CORES] or low < base or high > base + s[Watch.LX_BYTES]:
            return -1
        return s[Watch.LX_CELL] + ((low - s[Watch.DDR_BYTES]) >> shift)
    regions = table_at(s[Watch.REGIONS_AT], s[Watch.REGIONS], 3)
    sites = table_at(s[Watch.SITES_AT], s[Watch.SITES], _SITE)
    allowed = integers_at(s[Watch.ALLOWED_AT], s[Watch.ALLOWED])
    start, count = sites[site, Site.FIRST], sites[site, Site.COUNT]
    found = -1
    for i in range(start, start + count):
        if regions[allowed[i], 0] <= low and high <= regions[allowed[i], 1]:
            found = allowed[i]
    if count < 0:
        first, last = 0, s[Watch.REGIONS]
        while first < last:
            middle = (first + last) >> 1
            if regions[middle, 0] <= low:
                first = middle + 1
            else:
                last = middle
        if first > 0 and high <= regions[first - 1, 1]:
            found = first - 1
    if found < 0:
        return -1
    return regions[found, 2] + ((low - (regions[found, 0] & -_STICK)) >> shift)


@machine_code(makes_arrays=True)
def _note_reach(s, site, core, low, high):
    """Keep the lowest and the highest main-memory byte of a transfer of a core."""
    reach = table_at(s[Watch.REACH_AT], s[Watch.SITES] * s[Watch.CORES], 2)
    row = reach[site * s[Watch.CORES] + core]
    if row[1] == 0 or low < row[0]:
        row[0] = low
    if high > row[1]:
        row[1] = high


@machine_code(makes_arrays=True)
def _note_sticks(s, site, core, address, amount):
    """A run that starts or ends inside a stick, and needs one more than its bytes fill."""
    sticks = ((address + amount - 1) >> STICK_SHIFT) - (address >> STICK_SHIFT) + 1
    if amount >= _STICK and sticks > (amount + _STICK - 1) >> STICK_SHIFT:
        sites = table_at(s[Watch.SITES_AT], s[Watch.SITES], _SITE)
        if sites[site, Site.CROOKED] == 0 or core < sites[site, Site.CROOKED_CORE]:
            sites[site, Site.CROOKED_CORE] = core
            sites[site, Site.CROOKED_AT] = address
        sites[site, Site.CROOKED] += 1


@machine_code(makes_arrays=True)
def _watch_run(s, store, site, core, record, space, address, step, count, size, known):
    """Check one run, whose lowest byte has the cell ``known`` if that is not -1."""
    shift = s[Watch.SHIFT]
    end = address + (count - 1) * step
    low, high = min(address, end), max(address, end) + size
    cell = known if known >= 0 else _cell_of(s, site, space, core, low, high)
    if cell >= 0:
        first = cell + ((address - low) >> shift)
        if step == size:
            if space == 0:
                _note_sticks(s, site, core, address, count * size)
            last = first + ((count * size) >> shift)
            touch(s, store, first, last, record, site, core, address, space != 0)
        else:
            width, apart = size >> shift, step >> shift
            for i in range(count):
                place = first + i * apart
                one = address + i * step
                touch(s, store, place, place + width, record, site, core, one, space != 0)
        return True
    for i in range(count):
        one = address + i * step
        cell = _cell_of(s, site, space, core, one, one + size)
        if cell < 0:
            report(s, _OUTSIDE, site, core, one, 0)
            return False
        touch(s, store, cell, cell + (size >> shift), record, site, core, one, space != 0)
    return True


@machine_code(makes_arrays=True)
def _watch_box(s, store, d, site, core, pool, I):
    """A box, axis by axis as `transfer_box` moves it."""
    space, size = pool[d + 4], element_size(pool[d + 1])
    address, _, axes, valid, clipped, _, low, high = box_axes(d, pool, I)
    if clipped:
        sites = table_at(s[Watch.SITES_AT], s[Watch.SITES], _SITE)
        sites[site, Site.MASKED] = 1
    if valid <= 0:
        return True
    base = _cell_of(s, site, space, core, low, high)
    if space == 0:
        _note_reach(s, site, core, low, high)
    record = record_of(s, site, core)
    count, step, shift = I[0], I[8], s[Watch.SHIFT]
    behind = min(0, (count - 1) * step)
    for axis in range(1, axes):
        I[24 + axis] = 0
    while True:
        known = base if base < 0 else base + ((address + behind - low) >> shift)
        if not _watch_run(s, store, site, core, record, space, address, step, count, size, known):
            return False
        axis = 1
        while axis < axes:
            address += I[8 + axis]
            I[24 + axis] += 1
            if I[24 + axis] < I[axis]:
                break
            address -= I[axis] * I[8 + axis]
            I[24 + axis] = 0
            axis += 1
        if axis >= axes:
            return True


@machine_code(makes_arrays=True)
def _watch_indices(s, site, core, runs, I):
    """Report loaded coordinates outside the view, where nothing else masks the point."""
    sites = table_at(s[Watch.SITES_AT], s[Watch.SITES], _SITE)
    notes = integers_at(s[Watch.ALLOWED_AT], s[Watch.ALLOWED])
    at, count = sites[site, Site.INDICES], sites[site, Site.INDEX_COUNT]
    if count == 0:
        return
    for run in range(runs):
        if I[notes[at] + run * notes[at + 1]] != 0:
            for i in range(at + 2, at + count, 3):
                index = I[notes[i] + run * notes[i + 1]]
                if index < 0 or index >= I[notes[i + 2]]:
                    report(s, _INDEX, site, core, index, 0)


@machine_code(makes_arrays=True)
def _watch_runs(s, store, d, site, core, pool, I):
    """Runs at computed addresses, as `transfer_runs` moves them."""
    addresses, space, size = pool[d + 2], pool[d + 8], element_size(pool[d])
    runs, start, extent = I[pool[d + 3]], I[pool[d + 4]], I[pool[d + 5]]
    step = I[pool[d + 6]] * size
    low = max(0, -start)
    count = max(min(extent, I[pool[d + 7]] - start) - low, 0)
    shift = (start + low) * step
    record = record_of(s, site, core)
    if count > 0:
        _watch_indices(s, site, core, runs, I)
    anywhere, masked, ddr = space < 0, count < extent, s[Watch.DDR_BYTES]
    for run in range(runs):
        base = I[addresses + run]
        if base == MASKED or count == 0:
            masked = True
            continue
        first = base + shift
        end = first + (count - 1) * step
        if anywhere:
            space = 0 if first < ddr else 2 + (first - ddr) // s[Watch.LX_BYTES]
        if space == 0:
            _note_reach(s, site, core, min(first, end), max(first, end) + size)
        if not _watch_run(s, store, site, core, record, space, first, step, count, size, -1):
            return False
    if masked:
        sites = table_at(s[Watch.SITES_AT], s[Watch.SITES], _SITE)
        sites[site, Site.MASKED] = 1
    return True


@machine_code(makes_arrays=True)
def _watch_atomics(s, d, site, core, pool, I):
    """Elements that are read and written, in order with other atomic operations on them."""
    addresses, runs = pool[d + 2], I[pool[d + 3]]
    for run in range(runs):
        if I[addresses + run] != MASKED:
            acquire(s, I[addresses + run], core)
    for store in (False, True):
        s[Watch.OLD], s[Watch.NEW] = -1, -1
        if not _watch_runs(s, store, d, site, core, pool, I):
            return False
    for run in range(runs):
        if I[addresses + run] != MASKED:
            release(s, I[addresses + run], core)
    next_epoch(s, core)
    return True


@tile_function(INT, INT, INT, INT, INT, INTS, FLOATS, INTS, INTS, on_demand=True)
def watch(
    what: int,
    d: int,
    site: int,
    core: int,
    at: int,
    pool: Integers,
    F: Floats,
    I: Integers,
    error: Integers,
) -> None:
    """One WATCH instruction; ``error[0]`` tells the VM to stop this core."""
    s = integers_at(at, _FIELDS)
    s[Watch.OLD], s[Watch.NEW] = -1, -1
    fine = True
    if what == _LOAD_BOX or what == _STORE_BOX:
        fine = _watch_box(s, what == _STORE_BOX, d, site, core, pool, I)
    elif what == _GATHER or what == _SCATTER:
        fine = _watch_runs(s, what == _SCATTER, d, site, core, pool, I)
    elif what == _ATOMIC:
        fine = _watch_atomics(s, d, site, core, pool, I)
    elif what == _COLLECT:
        collect(s, d, site, core, pool)
    elif what == _PUBLISH:
        publish(s, d, core)
    elif what == _BOX:
        poison_box(d, pool, F, I, s[Watch.POISON])
    elif what == _TILE:
        poison_tile(d, pool, F, I, s[Watch.POISON])
    elif what == _RUNS:
        poison_runs(d, pool, F, I, s[Watch.POISON])
    if not fine:
        error[0] = _STOPPED
