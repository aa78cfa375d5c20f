"""Atomic operations of the tile VM: element after element, read and written at once."""

from __future__ import annotations

import numpy as np

from spyrelab.emulator.atomics import Atomic
from spyrelab.emulator.native import machine_code
from spyrelab.emulator.opcodes import MASKED, Element, Status
from spyrelab.emulator.vm_runs import element_size, read_run, write_run
from spyrelab.emulator.vm_transfer import STICK_SHIFT, check_span, count_bytes

_DONE = int(Status.DONE)
_F8E5M2 = int(Element.F8E5M2)
_ADD, _FADD, _AND, _OR, _XOR, _MAX, _MIN, _UMAX, _UMIN, _XCHG, _CAS = map(int, Atomic)


@machine_code()
def _combined(kind, old, new, compared):
    """What an integer element becomes; the store wraps it to its width."""
    if kind == _ADD:
        return old + new
    if kind == _AND:
        return old & new
    if kind == _OR:
        return old | new
    if kind == _XOR:
        return old ^ new
    if kind == _MAX:
        return max(old, new)
    if kind == _MIN:
        return min(old, new)
    if kind == _UMAX:
        return new if np.uint64(new) > np.uint64(old) else old
    if kind == _UMIN:
        return new if np.uint64(new) < np.uint64(old) else old
    if kind == _CAS:
        return new if old == compared else old
    return new


@machine_code()
def transfer_atomics(writes, compute, d, pool, memory, F, I, core, limits, counters, error):
    """Update elements; descriptor at ``pool[d]``: as of `transfer_runs`, then the kind, the
    arena offsets of the values and of the comparisons, and a place for one new value.

    The old values go to the arena.  Nothing is written unless it ``writes``.
    """
    element, at, addresses = pool[d], pool[d + 1], pool[d + 2]
    runs, space, kind = I[pool[d + 3]], pool[d + 8], pool[d + 9]
    given, compared, spare = pool[d + 10], pool[d + 11], pool[d + 12]
    size = element_size(element)
    one = np.int64(1)
    is_float = element <= _F8E5M2
    previous = np.int64(-1)
    sticks = 0
    for run in range(runs):
        place = at + run
        base = I[addresses + run]
        if base == MASKED:
            if compute and is_float:
                F[place] = np.float32(0.0)
            elif compute:
                I[place] = 0
            continue
        status = check_span(space, base, base + size, core, limits, error)
        if status != _DONE:
            return status
        if compute:
            read_run(element, memory, base, one, F, I, place)
            if is_float and kind == _FADD:
                F[spare] = F[place] + F[given + run]
            elif is_float:
                F[spare] = F[given + run]
            else:
                I[spare] = _combined(kind, I[place], I[given + run], I[compared + run])
            if writes:
                write_run(element, memory, base, one, F, I, spare)
        count_bytes(False, space, core, size, counters)
        count_bytes(True, space, core, size, counters)
        if space == 0:
            stick = base >> STICK_SHIFT
            sticks += stick != previous
            previous = stick
    counters[5] += sticks
    counters[6] += sticks
    return _DONE
