"""What an operation's result looks like: type, size, strides; and checks of a given ``out``."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from enum import Enum
from functools import lru_cache
from typing import Any

import torch

from spyrelab.device.factories import allocate
from spyrelab.device.forms import is_dense
from spyrelab.device.internals import promoted_types

__all__ = ["Promotion", "broadcast", "fresh", "prepared", "result_type"]


class Promotion(Enum):
    """How a pointwise operation's result type follows from its operands' types."""

    DEFAULT = "DEFAULT"
    FLOAT = "INT_TO_FLOAT"
    TRUTH = "ALWAYS_BOOL"


@lru_cache(maxsize=1 << 12)
def _promoted(key: tuple[Any, ...], promotion: Promotion, default: torch.dtype) -> torch.dtype:
    stand_ins = [
        torch.empty((1,) * kind[1], dtype=kind[0], device="meta")
        if isinstance(kind, tuple)
        else kind(1)
        for kind in key
    ]
    return promoted_types(stand_ins, promotion.value)


def result_type(values: Sequence[Any], promotion: Promotion) -> torch.dtype:
    """The type of a pointwise result of tensors and numbers."""
    key = tuple(
        (value.dtype, min(value.dim(), 1)) if isinstance(value, torch.Tensor) else type(value)
        for value in values
    )
    return _promoted(key, promotion, torch.get_default_dtype())


def broadcast(tensors: Sequence[torch.Tensor]) -> torch.Size:
    """The size that all tensors broadcast to; raises RuntimeError as torch does."""
    size = tensors[0].shape
    for tensor in tensors[1:]:
        if tensor.shape != size:
            shapes: Any = torch.broadcast_shapes
            found: torch.Size = shapes(*(t.shape for t in tensors))
            return found
    return size


def fresh(size: Sequence[int], dtype: torch.dtype, like: Sequence[torch.Tensor]) -> torch.Tensor:
    """A result with the order of dimensions of the first operand of its size, if that is dense."""
    for tensor in like:
        if tensor.shape == size:
            if not tensor.is_contiguous() and is_dense(size, tensor.stride()):
                return allocate(size, tensor.stride(), dtype)
            break
    return allocate(size, None, dtype)


def prepared(out: torch.Tensor, size: Sequence[int], dtype: torch.dtype, name: str) -> torch.Tensor:
    """An ``out`` of the right size.

    Raises
    ------
    RuntimeError
        Results of ``dtype`` cannot be cast to the type of ``out``, or it is on another device.
    """
    if out.device.type != "spyre":
        raise RuntimeError(
            "Expected all tensors to be on the same device, but found at least two devices,"
            f" spyre:0 and {out.device}! (when checking the out argument of {name})"
        )
    if not torch.can_cast(dtype, out.dtype):
        raise RuntimeError(
            f"result type {_spoken(dtype)} can't be cast to the desired output type"
            f" {_spoken(out.dtype)}"
        )
    if out.shape != torch.Size(size):
        if out.numel():
            warnings.warn(
                f"An output with one or more elements was resized since it had shape"
                f" {list(out.shape)}, which does not match the required output shape {list(size)}.",
                stacklevel=3,
            )
        out.resize_(tuple(size))
    return out


_SPOKEN = {
    torch.float16: "Half",
    torch.bfloat16: "BFloat16",
    torch.float32: "Float",
    torch.float64: "Double",
    torch.bool: "Bool",
    torch.int64: "Long",
    torch.int32: "Int",
    torch.int16: "Short",
    torch.int8: "Char",
    torch.uint8: "Byte",
}


def _spoken(dtype: torch.dtype) -> str:
    """What torch's error messages call a type."""
    return _SPOKEN.get(dtype, str(dtype).removeprefix("torch."))
