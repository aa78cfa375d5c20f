"""What every elementwise float operation computes, on NumPy arrays and before rounding."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from spyrelab.emulator import functions, functions_wide
from spyrelab.emulator.families import (
    BinaryFloat,
    ClassifyFloat,
    CompareFloat,
    TernaryFloat,
    UnaryFloat,
)

Values = NDArray[np.float32]
Integers = NDArray[np.int64]


def maximum(x: Values, y: Values) -> Values:
    """The larger value; NaN wins, and +0 is above -0."""
    larger = np.where((x > y) | ((x == y) & ~np.signbit(x)), x, y)
    return np.where(np.isnan(x) | np.isnan(y), np.float32(np.nan), larger)


def minimum(x: Values, y: Values) -> Values:
    """The smaller value; NaN wins, and -0 is below +0."""
    smaller = np.where((x < y) | ((x == y) & np.signbit(x)), x, y)
    return np.where(np.isnan(x) | np.isnan(y), np.float32(np.nan), smaller)


def maximum_number(x: Values, y: Values) -> Values:
    """As `maximum`, but one NaN gives way to a number."""
    return np.where(np.isnan(x), y, np.where(np.isnan(y), x, maximum(x, y)))


def minimum_number(x: Values, y: Values) -> Values:
    """As `minimum`, but one NaN gives way to a number."""
    return np.where(np.isnan(x), y, np.where(np.isnan(y), x, minimum(x, y)))


def compare(predicate: CompareFloat, x: Values, y: Values) -> Integers:
    """0 or 1 for one of the sixteen predicates."""
    found = np.zeros(np.broadcast_shapes(np.shape(x), np.shape(y)), bool)
    for bit, holds in ((1, x == y), (2, x > y), (4, x < y), (8, np.isnan(x) | np.isnan(y))):
        if predicate & bit:
            found = found | holds
    return found.astype(np.int64)


def fma(single: bool, x: Values, y: Values, z: Values) -> Values:
    """x * y + z; unless the result is ``single``, in a form that rounds once more unharmed."""
    return functions_wide.fma(x, y, z) if single else functions_wide.fma_odd(x, y, z)


UNARY: dict[UnaryFloat, Callable[[Values], Values]] = {
    UnaryFloat.COPY: lambda x: x,
    UnaryFloat.NEGF: np.negative,
    UnaryFloat.ABSF: np.abs,
    UnaryFloat.SQUARE: np.square,
    UnaryFloat.SQRT: np.sqrt,
    UnaryFloat.RSQRT: functions.rsqrt,
    UnaryFloat.RECIPROCAL: functions.reciprocal,
    UnaryFloat.FLOOR: np.floor,
    UnaryFloat.CEIL: np.ceil,
    UnaryFloat.TRUNC: np.trunc,
    UnaryFloat.ROUND: functions.round_half_away,
    UnaryFloat.ROUNDEVEN: np.rint,
    UnaryFloat.EXP: functions.exp,
    UnaryFloat.EXP2: functions.exp2,
    UnaryFloat.EXPM1: functions_wide.expm1,
    UnaryFloat.LOG: functions.log,
    UnaryFloat.LOG2: functions_wide.log2,
    UnaryFloat.LOG10: functions_wide.log10,
    UnaryFloat.LOG1P: functions_wide.log1p,
    UnaryFloat.SIN: functions_wide.sin,
    UnaryFloat.COS: functions_wide.cos,
    UnaryFloat.TAN: functions_wide.tan,
    UnaryFloat.ASIN: functions_wide.asin,
    UnaryFloat.ACOS: functions_wide.acos,
    UnaryFloat.ATAN: functions_wide.atan,
    UnaryFloat.SINH: functions_wide.sinh,
    UnaryFloat.COSH: functions_wide.cosh,
    UnaryFloat.TANH: functions.tanh,
    UnaryFloat.ASINH: functions_wide.asinh,
    UnaryFloat.ACOSH: functions_wide.acosh,
    UnaryFloat.ATANH: functions_wide.atanh,
    UnaryFloat.ERF: functions.erf,
    UnaryFloat.ERFC: functions.erfc,
    UnaryFloat.CBRT: functions_wide.cbrt,
    UnaryFloat.SIGMOID: functions.sigmoid,
    UnaryFloat.SILU: functions.silu,
    UnaryFloat.GELU: functions.gelu,
}

BINARY: dict[BinaryFloat, Callable[[Values, Values], Values]] = {
    BinaryFloat.ADDF: np.add,
    BinaryFloat.SUBF: np.subtract,
    BinaryFloat.MULF: np.multiply,
    BinaryFloat.DIVF: np.divide,
    BinaryFloat.REMF: np.fmod,
    BinaryFloat.MAXIMUMF: maximum,
    BinaryFloat.MINIMUMF: minimum,
    BinaryFloat.MAXNUMF: maximum_number,
    BinaryFloat.MINNUMF: minimum_number,
    BinaryFloat.POWF: functions_wide.powf,
    BinaryFloat.ATAN2: functions_wide.atan2,
    BinaryFloat.COPYSIGN: functions.copysign,
}

TERNARY: dict[TernaryFloat, Callable[[Values, Values, Values], Values]] = {
    TernaryFloat.CLAMPF: lambda x, low, high: minimum(maximum(x, low), high),
    TernaryFloat.SOFTPLUS: functions_wide.softplus,
}

CLASSIFY: dict[ClassifyFloat, Callable[[Values], NDArray[np.bool_]]] = {
    ClassifyFloat.ISNAN: np.isnan,
    ClassifyFloat.ISINF: np.isinf,
    ClassifyFloat.ISFINITE: np.isfinite,
}
