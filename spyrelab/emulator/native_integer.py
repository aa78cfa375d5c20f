"""Compiled scalar integer operations at a width; the counterparts of `integer_semantics`.

Operands and results are int64. None of them traps, and results are wrapped by the caller.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir

from spyrelab.emulator.families import BinaryInt
from spyrelab.emulator.native_primitives import inlined, intrinsic, select

ZERO, ONE, MINUS_ONE = np.int64(0), np.int64(1), np.int64(-1)
NOTHING, UNIT, EVERY_BIT = np.uint64(0), np.uint64(1), np.uint64(2**64 - 1)
LEAST = np.int64(-(2**63))


@inlined
def signed(x: Any, bits: Any) -> Any:
    shift = np.int64(64) - bits
    return (x << shift) >> shift


@inlined
def unsigned(x: Any, bits: Any) -> Any:
    return np.uint64(x) & (EVERY_BIT >> np.uint64(64 - bits))


@inlined
def wrapped(x: Any, bits: Any) -> Any:
    return select(bits == 1, x & ONE, signed(x, bits))


@intrinsic
def _quotient(typingctx: Any, x: Any, y: Any) -> Any:
    """Integer division of the machine; the divisor must be neither 0 nor -1."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.sdiv(*args) if x.signed else builder.udiv(*args)

    return x(x, x), codegen


@inlined
def _divide(x: Any, y: Any) -> Any:
    # Branches, not selections: nobody gains from a vectorised loop round a scalar division.
    if y == ZERO:
        return ZERO
    if y == MINUS_ONE:
        return ZERO - x
    return _quotient(x, y)


@inlined
def _divide_unsigned(x: Any, y: Any) -> Any:
    if y == NOTHING:
        return NOTHING
    return _quotient(x, y)


@inlined
def divide(x: Any, y: Any, bits: Any) -> Any:
    return _divide(signed(x, bits), signed(y, bits))


@inlined
def remainder(x: Any, y: Any, bits: Any) -> Any:
    x, y = signed(x, bits), signed(y, bits)
    return select(y == ZERO, ZERO, x - _divide(x, y) * y)


@inlined
def floor_divide(x: Any, y: Any, bits: Any) -> Any:
    x, y = signed(x, bits), signed(y, bits)
    quotient = _divide(x, y)
    inexact = (quotient * y != x) & (y != ZERO)
    return select(inexact & ((x < ZERO) != (y < ZERO)), quotient - ONE, quotient)


@inlined
def ceiling_divide(x: Any, y: Any, bits: Any) -> Any:
    x, y = signed(x, bits), signed(y, bits)
    quotient = _divide(x, y)
    inexact = (quotient * y != x) & (y != ZERO)
    return select(inexact & ((x < ZERO) == (y < ZERO)), quotient + ONE, quotient)


@inlined
def divide_unsigned(x: Any, y: Any, bits: Any) -> Any:
    return np.int64(_divide_unsigned(unsigned(x, bits), unsigned(y, bits)))


@inlined
def remainder_unsigned(x: Any, y: Any, bits: Any) -> Any:
    u, v = unsigned(x, bits), unsigned(y, bits)
    return np.int64(select(v == NOTHING, NOTHING, u - _divide_unsigned(u, v) * v))


@inlined
def ceiling_divide_unsigned(x: Any, y: Any, bits: Any) -> Any:
    u, v = unsigned(x, bits), unsigned(y, bits)
    quotient = _divide_unsigned(u, v)
    inexact = (quotient * v != u) & (v != NOTHING)
    return np.int64(select(inexact, quotient + UNIT, quotient))


@inlined
def add(x: Any, y: Any, bits: Any) -> Any:
    return x + y


@inlined
def subtract(x: Any, y: Any, bits: Any) -> Any:
    return x - y


@inlined
def multiply(x: Any, y: Any, bits: Any) -> Any:
    return x * y


@inlined
def bit_and(x: Any, y: Any, bits: Any) -> Any:
    return x & y


@inlined
def bit_or(x: Any, y: Any, bits: Any) -> Any:
    return x | y


@inlined
def bit_xor(x: Any, y: Any, bits: Any) -> Any:
    return x ^ y


@inlined
def shift_left(x: Any, y: Any, bits: Any) -> Any:
    amount = unsigned(y, bits)
    whole = amount >= np.uint64(bits)
    return select(whole, ZERO, x << np.int64(select(whole, NOTHING, amount)))


@inlined
def shift_right(x: Any, y: Any, bits: Any) -> Any:
    amount = unsigned(y, bits)
    whole = amount >= np.uint64(bits)
    return signed(x, bits) >> select(whole, bits - ONE, np.int64(amount))


@inlined
def shift_right_unsigned(x: Any, y: Any, bits: Any) -> Any:
    amount = unsigned(y, bits)
    whole = amount >= np.uint64(bits)
    return select(whole, ZERO, np.int64(unsigned(x, bits) >> select(whole, NOTHING, amount)))


@inlined
def maximum(x: Any, y: Any, bits: Any) -> Any:
    return select(signed(x, bits) > signed(y, bits), x, y)


@inlined
def minimum(x: Any, y: Any, bits: Any) -> Any:
    return select(signed(x, bits) < signed(y, bits), x, y)


@inlined
def maximum_unsigned(x: Any, y: Any, bits: Any) -> Any:
    return select(unsigned(x, bits) > unsigned(y, bits), x, y)


@inlined
def minimum_unsigned(x: Any, y: Any, bits: Any) -> Any:
    return select(unsigned(x, bits) < unsigned(y, bits), x, y)


@inlined
def power(x: Any, y: Any, bits: Any) -> Any:
    base, exponent = signed(x, bits), signed(y, bits)
    if exponent < ZERO:
        parity = base if exponent & ONE else ONE
        return parity if (base == ONE) | (base == MINUS_ONE) else ZERO
    result = ONE
    while exponent > ZERO:
        if exponent & ONE:
            result = result * base
        base = base * base
        exponent = exponent >> ONE
    return result


@inlined
def divide_or_power(sub: Any, x: Any, y: Any, bits: Any) -> Any:
    """The slow operations together: their loops gain nothing from being apart."""
    if sub == BinaryInt.DIVSI:
        return divide(x, y, bits)
    if sub == BinaryInt.REMSI:
        return remainder(x, y, bits)
    if sub == BinaryInt.FLOORDIVSI:
        return floor_divide(x, y, bits)
    if sub == BinaryInt.CEILDIVSI:
        return ceiling_divide(x, y, bits)
    if sub == BinaryInt.DIVUI:
        return divide_unsigned(x, y, bits)
    if sub == BinaryInt.REMUI:
        return remainder_unsigned(x, y, bits)
    if sub == BinaryInt.CEILDIVUI:
        return ceiling_divide_unsigned(x, y, bits)
    return power(x, y, bits)


@inlined
def absolute(x: Any, bits: Any) -> Any:
    value = signed(x, bits)
    return select(value < ZERO, ZERO - value, value)


@inlined
def square(x: Any, bits: Any) -> Any:
    return x * x


@intrinsic
def _population(typingctx: Any, x: Any) -> Any:
    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.ctpop(args[0])

    return x(x), codegen


@intrinsic
def _leading(typingctx: Any, x: Any) -> Any:
    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.ctlz(args[0], ir.Constant(ir.IntType(1), 0))

    return x(x), codegen


@inlined
def population(x: Any, bits: Any) -> Any:
    return np.int64(_population(unsigned(x, bits)))


@inlined
def leading_zeros(x: Any, bits: Any) -> Any:
    return np.int64(_leading(unsigned(x, bits))) - (np.int64(64) - bits)


@inlined
def trailing_zeros(x: Any, bits: Any) -> Any:
    value = unsigned(x, bits)
    below = (value & (NOTHING - value)) - UNIT
    return select(value == NOTHING, bits, np.int64(_population(below)))


@inlined
def _order(x: Any, y: Any) -> Any:
    """One bit for how two integers compare: 1 equal, 2 greater, 4 less."""
    return select(x == y, np.int64(1), select(x > y, np.int64(2), np.int64(4)))


@inlined
def order_signed(x: Any, y: Any, bits: Any) -> Any:
    return _order(signed(x, bits), signed(y, bits))


@inlined
def order_unsigned(x: Any, y: Any, bits: Any) -> Any:
    return _order(unsigned(x, bits), unsigned(y, bits))


@inlined
def address(x: Any, base: Any, stride: Any) -> Any:
    return base + x * stride
