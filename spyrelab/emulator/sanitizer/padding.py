"""Results that depend on masked elements: the program run again with other numbers in their place.

A masked element loads as zero.  The launch is repeated with a large number there, and with its
opposite.  A store whose bytes change is reported if `tainted_stores` says that zero was not
neutral on the way to it: a sum or a matrix product over a masked tail is right, a largest value,
or a sum of exponentials, is not.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from spyrelab.emulator.engines import LaunchOptions
from spyrelab.emulator.sanitizer.diagnosis import allocation_at
from spyrelab.emulator.sanitizer.findings import Access, Finding, Kind
from spyrelab.emulator.sanitizer.neutral import tainted_stores
from spyrelab.emulator.sanitizer.watcher import Watcher
from spyrelab.emulator.vm_launch import Launch, execute
from spyrelab.emulator.vm_watch import FIRST_RECORD, STICK_SHIFT, Site, Watch
from spyrelab.errors import SpyreLabError
from spyrelab.ktir.ir import Operation
from spyrelab.machine import DeviceMemory

if TYPE_CHECKING:
    from spyrelab.emulator.program import Program

POISON = 1000
"""In place of a masked element: no ordinary input is larger, and f16 holds its square's root."""


class Snapshot:
    """Bytes of every live allocation, and of the scratchpads that the host filled."""

    def __init__(self, memory: DeviceMemory, scratchpads: Sequence[tuple[int, int]] = ()) -> None:
        self.memory = memory
        ranges = [(block.address, block.end) for block in memory.allocations]
        self.parts = [(low, memory.bytes[low:high].copy()) for low, high in [*ranges, *scratchpads]]

    def restore(self) -> None:
        for low, content in self.parts:
            self.memory.bytes[low : low + len(content)] = content

    def changed(self) -> Iterator[int]:
        """Addresses where memory differs from the snapshot."""
        for low, content in self.parts:
            now = self.memory.bytes[low : low + len(content)]
            yield from (low + np.flatnonzero(now != content)).tolist()


def is_worth_it(program: Program, watcher: Watcher) -> bool:
    """Whether elements were masked, and a store could show it."""
    return bool(watcher.sites[:, Site.MASKED].any()) and bool(tainted_stores(program.function))


def padding_faults(
    program: Program,
    values: Sequence[int | float],
    memory: DeviceMemory,
    options: LaunchOptions,
    before: Snapshot,
) -> list[Finding]:
    """Repeat a launch whose results lie in memory; they lie there again afterwards."""
    after = Snapshot(memory)
    suspects = tainted_stores(program.function)
    found: dict[tuple[object, ...], Finding] = {}
    for poison in (POISON, -POISON):
        before.restore()
        watcher = Watcher(program, program.poisoned, values, memory)
        watcher.state[Watch.POISON] = poison
        launch = Launch(program, values, memory, replace(options, threads=1), True, watcher)
        launch.printout.is_muted = True
        with suppress(SpyreLabError):  # what was stored until then is compared
            execute(launch, "watch")
        for finding in _differences(watcher, after, suspects):
            access = finding.access
            found.setdefault((access.operation, access.position, access.value), finding)
        watcher.close()
    after.restore()
    return sorted(found.values(), key=lambda finding: finding.core)


def _differences(watcher: Watcher, after: Snapshot, suspects: set[Operation]) -> Iterator[Finding]:
    starts = [block.address for block in watcher.blocks]
    writes: dict[int, np.ndarray] = {}
    seen: set[int] = set()
    for address in after.changed():
        place = int(np.searchsorted(starts, address, side="right")) - 1
        if place < 0 or address >= watcher.blocks[place].end:
            continue
        if place not in writes:
            writes[place] = watcher.last_writes(place)
        offset = address - (starts[place] >> STICK_SHIFT << STICK_SHIFT)
        record = int(writes[place][offset >> watcher.watched.shift])
        if record < FIRST_RECORD:
            continue
        core, _, site = watcher.records[record].tolist()
        transfer = watcher.watched.transfers[site]
        if site in seen or transfer.operation not in suspects:
            continue
        seen.add(site)
        access = Access.of(core, transfer.operation)
        where = allocation_at(watcher, address)
        message = (
            f"{access}: what it stores at byte address {address} ({address:#x}) in {where} depends "
            "on masked elements, which load as zero. Select the neutral element for them "
            "(such as -inf before a maximum or an exponential)."
        )
        yield Finding(Kind.PADDING, access, (core,), address, where, message)
