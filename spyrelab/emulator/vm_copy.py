"""Copies inside an arena: strided blocks, takes, and index ramps."""

from __future__ import annotations

from spyrelab.emulator.native import machine_code


@machine_code()
def copy_run(source, target):
    """``target[i] = source[i]``; slice assignment would first check for overlap and allocate."""
    for i in range(target.size):
        target[i] = source[i]


STRIDED_HEADER = 5
STRIDED_AXIS = 3


@machine_code()
def copy_strided(d, pool, arena, I):
    """Copy an N-d block; descriptor at ``pool[d]``:

    rank, source offset, place of a dynamic source offset, destination offset, place of a
    dynamic destination offset; then for every axis the places of extent, source stride and
    destination stride.
    """
    rank = pool[d]
    source = pool[d + 1] + I[pool[d + 2]]
    target = pool[d + 3] + I[pool[d + 4]]
    inner, inner_source, inner_target, outer = 1, 1, 1, 1
    for axis in range(rank):
        p = d + STRIDED_HEADER + axis * STRIDED_AXIS
        extent = I[pool[p]]
        if extent <= 0:
            return
        if axis == rank - 1:
            inner, inner_source, inner_target = extent, I[pool[p + 1]], I[pool[p + 2]]
        else:
            outer *= extent
            I[axis] = extent
            I[8 + axis] = I[pool[p + 1]]
            I[16 + axis] = I[pool[p + 2]]
            I[24 + axis] = 0
    for _ in range(outer):
        _copy_run(arena, source, inner_source, target, inner_target, inner)
        for axis in range(rank - 2, -1, -1):
            source += I[8 + axis]
            target += I[16 + axis]
            I[24 + axis] += 1
            if I[24 + axis] < I[axis]:
                break
            source -= I[axis] * I[8 + axis]
            target -= I[axis] * I[16 + axis]
            I[24 + axis] = 0


@machine_code()
def _copy_run(arena, source, source_step, target, target_step, count):
    if target_step == 1:
        out = arena[target : target + count]
        if source_step == 1:
            block = arena[source : source + count]
            for i in range(count):
                out[i] = block[i]
        elif source_step == 0:
            out[:] = arena[source]
        else:
            for i in range(count):
                out[i] = arena[source + i * source_step]
    else:
        for i in range(count):
            arena[target + i * target_step] = arena[source + i * source_step]


@machine_code()
def take(arena, source, limit, I, indices, target, count, error):
    """``arena[target + i] = arena[source + I[indices + i]]``; False for an index past limit."""
    for i in range(count):
        index = I[indices + i]
        if index < 0 or index >= limit:
            error[3] = index
            error[4] = limit
            return False
        arena[target + i] = arena[source + index]
    return True


@machine_code()
def iota(I, target, count, inner, extent, first):
    """Coordinate of one axis at every point of a block: ``first + (i // inner) % extent``."""
    value, repeat = 0, 0
    for i in range(count):
        I[target + i] = first + value
        repeat += 1
        if repeat == inner:
            repeat = 0
            value += 1
            if value == extent:
                value = 0
