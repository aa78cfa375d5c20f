"""Pointwise operations of ATen on the card: one kernel, entered for every overload of each."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import torch

from spyrelab.device.eager.kernel import enter, is_ours, overload
from spyrelab.device.eager.launch import run
from spyrelab.device.eager.plans import recall, remember
from spyrelab.device.eager.refusals import leave_odd_types
from spyrelab.device.eager.results import Promotion, broadcast, fresh, prepared, result_type
from spyrelab.device.internals import is_composite
from spyrelab.device.overlap import refuse_partial
from spyrelab.opspec import Compiled, Unsupported

__all__ = ["Call", "register"]


class Call(NamedTuple):
    """An operation of opspec, its operands in order, and attributes."""

    op: str
    operands: tuple[Any, ...]
    attributes: dict[str, Any]


Bind = Callable[..., Call]
DEFAULT, FLOAT, TRUTH = Promotion.DEFAULT, Promotion.FLOAT, Promotion.TRUTH

# The dispatcher's own scalars; everything else an operation takes is bound by name below.
_PLAIN = {
    DEFAULT: (
        "mul", "remainder", "fmod", "maximum", "minimum", "fmax", "fmin", "heaviside",
        "bitwise_and", "bitwise_or", "bitwise_xor", "bitwise_not", "abs", "neg", "sign", "sgn",
        "floor", "ceil", "trunc", "relu", "hardswish", "silu", "mish", "selu", "celu",
        "leaky_relu", "hardsigmoid", "prelu", "_prelu_kernel", "frac", "square", "positive",
        "sigmoid_backward", "tanh_backward", "leaky_relu_backward",
        "hardsigmoid_backward", "hardswish_backward", "silu_backward", "mish_backward", "logaddexp",
        "logaddexp2", "floor_divide", "hardtanh", "threshold", "hardshrink", "softshrink", "where",
        "lerp", "masked_fill", "clamp_min", "clamp_max", "bitwise_left_shift",
        "bitwise_right_shift", "__lshift__", "__rshift__",
    ),
    FLOAT: (
        "exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sqrt", "rsqrt", "sin", "cos",
        "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh", "asinh", "acosh", "atanh", "erf",
        "erfc", "reciprocal", "sinc", "sigmoid", "rad2deg", "deg2rad", "true_divide", "atan2",
        "copysign", "hypot", "xlogy", "log_sigmoid", "ldexp",
        "lgamma", "digamma", "i0", "special_i0e", "special_i1", "special_i1e", "erfinv", "angle",
        "special_modified_bessel_i0", "special_modified_bessel_i1", "special_modified_bessel_k0",
        "special_modified_bessel_k1", "special_scaled_modified_bessel_k0",
        "special_scaled_modified_bessel_k1", "special_bessel_j0", "special_bessel_j1",
        "special_bessel_y0", "special_bessel_y1", "special_spherical_bessel_j0", "special_ndtri",
        "special_erfcx", "special_log_ndtr", "special_entr", "special_xlog1py",
    ),
    TRUTH: (
        "lt", "le", "gt", "ge", "eq", "ne", "logical_and", "logical_or", "logical_xor",
        "logical_not", "isnan", "isinf", "isfinite", "isposinf", "isneginf", "signbit",
    ),
}  # fmt: skip
_RENAMED = {
    "_prelu_kernel": "prelu",
    "__lshift__": "bitwise_left_shift",
    "__rshift__": "bitwise_right_shift",
}


def register() -> None:
    """Enter all of them."""
    for promotion, names in _PLAIN.items():
        for name in names:
            _enter_all(name, promotion, _plain(_RENAMED.get(name, name)))
    for name, (promotion, bind) in _BOUND.items():
        _enter_all(name, promotion, bind)


def _plain(op: str) -> Bind:
    """Operands as they come; a trailing None is an optional one left out."""

    def plain(*operands: Any) -> Call:
        return Call(op, operands, {})

    return plain


def _scaled(op: str) -> Bind:
    def bind(x: Any, y: Any, alpha: Any = 1) -> Call:
        return Call(op, (x, y) if alpha == 1 else (x, y, alpha), {})

    return bind


def _valued(op: str) -> Bind:
    def bind(x: Any, y: Any, z: Any, value: Any = 1) -> Call:
        return Call(op, (x, y, z) if value == 1 else (x, y, z, value), {})

    return bind


def _divide(x: Any, y: Any, rounding_mode: str | None = None) -> Call:
    return Call(f"div_{rounding_mode}" if rounding_mode else "div", (x, y), {})


_STATIC_POWERS = (2, 3, 0.5, -0.5, -1, -2)


def _power(x: Any, exponent: Any) -> Call:
    whole = not x.is_floating_point() if isinstance(x, torch.Tensor) else True
    if not isinstance(exponent, torch.Tensor) and exponent in _STATIC_POWERS and not whole:
        return Call("pow_static", (x,), {"exponent": float(exponent)})
    if whole and not isinstance(exponent, float):
        raise Unsupported("whole powers of whole numbers")
    return Call("pow", (x, exponent), {})


def _clamp(x: Any, low: Any = None, high: Any = None) -> Call:
    if low is None and high is None:
        raise Unsupported("clamp without a bound")
    for bound in (low, high):
        if isinstance(bound, float) and math.isnan(bound):
            raise Unsupported("clamp to NaN")
    if high is None:
        return Call("clamp_min", (x, low), {})
    if low is None:
        return Call("clamp_max", (x, high), {})
    return Call("clamp", (x, low, high), {})


def _gelu(x: Any, approximate: str = "none") -> Call:
    return Call("gelu", (x,), {"approximate": approximate})


def _gelu_backward(grad: Any, x: Any, approximate: str = "none") -> Call:
    return Call("gelu_backward", (grad, x), {"approximate": approximate})


def _round(x: Any, decimals: int = 0) -> Call:
    return Call("round", (x,), {"decimals": decimals} if decimals else {})


def _logit(x: Any, eps: float | None = None) -> Call:
    return Call("logit", (x,), {}) if eps is None else Call("logit_eps", (x, float(eps)), {})


def _nan_to_num(x: Any, nan: Any = None, posinf: Any = None, neginf: Any = None) -> Call:
    given = [0.0 if nan is None else float(nan)]
    for value, sign in ((posinf, 1), (neginf, -1)):
        limit = sign * torch.finfo(x.dtype).max if x.is_floating_point() else 0.0
        given.append(limit if value is None else float(value))
    return Call("nan_to_num", (x, *given), {})


def _elu(x: Any, alpha: Any = 1, scale: Any = 1, input_scale: Any = 1) -> Call:
    return Call("elu", (x, float(alpha), float(scale), float(input_scale)), {})


def _softplus(x: Any, beta: Any = 1, threshold: Any = 20) -> Call:
    return Call("softplus", (x, float(beta), float(threshold)), {})


def _polygamma(order: int, x: Any) -> Call:
    if order == 0:
        return Call("digamma", (x,), {})
    if not 0 < order <= 8:
        raise Unsupported("a derivative of that order")
    return Call("polygamma", (x,), {"order": order})


_BOUND: dict[str, tuple[Promotion, Bind]] = {
    "add": (DEFAULT, _scaled("add")),
    "sub": (DEFAULT, _scaled("sub")),
    "rsub": (DEFAULT, _scaled("rsub")),
    "div": (FLOAT, _divide),
    "pow": (DEFAULT, _power),
    "addcmul": (DEFAULT, _valued("addcmul")),
    "addcdiv": (FLOAT, _valued("addcdiv")),
    "clamp": (DEFAULT, _clamp),
    "gelu": (DEFAULT, _gelu),
    "gelu_backward": (DEFAULT, _gelu_backward),
    "round": (DEFAULT, _round),
    "logit": (FLOAT, _logit),
    "polygamma": (FLOAT, _polygamma),
    "nan_to_num": (DEFAULT, _nan_to_num),
    "elu": (DEFAULT, _elu),
    "softplus": (DEFAULT, _softplus),
}
"""Operations whose operands are not simply their arguments in order."""

_CONDITIONS = {"where": (0,), "masked_fill": (1,)}
_OF_SELF = frozenset({"masked_fill"})
"""Operations whose result has the type of their first operand."""


def _enter_all(name: str, promotion: Promotion, bind: Bind) -> None:
    for packet_name in (name, f"{name}_"):
        packet = getattr(torch.ops.aten, packet_name, None)
        if packet is None:
            continue
        for which in packet.overloads():
            full = packet_name if which == "default" else f"{packet_name}.{which}"
            _enter(full, name, promotion, bind)


def _enter(full: str, name: str, promotion: Promotion, bind: Bind) -> None:
    op = overload(full)
    arguments = op._schema.arguments
    if not any("Tensor" in str(argument.type) for argument in arguments):
        return
    if any(str(a.type) not in _TYPES for a in arguments) or len(op._schema.returns) != 1:
        return
    if is_composite(op.name()):
        return
    enter(full, _kernel(full, name, promotion, bind, [a.name for a in arguments]))


_TYPES = frozenset(
    {"Tensor", "number", "Optional[number]", "Optional[Tensor]", "str", "Optional[str]", "float",
     "Optional[float]", "int"}
)  # fmt: skip


_SHORT = frozenset({"add", "sub", "rsub", "div"})
"""Operations that are plain as long as they get no keyword argument."""

_OUT = ("out", "grad_input", "result")
"""What schemas call a given result."""


def _kernel(
    full: str, name: str, promotion: Promotion, bind: Bind, names: Sequence[str]
) -> Callable[..., Any]:
    inplace = full.partition(".")[0] == f"{name}_"
    conditions = _CONDITIONS.get(name, ())
    # Where no argument's value decides which program runs, the next call takes the short way.
    short = not inplace and names[-1] not in _OUT and (bind.__name__ == "plain" or name in _SHORT)

    def kernel(*args: Any, **kwargs: Any) -> torch.Tensor:
        key, result = recall(full, args) if short and not kwargs else (None, None)
        if result is not None:
            return result
        compiled, floats, result = compute(*args, **kwargs)
        if key is not None and compiled is not None:
            remember(key, args, result, compiled, floats)
        return result

    def compute(*args: Any, **kwargs: Any) -> tuple[Compiled | None, bool, torch.Tensor]:
        out = None
        for key in _OUT if kwargs else ():
            if key in kwargs:
                out = kwargs.pop(key)
        if len(args) == len(names) and names[-1] == "out":
            *rest, out = args
            args = tuple(rest)
        call = bind(*args, **kwargs)
        leave_odd_types(name, call.operands)
        given = [_number_of(value) for value in call.operands]
        typed = [value for p, value in enumerate(call.operands) if p not in conditions]
        if name in _OF_SELF:
            dtype = args[0].dtype
        elif name == "div" and call.op != "div":
            dtype = result_type(typed, DEFAULT)
        else:
            dtype = result_type(typed, promotion)
        tensors = [value for value in given if isinstance(value, torch.Tensor)]
        if not tensors:
            raise Unsupported("numbers alone")
        size = broadcast([value for value in call.operands if isinstance(value, torch.Tensor)])
        if inplace:
            _check_in_place(args[0], size, dtype)
            out = args[0]
        result = _result(out, size, dtype, full, tensors)
        if out is not None:
            refuse_partial(call.operands, result)
        floats = dtype.is_floating_point or any(tensor.is_floating_point() for tensor in tensors)
        return _compute(call, given, floats, result), floats, result

    return kernel


def _check_in_place(own: torch.Tensor, size: torch.Size, dtype: torch.dtype) -> None:
    if own.shape != size or not torch.can_cast(dtype, own.dtype):
        raise Unsupported("left to torch, which says what is wrong")


def _result(
    out: torch.Tensor | None,
    size: torch.Size,
    dtype: torch.dtype,
    name: str,
    tensors: Sequence[torch.Tensor],
) -> torch.Tensor:
    if out is None:
        return fresh(size, dtype, tensors)
    return prepared(out, size, dtype, name)


def _number_of(value: Any) -> Any:
    """A one-element CPU tensor as the number it holds."""
    if isinstance(value, torch.Tensor) and not is_ours(value):
        if value.dim() or value.device.type != "cpu":
            raise Unsupported("operands on two devices: the fallback says so")
        return value.item()
    if isinstance(value, complex):
        raise Unsupported("complex numbers")
    return value


def _compute(
    call: Call, given: Sequence[Any], floats: bool, result: torch.Tensor
) -> Compiled | None:
    if result.numel() == 0:
        return None
    if result.dtype in (torch.float64, torch.uint8, torch.complex64, torch.complex128):
        raise Unsupported(f"{result.dtype} elements")
    operands = [
        float(v) if floats and not isinstance(v, torch.Tensor) and v is not None else v
        for v in given
    ]
    return run(call.op, [v for v in operands if v is not None], [result], **call.attributes)
