"""Special functions in f32: polynomial approximations with their sources.

Bessel functions: Numerical Recipes in C, 2nd edition, 6.5 and 6.6 (after Abramowitz and Stegun
9.4 and 9.8). Inverse error function: M. Giles, Approximating the erfinv function (2010). Gamma:
Lanczos' series as in Numerical Recipes 6.1; Halley's steps after 6.2.2 of its 3rd edition. The
tests give the error of each.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from spyrelab.triton.libdevice_floats import sine_of_turns
from spyrelab.triton.libdevice_values import Words

__all__ = ["SPECIAL"]

Recipe = Callable[..., Any]

_ERFINV_CENTRE = (
    *(2.81022636e-08, 3.43273939e-07, -3.5233877e-06, -4.39150654e-06, 0.00021858087),
    *(-0.00125372503, -0.00417768164, 0.246640727, 1.50140941),
)
_ERFINV_TAIL = (
    *(-0.000200214257, 0.000100950558, 0.00134934322, -0.00367342844, 0.00573950773),
    *(-0.0076224613, 0.00943887047, 1.00167406, 2.83297682),
)
_J0 = (
    (-184.9052456, 77392.33017, -11214424.18, 651619640.7, -13362590354.0, 57568490574.0),
    (1.0, 267.8532712, 59272.64853, 9494680.718, 1029532985.0, 57568490411.0),
)
_J1 = (
    (-30.16036606, 15704.48260, -2972611.439, 242396853.1, -7895059235.0, 72362614232.0),
    (1.0, 376.9991397, 99447.43394, 18583304.74, 2300535178.0, 144725228442.0),
)
_Y0 = (
    (228.4622733, -86327.92757, 10879881.29, -512359803.6, 7062834065.0, -2957821389.0),
    (1.0, 226.1030244, 47447.26470, 7189466.438, 745249964.8, 40076544269.0),
)
_Y1 = (
    (0.8511937935e4, -0.4237922726e7, 0.7349264551e9, -0.5153438139e11, 0.1275274390e13,
     -0.4900604943e13),
    (1.0, 0.3549632885e3, 0.1020426050e6, 0.2245904002e8, 0.3733650367e10, 0.4244419664e12,
     0.2499580570e14),
)  # fmt: skip
_P0 = (0.2093887211e-6, -0.2073370639e-5, 0.2734510407e-4, -0.1098628627e-2, 1.0)
_Q0 = (-0.934945152e-7, 0.7621095161e-6, -0.6911147651e-5, 0.1430488765e-3, -0.1562499995e-1)
_P1 = (-0.240337019e-6, 0.2457520174e-5, -0.3516396496e-4, 0.183105e-2, 1.0)
_Q1 = (0.105787412e-6, -0.88228987e-6, 0.8449199096e-5, -0.2002690873e-3, 0.04687499995)
_I0_SMALL = (0.45813e-2, 0.360768e-1, 0.2659732, 1.2067492, 3.0899424, 3.5156229, 1.0)
_I0_LARGE = (
    *(0.392377e-2, -0.1647633e-1, 0.2635537e-1, -0.2057706e-1, 0.916281e-2),
    *(-0.157565e-2, 0.225319e-2, 0.1328592e-1, 0.39894228),
)
_I1_SMALL = (0.32411e-3, 0.301532e-2, 0.2658733e-1, 0.15084934, 0.51498869, 0.87890594, 0.5)
_I1_LARGE = (
    *(-0.420059e-2, 0.1787654e-1, -0.2895312e-1, 0.2282967e-1, -0.1031555e-1),
    *(0.163801e-2, -0.362018e-2, -0.3988024e-1, 0.39894228),
)
_LANCZOS = (
    *(76.18009172947146, -86.50532032941677, 24.01409824083091),
    *(-1.231739572450155, 0.1208650973866179e-2, -0.5395239384953e-5),
)


def _giles(w: Words, x: Any, product: Any) -> Any:
    """erfinv of ``x``; ``product`` is ``(1 - x) (1 + x)``."""
    depth = -w.math("log", product)
    centre = w.polynomial(depth - 2.5, _ERFINV_CENTRE)
    tail = w.polynomial(w.math("sqrt", depth) - 3.0, _ERFINV_TAIL)
    found = w.choose(depth < 5.0, centre, tail) * x
    return w.choose(product.equals(0.0), w.math("copysign", w.number(math.inf, x), x), found)


def _erfinv(w: Words, x: Any) -> Any:
    return _giles(w, x, (1.0 - x) * (1.0 + x))


def _erfcinv(w: Words, x: Any) -> Any:
    """Giles' polynomial where it holds; below, two steps of Halley from a rational guess."""
    usual = _giles(w, 1.0 - x, x * (2.0 - x))
    t = w.math("sqrt", -2.0 * w.math("log", x * 0.5))
    guess = t - (2.30753 + t * 0.27061) / (1.0 + t * (0.99229 + t * 0.04481))
    found = guess * math.sqrt(0.5)
    for _ in range(2):
        excess = w.math("erfc", found) - x
        slope = w.math("exp", -(found * found)) * (2.0 / math.sqrt(math.pi))
        found = found + excess / (slope - found * excess)
    small = (x < 0.01) & (x > 0.0)
    return w.choose(small, found, usual)


def _erfcx(w: Words, x: Any) -> Any:
    near = w.math("exp", x * x) * w.math("erfc", x)
    inverse = 1.0 / (x * x)
    series = w.polynomial(inverse, (-1.875, 0.75, -0.5, 1.0))
    return w.choose(x > 8.0, series / (x * math.sqrt(math.pi)), near)


def _normcdf(w: Words, x: Any) -> Any:
    return 0.5 * w.math("erfc", x * -math.sqrt(0.5))


def _normcdfinv(w: Words, x: Any) -> Any:
    return _erfcinv(w, x * 2.0) * -math.sqrt(2.0)


def _oscillating(
    w: Words, size: Any, shift: float, p: Sequence[float], q: Sequence[float], first: str
) -> Any:
    """The form of a Bessel function at large arguments; ``first`` is ``"cos"`` or ``"sin"``."""
    z = 8.0 / size
    y = z * z
    angle = size - shift
    cosine, sine = w.math("cos", angle), w.math("sin", angle)
    a, b = w.polynomial(y, p), z * w.polynomial(y, q)
    total = cosine * a - sine * b if first == "cos" else sine * a + cosine * b
    return w.math("sqrt", 0.636619772 / size) * total


def _rational(w: Words, y: Any, parts: Sequence[Sequence[float]]) -> Any:
    return w.polynomial(y, parts[0]) / w.polynomial(y, parts[1])


def _j0(w: Words, x: Any) -> Any:
    size = w.math("absf", x)
    far = _oscillating(w, size, 0.785398164, _P0, _Q0, "cos")
    return w.choose(size < 8.0, _rational(w, x * x, _J0), far)


def _j1(w: Words, x: Any) -> Any:
    size = w.math("absf", x)
    far = _oscillating(w, size, 2.356194491, _P1, _Q1, "cos")
    signed = w.choose(x < 0.0, -far, far)
    return w.choose(size < 8.0, x * _rational(w, x * x, _J1), signed)


def _y0(w: Words, x: Any) -> Any:
    near = _rational(w, x * x, _Y0) + 0.636619772 * _j0(w, x) * w.math("log", x)
    far = _oscillating(w, x, 0.785398164, _P0, _Q0, "sin")
    return w.choose(x < 8.0, near, far)


def _y1(w: Words, x: Any) -> Any:
    series = x * _rational(w, x * x, _Y1)
    near = series + 0.636619772 * (_j1(w, x) * w.math("log", x) - 1.0 / x)
    far = _oscillating(w, x, 2.356194491, _P1, _Q1, "sin")
    return w.choose(x < 8.0, near, far)


def _modified(small: Sequence[float], large: Sequence[float], odd: bool) -> Recipe:
    def recipe(w: Words, x: Any) -> Any:
        size = w.math("absf", x)
        ratio = x / 3.75
        near = w.polynomial(ratio * ratio, small)
        # Halves of the exponential: the whole overflows before the result does.
        half = w.math("exp", size * 0.5)
        far = half * (w.polynomial(3.75 / size, large) / w.math("sqrt", size)) * half
        if odd:
            near, far = near * x, w.math("copysign", far, x)
        return w.choose(size < 3.75, near, far)

    return recipe


def _log_gamma_above(w: Words, x: Any) -> Any:
    """The logarithm of gamma for ``x`` of at least one half."""
    series = w.number(1.000000000190015, x)
    for number, coefficient in enumerate(_LANCZOS, 1):
        series = series + coefficient / (x + float(number))
    base = x + 5.5
    return (x + 0.5) * w.math("log", base) - base + w.math("log", series * 2.5066282746310005 / x)


def _lgamma(w: Words, x: Any) -> Any:
    low = x < 0.5
    above = _log_gamma_above(w, w.choose(low, 1.0 - x, x))
    sine = w.math("absf", sine_of_turns(w, x))
    below = w.math("log", math.pi / sine) - above
    found = w.choose(low, below, above)
    return w.choose(w.test("isinf", x), math.inf, found)


def _tgamma(w: Words, x: Any) -> Any:
    low = x < 0.5
    at = w.choose(low, 1.0 - x, x)
    series = w.number(1.000000000190015, x)
    for number, coefficient in enumerate(_LANCZOS, 1):
        series = series + coefficient / (at + float(number))
    base = at + 5.5
    # The power in two halves: the whole overflows before the result does.
    half = w.math("powf", base, (at + 0.5) * 0.5)
    above = half * w.math("exp", -base) * half * (series * 2.5066282746310005 / at)
    sine = sine_of_turns(w, x)
    below = math.pi / (sine * above)
    pole = (x < 0.0) & sine.equals(0.0)
    found = w.choose(low, below, above)
    return w.choose(pole, math.nan, w.choose(x.equals(math.inf), math.inf, found))


SPECIAL: dict[str, Recipe] = {
    "erfinv": _erfinv,
    "erfcinv": _erfcinv,
    "erfcx": _erfcx,
    "normcdf": _normcdf,
    "normcdfinv": _normcdfinv,
    "j0": _j0,
    "j1": _j1,
    "y0": _y0,
    "y1": _y1,
    "cyl_bessel_i0": _modified(_I0_SMALL, _I0_LARGE, odd=False),
    "cyl_bessel_i1": _modified(_I1_SMALL, _I1_LARGE, odd=True),
    "lgamma": _lgamma,
    "tgamma": _tgamma,
}
"""Name of a function of one float: its recipe."""
