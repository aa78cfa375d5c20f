"""What every pointwise operation has to compute: torch on the CPU in float32, and how near."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import torch
import torch.nn.functional as F  # noqa: N812

aten = torch.ops.aten
Expected = Callable[..., torch.Tensor]


@dataclass(frozen=True)
class Case:
    """An operation of the table on float operands.

    ``ulps`` is the bound on the error in f32 units in the last place against torch; 0 demands
    equal numbers. ``near`` is an absolute error that is allowed instead, where cancellation
    makes a relative one meaningless; ``domain`` cuts operands to where torch itself is right.
    """

    name: str
    expected: Expected
    tensors: int
    ulps: float = 0
    near: float = 0.0
    numbers: tuple[float, ...] = ()
    attributes: dict[str, Any] = field(default_factory=dict)
    domain: Callable[..., tuple[torch.Tensor, ...]] | None = None

    def __str__(self) -> str:
        extras = [f"{key}={value}" for key, value in self.attributes.items()]
        return "-".join([self.name, *map(str, self.numbers), *extras])


CASES: list[Case] = []


def case(name: str, expected: Expected, tensors: int, **options: Any) -> None:
    CASES.append(Case(name, expected, tensors, **options))


def _normal(*tensors: torch.Tensor) -> tuple[torch.Tensor, ...]:
    """Without subnormal divisors, whose vectorised remainder in torch is NaN."""
    x, y = tensors
    return x, torch.where(y.abs() < 1e-37, torch.ones_like(y), y)


def _ordered_zeros(*tensors: torch.Tensor) -> tuple[torch.Tensor, ...]:
    """Without -0: torch's vector and scalar code disagree on which zero is larger."""
    return tuple(torch.where(t == 0, torch.zeros_like(t), t) for t in tensors)


def _signed(*tensors: torch.Tensor) -> tuple[torch.Tensor, ...]:
    """Without NaN, whose sign the device does not keep."""
    return tuple(torch.nan_to_num(t) for t in tensors)


def _unit(*tensors: torch.Tensor) -> tuple[torch.Tensor, ...]:
    """Results of tanh or sigmoid."""
    grad, y = tensors
    return grad, torch.sigmoid(y)


for _name in (
    "floor", "ceil", "trunc", "round", "frac", "abs", "neg", "positive", "sign", "sgn", "square",
    "reciprocal", "nan_to_num", "isnan", "isinf", "isfinite", "isposinf", "isneginf",
    "relu", "logical_not", "rad2deg", "deg2rad",
):  # fmt: skip
    case(_name, getattr(torch, _name), 1)
case("signbit", torch.signbit, 1, domain=_signed)
for _name, _ulps in {
    "sqrt": 1, "rsqrt": 2, "exp": 2, "exp2": 2, "expm1": 2, "log": 2, "log2": 2, "log10": 2,
    "log1p": 2,
    "sin": 2, "cos": 2, "tan": 3, "asin": 3, "acos": 3, "atan": 3, "sinh": 3, "cosh": 3, "tanh": 4,
    "asinh": 3, "acosh": 3, "atanh": 3, "erf": 3, "erfc": 6, "sigmoid": 4, "logit": 4, "sinc": 3,
}.items():  # fmt: skip
    case(_name, getattr(torch, _name), 1, ulps=_ulps)
case("logit_eps", lambda x: torch.logit(x, 0.01), 1, ulps=4, numbers=(0.01,))
case("nan_to_num", lambda x: torch.nan_to_num(x, 1.0, 2.0, -3.0), 1, numbers=(1.0, 2.0, -3.0))
case("round", lambda x: torch.round(x, decimals=1), 1, attributes={"decimals": 1}, ulps=1)
case("round", lambda x: torch.round(x, decimals=-1), 1, attributes={"decimals": -1}, ulps=1)
for _exponent in (2.0, 3.0, 0.5, -0.5, -1.0, -2.0):
    case(
        "pow_static",
        lambda x, exponent=_exponent: x**exponent,
        1,
        attributes={"exponent": _exponent},
        ulps=1,
    )

case("relu6", F.relu6, 1)
case("hardtanh", F.hardtanh, 1)
case("hardtanh", lambda x: F.hardtanh(x, -0.3, 0.7), 1, numbers=(-0.3, 0.7))
case("hardshrink", F.hardshrink, 1)
case("softshrink", F.softshrink, 1)
case("threshold", lambda x: F.threshold(x, 0.1, 20.0), 1, numbers=(0.1, 20.0))
case("leaky_relu", F.leaky_relu, 1)
case("leaky_relu", lambda x: F.leaky_relu(x, 0.3), 1, numbers=(0.3,))
case("hardswish", F.hardswish, 1, ulps=1)
case("hardsigmoid", F.hardsigmoid, 1, ulps=1)
case("silu", F.silu, 1, ulps=4)
case("mish", F.mish, 1, ulps=4, near=1e-37)
case("softplus", F.softplus, 1, ulps=3)
case("softplus", lambda x: F.softplus(x, 2.0, 10.0), 1, ulps=3, numbers=(2.0, 10.0))
case("elu", F.elu, 1, ulps=3)
case("elu", lambda x: F.elu(x, 0.5), 1, ulps=3, numbers=(0.5,))
case("selu", F.selu, 1, ulps=3)
case("celu", lambda x: F.celu(x, 2.0), 1, ulps=3, numbers=(2.0,))
case("log_sigmoid", F.logsigmoid, 1, ulps=4)
# gelu: torch adds 1 to erf and cancels below -3; the device takes erfc, so inf is right as well.
case("gelu", F.gelu, 1, ulps=6, near=1e-6, domain=lambda x: (x.clamp(-30, 30),))
case("gelu", lambda x: F.gelu(x, approximate="tanh"), 1, ulps=8, near=1e-6,
     attributes={"approximate": "tanh"}, domain=lambda x: (x.clamp(-30, 30),))  # fmt: skip

for _name in (
    "add", "sub", "rsub", "mul", "div", "true_divide", "lt", "le", "gt", "ge", "eq", "ne",
    "logical_and", "logical_or", "logical_xor", "heaviside", "isclose",
):  # fmt: skip
    case(_name, getattr(torch, _name), 2)
for _name in ("maximum", "minimum", "fmax", "fmin", "clamp_min", "clamp_max"):
    case(_name, getattr(torch, _name), 2, domain=_ordered_zeros)
for _name in ("remainder", "fmod", "floor_divide"):
    case(_name, getattr(torch, _name), 2, domain=_normal)
case("div_floor", lambda x, y: torch.div(x, y, rounding_mode="floor"), 2, domain=_normal)
case("div_trunc", lambda x, y: torch.div(x, y, rounding_mode="trunc"), 2)
case("add", lambda x, y: torch.add(x, y, alpha=0.3), 2, numbers=(0.3,), ulps=1, near=1e-6)
case("sub", lambda x, y: torch.sub(x, y, alpha=2), 2, numbers=(2.0,))
case("pow", torch.pow, 2, ulps=2)
case("atan2", torch.atan2, 2, ulps=3)
case("copysign", torch.copysign, 2, domain=_signed)
case("hypot", torch.hypot, 2, ulps=3)
case("xlogy", torch.xlogy, 2, ulps=3)
case("logaddexp", torch.logaddexp, 2, ulps=4, near=2e-7)
case("logaddexp2", torch.logaddexp2, 2, ulps=4, near=2e-7)
case("ldexp", torch.ldexp, 2, ulps=3)
case("prelu", lambda x, w: torch.where(x > 0, x, x * w), 2)
case("clamp", lambda x, low, high: x.clamp(low, high), 3, domain=_ordered_zeros)
case("lerp", torch.lerp, 3, ulps=2, near=1e-6)
case("addcmul", torch.addcmul, 3, ulps=2, near=1e-6)
case("addcmul", lambda x, y, z: torch.addcmul(x, y, z, value=0.5), 3, numbers=(0.5,), ulps=2,
     near=1e-6)  # fmt: skip
case("addcdiv", torch.addcdiv, 3, ulps=1, near=1e-6)

for _name, _function in {
    "mse_loss": F.mse_loss,
    "l1_loss": F.l1_loss,
    "smooth_l1_loss": F.smooth_l1_loss,
    "huber_loss": F.huber_loss,
}.items():
    case(_name, lambda x, y, f=_function: f(x, y, reduction="none"), 2, ulps=1)

case("sigmoid_backward", aten.sigmoid_backward, 2, domain=_unit, ulps=1)
case("tanh_backward", aten.tanh_backward, 2, domain=_unit, ulps=1)
case("threshold_backward", lambda g, x: aten.threshold_backward(g, x, 0.3), 2, numbers=(0.3,))
case("leaky_relu_backward", lambda g, x: aten.leaky_relu_backward(g, x, 0.01, False), 2)
case("hardtanh_backward", lambda g, x: aten.hardtanh_backward(g, x, -1.0, 1.0), 2)
case("hardshrink_backward", lambda g, x: aten.hardshrink_backward(g, x, 0.5), 2)
case("softshrink_backward", lambda g, x: aten.softshrink_backward(g, x, 0.5), 2)
case("hardswish_backward", aten.hardswish_backward, 2, ulps=1)
case("hardsigmoid_backward", aten.hardsigmoid_backward, 2, ulps=1)
case("softplus_backward", lambda g, x: aten.softplus_backward(g, x, 1.0, 20.0), 2, ulps=4)
case("elu_backward", lambda g, x: aten.elu_backward(g, 1.0, 1.0, 1.0, False, x), 2, ulps=3)
case("elu_backward", lambda g, x: aten.elu_backward(g, 1.0, 1.0, 1.0, True, x), 2, ulps=1,
     attributes={"is_result": True})  # fmt: skip
case("log_sigmoid_backward",
     lambda g, x: aten.log_sigmoid_backward(g, x, torch.exp(-x.abs())), 2, ulps=6)  # fmt: skip
case("logit_backward", lambda g, x: aten.logit_backward(g, x, None), 2, ulps=2)
case("logit_eps_backward", lambda g, x: aten.logit_backward(g, x, 0.01), 2, numbers=(0.01,), ulps=2)
# These cancel around the zero of the slope: the error is relative to the gradient.
_SMALL = {"near": 1e-5, "ulps": 8, "domain": lambda g, x: (g.clamp(-4, 4), x.clamp(-30, 30))}
case("silu_backward", aten.silu_backward, 2, **_SMALL)
case("mish_backward", aten.mish_backward, 2, **_SMALL)
case("gelu_backward", aten.gelu_backward, 2, **_SMALL)
case("gelu_backward", lambda g, x: aten.gelu_backward(g, x, approximate="tanh"), 2,
     attributes={"approximate": "tanh"}, **_SMALL)  # fmt: skip
case("mse_loss_backward", lambda g, x, y: aten.mse_loss_backward(g, x, y, 0), 3, ulps=1)
case("smooth_l1_loss_backward", lambda g, x, y: aten.smooth_l1_loss_backward(g, x, y, 0, 1.0), 3,
     ulps=1)  # fmt: skip
case("huber_loss_backward", lambda g, x, y: aten.huber_loss_backward(g, x, y, 0, 1.0), 3, ulps=1)
case("native_dropout_backward", lambda g, m: g * m * 2.0, 2, numbers=(2.0,))


def _probabilities(*tensors: torch.Tensor) -> tuple[torch.Tensor, ...]:
    return (*tensors[:-2], torch.sigmoid(_signed(tensors[-2])[0]), _signed(tensors[-1])[0])


case("binary_cross_entropy", lambda x, y: F.binary_cross_entropy(x, y, reduction="none"), 2,
     ulps=3, near=2e-6, domain=lambda x, y: _probabilities(x, y.clamp(0, 1)))  # fmt: skip
case("binary_cross_entropy_backward",
     lambda g, x, y: aten.binary_cross_entropy_backward(g, x, y, None, 0), 3, ulps=3,
     domain=_probabilities)  # fmt: skip
