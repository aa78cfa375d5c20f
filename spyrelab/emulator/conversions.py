"""Conversions between element types, on NumPy arrays."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from spyrelab.emulator.families import Conversion
from spyrelab.emulator.formats import decode, encode, round_to, wrap
from spyrelab.emulator.integer_semantics import signed, unsigned
from spyrelab.ktir.types import ScalarType

_BY_NAME = {
    "arith.extf": Conversion.ROUND,
    "arith.truncf": Conversion.ROUND,
    "arith.sitofp": Conversion.INT_TO_FLOAT,
    "arith.uitofp": Conversion.UNSIGNED_TO_FLOAT,
    "arith.fptosi": Conversion.FLOAT_TO_INT,
    "arith.fptoui": Conversion.FLOAT_TO_UNSIGNED,
    "arith.extsi": Conversion.SIGN_EXTEND,
    "arith.extui": Conversion.ZERO_EXTEND,
    "arith.trunci": Conversion.SIGN_EXTEND,
    "arith.index_cast": Conversion.SIGN_EXTEND,
    "arith.index_castui": Conversion.ZERO_EXTEND,
}
CAST_NAMES = (*_BY_NAME, "arith.bitcast")


def conversion_of(name: str, operand: ScalarType, result: ScalarType) -> Conversion:
    """What a cast does, given its types (only ``arith.bitcast`` depends on them)."""
    if name != "arith.bitcast":
        return _BY_NAME[name]
    if operand.is_float and result.is_float:
        return Conversion.FLOAT_BITS_TO_FLOAT
    if operand.is_float:
        return Conversion.FLOAT_TO_BITS
    return Conversion.BITS_TO_FLOAT if result.is_float else Conversion.SIGN_EXTEND


def convert(
    conversion: Conversion, values: np.ndarray, operand: ScalarType, result: ScalarType
) -> np.ndarray:
    """Values of type ``result`` from values of type ``operand``."""
    if conversion is Conversion.ROUND:
        return round_to(values, result)
    if conversion in (Conversion.FLOAT_TO_INT, Conversion.FLOAT_TO_UNSIGNED):
        return wrap(_to_integer(values, result, conversion), result)
    if conversion is Conversion.INT_TO_FLOAT:
        return round_to(signed(values, operand.bits).astype(np.float32), result)
    if conversion is Conversion.UNSIGNED_TO_FLOAT:
        return round_to(unsigned(values, operand.bits).astype(np.float32), result)
    if conversion is Conversion.SIGN_EXTEND:
        return wrap(signed(values, operand.bits), result)
    if conversion is Conversion.ZERO_EXTEND:
        return wrap(unsigned(values, operand.bits).astype(np.int64), result)
    return _reinterpret(values, operand, result)


def _to_integer(
    values: np.ndarray, result: ScalarType, conversion: Conversion
) -> NDArray[np.int64]:
    """Truncated and saturated; NaN is 0."""
    is_unsigned = conversion is Conversion.FLOAT_TO_UNSIGNED
    magnitude = result.bits if is_unsigned else result.bits - 1
    lowest = 0 if is_unsigned else -(1 << magnitude)
    top = (1 << magnitude) - 1
    highest = top - (1 << 64) if top >= 1 << 63 else top
    whole = np.trunc(np.asarray(values, np.float64))
    over, under = whole >= 2.0**magnitude, whole <= lowest
    inside = np.where(over | under | np.isnan(whole), 0.0, whole)
    # An unsigned 64-bit value above 2^63 is kept as the signed one with its bits.
    upper = inside >= 2.0**63
    integers = np.where(upper, inside - 2.0**64, inside).astype(np.int64)
    return np.where(over, highest, np.where(under, lowest, integers))


def _reinterpret(values: np.ndarray, operand: ScalarType, result: ScalarType) -> np.ndarray:
    if operand.is_float:
        bits = encode(values, operand)
    else:
        bits = unsigned(values, operand.bits).astype(f"u{operand.itemsize}")
    if result.is_float:
        return decode(bits, result)
    return wrap(bits.astype(np.int64), result)
