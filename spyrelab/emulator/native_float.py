"""Compiled scalar float operations that are not transcendental."""

from __future__ import annotations

from typing import Any

import numpy as np

from spyrelab.emulator.native_formats import r16
from spyrelab.emulator.native_functions import SINGLE
from spyrelab.emulator.native_primitives import absolute, bits32, float32_of, inlined, select

ONE, NAN, INF = np.float32(1.0), np.float32(np.nan), np.float32(np.inf)
SIGN = np.int32(-0x80000000)
exp_f32 = SINGLE["exp"]


@inlined
def negate(x: Any) -> Any:
    return float32_of(bits32(x) ^ SIGN)


@inlined
def square(x: Any) -> Any:
    return x * x


@inlined
def exp_f16(x: Any) -> Any:
    return r16(exp_f32(x))


@inlined
def add(x: Any, y: Any) -> Any:
    return x + y


@inlined
def add_f16(x: Any, y: Any) -> Any:
    return r16(x + y)


@inlined
def subtract(x: Any, y: Any) -> Any:
    return x - y


@inlined
def subtract_f16(x: Any, y: Any) -> Any:
    return r16(x - y)


@inlined
def multiply(x: Any, y: Any) -> Any:
    return x * y


@inlined
def multiply_f16(x: Any, y: Any) -> Any:
    return r16(x * y)


@inlined
def divide(x: Any, y: Any) -> Any:
    return x / y


@inlined
def divide_f16(x: Any, y: Any) -> Any:
    return r16(x / y)


@inlined
def maximum(x: Any, y: Any) -> Any:
    """The larger value; NaN wins, and +0 is above -0."""
    # The two selections differ only for zeros of two signs, and there their common bits are +0.
    first, second = select(x > y, x, y), select(y > x, y, x)
    larger = float32_of(np.int32(bits32(first) & bits32(second)))
    return select((x == x) & (y == y), larger, NAN)


@inlined
def minimum(x: Any, y: Any) -> Any:
    """The smaller value; NaN wins, and -0 is below +0."""
    first, second = select(x < y, x, y), select(y < x, y, x)
    smaller = float32_of(np.int32(bits32(first) | bits32(second)))
    return select((x == x) & (y == y), smaller, NAN)


@inlined
def maximum_number(x: Any, y: Any) -> Any:
    """As `maximum`, but one NaN gives way to a number."""
    larger = select((x > y) | ((x == y) & (bits32(x) >= 0)), x, y)
    return select(x == x, select(y == y, larger, x), y)


@inlined
def minimum_number(x: Any, y: Any) -> Any:
    """As `minimum`, but one NaN gives way to a number."""
    smaller = select((x < y) | ((x == y) & (bits32(x) < 0)), x, y)
    return select(x == x, select(y == y, smaller, x), y)


@inlined
def clamp(x: Any, low: Any, high: Any) -> Any:
    return minimum(maximum(x, low), high)


@inlined
def is_nan(x: Any) -> Any:
    return np.int64(x != x)


@inlined
def is_infinite(x: Any) -> Any:
    return np.int64(absolute(x) == INF)


@inlined
def is_finite(x: Any) -> Any:
    return np.int64(absolute(x) < INF)


@inlined
def ordering(x: Any, y: Any) -> Any:
    """One bit for how two values compare: 1 equal, 2 greater, 4 less, 8 unordered."""
    distinct = select(x > y, np.int64(2), select(x < y, np.int64(4), np.int64(8)))
    return select(x == y, np.int64(1), distinct)
