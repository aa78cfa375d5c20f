"""Libdevice functions of floating point numbers, in terms of ``math`` and ``arith``.

A recipe takes `Words` and f32 values; narrower types are widened before and rounded after.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from spyrelab.ktir import I32, I64
from spyrelab.triton.libdevice_values import Words

__all__ = ["FLOATS", "TESTS", "Recipe", "sine_of_turns"]

Recipe = Callable[..., Any]


def _math(name: str) -> Recipe:
    return lambda w, *operands: w.math(name, *operands)


def _arith(name: str) -> Recipe:
    return lambda w, *operands: w.arith(name, *operands)


def _reciprocal(w: Words, x: Any) -> Any:
    return w.number(1.0, x) / x


def _saturate(w: Words, x: Any) -> Any:
    # maxnum takes the number where the other is NaN, as the original does.
    return w.arith("minnumf", w.arith("maxnumf", x, 0.0), 1.0)


def _exp10(w: Words, x: Any) -> Any:
    return w.math("powf", w.number(10.0, x), x)


def sine_of_turns(w: Words, x: Any, cosine: bool = False) -> Any:
    """``sin(pi x)`` or ``cos(pi x)``, reduced to a quarter turn while numbers are still exact."""
    whole = w.math("roundeven", x)
    rest = x - whole
    if cosine:
        rest = 0.5 - w.math("absf", rest)
    half = whole * 0.5
    found = w.math("sin", rest * math.pi)
    return w.choose(w.math("trunc", half).differs(half), -found, found)


def _norm(w: Words, *parts: Any) -> Any:
    """The length of a vector, without overflow on the way."""
    sizes = [w.math("absf", part) for part in parts]
    most = sizes[0]
    for size in sizes[1:]:
        most = w.arith("maximumf", most, size)
    plain = w.builder.select(w.test("isfinite", most), most, w.number(1.0, most))
    safe = w.choose(most.equals(0.0), 1.0, plain)
    total = (sizes[0] / safe) * (sizes[0] / safe)
    for size in sizes[1:]:
        total = total + (size / safe) * (size / safe)
    infinite = w.number(0.0, most)
    for size in sizes:
        infinite = w.choose(w.test("isinf", size), math.inf, infinite)
    length = safe * w.math("sqrt", total)
    return w.choose(infinite.equals(math.inf), infinite, length)


def _reciprocal_norm(w: Words, *parts: Any) -> Any:
    return w.number(1.0, parts[0]) / _norm(w, *parts)


def _remainder(w: Words, x: Any, y: Any) -> Any:
    """IEEE remainder: ``x - n y`` with ``n`` the whole number nearest to ``x / y``."""
    size = w.math("absf", y)
    rest = w.arith("remf", w.math("absf", x), size)
    twice = rest + rest
    # Halfway, the even quotient wins: it is odd where x mod 2y is at least y.
    odd = w.arith("remf", w.math("absf", x), size + size) >= size
    over = (twice > size) | (twice.equals(size) & odd)
    signed = w.choose(over, rest - size, rest)
    return w.choose(x < 0.0, -signed, signed)


def _positive_difference(w: Words, x: Any, y: Any) -> Any:
    difference = x - y
    return w.choose(x <= y, 0.0, difference)


def _next_after(w: Words, x: Any, y: Any) -> Any:
    bits = w.bits(x)
    away = (x > 0.0).equals(y > x)
    moved = w.from_bits(w.choose(away, bits + 1, bits - 1))
    least = w.math("copysign", w.number(1e-45, x), y)
    stepped = w.choose(x.equals(0.0), least, moved)
    kept = w.choose(x.equals(y), y, stepped)
    return w.choose(w.test("isnan", x), x, w.choose(w.test("isnan", y), y, kept))


def _exponent(w: Words, x: Any) -> tuple[Any, Any]:
    """The exponent of ``|x|`` as an i32, and ``|x|``."""
    size = w.math("absf", x)
    small = size < 1.1754943508222875e-38
    scaled = w.choose(small, size * 16777216.0, size)
    found = w.arith("shrui", w.bits(scaled), 23) - 127
    return w.choose(small, found - 24, found), size


def _logb(w: Words, x: Any) -> Any:
    exponent, size = _exponent(w, x)
    found = w.cast("sitofp", exponent, x.dtype)
    special = w.choose(size.equals(0.0), -math.inf, found)
    return w.choose(w.test("isfinite", x), special, size)


def _ilogb(w: Words, x: Any) -> Any:
    exponent, size = _exponent(w, x)
    special = w.choose(size.equals(0.0), -(1 << 31), exponent)
    most = w.choose(w.test("isnan", x), w.number(-(1 << 31), exponent), (1 << 31) - 1)
    return w.choose(w.test("isfinite", x), special, most)


def _scaled(w: Words, x: Any, exponent: Any) -> Any:
    """``x 2**exponent`` in steps that neither overflow nor vanish before the last."""
    bound = w.arith("minsi", w.arith("maxsi", exponent, -300), 300)
    for _ in range(2):
        step = w.arith("minsi", w.arith("maxsi", bound, -126), 126)
        x = x * w.from_bits(w.arith("shli", step + 127, 23))
        bound = bound - step
    step = w.arith("minsi", w.arith("maxsi", bound, -126), 126)
    return x * w.from_bits(w.arith("shli", step + 127, 23))


def _power(w: Words, x: Any, y: Any) -> Any:
    if not y.dtype.is_float:
        y = w.cast("sitofp", y, x.dtype)
    return w.math("powf", x, y)


def _holds(name: str) -> Recipe:
    return lambda w, x: w.cast("extui", w.test(name, x), I32)


def _sign_bit(w: Words, x: Any) -> Any:
    return w.arith("shrui", w.bits(x), 31)


def _whole(rounding: str, cast: str, dtype: Any) -> Recipe:
    return lambda w, x: w.cast(cast, w.math(rounding, x), dtype)


_SAME = (
    *("rsqrt", "floor", "ceil", "trunc", "exp2", "sqrt", "sin", "cos", "tan", "log2", "exp"),
    *("cosh", "sinh", "tanh", "atan", "asin", "acos", "log", "log10", "log1p", "acosh"),
    *("asinh", "atanh", "expm1", "cbrt", "erf", "erfc", "round", "atan2", "copysign", "fma"),
)

FLOATS: dict[str, tuple[int, Recipe]] = {
    **{
        name: (3 if name == "fma" else 2 if name in ("atan2", "copysign") else 1, _math(name))
        for name in _SAME
    },
    **{
        f"fast_{name}f": (1, _math(name))
        for name in ("sin", "cos", "log2", "log", "exp", "tanh", "tan", "log10")
    },
    "fast_exp10f": (1, _exp10),
    "fast_powf": (2, _power),
    "fast_dividef": (2, _arith("divf")),
    "add_rn": (2, _arith("addf")),
    "sub_rn": (2, _arith("subf")),
    "mul_rn": (2, _arith("mulf")),
    "div_rn": (2, _arith("divf")),
    "rcp_rn": (1, _reciprocal),
    "sqrt_rn": (1, _math("sqrt")),
    "rsqrt_rn": (1, _math("rsqrt")),
    "fma_rn": (3, _math("fma")),
    "rint": (1, _math("roundeven")),
    "nearbyint": (1, _math("roundeven")),
    "saturatef": (1, _saturate),
    "exp10": (1, _exp10),
    "sinpi": (1, sine_of_turns),
    "cospi": (1, lambda w, x: sine_of_turns(w, x, cosine=True)),
    "rcbrt": (1, lambda w, x: w.number(1.0, x) / w.math("cbrt", x)),
    "hypot": (2, _norm),
    "rhypot": (2, _reciprocal_norm),
    "norm3d": (3, _norm),
    "rnorm3d": (3, _reciprocal_norm),
    "norm4d": (4, _norm),
    "rnorm4d": (4, _reciprocal_norm),
    "fmod": (2, _arith("remf")),
    "remainder": (2, _remainder),
    "fdim": (2, _positive_difference),
    "nextafter": (2, _next_after),
    "logb": (1, _logb),
    "pow": (2, _power),
    "ldexp": (2, _scaled),
    "scalbn": (2, _scaled),
}
"""Name: number of operands, and the recipe; the result is of the operands' type."""

TESTS: dict[str, tuple[str, Recipe]] = {
    "isnan": ("int32", _holds("isnan")),
    "isinf": ("int32", _holds("isinf")),
    "finitef": ("int32", _holds("isfinite")),
    "signbit": ("int32", _sign_bit),
    "ilogb": ("int32", _ilogb),
    "llrint": ("int64", _whole("roundeven", "fptosi", I64)),
    "llround": ("int64", _whole("round", "fptosi", I64)),
    **{
        f"float2{short}_{mode}": (f"{sign}int{bits}", _whole(how, f"fpto{sign or 's'}i", dtype))
        for short, sign, bits, dtype in (
            ("int", "", 32, I32),
            ("uint", "u", 32, I32),
            ("ll", "", 64, I64),
            ("ull", "u", 64, I64),
        )
        for mode, how in (("rn", "roundeven"), ("rz", "trunc"), ("rd", "floor"), ("ru", "ceil"))
    },
}
"""Functions of one float with a whole result: the result's type, and the recipe."""
