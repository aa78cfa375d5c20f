"""Masked elements of float tiles, filled with a number that nobody would call zero."""

from __future__ import annotations

import numpy as np

from spyrelab.emulator.native import machine_code
from spyrelab.emulator.opcodes import MASKED
from spyrelab.emulator.vm_transfer import BOX_AXIS, BOX_HEADER


@machine_code()
def poison_tile(d, pool, F, I, value):
    """The whole tile of a box, before its parts are loaded one after the other."""
    count = 1
    for axis in range(pool[d]):
        count *= I[pool[d + BOX_HEADER + axis * BOX_AXIS + 1]]
    at = pool[d + 3]
    F[at : at + count] = np.float32(value)


@machine_code()
def poison_box(d, pool, F, I, value):
    """The elements of a loaded box that lie outside the view."""
    rank, at, count = pool[d], pool[d + 3], 1
    for axis in range(rank):
        count *= I[pool[d + BOX_HEADER + axis * BOX_AXIS + 1]]
    for i in range(count):
        rest, inside = i, True
        for axis in range(rank - 1, -1, -1):
            p = d + BOX_HEADER + axis * BOX_AXIS
            extent = I[pool[p + 1]]
            place = I[pool[p]] + rest % extent
            rest //= extent
            inside = inside and 0 <= place < I[pool[p + 3]]
        if not inside:
            F[at + i] = np.float32(value)


@machine_code()
def poison_runs(d, pool, F, I, value):
    """The masked runs of a gathered tile, and what is cut off from the others."""
    at, addresses = pool[d + 1], pool[d + 2]
    runs, start, extent = I[pool[d + 3]], I[pool[d + 4]], I[pool[d + 5]]
    limit = I[pool[d + 7]]
    for run in range(runs):
        masked = I[addresses + run] == MASKED
        for i in range(extent):
            if masked or start + i < 0 or start + i >= limit:
                F[at + run * extent + i] = np.float32(value)
