"""What every elementwise integer operation computes, on int64 arrays and before wrapping.

Operands are read at their width: ``signed`` and ``unsigned`` say how. Nothing traps.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from spyrelab.emulator.families import BinaryInt, CompareInt, TernaryInt, UnaryInt

Integers = NDArray[np.int64]
Unsigned = NDArray[np.uint64]


def signed(x: Integers, bits: int) -> Integers:
    """The two's complement reading at a width; an ``i1`` holding 1 is -1."""
    shift = 64 - bits
    return (np.asarray(x, np.int64) << shift) >> shift


def unsigned(x: Integers, bits: int) -> Unsigned:
    """The reading without sign at a width."""
    return np.asarray(x, np.int64).astype(np.uint64) & np.uint64((1 << bits) - 1)


def _as_signed(x: Unsigned) -> Integers:
    return x.astype(np.int64)


def _floor_divide(x: Integers, y: Integers) -> tuple[Integers, Integers]:
    """Floor quotient and its remainder; 0 and 0 for a divisor of 0, wrapping for -1."""
    safe = np.where((y == 0) | (y == -1), 1, y)
    quotient = x // safe
    remainder = x - quotient * safe
    return np.where(y == 0, 0, np.where(y == -1, -x, quotient)), remainder


def _divide(x: Integers, y: Integers) -> Integers:
    quotient, remainder = _floor_divide(x, y)
    return quotient + ((remainder != 0) & ((x < 0) != (y < 0)))


def _unsigned_divide(x: Unsigned, y: Unsigned) -> tuple[Unsigned, Unsigned]:
    safe = np.where(y == 0, np.uint64(1), y)
    zero = np.uint64(0)
    return np.where(y == 0, zero, x // safe), np.where(y == 0, zero, x % safe)


def _shift_amount(y: Integers, bits: int) -> tuple[Integers, NDArray[np.bool_]]:
    amount = unsigned(y, bits)
    whole = amount >= bits
    return np.where(whole, np.uint64(0), amount).astype(np.int64), whole


def _shift_left(x: Integers, y: Integers, bits: int) -> Integers:
    amount, whole = _shift_amount(y, bits)
    return np.where(whole, 0, x << amount)


def _shift_right(x: Integers, y: Integers, bits: int) -> Integers:
    amount, whole = _shift_amount(y, bits)
    return signed(x, bits) >> np.where(whole, bits - 1, amount)


def _shift_right_unsigned(x: Integers, y: Integers, bits: int) -> Integers:
    amount, whole = _shift_amount(y, bits)
    return np.where(whole, 0, _as_signed(unsigned(x, bits) >> amount.astype(np.uint64)))


def _remainder(x: Integers, y: Integers) -> Integers:
    return np.where(y == 0, 0, x - _divide(x, y) * y)


def _ceiling_divide(x: Integers, y: Integers) -> Integers:
    quotient, remainder = _floor_divide(x, y)
    return quotient + (remainder != 0)


def _unsigned_ceiling_divide(x: Unsigned, y: Unsigned) -> Unsigned:
    quotient, remainder = _unsigned_divide(x, y)
    return quotient + (remainder != 0).astype(np.uint64)


def _power(x: Integers, y: Integers) -> Integers:
    """Wrapping power; a negative exponent leaves only the powers of 1 and -1, else 0."""
    shape = np.broadcast_shapes(np.shape(x), np.shape(y))
    base, exponent = np.broadcast_to(x, shape).copy(), np.broadcast_to(y, shape)
    parity = np.where(exponent & 1, base, 1)
    reciprocal = np.where(np.abs(base) == 1, parity, 0)
    rest, result = np.maximum(exponent, 0), np.ones(shape, np.int64)
    while np.any(rest):
        result = np.where(rest & 1, result * base, result)
        base, rest = base * base, rest >> 1
    return np.where(exponent < 0, reciprocal, result)


def _leading_zeros(x: Integers, bits: int) -> Integers:
    rest, count = unsigned(x, bits), np.full(np.shape(x), bits, np.int64)
    for _ in range(bits):
        count = count - (rest != 0)
        rest = rest >> np.uint64(1)
    return count


def _trailing_zeros(x: Integers, bits: int) -> Integers:
    value = unsigned(x, bits)
    below = (value & (~value + np.uint64(1))) - np.uint64(1)
    return np.where(value == 0, bits, np.bitwise_count(below)).astype(np.int64)


def _on_signed(function: Callable[[Integers, Integers], Integers]) -> BinaryFunction:
    return lambda x, y, bits: function(signed(x, bits), signed(y, bits))


def _on_unsigned(function: Callable[[Unsigned, Unsigned], Unsigned]) -> BinaryFunction:
    return lambda x, y, bits: _as_signed(function(unsigned(x, bits), unsigned(y, bits)))


BinaryFunction = Callable[[Integers, Integers, int], Integers]

UNARY: dict[UnaryInt, Callable[[Integers, int], Integers]] = {
    UnaryInt.COPY: lambda x, bits: x,
    UnaryInt.ABSI: lambda x, bits: np.abs(signed(x, bits)),
    UnaryInt.SQUARE: lambda x, bits: x * x,
    UnaryInt.CTLZ: _leading_zeros,
    UnaryInt.CTTZ: _trailing_zeros,
    UnaryInt.CTPOP: lambda x, bits: np.bitwise_count(unsigned(x, bits)).astype(np.int64),
}

BINARY: dict[BinaryInt, BinaryFunction] = {
    BinaryInt.ADDI: _on_signed(np.add),
    BinaryInt.SUBI: _on_signed(np.subtract),
    BinaryInt.MULI: _on_signed(np.multiply),
    BinaryInt.DIVSI: _on_signed(_divide),
    BinaryInt.DIVUI: _on_unsigned(lambda x, y: _unsigned_divide(x, y)[0]),
    BinaryInt.REMSI: _on_signed(_remainder),
    BinaryInt.REMUI: _on_unsigned(lambda x, y: _unsigned_divide(x, y)[1]),
    BinaryInt.FLOORDIVSI: _on_signed(lambda x, y: _floor_divide(x, y)[0]),
    BinaryInt.CEILDIVSI: _on_signed(_ceiling_divide),
    BinaryInt.CEILDIVUI: _on_unsigned(_unsigned_ceiling_divide),
    BinaryInt.ANDI: _on_signed(np.bitwise_and),
    BinaryInt.ORI: _on_signed(np.bitwise_or),
    BinaryInt.XORI: _on_signed(np.bitwise_xor),
    BinaryInt.SHLI: _shift_left,
    BinaryInt.SHRSI: _shift_right,
    BinaryInt.SHRUI: _shift_right_unsigned,
    BinaryInt.MAXSI: _on_signed(np.maximum),
    BinaryInt.MINSI: _on_signed(np.minimum),
    BinaryInt.MAXUI: _on_unsigned(np.maximum),
    BinaryInt.MINUI: _on_unsigned(np.minimum),
    BinaryInt.IPOWI: _on_signed(_power),
}

TERNARY: dict[TernaryInt, Callable[[Integers, Integers, Integers], Integers]] = {
    TernaryInt.ADDRESS: lambda x, base, stride: base + x * stride,
}

_ORDER: dict[CompareInt, np.ufunc] = {
    CompareInt.EQ: np.equal,
    CompareInt.NE: np.not_equal,
    CompareInt.SLT: np.less,
    CompareInt.SLE: np.less_equal,
    CompareInt.SGT: np.greater,
    CompareInt.SGE: np.greater_equal,
    CompareInt.ULT: np.less,
    CompareInt.ULE: np.less_equal,
    CompareInt.UGT: np.greater,
    CompareInt.UGE: np.greater_equal,
}


def compare(predicate: CompareInt, bits: int, x: Integers, y: Integers) -> Integers:
    """0 or 1 for one of the ten predicates."""
    read = unsigned if predicate >= CompareInt.ULT else signed
    return _ORDER[predicate](read(x, bits), read(y, bits)).astype(np.int64)
