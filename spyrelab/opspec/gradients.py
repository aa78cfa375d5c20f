"""Pointwise gradients that automatic differentiation calls as operations of their own.

The incoming gradient is the first input. Numbers follow the tensors, so the order differs from
ATen where that mixes them.
"""

from __future__ import annotations

import math
from typing import Any

from spyrelab.ktir.builder import Builder
from spyrelab.opspec.activations import GELU_CUBIC, GELU_SCALE, sigmoid, zero_like
from spyrelab.opspec.errors import Unsupported
from spyrelab.opspec.expressions import define, function

__all__: list[str] = []


def _gelu(b: Builder, g: Any, x: Any, approximate: str = "none") -> Any:
    if approximate == "none":
        below = b.math("erfc", x * -math.sqrt(0.5)) * 0.5
        density = b.exp(x * x * -0.5) * (1 / math.sqrt(2 * math.pi))
        return g * (below + x * density)
    if approximate != "tanh":
        raise Unsupported(f"approximate={approximate!r} of gelu_backward")
    inner = (x + x * x * x * GELU_CUBIC) * GELU_SCALE
    bend = b.tanh(inner)
    slope = (x * x * (3 * GELU_CUBIC) + 1.0) * GELU_SCALE
    half = x * 0.5
    return g * ((bend + 1.0) * 0.5 + half * (1.0 - bend * bend) * slope)


def _silu(b: Builder, g: Any, x: Any) -> Any:
    share = sigmoid(b, x)
    return g * share * (x * (1.0 - share) + 1.0)


def _tanh(b: Builder, g: Any, y: Any) -> Any:
    return g * function(b, "math.fma", -y, y, b.full(y.shape, 1.0, y.dtype))


def _mish(b: Builder, g: Any, x: Any) -> Any:
    share, bend = sigmoid(b, x), b.tanh(b.math("log1p", b.exp(x)))
    return g * (bend + x * share * (1.0 - bend * bend))


def _elu(
    b: Builder, g: Any, x: Any, alpha: Any, scale: Any, input_scale: Any, is_result: bool = False
) -> Any:
    low = alpha * scale
    slope = x + low if is_result else low * b.exp(x * input_scale)
    return b.select(x > 0.0, g * scale, g * input_scale * slope)


def _hardtanh(b: Builder, g: Any, x: Any, low: Any, high: Any) -> Any:
    return b.select((x > low) & (x < high), g, zero_like(b, g))


def _hardswish(b: Builder, g: Any, x: Any) -> Any:
    middle = g * (x / 3.0 + 0.5)
    return b.select(x <= -3.0, zero_like(b, g), b.select(x >= 3.0, g, middle))


def _hardsigmoid(b: Builder, g: Any, x: Any) -> Any:
    return b.select((x > -3.0) & (x < 3.0), g * (1 / 6), zero_like(b, g))


def _shrink(b: Builder, g: Any, x: Any, size: Any) -> Any:
    return b.select((x < -size) | (x > size), g, zero_like(b, g))


def _softplus(b: Builder, g: Any, x: Any, beta: Any, threshold: Any) -> Any:
    scaled = x * beta
    power = b.exp(scaled)
    return b.select(scaled > threshold, g, g * power / (power + 1.0))


def _log_sigmoid(b: Builder, g: Any, x: Any) -> Any:
    power = b.exp(-b.absolute(x))
    part = power / (power + 1.0)
    return g * b.select(x < 0.0, 1.0 - part, part)


def _logit(b: Builder, g: Any, x: Any, eps: Any = None) -> Any:
    slope = g / (x * (1.0 - x))
    if eps is None:
        outside = b.full(x.shape, math.nan, x.dtype)
        return b.select((x < 0.0) | (x > 1.0), outside, slope)
    return b.select((x >= eps) & (x <= 1.0 - eps), slope, zero_like(b, g))


def _smooth_l1(b: Builder, g: Any, x: Any, y: Any, norm: Any, beta: Any) -> Any:
    z, whole = x - y, norm * g
    return b.select(z <= -beta, -whole, b.select(z >= beta, whole, norm * z * g / beta))


def _huber(b: Builder, g: Any, x: Any, y: Any, norm: Any, delta: Any) -> Any:
    z, whole = x - y, norm * g * delta
    return b.select(z <= -delta, -whole, b.select(z >= delta, whole, norm * z * g))


def _cross_entropy(b: Builder, g: Any, x: Any, y: Any, weight: Any) -> Any:
    return g * (x - y) * weight / b.maximum((1.0 - x) * x, 1e-12)


def _prelu(b: Builder, g: Any, x: Any, weight: Any) -> tuple[Any, Any]:
    positive = x > 0.0
    return b.select(positive, g, weight * g), b.select(positive, zero_like(b, g), x * g)


define("sigmoid_backward", 2, lambda b, g, y: g * (1.0 - y) * y)
define("tanh_backward", 2, _tanh)
define("threshold_backward", 3, lambda b, g, x, t: b.select(x <= t, zero_like(b, g), g),
       rounds_numbers=True)  # fmt: skip
define("gelu_backward", 2, _gelu)
define("silu_backward", 2, _silu)
define("mish_backward", 2, _mish)
define("leaky_relu_backward", 3, lambda b, g, x, s: b.select(x > 0.0, g, g * s), defaults=(0.01,))
define("elu_backward", 5, _elu, defaults=(1.0, 1.0, 1.0))
define("hardtanh_backward", 4, _hardtanh, defaults=(-1.0, 1.0), rounds_numbers=True)
define("hardswish_backward", 2, _hardswish)
define("hardsigmoid_backward", 2, _hardsigmoid)
define("hardshrink_backward", 3, _shrink, defaults=(0.5,), rounds_numbers=True)
define("softshrink_backward", 3, _shrink, defaults=(0.5,), rounds_numbers=True)
define("softplus_backward", 4, _softplus, defaults=(1.0, 20.0))
define("log_sigmoid_backward", 2, _log_sigmoid)
define("logit_backward", 2, _logit)
define("logit_eps_backward", 3, _logit)
define("mse_loss_backward", 4, lambda b, g, x, y, norm: norm * (x - y) * g, defaults=(2.0,))
define("smooth_l1_loss_backward", 5, _smooth_l1, defaults=(1.0, 1.0))
define("huber_loss_backward", 5, _huber, defaults=(1.0, 1.0))
define("binary_cross_entropy_backward", 4, _cross_entropy, defaults=(1.0,))
define("prelu_backward", 3, _prelu)
define("native_dropout_backward", 3, lambda b, g, mask, scale: g * mask * scale)
