"""Reductions: a fold in halves over the middle axis of an (outer, reduced, inner) block.

The reduced axis is padded with the identity to a power of two; then the upper half is combined
into the lower one until one row is left, rounding at every level. Halves are contiguous
whatever ``inner`` is, so every level is one elementwise loop.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from spyrelab.emulator import native_float as scalar
from spyrelab.emulator.families import BinaryFloat, BinaryInt
from spyrelab.emulator.linkage import FLOATS, INT, INTS, Floats, Integers, tile_function
from spyrelab.emulator.tile_float import binary_float
from spyrelab.emulator.tile_integer import binary_int
from spyrelab.emulator.tile_maps import Loop, compiled, compiled_loop, fill, spread


@njit(nogil=True, error_model="numpy", cache=True)
def scratch_size(reduced: int, inner: int) -> int:
    """Elements of scratch that a reduction of one block needs."""
    half = 1
    while 2 * half < reduced:
        half *= 2
    return 2 * half * inner


SMALL = 32
"""Levels of at most this many results are folded in place, by a loop that need not vectorise."""


def _fold(operation: Any) -> Loop:
    def loop(identity: float, x: Floats, half: int, scratch: Floats, out: Floats) -> None:
        """One block; ``half`` is half its padded size; two halves of scratch take turns."""
        tail, here, there = x.size - half, 0, half
        target, upper = scratch[:half], x[half:]
        for i in range(tail):
            target[i] = operation(x[i], upper[i])
        for i in range(tail, half):
            target[i] = operation(x[i], identity)
        while half > out.size and half > SMALL:
            half //= 2
            lower, upper = scratch[here : here + half], scratch[here + half : here + 2 * half]
            target = scratch[there : there + half]
            for i in range(half):
                target[i] = operation(lower[i], upper[i])
            here, there = there, here
        rest = scratch[here : here + half]
        while half > out.size:
            half //= 2
            for i in range(half):
                rest[i] = operation(rest[i], rest[half + i])
        for i in range(out.size):
            out[i] = rest[i]

    return compiled_loop(loop, operation)


_fold_add, _fold_add_f16 = _fold(scalar.add), _fold(scalar.add_f16)
_fold_maximum = _fold(scalar.maximum)


@compiled
def _float_identity(sub: int) -> Any:
    if sub == BinaryFloat.MULF:
        return np.float32(1.0)
    if sub == BinaryFloat.MAXIMUMF or sub == BinaryFloat.MAXNUMF:
        return np.float32(-np.inf)
    if sub == BinaryFloat.MINIMUMF or sub == BinaryFloat.MINNUMF:
        return np.float32(np.inf)
    return np.float32(0.0)


@tile_function(INT, INT, FLOATS, INT, INT, INT, FLOATS, FLOATS)
def reduce_float(
    sub: int,
    rounding: int,
    x: Floats,
    outer: int,
    reduced: int,
    inner: int,
    scratch: Floats,
    out: Floats,
) -> None:
    """out (outer, inner) = fold of x by addf, mulf, maximumf, minimumf, maxnumf or minnumf.

    ``scratch`` holds at least `scratch_size` elements. The caller combines with ``outs``.
    """
    if reduced == 0:
        fill(_float_identity(sub), out)
        return
    if reduced == 1:
        spread(x, out)
        return
    size, half = reduced * inner, scratch_size(reduced, inner) // 2
    identity = _float_identity(sub)
    for block in range(outer):
        source = x[block * size : (block + 1) * size]
        target = out[block * inner : (block + 1) * inner]
        if sub == BinaryFloat.MAXIMUMF:
            _fold_maximum(identity, source, half, scratch, target)
        elif sub == BinaryFloat.ADDF and rounding == 1:
            _fold_add_f16(identity, source, half, scratch, target)
        elif sub == BinaryFloat.ADDF and rounding == 0:
            _fold_add(identity, source, half, scratch, target)
        else:
            _fold_float(sub, rounding, source, half, scratch, target)


@compiled
def _fold_float(
    sub: int, rounding: int, x: Floats, half: int, scratch: Floats, out: Floats
) -> None:
    here, there = scratch[:half], scratch[half : 2 * half]
    target = out if half == out.size else here
    tail = x.size - half
    binary_float(sub, rounding, x[:tail], x[half:], target[:tail])
    if tail < half:
        there[0] = _float_identity(sub)
        binary_float(sub, rounding, x[tail:half], there[:1], target[tail:half])
    while half > out.size:
        half //= 2
        target = out if half == out.size else there[:half]
        binary_float(sub, rounding, here[:half], here[half : 2 * half], target)
        here, there = there, here


@compiled
def _int_identity(sub: int, bits: int) -> Any:
    least = np.int64(-1) << (bits - 1)
    if sub == BinaryInt.MULI:
        value = np.int64(1)
    elif sub == BinaryInt.ANDI or sub == BinaryInt.MINUI:
        value = np.int64(-1)
    elif sub == BinaryInt.MAXSI:
        value = least
    elif sub == BinaryInt.MINSI:
        value = ~least
    else:
        value = np.int64(0)
    return value & 1 if bits == 1 else value


@tile_function(INT, INT, INTS, INT, INT, INT, INTS, INTS)
def reduce_int(
    sub: int,
    bits: int,
    x: Integers,
    outer: int,
    reduced: int,
    inner: int,
    scratch: Integers,
    out: Integers,
) -> None:
    """out (outer, inner) = fold of int64 x by addi, muli, andi, ori, xori or a max or min."""
    if reduced == 0:
        fill(_int_identity(sub, bits), out)
        return
    if reduced == 1:
        spread(x, out)
        return
    size, half = reduced * inner, scratch_size(reduced, inner) // 2
    for block in range(outer):
        source = x[block * size : (block + 1) * size]
        _fold_int(sub, bits, source, half, scratch, out[block * inner : (block + 1) * inner])


@compiled
def _fold_int(
    sub: int, bits: int, x: Integers, half: int, scratch: Integers, out: Integers
) -> None:
    here, there = scratch[:half], scratch[half : 2 * half]
    target = out if half == out.size else here
    tail = x.size - half
    binary_int(sub, bits, x[:tail], x[half:], target[:tail])
    if tail < half:
        there[0] = _int_identity(sub, bits)
        binary_int(sub, bits, x[tail:half], there[:1], target[tail:half])
    while half > out.size:
        half //= 2
        target = out if half == out.size else there[:half]
        binary_int(sub, bits, here[:half], here[half : 2 * half], target)
        here, there = there, here
