"""Transcendental functions in float32 arithmetic: the ones that must be fast.

One source serves both engines: called as it stands it works on NumPy arrays; the compiled engine
rebuilds every function over its own primitives (`spyrelab.emulator.native_functions`). No
function branches, so loops over them vectorise. Constants are minimax fits of our own, made by
iteratively reweighted least squares; `ULP_BOUNDS` states what the tests enforce.
"""

from __future__ import annotations

import math

import numpy as np

from spyrelab.emulator.primitives import (
    Number,
    absolute,
    bits32,
    float32_of,
    horner,
    int32,
    select,
    sqrt,
    trunc,
)

ULP_BOUNDS = {
    "exp": 1.5,
    "exp2": 1.5,
    "log": 1.5,
    "tanh": 2.5,
    "sigmoid": 2.5,
    "silu": 3.5,
    "erf": 1.5,
    "erfc": 5.0,
    "gelu": 5.0,
    "rsqrt": 1.5,
    "reciprocal": 0.5,
    "sqrt": 0.5,
}
"""Largest error in units in the last place of float32, subnormal results included."""


def _singles(*values: float) -> tuple[np.float32, ...]:
    return tuple(np.float32(value) for value in values)


ZERO, HALF, ONE, TWO = _singles(0.0, 0.5, 1.0, 2.0)
NAN, INF = _singles(math.nan, math.inf)
LEAST_NORMAL = np.float32(2.0**-126)
# Adding 1.5 * 2^23 leaves the nearest integer in the low bits of the sum.
MAGIC = np.float32(12582912.0)
MAGIC_BITS = np.int32(0x4B400000)
ONE_BITS = np.int32(0x3F800000)
SIGN = np.int32(-0x80000000)

LOG2E = np.float32(math.log2(math.e))
# ln 2 in two parts; the first has 10 bits, so that its product with an exponent is exact.
LN2_HIGH, LN2_LOW = _singles(0.693359375, math.log(2) - 0.693359375)
# Well below the least subnormal: silu and gelu multiply before the last scaling.
EXP_LOWEST, EXP_HIGHEST = _singles(-120.0, 89.0)
EXP2_LOWEST, EXP2_HIGHEST = _singles(-150.0, 129.0)
EXP = _singles(1.3950486e-3, 8.368888e-3, 4.1666206e-2, 1.6666518e-1, 0.5)
EXP2 = _singles(1.5475896e-4, 1.3400284e-3, 9.618006e-3, 5.550328e-2, 0.24022651, 2.3823887e-8)
LN2 = np.float32(math.log(2))

SQRT_HALF_BITS = np.int32(0x3F3504F3)
LOG = _singles(
    6.7466013e-2, -0.11675641, 0.11888175, -0.12405591, 0.1421955, -0.16667996, 0.20002119,
    -0.25000009, 0.33333313,
)  # fmt: skip
TANH_SMALL = np.float32(0.625)
TANH = _singles(-5.717037e-3, 2.0650579e-2, -5.3743497e-2, 0.13331491, -0.33333284)
ERF_SMALL = np.float32(0.93)
ERF = _singles(
    8.316769e-5, -8.130011e-4, 5.1999064e-3, -2.685894e-2, 0.11283688, -0.37612632, 0.12837917
)
# erfc(t) = exp(-t^2) P(q) / (t + 3) with q = (t - 3) / (t + 3).
ERFC_CENTRE, ERFC_LARGEST = _singles(3.0, 10.2)
ERFC = _singles(
    -3.2533551e-4, -4.8317938e-4, 3.0803293e-3, -1.2264289e-3, -2.6839826e-2, 0.11952907,
    -0.31046602, 0.5902283, -0.8833945, 1.0740069,
)  # fmt: skip
ERFC_SMALL = np.float32(0.5)
# The normal distribution function: 1/2 + x P(x^2) near zero, its lower tail like erfc.
CENTRE_LARGEST = ONE
CENTRE = _singles(-7.462894e-6, 1.1295217e-4, -1.1857849e-3, 9.973078e-3, -6.6490315e-2, 0.3989423)
TAIL_CENTRE, TAIL_LARGEST = _singles(4.0, 14.6)
TAIL = _singles(
    -4.60634e-5, -2.2149006e-4, 1.7114016e-4, 1.6367706e-3, -3.4914883e-3, -7.5428504e-3,
    6.0398191e-2, -0.18652156, 0.38713732, -0.6078966, 0.75528514,
)  # fmt: skip


def rsqrt(x: Number) -> Number:
    return ONE / sqrt(x)


def reciprocal(x: Number) -> Number:
    return ONE / x


def absf(x: Number) -> Number:
    return absolute(x)


def round_half_away(x: Number) -> Number:
    """The nearest integer, halves away from zero; the sign of zero is kept."""
    whole = trunc(x)
    step = select(absolute(x - whole) >= HALF, ONE, ZERO)
    magnitude = absolute(whole) + step
    return float32_of(bits32(magnitude) | (bits32(x) & SIGN))


def copysign(x: Number, sign: Number) -> Number:
    """``x`` with the sign of ``sign``; NaN has no sign and counts as positive."""
    negative = select(sign == sign, bits32(sign) & SIGN, int32(0))
    return float32_of(bits32(absolute(x)) | negative)


def _scale_bits(exponent: Number) -> Number:
    return float32_of((exponent << 23) + ONE_BITS)


def _halves(shifted: Number) -> tuple[Number, Number]:
    # Two powers of two whose product is 2^n: it may lie outside float32's normal range.
    n = int32(bits32(shifted) - MAGIC_BITS)
    low = int32(n >> 1)
    return _scale_bits(low), _scale_bits(int32(n - low))


def _exp_parts(x: Number, correction: Number) -> tuple[Number, Number]:
    """A normal number and a power of two; their product is exp(x + correction)."""
    x = select(x < EXP_LOWEST, EXP_LOWEST, x)
    x = select(x > EXP_HIGHEST, EXP_HIGHEST, x)
    shifted = x * LOG2E + MAGIC
    n = shifted - MAGIC
    r = (x - n * LN2_HIGH) - n * LN2_LOW + correction
    y = horner(r, EXP) * (r * r) + r + ONE
    first, second = _halves(shifted)
    return y * first, second


def exp(x: Number) -> Number:
    scaled, scale = _exp_parts(x, ZERO)
    return scaled * scale


def exp2(x: Number) -> Number:
    x = select(x < EXP2_LOWEST, EXP2_LOWEST, x)
    x = select(x > EXP2_HIGHEST, EXP2_HIGHEST, x)
    shifted = x + MAGIC
    r = x - (shifted - MAGIC)
    # The last coefficient is what float32's ln 2 leaves over.
    y = horner(r, EXP2) * r + r * LN2 + ONE
    first, second = _halves(shifted)
    return (y * first) * second


def log(x: Number) -> Number:
    small = x < LEAST_NORMAL
    pattern = bits32(select(small, x * np.float32(8388608.0), x))
    # The mantissa is taken from [sqrt(1/2), sqrt(2)), where 1 is far from both ends.
    exponent = int32(int32(pattern - SQRT_HALF_BITS) >> 23)
    f = float32_of(pattern - (exponent << 23)) - ONE
    n = _float_of(exponent) - select(small, np.float32(23.0), ZERO)
    square = f * f
    tail = horner(f, LOG) * (f * square) + n * LN2_LOW
    y = (tail - HALF * square) + f + n * LN2_HIGH
    y = select(x == INF, INF, y)
    y = select(x == ZERO, -INF, y)
    return select(x >= ZERO, y, NAN)


def _float_of(small: Number) -> Number:
    """An integer below 2^22 in magnitude as float32."""
    return float32_of(small + MAGIC_BITS) - MAGIC


def tanh(x: Number) -> Number:
    magnitude = absolute(x)
    square = x * x
    small = magnitude + magnitude * (square * horner(square, TANH))
    large = ONE - TWO / (exp(magnitude + magnitude) + ONE)
    y = select(magnitude < TANH_SMALL, small, large)
    return float32_of(bits32(y) | (bits32(x) & SIGN))


def sigmoid(x: Number) -> Number:
    decay = exp(-absolute(x))
    return select(x < ZERO, decay, ONE) / (ONE + decay)


def silu(x: Number) -> Number:
    """x * sigmoid(x), accurate where the sigmoid is subnormal; NaN at minus infinity."""
    scaled, scale = _exp_parts(-absolute(x), ZERO)
    divisor = ONE + scaled * scale
    bounded = select(x < EXP_LOWEST, EXP_LOWEST, x)
    y = select(x < ZERO, (bounded * scaled / divisor) * scale, x / divisor)
    return select(x == -INF, NAN, y)


def _split_square(t: Number, factor: Number) -> tuple[Number, Number]:
    # factor * t^2 as a rounded high part and its remainder: exp needs the absolute error small.
    high = float32_of(bits32(t) & np.int32(-0x1000))
    return factor * (high * high), factor * ((t - high) * (t + high))


def _exp_of_square(t: Number, factor: Number) -> tuple[Number, Number]:
    high, low = _split_square(t, factor)
    total = high + low
    return _exp_parts(total, (high - total) + low)


def _erfc_positive(t: Number) -> Number:
    t = select(t > ERFC_LARGEST, ERFC_LARGEST, t)
    shifted = t + ERFC_CENTRE
    ratio = horner((t - ERFC_CENTRE) / shifted, ERFC) / shifted
    scaled, scale = _exp_of_square(t, -ONE)
    return (scaled * ratio) * scale


def _erf_small(x: Number) -> Number:
    return x + x * horner(x * x, ERF)


def erfc(x: Number) -> Number:
    tail = _erfc_positive(absolute(x))
    far = select(x < ZERO, TWO - tail, tail)
    return select(absolute(x) < ERFC_SMALL, ONE - _erf_small(x), far)


def erf(x: Number) -> Number:
    small = _erf_small(x)
    large = ONE - _erfc_positive(absolute(x))
    large = float32_of(bits32(large) | (bits32(x) & SIGN))
    return select(absolute(x) < ERF_SMALL, small, large)


def gelu(x: Number) -> Number:
    """x times the normal distribution function, tail included; NaN at minus infinity."""
    t = absolute(x)
    t = select(t > TAIL_LARGEST, TAIL_LARGEST, t)
    shifted = t + TAIL_CENTRE
    ratio = horner((t - TAIL_CENTRE) / shifted, TAIL) / shifted
    scaled, scale = _exp_of_square(t, -HALF)
    lower = (t * ratio * scaled) * scale
    far = select(x < ZERO, select(x == -INF, NAN, -lower), x - lower)
    near = x * (HALF + x * horner(x * x, CENTRE))
    return select(t < CENTRE_LARGEST, near, far)
