"""Functions of one number."""

from __future__ import annotations

import math
from typing import Any

from spyrelab.ktir.builder import Builder
from spyrelab.opspec.expressions import Domain, define, function, question

__all__: list[str] = []

NUMBER = Domain.NUMBER


def _sign(b: Builder, x: Any) -> Any:
    return (x > 0).to(x.dtype) - (x < 0).to(x.dtype)


def _sign_bit(b: Builder, x: Any) -> Any:
    if not x.dtype.is_float:
        return x < 0
    return function(b, "math.copysign", b.full(x.shape, 1.0, x.dtype), x) < 0.0


def _absolute(b: Builder, x: Any) -> Any:
    return b.absolute(x)


def _rounding(name: str) -> Any:
    """Rounding to a whole number; whole numbers stay what they are."""
    return lambda b, x: b.math(name, x) if x.dtype.is_float else x


def _round(b: Builder, x: Any, decimals: int = 0) -> Any:
    if not decimals or not x.dtype.is_float:
        return b.math("roundeven", x) if x.dtype.is_float else x
    power = float(10 ** abs(decimals))
    if decimals < 0:
        return b.math("roundeven", x / power) * power
    return b.math("roundeven", x * power) / power


def _sinc(b: Builder, x: Any) -> Any:
    angle = x * math.pi
    return b.select(x.equals(0.0), b.full(x.shape, 1.0, x.dtype), b.math("sin", angle) / angle)


def _number_for_nan(b: Builder, x: Any, nan: Any, top: Any, bottom: Any) -> Any:
    if not x.dtype.is_float:
        return x
    x = b.select(x.differs(x), nan, x)
    x = b.select(x.equals(math.inf), top, x)
    return b.select(x.equals(-math.inf), bottom, x)


def _classify(name: str, of_whole: bool) -> Any:
    def emit(b: Builder, x: Any) -> Any:
        if x.dtype.is_float:
            return question(b, f"math.{name}", x)
        return x.equals(x) if of_whole else x.differs(x)

    return emit


for _name in (
    "exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sqrt", "rsqrt", "sin", "cos", "tan",
    "asin", "acos", "atan", "sinh", "cosh", "tanh", "asinh", "acosh", "atanh", "erf", "erfc",
):  # fmt: skip
    define(_name, 1, lambda b, x, name=_name: b.math(name, x))
for _name in ("floor", "ceil", "trunc"):
    define(_name, 1, _rounding(_name), NUMBER)
define("round", 1, _round, NUMBER)
define("frac", 1, lambda b, x: x - b.math("trunc", x))
define("abs", 1, _absolute, NUMBER)
define("neg", 1, lambda b, x: -x, NUMBER)
define("positive", 1, lambda b, x: x, NUMBER)
define("sign", 1, _sign, NUMBER)
define("sgn", 1, _sign, NUMBER)
define("signbit", 1, _sign_bit, NUMBER)
define("square", 1, lambda b, x: x * x, NUMBER)
define("reciprocal", 1, lambda b, x: 1.0 / x)
define("sinc", 1, _sinc)
define("rad2deg", 1, lambda b, x: x * (180 / math.pi))
define("deg2rad", 1, lambda b, x: x * (math.pi / 180))
define("nan_to_num", 4, _number_for_nan, NUMBER, (0.0, "max", "lowest"))
define("isnan", 1, _classify("isnan", False), NUMBER)
define("isinf", 1, _classify("isinf", False), NUMBER)
define("isfinite", 1, _classify("isfinite", True), NUMBER)
define("isposinf", 1, lambda b, x: x.equals(math.inf))
define("isneginf", 1, lambda b, x: x.equals(-math.inf))
