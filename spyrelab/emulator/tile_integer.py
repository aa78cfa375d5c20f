"""Elementwise integer families of the tile VM, and selection, on contiguous int64 slices.

Values are wrapped to ``bits`` and read as signed (``i1`` holds 0 or 1); unsigned operations read
them at that width. An operand of one element broadcasts and ``out`` never overlaps an operand.
"""

from __future__ import annotations

from typing import Any

from spyrelab.emulator import native_integer as scalar
from spyrelab.emulator.families import BinaryInt, CompareInt, UnaryInt
from spyrelab.emulator.linkage import FLOATS, INT, INTS, Floats, Integers, tile_function
from spyrelab.emulator.tile_maps import Loop, compiled, compiled_loop, spread


def _map_one(operation: Any) -> Loop:
    def loop(bits: Any, x: Any, out: Any) -> None:
        spread(x, out)
        for i in range(out.size):
            out[i] = operation(out[i], bits)

    return compiled_loop(loop, operation)


def _map_two(operation: Any) -> Loop:
    def loop(bits: Any, x: Any, y: Any, out: Any) -> None:
        spread(y, out)
        step = 0 if x.size == 1 else 1
        for i in range(out.size):
            out[i] = operation(x[i * step], out[i], bits)

    return compiled_loop(loop, operation)


_add, _subtract, _multiply = map(_map_two, (scalar.add, scalar.subtract, scalar.multiply))
_and, _or, _xor = map(_map_two, (scalar.bit_and, scalar.bit_or, scalar.bit_xor))
_maximum, _minimum = map(_map_two, (scalar.maximum, scalar.minimum))
_maximum_unsigned = _map_two(scalar.maximum_unsigned)
_minimum_unsigned = _map_two(scalar.minimum_unsigned)
_shift_left, _shift_right = map(_map_two, (scalar.shift_left, scalar.shift_right))
_shift_right_unsigned = _map_two(scalar.shift_right_unsigned)
_order_signed, _order_unsigned = map(_map_two, (scalar.order_signed, scalar.order_unsigned))
_absolute, _square = map(_map_one, (scalar.absolute, scalar.square))
_leading_zeros, _trailing_zeros = map(_map_one, (scalar.leading_zeros, scalar.trailing_zeros))
_population = _map_one(scalar.population)


@tile_function(INT, INTS)
def wrap_tile(bits: int, out: Integers) -> None:
    """Reduce a tile to a width in place."""
    if bits < 64:
        for i in range(out.size):
            out[i] = scalar.wrapped(out[i], bits)


@tile_function(INT, INT, INTS, INTS)
def unary_int(sub: int, bits: int, x: Integers, out: Integers) -> None:
    """out = wrapped operation(x), for a `UnaryInt` code."""
    if sub == UnaryInt.COPY:
        spread(x, out)
    elif sub == UnaryInt.ABSI:
        _absolute(bits, x, out)
    elif sub == UnaryInt.SQUARE:
        _square(bits, x, out)
    elif sub == UnaryInt.CTLZ:
        _leading_zeros(bits, x, out)
    elif sub == UnaryInt.CTTZ:
        _trailing_zeros(bits, x, out)
    elif sub == UnaryInt.CTPOP:
        _population(bits, x, out)
    wrap_tile(bits, out)


@tile_function(INT, INT, INTS, INTS, INTS)
def binary_int(sub: int, bits: int, x: Integers, y: Integers, out: Integers) -> None:
    """out = wrapped operation(x, y), for a `BinaryInt` code."""
    if sub == BinaryInt.ADDI:
        _add(bits, x, y, out)
    elif sub == BinaryInt.SUBI:
        _subtract(bits, x, y, out)
    elif sub == BinaryInt.MULI:
        _multiply(bits, x, y, out)
    elif sub == BinaryInt.ANDI:
        _and(bits, x, y, out)
    elif sub == BinaryInt.ORI:
        _or(bits, x, y, out)
    elif sub == BinaryInt.XORI:
        _xor(bits, x, y, out)
    elif sub >= BinaryInt.SHLI and sub <= BinaryInt.MINUI:
        _shift_or_choose(sub, bits, x, y, out)
    else:
        _divide_or_power(sub, bits, x, y, out)
    wrap_tile(bits, out)


@compiled
def _shift_or_choose(sub: int, bits: int, x: Integers, y: Integers, out: Integers) -> None:
    if sub == BinaryInt.SHLI:
        _shift_left(bits, x, y, out)
    elif sub == BinaryInt.SHRSI:
        _shift_right(bits, x, y, out)
    elif sub == BinaryInt.SHRUI:
        _shift_right_unsigned(bits, x, y, out)
    elif sub == BinaryInt.MAXSI:
        _maximum(bits, x, y, out)
    elif sub == BinaryInt.MINSI:
        _minimum(bits, x, y, out)
    elif sub == BinaryInt.MAXUI:
        _maximum_unsigned(bits, x, y, out)
    elif sub == BinaryInt.MINUI:
        _minimum_unsigned(bits, x, y, out)


@compiled
def _divide_or_power(sub: int, bits: int, x: Integers, y: Integers, out: Integers) -> None:
    spread(y, out)
    step = 0 if x.size == 1 else 1
    for i in range(out.size):
        out[i] = scalar.divide_or_power(sub, x[i * step], out[i], bits)


@tile_function(INT, INTS, INTS, INTS, INTS)
def address_int(bits: int, x: Integers, base: Integers, stride: Integers, out: Integers) -> None:
    """out = wrapped base + x * stride."""
    step_base, step_stride = 0 if base.size == 1 else 1, 0 if stride.size == 1 else 1
    spread(x, out)
    for i in range(out.size):
        out[i] = scalar.address(out[i], base[i * step_base], stride[i * step_stride])
    wrap_tile(bits, out)


@tile_function(INT, INT, INTS, INTS, INTS)
def compare_int(predicate: int, bits: int, x: Integers, y: Integers, out: Integers) -> None:
    """out = 0 or 1, for a `CompareInt` predicate."""
    if predicate >= CompareInt.ULT:
        _order_unsigned(bits, x, y, out)
        predicate += CompareInt.SLT - CompareInt.ULT
    else:
        _order_signed(bits, x, y, out)
    # Which of 1 equal, 2 greater, 4 less satisfy eq, ne, lt, le, gt, ge: three bits each.
    wanted = (0b011_010_101_100_110_001 >> (3 * predicate)) & 7
    for i in range(out.size):
        out[i] = (out[i] & wanted) != 0


@compiled
def _choose(c: Any, x: Any, y: Any, out: Any) -> None:
    if c.size == 1:
        spread(x if c[0] != 0 else y, out)
        return
    spread(y, out)
    if x.size == 1:
        chosen = x[0]
        for i in range(out.size):
            out[i] = chosen if c[i] != 0 else out[i]
    else:
        for i in range(out.size):
            # Both are loaded whatever the condition, so that the loop becomes vector code.
            one, other = x[i], out[i]
            out[i] = one if c[i] != 0 else other


@tile_function(INTS, INTS, INTS, INTS)
def select_int(c: Integers, x: Integers, y: Integers, out: Integers) -> None:
    """out = x where c is not 0, else y (int64)."""
    _choose(c, x, y, out)


@tile_function(INTS, FLOATS, FLOATS, FLOATS)
def select_float(c: Integers, x: Floats, y: Floats, out: Floats) -> None:
    """out = x where c (int64) is not 0, else y (float32)."""
    _choose(c, x, y, out)
