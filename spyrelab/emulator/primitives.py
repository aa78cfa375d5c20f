"""The few operations that every transcendental algorithm is written in, for NumPy arrays.

`spyrelab.emulator.native_functions` holds the same names for compiled scalars. Each primitive
is exact or correctly rounded, so an algorithm written in primitives, ``+ - * /`` and
comparisons gives the same bits in both engines.
"""

from __future__ import annotations

from typing import Any

import numpy as np

Number = Any
"""A NumPy array here, a scalar in the compiled engine."""

trunc: Any = np.trunc
rint: Any = np.rint
sqrt: Any = np.sqrt
absolute: Any = np.abs
select: Any = np.where


def bits32(x: Number) -> Number:
    """The pattern of a float32, as int32."""
    return np.asarray(x, np.float32).view(np.int32)


def float32_of(pattern: Number) -> Number:
    """The float32 whose pattern is the low 32 bits of an integer."""
    return np.asarray(pattern).astype(np.int32).view(np.float32)


def int32(x: Number) -> Number:
    """An integer reduced to 32 bits."""
    return np.asarray(x).astype(np.int32)


def bits64(x: Number) -> Number:
    """The pattern of a float64, as int64."""
    return np.asarray(x, np.float64).view(np.int64)


def float64_of(pattern: Number) -> Number:
    """The float64 with the given pattern."""
    return np.asarray(pattern, np.int64).view(np.float64)


def widen(x: Number) -> Number:
    """A float32 or int64 as float64."""
    return np.asarray(x).astype(np.float64)


def narrow(x: Number) -> Number:
    """A float64 rounded once to float32."""
    return np.asarray(x).astype(np.float32)


def take(table: np.ndarray, index: Number) -> Number:
    """Entries of a constant table."""
    return table[index]


def horner(x: Number, coefficients: tuple[Any, ...]) -> Number:
    """A polynomial, highest coefficient first; every step rounds twice."""
    result = coefficients[0]
    for coefficient in coefficients[1:]:
        result = result * x + coefficient
    return result
