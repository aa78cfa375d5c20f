"""Arithmetic, comparisons, logic and choices."""

from __future__ import annotations

import math
from typing import Any

from spyrelab.ktir.builder import Builder
from spyrelab.ktir.types import I1
from spyrelab.opspec.errors import Unsupported
from spyrelab.opspec.expressions import Domain, define, function, question

__all__: list[str] = []

NUMBER, WHOLE, TRUTH = Domain.NUMBER, Domain.WHOLE, Domain.TRUTH


def multiply_add(b: Builder, x: Any, y: Any, z: Any) -> Any:
    """``x * y + z`` with one rounding for floats, as the vector units of hosts do it."""
    return function(b, "math.fma", x, y, z) if x.dtype.is_float else x * y + z


def _add(b: Builder, x: Any, y: Any, alpha: Any = None) -> Any:
    return x + y if alpha is None else multiply_add(b, y, alpha, x)


def _subtract(b: Builder, x: Any, y: Any, alpha: Any = None) -> Any:
    return x - y if alpha is None else multiply_add(b, y, -alpha, x)


def _floor_divide(b: Builder, x: Any, y: Any) -> Any:
    if not x.dtype.is_float:
        return x // y
    rest = function(b, "arith.remf", x, y)
    quotient = (x - rest) / y
    quotient = b.select(_is_across(b, rest, y), quotient - 1.0, quotient)
    floor = b.math("floor", quotient)
    floor = b.select(quotient - floor > 0.5, floor + 1.0, floor)
    zero = function(b, "math.copysign", b.full(x.shape, 0.0, x.dtype), x / y)
    return b.select(y.equals(0.0), x / y, b.select(quotient.equals(0.0), zero, floor))


def _is_across(b: Builder, rest: Any, y: Any) -> Any:
    """Whether a truncated remainder has to move to the divisor's sign."""
    apart = b.arithmetic("xor", rest < 0, y < 0)
    return rest.differs(0) & apart


def _divide(b: Builder, x: Any, y: Any, rounding_mode: str | None = None) -> Any:
    if rounding_mode == "floor":
        return _floor_divide(b, x, y)
    if rounding_mode == "trunc":
        return b.math("trunc", x / y) if x.dtype.is_float else function(b, "arith.divsi", x, y)
    if rounding_mode is not None:
        raise Unsupported(f"rounding_mode {rounding_mode!r} of div")
    return x / y


def _fmod(b: Builder, x: Any, y: Any) -> Any:
    return function(b, "arith.remf" if x.dtype.is_float else "arith.remsi", x, y)


def _remainder(b: Builder, x: Any, y: Any) -> Any:
    rest = _fmod(b, x, y)
    return b.select(_is_across(b, rest, y), rest + y, rest)


def _power(b: Builder, x: Any, y: Any) -> Any:
    return function(b, "math.powf" if x.dtype.is_float else "math.ipowi", x, y)


def _static_power(b: Builder, x: Any, exponent: float) -> Any:
    match exponent:
        case 2:
            return x * x
        case 3:
            return x * x * x
        case 0.5:
            return b.sqrt(x)
        case -0.5:
            return b.rsqrt(x)
        case -1:
            return 1.0 / x
        case -2:
            return 1.0 / (x * x)
    return _power(b, x, b.full(x.shape, exponent, x.dtype))


def _hypot(b: Builder, x: Any, y: Any) -> Any:
    x, y = b.absolute(x), b.absolute(y)
    longer, shorter = b.maximum(x, y), b.minimum(x, y)
    ratio = b.select(longer.equals(0.0), longer, shorter / longer)
    length = longer * b.sqrt(ratio * ratio + 1.0)
    endless = b.full(x.shape, math.inf, x.dtype)
    return b.select(x.equals(math.inf) | y.equals(math.inf), endless, length)


def _xlogy(b: Builder, x: Any, y: Any) -> Any:
    zero = b.full(x.shape, 0.0, x.dtype)
    return b.select(x.equals(0.0) & y.equals(y), zero, x * b.log(y))


def _log_add_exp(b: Builder, x: Any, y: Any) -> Any:
    top = b.maximum(x, y)
    total = top + b.math("log1p", b.exp(-b.absolute(x - y)))
    return b.select(b.absolute(x).equals(math.inf) & x.equals(y), x, total)


def _log_add_exp2(b: Builder, x: Any, y: Any) -> Any:
    top = b.maximum(x, y)
    rest = b.math("log1p", b.math("exp2", -b.absolute(x - y)))
    return b.select(b.absolute(x).equals(math.inf) & x.equals(y), x, top + rest * math.log2(math.e))


def _heaviside(b: Builder, x: Any, value: Any) -> Any:
    return b.select(x.equals(0), value, (x > 0).to(x.dtype))


def _maximum_number(b: Builder, x: Any, y: Any) -> Any:
    return function(b, "arith.maxnumf", x, y) if x.dtype.is_float else b.maximum(x, y)


def _minimum_number(b: Builder, x: Any, y: Any) -> Any:
    return function(b, "arith.minnumf", x, y) if x.dtype.is_float else b.minimum(x, y)


def _clamp(b: Builder, x: Any, low: Any, high: Any) -> Any:
    return b.minimum(b.maximum(x, low), high)


def _lerp(b: Builder, start: Any, end: Any, weight: Any) -> Any:
    near = b.absolute(weight) < 0.5
    return multiply_add(
        b, b.select(near, weight, weight - 1.0), end - start, b.select(near, start, end)
    )


def _scaled(y: Any, value: Any = None) -> Any:
    return y if value is None else value * y


def _invert(b: Builder, x: Any) -> Any:
    return b.arithmetic("xor", x, 1 if x.dtype == I1 else -1)


def _is_close(b: Builder, x: Any, y: Any, rtol: Any, atol: Any) -> Any:
    near = b.absolute(x - y) <= atol + b.absolute(rtol * y)
    return x.equals(y) | (near & question(b, "math.isfinite", x - y))


define("add", 3, _add, NUMBER, (None,))
define("sub", 3, _subtract, NUMBER, (None,))
define("rsub", 3, lambda b, x, y, *a: _subtract(b, y, x, *a), NUMBER, (None,))
define("mul", 2, lambda b, x, y: x * y, NUMBER)
define("div", 2, _divide)
define("true_divide", 2, lambda b, x, y: x / y)
define("floor_divide", 2, _floor_divide, NUMBER)
define("div_floor", 2, _floor_divide, NUMBER)
define("div_trunc", 2, lambda b, x, y: _divide(b, x, y, "trunc"), NUMBER)
define("remainder", 2, _remainder, NUMBER)
define("fmod", 2, _fmod, NUMBER)
define("pow", 2, _power, NUMBER)
define("pow_static", 1, _static_power)
define("maximum", 2, lambda b, x, y: b.maximum(x, y), NUMBER)
define("minimum", 2, lambda b, x, y: b.minimum(x, y), NUMBER)
define("fmax", 2, _maximum_number, NUMBER)
define("fmin", 2, _minimum_number, NUMBER)
define("atan2", 2, lambda b, x, y: function(b, "math.atan2", x, y))
define("copysign", 2, lambda b, x, y: function(b, "math.copysign", x, y))
define("hypot", 2, _hypot)
define("heaviside", 2, _heaviside, NUMBER)
define("xlogy", 2, _xlogy)
define("logaddexp", 2, _log_add_exp)
define("logaddexp2", 2, _log_add_exp2)
define("ldexp", 2, lambda b, x, y: x * b.math("exp2", y))
define("lerp", 3, _lerp)
define("addcmul", 4, lambda b, x, y, z, *v: x + _scaled(y, *v) * z, NUMBER, (None,))
define("addcdiv", 4, lambda b, x, y, z, *v: x + _scaled(y, *v) / z, Domain.FLOAT, (None,))
define("isclose", 4, _is_close, Domain.FLOAT, (1e-5, 1e-8))

for _name in ("lt", "le", "gt", "ge", "eq", "ne"):
    define(
        _name,
        2,
        lambda b, x, y, name=_name: b.compare(name, x, y),
        NUMBER,
        rounds_numbers=True,
    )
define("logical_and", 2, lambda b, x, y: x & y, TRUTH)
define("logical_or", 2, lambda b, x, y: x | y, TRUTH)
define("logical_xor", 2, lambda b, x, y: b.arithmetic("xor", x, y), TRUTH)
define("logical_not", 1, _invert, TRUTH)
define("bitwise_and", 2, lambda b, x, y: x & y, WHOLE)
define("bitwise_or", 2, lambda b, x, y: x | y, WHOLE)
define("bitwise_xor", 2, lambda b, x, y: b.arithmetic("xor", x, y), WHOLE)
define("bitwise_not", 1, _invert, WHOLE)
define("bitwise_left_shift", 2, lambda b, x, y: function(b, "arith.shli", x, y), WHOLE)
define("bitwise_right_shift", 2, lambda b, x, y: function(b, "arith.shrsi", x, y), WHOLE)

define("where", 3, lambda b, c, x, y: b.select(c, x, y), NUMBER, conditions=(0,))
define("masked_fill", 3, lambda b, x, m, v: b.select(m, v, x), NUMBER, conditions=(1,))
define("clamp", 3, _clamp, NUMBER, rounds_numbers=True)
define("clamp_min", 2, lambda b, x, low: b.maximum(x, low), NUMBER, rounds_numbers=True)
define("clamp_max", 2, lambda b, x, high: b.minimum(x, high), NUMBER, rounds_numbers=True)
define("copy", 1, lambda b, x: x, Domain.SAME)
define("fill", 1, lambda b, x: x, Domain.SAME)
