"""Loads and stores of the tile VM: boxes with clipping, and gathered runs.

A *box* is a strided block of a view, cut at the edge of the view's coordinate set.  *Runs* are
equal strided rows whose start addresses were computed by ordinary integer tile operations
(`MASKED` marks a row that is not moved); indirect tiles and unusual coordinate sets become runs.

``memory`` is one flat reserve seen through ``(u8, i8, u16, i16, f32, i32, i64)``.
"""

from __future__ import annotations

import numpy as np

from spyrelab.emulator.native import machine_code
from spyrelab.emulator.native_primitives import prefetch
from spyrelab.emulator.opcodes import MASKED, BoxMode, Element, Status
from spyrelab.emulator.vm_runs import element_size, move_run

_F8E5M2 = int(Element.F8E5M2)
_DONE, _RESERVE, _LIVE, _LX = map(
    int,
    (
        Status.DONE,
        Status.OUT_OF_MEMORY_RESERVE,
        Status.NOT_ALLOCATED,
        Status.OUT_OF_SCRATCHPAD,
    ),
)
# Where a box descriptor keeps its header and its axes.
BOX_HEADER = 6
BOX_AXIS = 4
# Counter columns, in the order of `spyrelab.emulator.counters.Column`.
STICK_SHIFT = 7
_AHEAD, _AHEAD_BYTES = 4, 1024
"""How many runs ahead are asked for, and at most how much of each."""
# Where the error record of a core keeps the stick that a box ended on.
_LAST_STICK = 5


@machine_code()
def count_sticks(address, step, count, size, previous):
    """Sticks entered while walking a run, and the last one (`previous` counts as entered)."""
    first = address >> STICK_SHIFT
    if step == size:
        last = (address + count * size - 1) >> STICK_SHIFT
        return last - first + (first != previous), last
    entered = 0
    for i in range(count):
        stick = (address + i * step) >> STICK_SHIFT
        entered += stick != previous
        previous = stick
    return entered, previous


@machine_code()
def is_live(starts, ends, low, high):
    """Whether bytes ``[low, high)`` lie inside one live allocation."""
    first, last = 0, starts.size
    while first < last:
        middle = (first + last) >> 1
        if starts[middle] <= low:
            first = middle + 1
        else:
            last = middle
    return first > 0 and high <= ends[first - 1]


@machine_code()
def check_span(space, low, high, core, limits, live, error):
    """Status of touching bytes ``[low, high)``; fills ``error`` with the span on failure.

    ``limits`` is (DDR bytes, LX bytes, sanitize); ``space`` is 0 for DDR, 1 for the core's own
    scratchpad and ``2 + c`` for that of core ``c``.
    """
    error[3] = low
    error[4] = high
    if space == 0:
        if low < 0 or high > limits[0]:
            return _RESERVE
        if limits[2] and not is_live(live[0], live[1], low, high):
            return _LIVE
        return _DONE
    owner = core if space == 1 else space - 2
    base = limits[0] + owner * limits[1]
    if low < base or high > base + limits[1]:
        return _LX
    return _DONE


@machine_code()
def count_bytes(store, space, core, amount, counters):
    """Add a transfer's bytes to the counter of its memory (columns 0-4)."""
    if space == 0:
        counters[1 if store else 0] += amount
    elif space == 1 or space - 2 == core:
        counters[3 if store else 2] += amount
    else:
        counters[4] += amount


@machine_code()
def transfer_box(store, compute, d, pool, memory, F, I, core, limits, live, counters, error):
    """Move a box; descriptor at ``pool[d]``:

    rank, element, place of the byte address, arena offset, space, `BoxMode`; then for every
    tile axis the places of start, extent, stride and limit.  ``start`` is relative to the
    corner of the coordinate set, whose extent is ``limit``.
    """
    rank, element, space = pool[d], pool[d + 1], pool[d + 4]
    address, at = I[pool[d + 2]], pool[d + 3]
    size = element_size(element)
    axes = 0  # merged axes, innermost first: I[0:8] counts, I[8:16] steps, I[16:24] tile steps
    tile_step, valid, clipped = 1, 1, False
    for axis in range(rank - 1, -1, -1):
        p = d + BOX_HEADER + axis * BOX_AXIS
        start, extent, limit = I[pool[p]], I[pool[p + 1]], I[pool[p + 3]]
        step = I[pool[p + 2]] * size
        low = max(0, -start)
        count = max(min(extent, limit - start) - low, 0)
        address += (start + low) * step
        at += low * tile_step
        clipped = clipped or count < extent
        valid *= count
        if count != 1:
            if (
                axes > 0
                and step == I[7 + axes] * I[axes - 1]
                and tile_step == I[15 + axes] * I[axes - 1]
            ):
                I[axes - 1] *= count
            else:
                I[axes] = count
                I[8 + axes] = step
                I[16 + axes] = tile_step
                axes += 1
        tile_step *= extent
    if pool[d + 5] != BoxMode.FOLLOWS:
        error[_LAST_STICK] = -1
    if not store and clipped and pool[d + 5] == BoxMode.ALONE and compute:
        _zero(element, F, I, pool[d + 3], tile_step)
    if valid <= 0:
        return _DONE
    if axes == 0:
        I[0], I[8], I[16] = 1, size, 1
        axes = 1
    low, high = address, address + size
    for axis in range(axes):
        reach = (I[axis] - 1) * I[8 + axis]
        if reach < 0:
            low += reach
        else:
            high += reach
    sanitize = limits[2]
    if low < 0 or sanitize or space > 0 or high > limits[0]:
        contiguous = axes == 1 and I[8] == size
        status = check_span(space, low, high, core, limits, live, error)
        # A strided box may legally skip over other allocations: then each run is checked below.
        if status != _DONE and (status != _LIVE or contiguous):
            return status
    count_bytes(store, space, core, valid * size, counters)
    return _walk(
        store,
        compute,
        element,
        memory,
        F,
        I,
        address,
        at,
        axes,
        space,
        core,
        limits,
        live,
        counters,
        error,
    )


@machine_code()
def _ask_ahead(reserve, address, size):
    """Prefetch a run that comes soon: the hardware does not foresee a jump to another page."""
    for line in range(0, min(size, _AHEAD_BYTES), 64):
        prefetch(reserve, address + line)


@machine_code()
def _zero(element, F, I, at, count):
    if element <= _F8E5M2:
        F[at : at + count] = np.float32(0.0)
    else:
        I[at : at + count] = 0


@machine_code()
def _walk(
    store,
    compute,
    element,
    memory,
    F,
    I,
    address,
    at,
    axes,
    space,
    core,
    limits,
    live,
    counters,
    error,
):
    """Runs along axis 0, odometer (I[24:32]) over the others."""
    size = element_size(element)
    count, step, tile_step = I[0], I[8], I[16]
    for axis in range(1, axes):
        I[24 + axis] = 0
    previous = error[_LAST_STICK]
    sticks = 0
    sanitize = limits[2] and space == 0
    while True:
        if sanitize:
            end = address + (count - 1) * step
            status = check_span(
                space, min(address, end), max(address, end) + size, core, limits, live, error
            )
            if status != _DONE and not (status == _LIVE and step != size):
                return status
            if status == _LIVE:
                for i in range(count):
                    one = address + i * step
                    status = check_span(space, one, one + size, core, limits, live, error)
                    if status != _DONE:
                        return status
        if compute:
            if axes > 1 and step == size:
                _ask_ahead(memory[0], address + _AHEAD * I[9], count * size)
            move_run(store, element, memory, address, step, count, F, I, at, tile_step)
        if space == 0:
            entered, previous = count_sticks(address, step, count, size, previous)
            sticks += entered
        axis = 1
        while axis < axes:
            address += I[8 + axis]
            at += I[16 + axis]
            I[24 + axis] += 1
            if I[24 + axis] < I[axis]:
                break
            address -= I[axis] * I[8 + axis]
            at -= I[axis] * I[16 + axis]
            I[24 + axis] = 0
            axis += 1
        if axis >= axes:
            break
    if space == 0:
        counters[6 if store else 5] += sticks
        error[_LAST_STICK] = previous
    return _DONE


@machine_code()
def transfer_runs(store, compute, d, pool, memory, F, I, core, limits, live, counters, error):
    """Move runs; descriptor at ``pool[d]``: element, arena offset, offset of the addresses in I,
    then places of the number of runs and of the inner start, extent, stride and limit, space
    (-1: each run's address tells).
    """
    element, at, addresses = pool[d], pool[d + 1], pool[d + 2]
    runs, start, extent = I[pool[d + 3]], I[pool[d + 4]], I[pool[d + 5]]
    size = element_size(element)
    step, limit, space = I[pool[d + 6]] * size, I[pool[d + 7]], pool[d + 8]
    low = max(0, -start)
    count = max(min(extent, limit - start) - low, 0)
    shift = (start + low) * step
    one = np.int64(1)
    anywhere = space < 0
    previous = np.int64(-1)
    sticks = 0
    for run in range(runs):
        place = at + run * extent
        base = I[addresses + run]
        if not store and compute and (base == MASKED or count < extent):
            _zero(element, F, I, place, extent)
        if base == MASKED or count == 0:
            continue
        first = base + shift
        end = first + (count - 1) * step
        if anywhere:
            space = 0 if first < limits[0] else 2 + (first - limits[0]) // limits[1]
        status = check_span(
            space, min(first, end), max(first, end) + size, core, limits, live, error
        )
        if status != _DONE:
            return status
        if compute:
            if step == size and run + _AHEAD < runs:
                ahead = I[addresses + run + _AHEAD]
                if ahead != MASKED:
                    _ask_ahead(memory[0], ahead + shift, count * size)
            move_run(store, element, memory, first, step, count, F, I, place + low, one)
        count_bytes(store, space, core, count * size, counters)
        if space == 0:
            entered, previous = count_sticks(first, step, count, size, previous)
            sticks += entered
    counters[6 if store else 5] += sticks
    return _DONE
