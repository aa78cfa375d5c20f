"""Elementwise instructions of the tile VM: rows of ``outer x inner`` with broadcast operands."""

from __future__ import annotations

from spyrelab.emulator.families import Conversion
from spyrelab.emulator.native import machine_code
from spyrelab.emulator.opcodes import Broadcast, Column, Op
from spyrelab.emulator.tile_convert import (
    bitcast_float,
    bitcast_float_to_int,
    bitcast_int_to_float,
    float_to_int,
    int_to_float,
    wrap_int,
    zero_extend,
)
from spyrelab.emulator.tile_float import (
    binary_float,
    classify_float,
    compare_float,
    power_float_int,
    ternary_float,
    unary_float,
)
from spyrelab.emulator.tile_integer import (
    address_int,
    binary_int,
    compare_int,
    select_float,
    select_int,
    unary_int,
)

_SUB, _DST, _A, _B, _C = map(int, (Column.SUB, Column.DST, Column.A, Column.B, Column.C))
_SIZE, _OUTER, _MODE, _ROUND = map(int, (Column.SIZE, Column.OUTER, Column.MODE, Column.ROUND))
_FULL, _SCALAR, _COLUMN = map(int, (Broadcast.FULL, Broadcast.SCALAR, Broadcast.COLUMN))


@machine_code(inline="always")
def _length(mode, inner):
    return 1 if mode == _SCALAR or mode == _COLUMN else inner


@machine_code(inline="always")
def _step(mode, inner):
    if mode == _FULL:
        return inner
    return 1 if mode == _COLUMN else 0


@machine_code()
def run_unary(op, row, F, I):
    sub, rounding = row[_SUB], row[_ROUND]
    inner, mode = I[row[_SIZE]], row[_MODE] & 3
    if inner <= 0:
        return
    a, d = row[_A], row[_DST]
    na, sa = _length(mode, inner), _step(mode, inner)
    for _ in range(I[row[_OUTER]]):
        if op == Op.UNARY_FLOAT:
            unary_float(sub, rounding, F[a : a + na], F[d : d + inner])
        else:
            unary_int(sub, rounding, I[a : a + na], I[d : d + inner])
        a += sa
        d += inner


@machine_code()
def run_binary(op, row, F, I):
    """Arithmetic and comparisons of floats and of integers."""
    sub, rounding = row[_SUB], row[_ROUND]
    inner, mode_a, mode_b = I[row[_SIZE]], row[_MODE] & 3, (row[_MODE] >> 2) & 3
    if inner <= 0:
        return
    a, b, d = row[_A], row[_B], row[_DST]
    na, sa = _length(mode_a, inner), _step(mode_a, inner)
    nb, sb = _length(mode_b, inner), _step(mode_b, inner)
    for _ in range(I[row[_OUTER]]):
        if op == Op.BINARY_FLOAT:
            binary_float(sub, rounding, F[a : a + na], F[b : b + nb], F[d : d + inner])
        elif op == Op.BINARY_INT:
            binary_int(sub, rounding, I[a : a + na], I[b : b + nb], I[d : d + inner])
        elif op == Op.COMPARE_FLOAT:
            compare_float(sub, F[a : a + na], F[b : b + nb], I[d : d + inner])
        else:
            compare_int(sub, rounding, I[a : a + na], I[b : b + nb], I[d : d + inner])
        a += sa
        b += sb
        d += inner


@machine_code()
def run_ternary(op, row, F, I):
    """Float operations of three operands, and selections (condition first)."""
    sub, rounding = row[_SUB], row[_ROUND]
    inner, modes = I[row[_SIZE]], row[_MODE]
    if inner <= 0:
        return
    a, b, c, d = row[_A], row[_B], row[_C], row[_DST]
    na, sa = _length(modes & 3, inner), _step(modes & 3, inner)
    nb, sb = _length((modes >> 2) & 3, inner), _step((modes >> 2) & 3, inner)
    nc, sc = _length((modes >> 4) & 3, inner), _step((modes >> 4) & 3, inner)
    for _ in range(I[row[_OUTER]]):
        if op == Op.TERNARY_FLOAT:
            ternary_float(
                sub, rounding, F[a : a + na], F[b : b + nb], F[c : c + nc], F[d : d + inner]
            )
        elif op == Op.SELECT_FLOAT:
            select_float(I[a : a + na], F[b : b + nb], F[c : c + nc], F[d : d + inner])
        else:
            select_int(I[a : a + na], I[b : b + nb], I[c : c + nc], I[d : d + inner])
        a += sa
        b += sb
        c += sc
        d += inner


@machine_code()
def run_convert(sub, source, target, a, na, d, inner, F, I):
    """``source`` and ``target``: bits of an integer, rounding code of a float."""
    if sub == Conversion.ROUND:
        unary_float(0, target, F[a : a + na], F[d : d + inner])
    elif sub == Conversion.FLOAT_TO_INT:
        float_to_int(target, False, F[a : a + na], I[d : d + inner])
    elif sub == Conversion.FLOAT_TO_UNSIGNED:
        float_to_int(target, True, F[a : a + na], I[d : d + inner])
    elif sub == Conversion.INT_TO_FLOAT:
        int_to_float(source, False, target, I[a : a + na], F[d : d + inner])
    elif sub == Conversion.UNSIGNED_TO_FLOAT:
        int_to_float(source, True, target, I[a : a + na], F[d : d + inner])
    elif sub == Conversion.SIGN_EXTEND:
        wrap_int(source, target, I[a : a + na], I[d : d + inner])
    elif sub == Conversion.ZERO_EXTEND:
        zero_extend(source, target, I[a : a + na], I[d : d + inner])
    elif sub == Conversion.FLOAT_TO_BITS:
        bitcast_float_to_int(source, target, F[a : a + na], I[d : d + inner])
    elif sub == Conversion.BITS_TO_FLOAT:
        bitcast_int_to_float(target, I[a : a + na], F[d : d + inner])
    else:
        bitcast_float(source, target, F[a : a + na], F[d : d + inner])


@machine_code()
def run_other(op, row, F, I):
    """Conversions, classification, integer powers, addresses."""
    sub, rounding = row[_SUB], row[_ROUND]
    inner, modes = I[row[_SIZE]], row[_MODE]
    if inner <= 0:
        return
    a, b, c, d = row[_A], row[_B], row[_C], row[_DST]
    na, sa = _length(modes & 3, inner), _step(modes & 3, inner)
    nb, sb = _length((modes >> 2) & 3, inner), _step((modes >> 2) & 3, inner)
    nc, sc = _length((modes >> 4) & 3, inner), _step((modes >> 4) & 3, inner)
    for _ in range(I[row[_OUTER]]):
        if op == Op.CONVERT:
            run_convert(sub, row[_C], rounding, a, na, d, inner, F, I)
        elif op == Op.CLASSIFY:
            classify_float(sub, F[a : a + na], I[d : d + inner])
        elif op == Op.POWER:
            power_float_int(rounding, F[a : a + na], I[b : b + nb], F[d : d + inner])
        else:
            address_int(rounding, I[a : a + na], I[b : b + nb], I[c : c + nc], I[d : d + inner])
        a += sa
        b += sb
        c += sc
        d += inner
