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
_DONE, _RESERVE, _LX = map(
    int, (Status.DONE, Status.OUT_OF_MEMORY_RESERVE, Status.OUT_OF_SCRATCHPAD)
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
def check_span(space, low, high, core, limits, error):
    """Status of touching bytes ``[low, high)``; fills ``error`` with the span on failure.

    ``limits`` is (DDR bytes, LX bytes, ...); ``space`` is 0 for DDR, 1 for the core's own
    scratchpad and ``2 + c`` for that of core ``c``.
    """
    error[3] = low
    error[4] = high
    if space == 0:
        if low < 0 or high > limits[0]:
            return _RESERVE
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
def box_axes(d, pool, I):
    """A box cut at the limits of its view: byte address and tile offset of the first element
    that is left, number of merged axes, elements left, whether any was cut off, elements of
    the whole tile, and the range of bytes.

    The axes go to ``I``, innermost first: ``I[0:8]`` counts, ``I[8:16]`` steps in bytes,
    ``I[16:24]`` steps in the tile.
    """
    rank, address, at = pool[d], I[pool[d + 2]], pool[d + 3]
    size = element_size(pool[d + 1])
    axes, tile_step, valid, clipped = 0, 1, 1, False
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
    if axes == 0:
        I[0], I[8], I[16] = 1, size, 1
        axes = 1
    lowest, highest = address, address + size
    if valid > 0:
        for axis in range(axes):
            reach = (I[axis] - 1) * I[8 + axis]
            if reach < 0:
                lowest += reach
            else:
                highest += reach
    return address, at, axes, valid, clipped, tile_step, lowest, highest


@machine_code()
def transfer_box(store, compute, d, pool, memory, F, I, core, limits, counters, error):
    """Move a box; descriptor at ``pool[d]``:

    rank, element, place of the byte address, arena offset, space, `BoxMode`; then for every
    tile axis the places of start, extent, stride and limit.  ``start`` is relative to the
    corner of the coordinate set, whose extent is ``limit``.
    """
    element, space, mode = pool[d + 1], pool[d + 4], pool[d + 5]
    address, at, axes, valid, clipped, whole, low, high = box_axes(d, pool, I)
    if mode != BoxMode.FOLLOWS:
        error[_LAST_STICK] = -1
    if not store and clipped and mode == BoxMode.ALONE and compute:
        _zero(element, F, I, pool[d + 3], whole)
    if valid <= 0:
        return _DONE
    if low < 0 or space > 0 or high > limits[0]:
        status = check_span(space, low, high, core, limits, error)
        if status != _DONE:
            return status
    count_bytes(store, space, core, valid * element_size(element), counters)
    _walk(store, compute, element, memory, F, I, address, at, axes, space, counters, error)
    return _DONE


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
def _walk(store, compute, element, memory, F, I, address, at, axes, space, counters, error):
    """Runs along axis 0, odometer (I[24:32]) over the others."""
    size = element_size(element)
    count, step, tile_step = I[0], I[8], I[16]
    for axis in range(1, axes):
        I[24 + axis] = 0
    previous = error[_LAST_STICK]
    sticks = 0
    while True:
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


@machine_code()
def transfer_runs(store, compute, d, pool, memory, F, I, core, limits, counters, error):
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
        status = check_span(space, min(first, end), max(first, end) + size, core, limits, error)
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
