"""Typed errors from what the VM left behind when a core stopped."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from spyrelab.emulator.errors import (
    AccessError,
    AssertionFailedError,
    DeadlockError,
    LxOverflowError,
    Waiting,
    place,
)
from spyrelab.emulator.opcodes import Column, Op, Status
from spyrelab.emulator.reference.transfers import nearest_allocation
from spyrelab.emulator.reference.views import MAIN_MEMORY
from spyrelab.errors import SpyreLabError
from spyrelab.machine import DeviceMemory

if TYPE_CHECKING:
    from spyrelab.emulator.program import Program


class RangeError(SpyreLabError):
    """An index, slice, step or size that is out of range at run time."""


def failure(
    program: Program, memory: DeviceMemory, core: int, row: int, error: np.ndarray
) -> SpyreLabError:
    """The error of a core that stopped at an instruction."""
    operation = program.operations[program.source_of(row)]
    status, first, second = Status(int(error[0])), int(error[3]), int(error[4])
    where = f"core {core}, {place(operation)}"
    if status in (Status.OUT_OF_MEMORY_RESERVE, Status.OUT_OF_SCRATCHPAD):
        owner = core if status is Status.OUT_OF_SCRATCHPAD else MAIN_MEMORY
        outside = first if owner == core else _first_outside(memory, first, second)
        nearest = nearest_allocation(memory, outside, owner)
        return AccessError(
            core, operation.name, operation.position, outside, nearest, operation.location
        )
    if status is Status.ASSERTION_FAILED:
        return AssertionFailedError(core, operation)
    if status is Status.LX_OVERFLOW:
        return LxOverflowError(
            f"{where}: {first:,} bytes of scratchpad in use, a core has {second:,}; "
            "use smaller tiles"
        )
    if status is Status.TILE_TOO_LARGE:
        return LxOverflowError(
            f"{where}: a tile of {first:,} elements does not fit a scratchpad "
            f"(at most {second:,} of this type)"
        )
    if status is Status.BAD_STEP:
        return RangeError(f"{where}: the step must be positive, it is {first}")
    if status is Status.EXTENTS_DIFFER:
        return RangeError(f"{where}: sizes that must be equal are {first} and {second} at run time")
    return RangeError(f"{where}: index {first} is outside 0 <= index < {second}")


def _first_outside(memory: DeviceMemory, low: int, high: int) -> int:
    """The first byte of ``[low, high)`` that no live allocation holds."""
    starts, ends = memory.live
    while low < high:
        place = int(np.searchsorted(starts, low, side="right")) - 1
        if place < 0 or low >= ends[place]:
            break
        low = int(ends[place])
    return low


def deadlock(program: Program, pcs: Sequence[int]) -> DeadlockError:
    """Every core that has not ended, and for whom it waits."""
    waiting = []
    for core, pc in enumerate(pcs):
        if pc < 0:
            continue
        row = program.code[pc]
        operation = program.operations[program.source_of(pc)]
        exchange = program.exchanges[int(row[Column.A])]
        delivery = exchange.consumers.get(core)
        tiles: tuple[int, ...] = ()
        if row[Column.OP] == Op.RECLAIM or (delivery is None and row[Column.OP] != Op.TURN):
            tiles = exchange.takers(core)
        elif delivery is not None and row[Column.OP] != Op.TURN:
            tiles = tuple(tile for tile in delivery.producers if tile != core)
        waiting.append(Waiting(core, operation.name, operation.position, tiles, operation.location))
    return DeadlockError(waiting)
