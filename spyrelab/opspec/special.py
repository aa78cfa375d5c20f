"""Gamma, Bessel and error functions of one number, to the accuracy of float32.

Bessel functions take the polynomials of Abramowitz and Stegun, sections 9.4 and 9.8; the inverse
of the error function is M. Giles' for single precision, with a step of Newton's method.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from spyrelab.ktir.builder import Builder
from spyrelab.opspec.expressions import define, function

__all__: list[str] = []

_SHIFTS = 8


def polynomial(x: Any, *coefficients: float) -> Any:
    """A polynomial, the coefficient of the highest power last."""
    result: Any = coefficients[-1]
    for coefficient in reversed(coefficients[:-1]):
        result = x * result + coefficient
    return result


def _sine_of_turn(b: Builder, x: Any) -> Any:
    """``sin(pi x)``, perhaps with the other sign, from the distance to a whole number."""
    return b.math("sin", (x - b.math("roundeven", x)) * math.pi)


def _cotangent_of_turn(b: Builder, x: Any) -> Any:
    rest = (x - b.math("roundeven", x)) * math.pi
    return b.math("cos", rest) / b.math("sin", rest)


def _is_pole(b: Builder, x: Any) -> Any:
    return (x <= 0.0) & b.math("floor", x).equals(x)


# ---- gamma -------------------------------------------------------------------------------------


def _log_gamma(b: Builder, x: Any) -> Any:
    """Stirling's series for numbers shifted up; reflection below one half."""
    below = x < 0.5
    y = b.select(below, 1.0 - x, x)
    product, high = b.full(x.shape, 1.0, x.dtype), y
    for _ in range(_SHIFTS):
        low = high < float(_SHIFTS)
        product = b.select(low, product * high, product)
        high = b.select(low, high + 1.0, high)
    square = 1.0 / (high * high)
    series = polynomial(square, 1 / 12, -1 / 360, 1 / 1260, -1 / 1680) / high
    value = (high - 0.5) * (b.log(high) - 1.0) + (0.5 * math.log(2 * math.pi) - 0.5) + series
    value = b.select(high > 1e30, high * (b.log(high) - 1.0), value) - b.log(product)
    value = b.select(y.equals(1.0) | y.equals(2.0), 0.0, value)
    mirrored = b.log(b.absolute(math.pi / _sine_of_turn(b, x))) - value
    value = b.select(below, mirrored, value)
    infinite = _is_pole(b, x) | b.absolute(x).equals(math.inf)
    return b.select(infinite, math.inf, value)


def _digamma(b: Builder, x: Any) -> Any:
    below = x < 0.0
    y = b.select(below, 1.0 - x, x)
    total, high = b.full(x.shape, 0.0, x.dtype), y
    for _ in range(10):
        low = high < 10.0
        total = b.select(low, total - 1.0 / high, total)
        high = b.select(low, high + 1.0, high)
    square = 1.0 / (high * high)
    series = square * polynomial(square, 1 / 12, -1 / 120, 1 / 252, -1 / 240, 1 / 132)
    value = total + b.log(high) - 0.5 / high - series
    value = b.select(high.equals(math.inf), math.inf, value)
    value = b.select(below, value - _cotangent_of_turn(b, x) * math.pi, value)
    value = b.select(_is_pole(b, x), math.nan, value)
    signed = function(b, "math.copysign", b.full(x.shape, math.inf, x.dtype), -x)
    return b.select(x.equals(0.0), signed, value)


_BERNOULLI = (1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730)


def _turned(order: int) -> Sequence[float]:
    """The ``order``-th derivative of ``cot(pi x) / pi ** order`` as a polynomial in cot(pi x)."""
    found = [0.0, 1.0]
    for _ in range(order):
        slope = [k * c for k, c in enumerate(found)][1:]
        found = [-c for c in [*slope, 0.0, 0.0]]
        for k, c in enumerate(slope):
            found[k + 2] -= c
    return found


def _polygamma(b: Builder, x: Any, order: int = 1) -> Any:
    """A sum, its tail by Euler and Maclaurin; reflection below one half."""
    below, s = x < 0.5, order + 1
    y = b.select(below, 1.0 - x, x)
    total = b.full(x.shape, 0.0, x.dtype)
    high = y
    for _ in range(_SHIFTS):
        total = total + _inverse_power(high, s)
        high = high + 1.0
    tail = _inverse_power(high, order) / float(order) + _inverse_power(high, s) * 0.5
    rising = float(s)
    for number, bernoulli in enumerate(_BERNOULLI):
        power = s + 2 * number + 1
        scale = bernoulli / math.factorial(2 * number + 2) * rising
        tail = tail + _inverse_power(high, power) * scale
        rising *= (s + 2 * number + 1) * (s + 2 * number + 2)
    sign = 1.0 if order % 2 else -1.0
    value = (total + tail) * (sign * math.factorial(order))
    turned = polynomial(_cotangent_of_turn(b, x), *_turned(order)) * math.pi ** (order + 1)
    mirrored = -turned - value if order % 2 else value - turned
    value = b.select(below, mirrored, value)
    return b.select(_is_pole(b, x), sign * math.inf, value)


def _inverse_power(x: Any, power: int) -> Any:
    inverse = 1.0 / x
    result = inverse
    for _ in range(power - 1):
        result = result * inverse
    return result


# ---- Bessel functions --------------------------------------------------------------------------


def _i0e(b: Builder, x: Any) -> Any:
    size = b.absolute(x)
    small, large = size / 3.75, 3.75 / size
    low = polynomial(small * small, 1.0, 3.5156229, 3.0899424, 1.2067492, 0.2659732, 0.0360768,
                     0.0045813) * b.exp(-size)  # fmt: skip
    high = polynomial(large, 0.39894228, 0.01328592, 0.00225319, -0.00157565, 0.00916281,
                      -0.02057706, 0.02635537, -0.01647633, 0.00392377)  # fmt: skip
    return b.select(size < 3.75, low, high / b.sqrt(size))


def _i1e(b: Builder, x: Any) -> Any:
    size = b.absolute(x)
    small, large = size / 3.75, 3.75 / size
    low = polynomial(small * small, 0.5, 0.87890594, 0.51498869, 0.15084934, 0.02658733,
                     0.00301532, 0.00032411) * size * b.exp(-size)  # fmt: skip
    high = polynomial(large, 0.39894228, -0.03988024, -0.00362018, 0.00163801, -0.01031555,
                      0.02282967, -0.02895312, 0.01787654, -0.00420059)  # fmt: skip
    return function(b, "math.copysign", b.select(size < 3.75, low, high / b.sqrt(size)), x)


def _grown(scaled: Any) -> Any:
    """The function whose product with ``exp(-|x|)`` is given."""

    def emit(b: Builder, x: Any) -> Any:
        half = b.exp(b.absolute(x) * 0.5)
        value = scaled(b, x) * half * half
        return b.select(x.equals(math.inf), math.inf, b.select(x.equals(-math.inf), x * x, value))

    return emit


def _k0e(b: Builder, x: Any) -> Any:
    half = x * 0.5
    i0 = _i0e(b, x) * b.exp(x)
    low = polynomial(half * half, -0.57721566, 0.42278420, 0.23069756, 0.03488590, 0.00262698,
                     0.00010750, 0.00000740) - b.log(half) * i0  # fmt: skip
    high = polynomial(2.0 / x, 1.25331414, -0.07832358, 0.02189568, -0.01062446, 0.00587872,
                      -0.00251540, 0.00053208) / b.sqrt(x)  # fmt: skip
    return _of_positive(b, x, b.select(x <= 2.0, low * b.exp(x), high), math.inf)


def _k1e(b: Builder, x: Any) -> Any:
    half = x * 0.5
    i1 = _i1e(b, x) * b.exp(x)
    low = polynomial(half * half, 1.0, 0.15443144, -0.67278579, -0.18156897, -0.01919402,
                     -0.00110404, -0.00004686) / x + b.log(half) * i1  # fmt: skip
    high = polynomial(2.0 / x, 1.25331414, 0.23498619, -0.03655620, 0.01504268, -0.00780353,
                      0.00325614, -0.00068245) / b.sqrt(x)  # fmt: skip
    return _of_positive(b, x, b.select(x <= 2.0, low * b.exp(x), high), math.inf)


def _shrunk(scaled: Any) -> Any:
    return lambda b, x: b.select(x.equals(math.inf), 0.0, scaled(b, x) * b.exp(-x))


def _of_positive(b: Builder, x: Any, value: Any, at_zero: float) -> Any:
    return b.select(x < 0.0, math.nan, b.select(x.equals(0.0), at_zero, value))


def _wave(b: Builder, size: Any, order: int) -> tuple[Any, Any]:
    """Amplitude and phase of the Bessel functions beyond 3."""
    t = 3.0 / size
    if order == 0:
        amplitude = polynomial(t, 0.79788456, -0.00000077, -0.00552740, -0.00009512, 0.00137237,
                               -0.00072805, 0.00014476)  # fmt: skip
        phase = polynomial(t, -0.78539816, -0.04166397, -0.00003954, 0.00262573, -0.00054125,
                           -0.00029333, 0.00013558)  # fmt: skip
    else:
        amplitude = polynomial(t, 0.79788456, 0.00000156, 0.01659667, 0.00017105, -0.00249511,
                               0.00113653, -0.00020033)  # fmt: skip
        phase = polynomial(t, -2.35619449, 0.12499612, 0.00005650, -0.00637879, 0.00074348,
                           0.00079824, -0.00029166)  # fmt: skip
    return amplitude / b.sqrt(size), size + phase


def _j0(b: Builder, x: Any) -> Any:
    size = b.absolute(x)
    third = x / 3.0
    low = polynomial(third * third, 1.0, -2.2499997, 1.2656208, -0.3163866, 0.0444479, -0.0039444,
                     0.0002100)  # fmt: skip
    amplitude, phase = _wave(b, size, 0)
    high = b.select(size.equals(math.inf), 0.0, amplitude * b.math("cos", phase))
    return b.select(size <= 3.0, low, high)


def _j1(b: Builder, x: Any) -> Any:
    size = b.absolute(x)
    third = x / 3.0
    low = x * polynomial(third * third, 0.5, -0.56249985, 0.21093573, -0.03954289, 0.00443319,
                         -0.00031761, 0.00001109)  # fmt: skip
    amplitude, phase = _wave(b, size, 1)
    high = amplitude * b.math("cos", phase)
    high = b.select(size.equals(math.inf), 0.0, b.select(x < 0.0, -high, high))
    return b.select(size <= 3.0, low, high)


def _y0(b: Builder, x: Any) -> Any:
    third = x / 3.0
    low = polynomial(third * third, 0.36746691, 0.60559366, -0.74350384, 0.25300117, -0.04261214,
                     0.00427916, -0.00024846)  # fmt: skip
    low = low + b.log(x * 0.5) * _j0(b, x) * (2 / math.pi)
    amplitude, phase = _wave(b, x, 0)
    value = b.select(x <= 3.0, low, amplitude * b.math("sin", phase))
    return _of_positive(b, x, value, -math.inf)


def _y1(b: Builder, x: Any) -> Any:
    third = x / 3.0
    low = polynomial(third * third, -0.6366198, 0.2212091, 2.1682709, -1.3164827, 0.3123951,
                     -0.0400976, 0.0027873) / x  # fmt: skip
    low = low + b.log(x * 0.5) * _j1(b, x) * (2 / math.pi)
    amplitude, phase = _wave(b, x, 1)
    value = b.select(x <= 3.0, low, amplitude * b.math("sin", phase))
    return _of_positive(b, x, value, -math.inf)


def _spherical(b: Builder, x: Any) -> Any:
    square = x * x
    low = polynomial(square, 1.0, -1 / 6, 1 / 120, -1 / 5040)
    high = b.select(b.absolute(x).equals(math.inf), 0.0, b.math("sin", x) / x)
    return b.select(square < 0.25, low, high)


# ---- error functions and logarithms ------------------------------------------------------------


def _inverse_error(b: Builder, x: Any, logarithm: Any) -> Any:
    """Where erf is x; ``logarithm`` is ``-log((1 - x) (1 + x))``."""
    near = polynomial(logarithm - 2.5, 1.50140941, 0.246640727, -0.00417768164, -0.00125372503,
                      0.00021858087, -4.39150654e-06, -3.5233877e-06, 3.43273939e-07,
                      2.81022636e-08)  # fmt: skip
    far = polynomial(b.sqrt(logarithm) - 3.0, 2.83297682, 1.00167406, 0.00943887047,
                     -0.0076224613, 0.00573950773, -0.00367342844, 0.00134934322, 0.000100950558,
                     -0.000200214257)  # fmt: skip
    return b.select(logarithm < 5.0, near, far) * x


def _erfinv(b: Builder, x: Any) -> Any:
    value = _inverse_error(b, x, -b.math("log1p", -(x * x)))
    step = (b.math("erf", value) - x) * (0.5 * math.sqrt(math.pi)) * b.exp(value * value)
    value = b.select(b.absolute(value) < 1.5, value - step, value)
    limit = function(b, "math.copysign", b.full(x.shape, math.inf, x.dtype), x)
    value = b.select(b.absolute(x).equals(1.0), limit, value)
    return b.select(b.absolute(x) > 1.0, math.nan, value)


def _ndtri(b: Builder, p: Any) -> Any:
    value = _inverse_error(b, p * 2.0 - 1.0, -b.log(p * (1.0 - p) * 4.0)) * math.sqrt(2)
    value = b.select(p.equals(0.0), -math.inf, b.select(p.equals(1.0), math.inf, value))
    return b.select((p < 0.0) | (p > 1.0), math.nan, value)


def _erfcx(b: Builder, x: Any) -> Any:
    size, square = b.absolute(x), x * x
    near = b.exp(square) * b.math("erfc", x)
    inverse = 1.0 / square
    series = polynomial(inverse, 1.0, -1 / 2, 3 / 4, -15 / 8, 105 / 16, -945 / 32)
    far = series / (size * math.sqrt(math.pi))
    return b.select(x < 5.0, near, b.select(x.equals(math.inf), 0.0, far))


def _log_ndtr(b: Builder, x: Any) -> Any:
    scaled = x * math.sqrt(0.5)
    low = b.log(_erfcx(b, -scaled) * 0.5) - scaled * scaled
    high = b.math("log1p", b.math("erfc", scaled) * -0.5)
    return b.select(x < -1.0, low, high)


def _entropy(b: Builder, x: Any) -> Any:
    value = b.select(x.equals(0.0), 0.0, -x * b.log(x))
    return b.select(x < 0.0, -math.inf, value)


def _xlog1py(b: Builder, x: Any, y: Any) -> Any:
    value = x * b.math("log1p", y)
    return b.select(x.equals(0.0) & y.equals(y), 0.0, value)


def _angle(b: Builder, x: Any) -> Any:
    value = b.select(x < 0.0, b.full(x.shape, math.pi, x.dtype), 0.0)
    return b.select(x.differs(x), x, value)


for _name, _inputs, _emit in (
    ("lgamma", 1, _log_gamma),
    ("digamma", 1, _digamma),
    ("polygamma", 1, _polygamma),
    ("i0", 1, _grown(_i0e)),
    ("special_i0e", 1, _i0e),
    ("special_i1", 1, _grown(_i1e)),
    ("special_i1e", 1, _i1e),
    ("special_modified_bessel_i0", 1, _grown(_i0e)),
    ("special_modified_bessel_i1", 1, _grown(_i1e)),
    ("special_modified_bessel_k0", 1, _shrunk(_k0e)),
    ("special_modified_bessel_k1", 1, _shrunk(_k1e)),
    ("special_scaled_modified_bessel_k0", 1, _k0e),
    ("special_scaled_modified_bessel_k1", 1, _k1e),
    ("special_bessel_j0", 1, _j0),
    ("special_bessel_j1", 1, _j1),
    ("special_bessel_y0", 1, _y0),
    ("special_bessel_y1", 1, _y1),
    ("special_spherical_bessel_j0", 1, _spherical),
    ("erfinv", 1, _erfinv),
    ("special_ndtri", 1, _ndtri),
    ("special_erfcx", 1, _erfcx),
    ("special_log_ndtr", 1, _log_ndtr),
    ("special_entr", 1, _entropy),
    ("special_xlog1py", 2, _xlog1py),
    ("angle", 1, _angle),
):
    define(_name, _inputs, _emit)
