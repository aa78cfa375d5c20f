"""Types that torch refuses, or treats in a way of its own: left to it, which says what is wrong."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from spyrelab.opspec import Unsupported

__all__ = ["leave_odd_types"]

_WHOLE = frozenset({"bitwise_and", "bitwise_or", "bitwise_xor", "bitwise_not"})
_FLOATING = frozenset(
    {"silu", "mish", "selu", "celu", "elu", "gelu", "hardsigmoid", "hardswish", "hardtanh",
     "hypot", "leaky_relu", "lerp", "log_sigmoid", "logaddexp", "logaddexp2", "nan_to_num",
     "softplus", "frac", "addcdiv"}
)  # fmt: skip
_NO_TRUTH = frozenset({"sub", "rsub", "neg", "relu"})
_ONE_TYPE = frozenset({"lerp"})


def leave_odd_types(name: str, operands: Sequence[Any]) -> None:
    """Raise Unsupported where the operation does not take tensors of these types."""
    types = [value.dtype for value in operands if isinstance(value, torch.Tensor)]
    floating = any(dtype.is_floating_point for dtype in types)
    if (
        (name in _WHOLE and floating)
        or (name in _FLOATING and not floating)
        or (name in _NO_TRUTH and torch.bool in types)
        or (name in _ONE_TYPE and len(set(types)) > 1)
    ):
        raise Unsupported(f"{name} of {', '.join(map(str, types))}")
