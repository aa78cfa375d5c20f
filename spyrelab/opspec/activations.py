"""Activation functions and elementwise losses."""

from __future__ import annotations

import math
from typing import Any

from spyrelab.ktir.builder import Builder
from spyrelab.opspec.errors import Unsupported
from spyrelab.opspec.expressions import Domain, define

__all__ = ["GELU_CUBIC", "GELU_SCALE", "sigmoid"]

GELU_SCALE = math.sqrt(2 / math.pi)
GELU_CUBIC = 0.044715
SELU_ALPHA, SELU_SCALE = 1.6732632423543772, 1.0507009873554805


def zero_like(b: Builder, x: Any) -> Any:
    """Zeros of the shape and type of ``x``."""
    return b.full(x.shape, 0.0, x.dtype)


def sigmoid(b: Builder, x: Any) -> Any:
    """``1 / (1 + exp(-x))``."""
    return 1.0 / (b.exp(-x) + 1.0)


def _relu(b: Builder, x: Any) -> Any:
    return b.select(x < 0, b.full(x.shape, 0, x.dtype), x)


def _gelu(b: Builder, x: Any, approximate: str = "none") -> Any:
    if approximate == "none":
        return x * 0.5 * b.math("erfc", x * -math.sqrt(0.5))
    if approximate != "tanh":
        raise Unsupported(f"approximate={approximate!r} of gelu")
    inner = (x + x * x * x * GELU_CUBIC) * GELU_SCALE
    return x * 0.5 * (b.tanh(inner) + 1.0)


def _softplus(b: Builder, x: Any, beta: Any, threshold: Any) -> Any:
    scaled = x * beta
    return b.select(scaled > threshold, x, b.math("log1p", b.exp(scaled)) / beta)


def _mish(b: Builder, x: Any) -> Any:
    return x * b.tanh(b.math("log1p", b.exp(x)))


def _elu(b: Builder, x: Any, alpha: Any, scale: Any, input_scale: Any) -> Any:
    low = b.math("expm1", x * input_scale) * (alpha * scale)
    return b.select(x <= 0.0, low, x * scale)


def _selu(b: Builder, x: Any) -> Any:
    low = b.math("expm1", x) * (SELU_ALPHA * SELU_SCALE)
    return b.select(x <= 0.0, low, x * SELU_SCALE)


def _celu(b: Builder, x: Any, alpha: Any) -> Any:
    return b.select(x <= 0.0, b.math("expm1", x / alpha) * alpha, x)


def _leaky(b: Builder, x: Any, slope: Any) -> Any:
    return b.select(x > 0.0, x, x * slope)


def _gate(b: Builder, x: Any) -> Any:
    return b.minimum(b.maximum(x + 3.0, 0.0), 6.0)


def _is_inside(b: Builder, x: Any, size: Any) -> Any:
    return (x >= -size) & (x <= size)


def _softshrink(b: Builder, x: Any, size: Any) -> Any:
    inside = b.select(x.equals(x), zero_like(b, x), x)
    return b.select(x > size, x - size, b.select(x < -size, x + size, inside))


def _log_sigmoid(b: Builder, x: Any) -> Any:
    return b.minimum(x, 0.0) - b.math("log1p", b.exp(-b.absolute(x)))


def _logit(b: Builder, x: Any, eps: Any = None) -> Any:
    if eps is not None:
        x = b.select(x < eps, eps, b.select(x > 1.0 - eps, 1.0 - eps, x))
    return b.log(x / (1.0 - x))


def _smooth_l1(b: Builder, x: Any, y: Any, beta: Any) -> Any:
    z = b.absolute(x - y)
    return b.select(z < beta, z * 0.5 * z / beta, z - beta * 0.5)


def _huber(b: Builder, x: Any, y: Any, delta: Any) -> Any:
    z = b.absolute(x - y)
    return b.select(z <= delta, z * 0.5 * z, delta * (z - delta * 0.5))


def _cross_entropy(b: Builder, x: Any, y: Any, weight: Any) -> Any:
    miss = b.maximum(b.math("log1p", -x), -100.0)
    return ((y - 1.0) * miss - y * b.maximum(b.log(x), -100.0)) * weight


def _squared_error(b: Builder, x: Any, y: Any) -> Any:
    return (x - y) * (x - y)


define("sigmoid", 1, sigmoid)
define("relu", 1, _relu, Domain.NUMBER)
define("relu6", 1, lambda b, x: b.minimum(_relu(b, x), 6), Domain.NUMBER)
define("gelu", 1, _gelu)
define("silu", 1, lambda b, x: x / (b.exp(-x) + 1.0))
define("mish", 1, _mish)
define("softplus", 3, _softplus, defaults=(1.0, 20.0))
define("elu", 4, _elu, defaults=(1.0, 1.0, 1.0))
define("selu", 1, _selu)
define("celu", 2, _celu, defaults=(1.0,))
define("leaky_relu", 2, _leaky, defaults=(0.01,))
define("prelu", 2, _leaky)
define("hardtanh", 3, lambda b, x, low, high: b.minimum(b.maximum(x, low), high),
       Domain.NUMBER, (-1.0, 1.0), rounds_numbers=True)  # fmt: skip
define("hardswish", 1, lambda b, x: x * _gate(b, x) / 6.0)
define("hardsigmoid", 1, lambda b, x: _gate(b, x) / 6.0)
define("hardshrink", 2, lambda b, x, size: b.select(_is_inside(b, x, size), zero_like(b, x), x),
       defaults=(0.5,), rounds_numbers=True)  # fmt: skip
define("softshrink", 2, _softshrink, defaults=(0.5,), rounds_numbers=True)
define("threshold", 3, lambda b, x, t, v: b.select(x <= t, v, x), Domain.NUMBER,
       rounds_numbers=True)  # fmt: skip
define("log_sigmoid", 1, _log_sigmoid)
define("logit", 1, _logit)
define("logit_eps", 2, _logit)
define("mse_loss", 2, _squared_error)
define("l1_loss", 2, lambda b, x, y: b.absolute(x - y))
define("smooth_l1_loss", 3, _smooth_l1, defaults=(1.0,))
define("huber_loss", 3, _huber, defaults=(1.0,))
define("binary_cross_entropy", 3, _cross_entropy, defaults=(1.0,))
