"""What the sanitizer remembers of every granule of memory, and the rules that find a fault.

A *cell* stands for one granule (the smallest element that a program moves), and while all
granules of a stick are alike, one cell of the stick stands for them.  Its upper half is the
record of the last write, its lower half a list of the reads since then.  A *record* is one
transfer of one core at one time of that core's clock; a *reader list* is a chain of records,
shared by all cells that were read alike, so that a whole row of a tile changes state together
and the rules below run once for it.  Clocks are vectors: what a core knows of every other one,
learnt when it collects from a producer.  (FastTrack, Flanagan and Freund 2009, with shared
reader lists in place of read vectors.)
"""

from __future__ import annotations

from enum import IntEnum, auto

from spyrelab.emulator.native import machine_code
from spyrelab.emulator.vm_frame import integers_at, table_at


class Watch(IntEnum):
    """Entries of the sanitizer's state; ``*_AT`` are addresses."""

    CORES = 0
    DDR_BYTES = auto()
    LX_BYTES = auto()
    CELLS_AT = auto()
    CELLS = auto()
    STICKS_AT = auto()
    """Cells of whole sticks; `SPLIT` where the granules differ."""
    SHIFT = auto()
    """Binary logarithm of the bytes of a granule."""
    LX_CELL = auto()
    """Cell of the first scratchpad byte."""
    REGIONS_AT = auto()
    REGIONS = auto()
    """Rows of first byte, past-the-last byte and first cell of every live allocation."""
    SITES_AT = auto()
    SITES = auto()
    """Rows of `Site` for every transfer instruction."""
    ALLOWED_AT = auto()
    ALLOWED = auto()
    CLOCKS_AT = auto()
    PUBLISHED_AT = auto()
    EXCHANGES = auto()
    RECORDS_AT = auto()
    RECORDS = auto()
    RECORDS_USED = auto()
    CURRENT_AT = auto()
    READERS_AT = auto()
    READERS = auto()
    READERS_USED = auto()
    MEMO_AT = auto()
    MEMO = auto()
    LAUNCH = auto()
    """Number of the launch: what the memo keeps of others does not count."""
    FINDINGS_AT = auto()
    FINDINGS = auto()
    FINDINGS_USED = auto()
    REACH_AT = auto()
    OLD = auto()
    NEW = auto()
    """The last change of state of the transfer that is being checked."""
    POISON = auto()
    LOCKS_AT = auto()
    LOCKS = auto()
    """Clocks of what was last done atomically at places of equal hash."""


class Site(IntEnum):
    """Columns of a transfer instruction's row."""

    FIRST = 0
    COUNT = 1
    """Regions that its address may lie in: a part of the allowed ones; count -1: any."""
    MASKED = 2
    """Set when elements of it were masked."""
    CROOKED = 3
    """Runs that touch one stick more than their bytes need."""
    CROOKED_CORE = 4
    CROOKED_AT = 5
    INDICES = 6
    """Where its loaded coordinates are described, after the allowed regions."""
    INDEX_COUNT = 7


class Fault(IntEnum):
    """What a finding's row says was wrong."""

    OUTSIDE = 0
    UNWRITTEN = 1
    WRITE_WRITE = 2
    READ_WRITE = 3
    INDEX = 4
    """A loaded coordinate outside the view: nothing is moved for it."""


class Step(IntEnum):
    """What a WATCH instruction does."""

    LOAD_BOX = 0
    STORE_BOX = 1
    GATHER = 2
    SCATTER = 3
    COLLECT = 4
    PUBLISH = 5
    POISON_BOX = 6
    POISON_TILE = 7
    POISON_RUNS = 8
    ATOMIC = 9


UNTOUCHED, OTHERWISE, FORGOTTEN, FIRST_RECORD = 0, 1, 2, 3
"""Write records of a granule that the launch has not written: as the host left it (main memory:
written, scratchpad: not); the opposite; by a transfer that is no longer known."""
SPLIT = -1
STICK_SHIFT = 7
LOCKS = 4096
"""Places that share one only hide races, they make none up."""
FINDING = 7
"""Columns of a finding: fault, site, core, address, other record's site and core, cores."""
_OUTSIDE, _UNWRITTEN, _WRITE_WRITE, _READ_WRITE, _INDEX = map(int, Fault)
_LOW = (1 << 32) - 1
_SPREAD = 0x9E3779B97F4A7C15 >> 1


@machine_code(makes_arrays=True)
def report(s, fault, site, core, address, other):
    """Enter a finding, once for each pair of transfers; the lowest core stays."""
    records = table_at(s[Watch.RECORDS_AT], s[Watch.RECORDS], 3)
    findings = table_at(s[Watch.FINDINGS_AT], s[Watch.FINDINGS], FINDING)
    other_core, other_site = records[other, 0], records[other, 2]
    number, used = 0, s[Watch.FINDINGS_USED]
    while number < used and not (
        findings[number, 0] == fault
        and findings[number, 1] == site
        and findings[number, 4] == other_site
    ):
        number += 1
    if number == s[Watch.FINDINGS]:
        return
    row = findings[number]
    if number == used:
        s[Watch.FINDINGS_USED] += 1
        row[6] = 0
    if number == used or core < row[2]:
        row[0], row[1], row[2], row[3] = fault, site, core, address
        row[4], row[5] = other_site, other_core
    if core < 63:
        row[6] |= 1 << core


@machine_code(makes_arrays=True)
def record_of(s, site, core):
    """The record of a transfer of a core now."""
    cores = s[Watch.CORES]
    current = table_at(s[Watch.CURRENT_AT], s[Watch.SITES], cores)
    clocks = table_at(s[Watch.CLOCKS_AT], cores, cores)
    records = table_at(s[Watch.RECORDS_AT], s[Watch.RECORDS], 3)
    record = current[site, core]
    if record != 0 and records[record, 1] == clocks[core, core]:
        return record
    record = s[Watch.RECORDS_USED]
    if record >= s[Watch.RECORDS]:
        return FORGOTTEN
    s[Watch.RECORDS_USED] += 1
    records[record, 0], records[record, 1], records[record, 2] = core, clocks[core, core], site
    current[site, core] = record
    return record


@machine_code(makes_arrays=True)
def is_before(s, record, core):
    """Whether what a record stands for is ordered before what the core does now."""
    if record < FIRST_RECORD:
        return True
    records = table_at(s[Watch.RECORDS_AT], s[Watch.RECORDS], 3)
    clocks = table_at(s[Watch.CLOCKS_AT], s[Watch.CORES], s[Watch.CORES])
    owner = records[record, 0]
    return owner == core or clocks[core, owner] >= records[record, 1]


@machine_code(makes_arrays=True)
def _chain(s, record, rest):
    """A reader list with one more record in front; 0 where there is no room."""
    readers = table_at(s[Watch.READERS_AT], s[Watch.READERS], 2)
    made = s[Watch.READERS_USED]
    if made >= s[Watch.READERS]:
        return 0
    s[Watch.READERS_USED] += 1
    readers[made, 0], readers[made, 1] = record, rest
    return made


@machine_code(makes_arrays=True)
def _with_reader(s, first, record, core):
    """The reader list ``first`` after one more read; reads ordered before it are dropped."""
    readers = table_at(s[Watch.READERS_AT], s[Watch.READERS], 2)
    records = table_at(s[Watch.RECORDS_AT], s[Watch.RECORDS], 3)
    memo = table_at(s[Watch.MEMO_AT], s[Watch.MEMO], 3)
    launch = s[Watch.LAUNCH]
    if record < FIRST_RECORD:
        return first
    key = first << 32 | record
    slot = (key * _SPREAD >> 20) & (s[Watch.MEMO] - 1)
    for _ in range(16):
        if memo[slot, 2] != launch:
            break
        if memo[slot, 0] == key:
            return memo[slot, 1]
        slot = (slot + 1) & (s[Watch.MEMO] - 1)
    result, drops = first, False
    node = first
    while node != 0:
        reader = readers[node, 0]
        if records[reader, 0] == core and records[reader, 1] == records[record, 1]:
            break
        drops = drops or is_before(s, reader, core)
        node = readers[node, 1]
    if node == 0:
        if drops:
            result = 0
            node = first
            while node != 0:
                if not is_before(s, readers[node, 0], core):
                    result = _chain(s, readers[node, 0], result)
                node = readers[node, 1]
        result = _chain(s, record, result)
    if memo[slot, 2] != launch:
        memo[slot, 0], memo[slot, 1], memo[slot, 2] = key, result, launch
    return result


@machine_code(makes_arrays=True)
def _after_read(s, cell, record, site, core, address, in_lx):
    writer = cell >> 32
    if writer <= OTHERWISE and (writer == OTHERWISE) != in_lx:
        report(s, _UNWRITTEN, site, core, address, 0)
    elif not is_before(s, writer, core):
        report(s, _READ_WRITE, site, core, address, writer)
    return writer << 32 | _with_reader(s, cell & _LOW, record, core)


@machine_code(makes_arrays=True)
def _after_write(s, cell, record, site, core, address):
    readers = table_at(s[Watch.READERS_AT], s[Watch.READERS], 2)
    writer, node = cell >> 32, cell & _LOW
    if not is_before(s, writer, core):
        report(s, _WRITE_WRITE, site, core, address, writer)
    while node != 0:
        if not is_before(s, readers[node, 0], core):
            report(s, _READ_WRITE, site, core, address, readers[node, 0])
        node = readers[node, 1]
    return record << 32


@machine_code(makes_arrays=True)
def _after(s, store, cell, record, site, core, address, in_lx):
    """State of a cell after an access; the last change is remembered, for rows are alike."""
    if cell != s[Watch.OLD]:
        s[Watch.OLD] = cell
        if store:
            s[Watch.NEW] = _after_write(s, cell, record, site, core, address)
        else:
            s[Watch.NEW] = _after_read(s, cell, record, site, core, address, in_lx)
    return s[Watch.NEW]


@machine_code(makes_arrays=True)
def touch(s, store, first, last, record, site, core, address, in_lx):
    """An access to the cells ``[first, last)``; ``address`` is that of the first."""
    cells = integers_at(s[Watch.CELLS_AT], s[Watch.CELLS])
    shift = s[Watch.SHIFT]
    block = STICK_SHIFT - shift
    sticks = integers_at(s[Watch.STICKS_AT], s[Watch.CELLS] >> block)
    start = first
    while start < last:
        stick = start >> block
        end = min(last, (stick + 1) << block)
        cell = sticks[stick]
        if cell != SPLIT:
            at = address + ((start - first) << shift)
            new = _after(s, store, cell, record, site, core, at, in_lx)
            if end - start == 1 << block:
                sticks[stick] = new
            elif new != cell:
                sticks[stick] = SPLIT
                cells[stick << block : (stick + 1) << block] = cell
                cells[start:end] = new
        else:
            for i in range(start, end):
                at = address + ((i - first) << shift)
                cells[i] = _after(s, store, cells[i], record, site, core, at, in_lx)
        start = end


@machine_code(makes_arrays=True)
def publish(s, number, core):
    """A producer's clock goes with what it publishes."""
    cores = s[Watch.CORES]
    clocks = table_at(s[Watch.CLOCKS_AT], cores, cores)
    published = table_at(s[Watch.PUBLISHED_AT], s[Watch.EXCHANGES] * cores, cores)
    for other in range(cores):
        published[number * cores + core, other] = clocks[core, other]
    clocks[core, core] += 1


@machine_code(makes_arrays=True)
def collect(s, number, table, core, pool):
    """A consumer is ordered after all that its producers did before they published."""
    cores = s[Watch.CORES]
    clocks = table_at(s[Watch.CLOCKS_AT], cores, cores)
    published = table_at(s[Watch.PUBLISHED_AT], s[Watch.EXCHANGES] * cores, cores)
    start, count = pool[table + cores + core], pool[table + 2 * cores + core]
    for i in range(count):
        sender = number * cores + pool[start + i]
        for other in range(cores):
            if other != core and published[sender, other] > clocks[core, other]:
                clocks[core, other] = published[sender, other]
    clocks[core, core] += 1


@machine_code(makes_arrays=True)
def _lock_of(s, address):
    return (address >> s[Watch.SHIFT]) * _SPREAD >> 20 & (s[Watch.LOCKS] - 1)


@machine_code(makes_arrays=True)
def acquire(s, address, core):
    """An atomic operation is ordered after those on the same place before it."""
    cores = s[Watch.CORES]
    clocks = table_at(s[Watch.CLOCKS_AT], cores, cores)
    lock = table_at(s[Watch.LOCKS_AT], s[Watch.LOCKS], cores)[_lock_of(s, address)]
    for other in range(cores):
        if other != core and lock[other] > clocks[core, other]:
            clocks[core, other] = lock[other]


@machine_code(makes_arrays=True)
def release(s, address, core):
    """What a core did so far is ordered before later atomic operations on a place."""
    cores = s[Watch.CORES]
    clocks = table_at(s[Watch.CLOCKS_AT], cores, cores)
    lock = table_at(s[Watch.LOCKS_AT], s[Watch.LOCKS], cores)[_lock_of(s, address)]
    for other in range(cores):
        lock[other] = max(lock[other], clocks[core, other])


@machine_code(makes_arrays=True)
def next_epoch(s, core):
    """What a core does from now on is later than what it has released."""
    clocks = table_at(s[Watch.CLOCKS_AT], s[Watch.CORES], s[Watch.CORES])
    clocks[core, core] += 1
