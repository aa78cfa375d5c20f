"""Transcendental functions that compute in float64 and round once to float32.

Written like `spyrelab.emulator.functions`, one source for both engines. Inputs are float32, so
float64 has range and precision to spare and errors stay near half a unit in the last place.
"""

from __future__ import annotations

import math

import numpy as np

from spyrelab.emulator.primitives import (
    Number,
    absolute,
    bits32,
    bits64,
    float32_of,
    float64_of,
    horner,
    narrow,
    rint,
    select,
    sqrt,
    take,
    widen,
)

ULP_BOUND = 0.51
"""Largest error of every function here, in float32 units in the last place."""

NAN, INF = math.nan, math.inf
SIGN = np.int32(-0x80000000)
MAGIC = 1.5 * 2.0**52
MAGIC_BITS = np.int64(0x4338000000000000)
SQRT_HALF_BITS = np.int64(0x3FE6A09E667F3BCD)
LOG2E, LOG10E = math.log2(math.e), math.log10(math.e)
# ln 2 in two parts: the product of the first with any exponent is exact.
LN2_HIGH = float.fromhex("0x1.62e42fee00000p-1")
LN2_LOW = float.fromhex("0x1.a39ef35793c76p-33")
FARTHEST = 400.0
EXPM1 = tuple(1.0 / math.factorial(k) for k in range(13, 1, -1))
# log(1 + f) = 2 atanh(s), s = f / (2 + f), by its Taylor series in s^2.
LOG = tuple(2.0 / k for k in range(23, 1, -2))
SIN = (
    1.524068555996043e-10, -2.5037960642271543e-08, 2.755722065461351e-06,
    -0.00019841269523466148, 0.008333333332886985, -0.16666666666664676,
)  # fmt: skip
COS = (
    2.0645845719094846e-09, -2.7555538138299017e-07, 2.4801580815521172e-05,
    -0.0013888888877933083, 0.04166666666659968,
)  # fmt: skip
ATAN = (
    0.00018243751464396487, -0.001551251696023534, 0.006203350062105752, -0.015729350602327295,
    0.029016302664517643, -0.04283271310546522, 0.05488227633320349, -0.06548741876709968,
    0.07666834434808173, -0.09087091565683846, 0.1111073653471681, -0.14285692323800078,
    0.19999999345859248, -0.3333333332648821,
)  # fmt: skip
PI, HALF_PI = math.pi, math.pi / 2

TWO_OVER_PI = 0xA2F9836E4E441529FC2757D1F534DDC0DB6295993C439041FE5163ABDEBBC561
"""2 / pi times 2^256."""


def _quarter_turns() -> np.ndarray:
    """For each float32 exponent field e, 2^(e - 150) * 2 / pi modulo 4, in three parts.

    The first two parts have 29 bits each, so that products with a 24-bit mantissa are exact.
    """
    table = np.zeros((256, 3))
    for field in range(256):
        exponent = field - 150 - 256
        rest = TWO_OVER_PI
        if exponent > -254:  # whole turns are dropped: bits of weight 4 and above
            rest %= 1 << (2 - exponent)
        for part in range(3):
            keep = 29 if part < 2 else 53
            cut = max(rest.bit_length() - keep, 0)
            if exponent > -256 and part < 2:
                cut = max(-exponent - 27 - 29 * part, 0)
            table[field, part] = math.ldexp(rest >> cut, cut + exponent)
            rest &= (1 << cut) - 1
    return table


TURN_HIGH, TURN_MIDDLE, TURN_LOW = (np.ascontiguousarray(t) for t in _quarter_turns().T)


def _with_sign(y: Number, x: Number) -> Number:
    """A float64 that is not negative, as float32 with the sign of a float32."""
    return float32_of(bits32(narrow(y)) | (bits32(x) & SIGN))


def _grown_and_scale(x: Number) -> tuple[Number, Number]:
    """exp(r) - 1 and 2^n, where x = n ln 2 + r."""
    x = select(x < -FARTHEST, -FARTHEST, x)
    x = select(x > FARTHEST, FARTHEST, x)
    shifted = x * LOG2E + MAGIC
    n = shifted - MAGIC
    r = (x - n * LN2_HIGH) - n * LN2_LOW
    grown = horner(r, EXPM1) * (r * r) + r
    scale = float64_of(((bits64(shifted) - MAGIC_BITS) + np.int64(1023)) << np.int64(52))
    return grown, scale


def _expm1(x: Number) -> Number:
    grown, scale = _grown_and_scale(x)
    return grown * scale + (scale - 1.0)


def _exp(x: Number) -> Number:
    grown, scale = _grown_and_scale(x)
    return grown * scale + scale


def _log(x: Number) -> Number:
    pattern = bits64(x)
    exponent = (pattern - SQRT_HALF_BITS) >> np.int64(52)
    f = float64_of(pattern - (exponent << np.int64(52))) - 1.0
    n = float64_of(exponent + MAGIC_BITS) - MAGIC
    s = f / (2.0 + f)
    square = s * s
    half = 0.5 * f * f
    y = f - (half - (s * (half + square * horner(square, LOG)) + n * LN2_LOW))
    y = y + n * LN2_HIGH
    y = select(x == INF, INF, y)
    y = select(x == 0.0, -INF, y)
    return select(x >= 0.0, y, NAN)


def _log1p(x: Number) -> Number:
    whole = 1.0 + x
    lost = (x - (whole - 1.0)) / whole
    usable = (whole > 0.0) & (whole < INF)
    return _log(whole) + select(usable, lost, 0.0)


def expm1(x: Number) -> Number:
    y = narrow(_expm1(widen(x)))
    return select(x == np.float32(0.0), x, y)


def log2(x: Number) -> Number:
    return narrow(_log(widen(x)) * LOG2E)


def log10(x: Number) -> Number:
    return narrow(_log(widen(x)) * LOG10E)


def log1p(x: Number) -> Number:
    return select(x == np.float32(0.0), x, narrow(_log1p(widen(x))))


def sinh(x: Number) -> Number:
    grown = _expm1(absolute(widen(x)))
    return _with_sign(0.5 * (grown + grown / (grown + 1.0)), x)


def cosh(x: Number) -> Number:
    grown = _expm1(absolute(widen(x)))
    return narrow(1.0 + 0.5 * grown * (grown / (grown + 1.0)))


def asinh(x: Number) -> Number:
    t = absolute(widen(x))
    y = _log1p(t + t * (t / (1.0 + sqrt(t * t + 1.0))))
    return _with_sign(select(t == INF, INF, y), x)


def acosh(x: Number) -> Number:
    t = widen(x) - 1.0
    y = _log1p(t + sqrt(t * (t + 2.0)))
    return narrow(select(t >= 0.0, y, NAN))


def atanh(x: Number) -> Number:
    t = absolute(widen(x))
    return _with_sign(0.5 * _log1p(2.0 * t / (1.0 - t)), x)


def softplus(x: Number, beta: Number, threshold: Number) -> Number:
    """log(1 + exp(beta x)) / beta, and x where beta x > threshold."""
    scaled = widen(x) * widen(beta)
    return select(scaled > widen(threshold), x, narrow(_log1p(_exp(scaled)) / widen(beta)))


def _quadrant(x: Number) -> tuple[Number, Number]:
    """|x| as quarter turns: the nearest whole number (modulo 4) and the angle left over."""
    pattern = bits32(x) & np.int32(0x7FFFFFFF)
    field = pattern >> 23
    mantissa = float64_of(((pattern & 0x7FFFFF) | 0x800000) + MAGIC_BITS) - MAGIC
    high = mantissa * take(TURN_HIGH, field)
    middle = mantissa * take(TURN_MIDDLE, field)
    turns = rint(high)
    near = (high - turns) + middle
    more = rint(near)
    rest = (near - more) + mantissa * take(TURN_LOW, field)
    return bits64(turns + more + MAGIC), rest * HALF_PI


def _sine_cosine(x: Number) -> tuple[Number, Number, Number]:
    quadrant, angle = _quadrant(x)
    square = angle * angle
    sine = angle + angle * (square * horner(square, SIN))
    cosine = 1.0 - (0.5 * square - square * square * horner(square, COS))
    odd = (quadrant & np.int64(1)) == np.int64(1)
    return quadrant, select(odd, cosine, sine), select(odd, sine, cosine)


def _finite_or_nan(y: Number, x: Number) -> Number:
    return select(absolute(x) < np.float32(INF), y, np.float32(NAN))


def _is_tiny(x: Number) -> Number:
    # Below 2^-13 both sine and tangent round to their argument.
    return absolute(x) < np.float32(2.0**-13)


def sin(x: Number) -> Number:
    quadrant, sine, _ = _sine_cosine(x)
    flip = select((quadrant & np.int64(2)) == np.int64(2), SIGN, np.int32(0))
    y = float32_of(bits32(narrow(sine)) ^ flip ^ (bits32(x) & SIGN))
    return _finite_or_nan(select(_is_tiny(x), x, y), x)


def cos(x: Number) -> Number:
    quadrant, _, cosine = _sine_cosine(x)
    negative = ((quadrant + np.int64(1)) & np.int64(2)) == np.int64(2)
    return _finite_or_nan(narrow(select(negative, -cosine, cosine)), x)


def tan(x: Number) -> Number:
    quadrant, sine, cosine = _sine_cosine(x)
    flip = select((quadrant & np.int64(1)) == np.int64(1), SIGN, np.int32(0))
    y = float32_of(bits32(narrow(sine / cosine)) ^ flip ^ (bits32(x) & SIGN))
    return _finite_or_nan(select(_is_tiny(x), x, y), x)


def _arctangent(y: Number, x: Number, x_negative: Number) -> Number:
    """The angle of (x, y) for y >= 0."""
    width = absolute(x)
    steep = y > width
    smaller = select(steep, width, y)
    larger = select(steep, y, width)
    ratio = smaller / larger
    ratio = select(larger == 0.0, 0.0, ratio)
    ratio = select((smaller == INF) & (larger == INF), 1.0, ratio)
    square = ratio * ratio
    angle = ratio + ratio * (square * horner(square, ATAN))
    angle = select(steep, HALF_PI - angle, angle)
    return select(x_negative, PI - angle, angle)


def atan2(y: Number, x: Number) -> Number:
    valid = (y == y) & (x == x)
    angle = _arctangent(absolute(widen(y)), widen(x), bits32(x) < np.int32(0))
    return select(valid, _with_sign(angle, y), np.float32(NAN))


def atan(x: Number) -> Number:
    return _with_sign(_arctangent(absolute(widen(x)), 1.0, False), x)


def asin(x: Number) -> Number:
    t = absolute(widen(x))
    return _with_sign(_arctangent(t, sqrt((1.0 - t) * (1.0 + t)), False), x)


def acos(x: Number) -> Number:
    t = widen(x)
    return narrow(_arctangent(sqrt((1.0 - t) * (1.0 + t)), t, t < 0.0))


def cbrt(x: Number) -> Number:
    y = _exp(_log(absolute(widen(x))) * (1.0 / 3.0))
    y = select(absolute(x) == np.float32(INF), INF, y)
    return _with_sign(y, x)


def _power(x: Number, exponent: Number, integral: Number, odd: Number) -> Number:
    """|x|^exponent with the sign and the exceptions of IEEE pow; ``x`` is float32."""
    t = widen(x)
    size = absolute(t)
    product = exponent * _log(size)
    y = _exp(product)
    y = select(product > FARTHEST, INF, select(product < -FARTHEST, 0.0, y))
    y = select((size == 1.0) & (exponent == exponent), 1.0, y)
    y = select(integral, y, select((t < 0.0) & (size < INF), NAN, y))
    flip = select(odd, bits32(x) & SIGN, np.int32(0))
    y = select((t == 1.0) | (exponent == 0.0), 1.0, y)
    return float32_of(bits32(narrow(y)) ^ flip)


def powf(x: Number, y: Number) -> Number:
    exponent = widen(y)
    integral = rint(exponent) == exponent
    half = exponent * 0.5
    odd = integral & (rint(half) != half)
    return _power(x, exponent, integral, odd)


def fpowi(x: Number, n: Number) -> Number:
    """A float32 to an integer (int64) power."""
    exponent = widen(n)
    return _power(x, exponent, exponent == exponent, (n & np.int64(1)) == np.int64(1))


def _odd_sum(a: Number, b: Number) -> Number:
    """a + b in float64, rounded to odd: a later rounding then acts on the exact sum."""
    total = a + b
    part = total - a
    error = (a - (total - part)) + (b - part)
    return float64_of(bits64(total) + _odd_step(total < 0.0, error, bits64(total) & np.int64(1)))


def _odd_step(negative: Number, error: Number, odd: Number) -> Number:
    inexact = ((error > 0.0) | (error < 0.0)) & (odd == np.int64(0))
    outward = select(negative == (error < 0.0), np.int64(1), np.int64(-1))
    return select(inexact, outward, np.int64(0))


def fma(a: Number, b: Number, c: Number) -> Number:
    """a * b + c rounded once to float32."""
    return narrow(_odd_sum(widen(a) * widen(b), widen(c)))


def fma_odd(a: Number, b: Number, c: Number) -> Number:
    """a * b + c rounded to odd, so that rounding it to a type of 16 bits or fewer is exact."""
    total = _odd_sum(widen(a) * widen(b), widen(c))
    nearest = narrow(total)
    pattern = bits32(nearest)
    step = _odd_step(pattern < np.int32(0), total - widen(nearest), pattern & np.int64(1))
    return float32_of(pattern + step)
