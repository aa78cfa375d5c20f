"""From what the sanitizer's instructions left behind to findings in words."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from spyrelab.emulator.reference.transfers import nearest_allocation
from spyrelab.emulator.reference.views import MAIN_MEMORY
from spyrelab.emulator.sanitizer.findings import Access, Finding, Kind
from spyrelab.emulator.sanitizer.watcher import Watcher
from spyrelab.emulator.vm_watch import Fault, Site
from spyrelab.ktir.element_access import STORED
from spyrelab.machine import Allocation

_MIB = 1 << 20
_RACES = {Fault.WRITE_WRITE: Kind.WRITE_WRITE, Fault.READ_WRITE: Kind.READ_WRITE}


def diagnose(watcher: Watcher) -> list[Finding]:
    """Every finding of a launch: faults before lints, low cores and early operations first."""
    found: dict[tuple[object, ...], Finding] = {}
    for row in watcher.findings.tolist():
        finding = _fault(watcher, row)
        sites = frozenset((row[1], row[4] if row[0] in _RACES else row[1]))
        key = finding.kind, sites
        known = found.get(key)
        if known is not None:
            finding = _joined(*sorted((known, finding), key=lambda f: _order(watcher, f)))
        found[key] = finding
    faults = sorted(found.values(), key=lambda f: _order(watcher, f))
    return [*faults, *_lints(watcher)]


def _joined(first: Finding, second: Finding) -> Finding:
    cores = tuple(sorted({*first.cores, *second.cores}))
    return Finding(
        first.kind,
        first.access,
        cores,
        first.address,
        first.allocation,
        first.message,
        first.other,
    )


def _order(watcher: Watcher, finding: Finding) -> tuple[int, int, int]:
    names = [
        number
        for number, transfer in enumerate(watcher.watched.transfers)
        if Access.of(finding.core, transfer.operation) == finding.access
    ]
    return finding.core, names[0] if names else 0, finding.address or 0


def _fault(watcher: Watcher, row: list[int]) -> Finding:
    fault, site, core, address, other_site, other_core, mask = row
    access = Access.of(core, watcher.watched.transfers[site].operation)
    cores = tuple(core for core in range(64) if mask >> core & 1) or (core,)
    if fault == Fault.OUTSIDE:
        return _outside(watcher, site, access, cores, address)
    if fault == Fault.INDEX:
        what, remedy = (
            "loaded index",
            ("check the table (page ids, row numbers) and how many entries of it are valid."),
        )
        if watcher.watched.transfers[site].operation.name in STORED:
            what, remedy = "offset", "check the mask and how the offset is computed."
        where = _pointers(watcher, site)
        message = (
            f"{access}: the {what} {address} lies outside the view{f' of {where}' if where else ''}"
            f", so nothing is moved for it; {remedy}"
        )
        return Finding(Kind.INDEX, access, cores, None, where, message)
    where = allocation_at(watcher, address)
    if fault == Fault.UNWRITTEN:
        why = _unwritten(watcher, address)
        message = f"{access}: reads byte address {address} ({address:#x}) in {where}, {why}"
        return Finding(Kind.UNWRITTEN, access, cores, address, where, message)
    kind = _RACES[Fault(fault)]
    other = Access.of(other_core, watcher.watched.transfers[other_site].operation)
    if other.core < access.core:
        access, other = other, access
    both = tuple(sorted({*cores, other_core}))
    verb = "both write" if kind is Kind.WRITE_WRITE else "one reads and the other writes"
    message = (
        f"{access}, and {other}: {verb} byte address {address} ({address:#x}) in {where}, and no "
        "inter-tile operation orders them. Give each core bytes of its own, or let the later "
        "one consume what the earlier one produces."
    )
    return Finding(kind, access, both, address, where, message, other)


def _unwritten(watcher: Watcher, address: int) -> str:
    if address >= watcher.memory.ddr_bytes:
        return (
            "which nobody has written in this launch (a scratchpad keeps nothing from one launch "
            "to the next, and each core has its own). Store to it first."
        )
    return (
        "which nobody has written. Store to it first, or fill it on the host "
        "(DeviceMemory.mark_written tells that)."
    )


def _outside(
    watcher: Watcher, site: int, access: Access, cores: tuple[int, ...], address: int
) -> Finding:
    memory, transfer = watcher.memory, watcher.watched.transfers[site]
    owner = _owner(watcher, transfer.space, access.core, address)
    at = memory.owner(address) if owner == MAIN_MEMORY else None
    named = [watcher.pointed[name] for name in sorted(transfer.arguments or ())]
    own = [watcher.blocks[place] for place in named if place is not None]
    while at is not None and (at in own or transfer.arguments is None):
        address = at.end  # an element that begins inside and ends outside
        at = memory.owner(address)
    head = f"{access}: byte address {address} ({address:#x})"
    if at is None:
        nearest = nearest_allocation(memory, address, owner)
        message = (
            f"{head} lies outside every live allocation; nearest: {nearest}. "
            "Check the view's sizes and its base."
        )
        return Finding(Kind.OUT_OF_BOUNDS, access, cores, address, nearest, message)
    pointers = " or ".join(f"%{name}" for name in sorted(transfer.arguments or ()))
    wanted = " or ".join(map(described, own)) or "no live allocation"
    message = (
        f"{head} lies in {described(at)}, but the view's address comes from {pointers}, which "
        f"points into {wanted}. Check the view's sizes, strides and mask."
    )
    return Finding(Kind.WRONG_ALLOCATION, access, cores, address, described(at), message)


def _pointers(watcher: Watcher, site: int) -> str:
    """The allocations that a transfer's view may point into."""
    names = sorted(watcher.watched.transfers[site].arguments or ())
    places = [watcher.pointed[name] for name in names]
    return " or ".join(described(watcher.blocks[p]) for p in places if p is not None)


def _owner(watcher: Watcher, space: int, core: int, address: int) -> int:
    """Core whose scratchpad a transfer was meant for."""
    if space == 1:
        return core
    if space > 1:
        return space - 2
    beyond = address - watcher.memory.ddr_bytes
    if space == 0 or beyond < 0:
        return MAIN_MEMORY
    return min(beyond // watcher.memory.lx_bytes, watcher.memory.cores - 1)


def described(block: Allocation) -> str:
    """Label and range of an allocation."""
    return f"{block.label or 'allocation'} at [{block.address}, {block.end})"


def allocation_at(watcher: Watcher, address: int) -> str:
    """The memory that holds an address."""
    memory = watcher.memory
    if address >= memory.ddr_bytes:
        core, offset = divmod(address - memory.ddr_bytes, memory.lx_bytes)
        return f"the scratchpad of core {core} (byte {offset})"
    block = memory.owner(address)
    return described(block) if block else "no allocation"


def _lints(watcher: Watcher) -> Iterator[Finding]:
    machine = watcher.program.machine
    for site, transfer in enumerate(watcher.watched.transfers):
        row = watcher.sites[site]
        if row[Site.CROOKED]:
            access = Access.of(int(row[Site.CROOKED_CORE]), transfer.operation)
            address = int(row[Site.CROOKED_AT])
            message = (
                f"{access}: {int(row[Site.CROOKED])} runs of bytes touch one stick more than they "
                f"fill, the first at byte address {address} ({address:#x}); begin them at a "
                f"multiple of {machine.stick_bytes} bytes."
            )
            where = allocation_at(watcher, address)
            cores = (access.core,)
            yield Finding(Kind.MISALIGNED, access, cores, address, where, message)
        spans = watcher.reach[site, :, 1] - watcher.reach[site, :, 0]
        wide = tuple(np.flatnonzero(spans > machine.span_bytes).tolist())
        if wide:
            access = Access.of(wide[0], transfer.operation)
            address = int(watcher.reach[site, wide[0], 0])
            message = (
                f"{access}: the core reaches over {int(spans[wide[0]]) / _MIB:,.0f} MiB, from byte "
                f"address {address} ({address:#x}) on; a core spans "
                f"{machine.span_bytes // _MIB} MiB. Divide the work along the outer dimension."
            )
            where = allocation_at(watcher, address)
            yield Finding(Kind.SPAN, access, wide, address, where, message)
    if watcher.is_full and watcher.watched.transfers:
        access = Access.of(0, watcher.watched.transfers[0].operation)
        message = "the sanitizer's history is full: later races may be missing from this report."
        yield Finding(Kind.INCOMPLETE, access, (), 0, "", message)
