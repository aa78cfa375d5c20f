"""scaled_dot_product_attention as one operation, forward and backward.

torch asks a C++ stub, which Python cannot fill, whether a device has a fused attention; so the
operation gets a kernel above autograd that hands it to torch's extension point for devices,
``_scaled_dot_product_fused_attention_overrideable``, which autograd and torch.compile know.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from spyrelab.device.eager.kernel import enter
from spyrelab.device.eager.launch import run
from spyrelab.device.factories import allocate
from spyrelab.device.internals import (
    CPU_KEYS,
    cpu_kernel,
    fused_attention_enabled,
    math_attention_enabled,
)
from spyrelab.device.library import implement
from spyrelab.layout import SpyreTensorLayout
from spyrelab.opspec import Unsupported

__all__ = ["register"]

Optional = torch.Tensor | None

_OVERRIDEABLE = 4
"""torch.nn.attention.SDPBackend.OVERRIDEABLE."""
_MATH = 0
_FLOATS = (torch.float16, torch.bfloat16, torch.float32)
_MOST_HEAD = 512
"""Head dimensions of which a tile of keys and its gradient always fit the scratchpad."""
# The decomposition, which looks at devices only through the stub; registered for every key.
_DECOMPOSED = cpu_kernel("scaled_dot_product_attention")


def register() -> None:
    """Enter the operation above and below autograd, and what it is handed to."""
    for key in ("AutogradPrivateUse1", "PrivateUse1"):
        implement("scaled_dot_product_attention", _attention, key)
    implement("_fused_sdp_choice", _choice)
    enter("_scaled_dot_product_fused_attention_overrideable", _forward)
    enter("_scaled_dot_product_fused_attention_overrideable_backward", _backward)


def _choice(
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    attn_mask: Optional = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    *,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> int:
    whole = _is_whole(query, key, value, attn_mask, dropout_p, is_causal, enable_gqa)
    return _OVERRIDEABLE if whole else _MATH


def _attention(
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    attn_mask: Optional = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    *,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> torch.Tensor:
    if not _is_whole(query, key, value, attn_mask, dropout_p, is_causal, enable_gqa):
        if not math_attention_enabled():
            raise RuntimeError("No available kernel. Aborting execution.")
        rest = (attn_mask, dropout_p, is_causal)
        decomposed: torch.Tensor = _DECOMPOSED(
            CPU_KEYS, query, key, value, *rest, scale=scale, enable_gqa=enable_gqa
        )
        return decomposed
    flat = query.dim() == 3
    if flat:
        query, key, value = (tensor.unsqueeze(1) for tensor in (query, key, value))
        if attn_mask is not None and attn_mask.dim() == 3:
            attn_mask = attn_mask.unsqueeze(1)
    op = torch.ops.aten._scaled_dot_product_fused_attention_overrideable.default
    out: torch.Tensor = op(query, key, value, attn_mask, 0.0, is_causal, False, scale=scale)[0]
    return out.squeeze(1) if flat else out


def _is_whole(
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    mask: Optional,
    dropout: float,
    causal: bool,
    grouped: bool,
) -> bool:
    """Whether the program does it; torch decomposes the rest, or says what is wrong with it."""
    tensors = [query, key, value, *([] if mask is None else [mask])]
    if not fused_attention_enabled() or dropout > 0 or (causal and mask is not None):
        return False
    if any(t.device.type != "spyre" or t.is_nested for t in tensors):
        return False
    if query.dtype not in _FLOATS or not query.dtype == key.dtype == value.dtype:
        return False
    if mask is not None and mask.dtype not in (torch.bool, query.dtype, torch.float32):
        return False
    return _fits(query, key, value, grouped) and _mask_fits(query, key, mask)


def _fits(query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, grouped: bool) -> bool:
    if query.dim() not in (3, 4) or not query.dim() == key.dim() == value.dim():
        return False
    if query.shape[0] != key.shape[0] or key.shape[:-1] != value.shape[:-1]:
        return False
    if query.shape[-1] != key.shape[-1] or max(query.shape[-1], value.shape[-1]) > _MOST_HEAD:
        return False
    heads, shared = (t.shape[1] if t.dim() == 4 else 1 for t in (query, key))
    if heads != shared and (not grouped or shared == 0 or heads % shared):
        return False
    return all(extent != 0 for t in (query, key, value) for extent in t.shape)


def _mask_fits(query: torch.Tensor, key: torch.Tensor, mask: Optional) -> bool:
    if mask is None:
        return True
    full = (*query.shape[:-1], key.shape[-2])
    if not 2 <= mask.dim() <= query.dim():
        return False
    own = mask.shape
    return all(a in (1, b) for a, b in zip(own, full[len(full) - len(own) :], strict=True))


def _forward(
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    attn_bias: Optional = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    return_debug_mask: bool = False,
    *,
    scale: float | None = None,
) -> tuple[Any, ...]:
    _demand(query, key, dropout_p, return_debug_mask)
    out = _like(query, value.shape[-1])
    lse = _statistic(query)
    run(
        "attention",
        [query, key, value, *_mask(attn_bias)],
        [out, lse],
        scale=_scale(query, scale),
        causal=bool(is_causal),
    )
    state = [torch.empty((), dtype=torch.int64, device=query.device) for _ in range(2)]
    return out, lse, None, None, query.shape[2], key.shape[2], *state, None


def _backward(
    grad_out: torch.Tensor,
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    attn_bias: Optional,
    grad_input_mask: Sequence[bool],
    out: torch.Tensor,
    logsumexp: torch.Tensor,
    cum_seq_q: Optional,
    cum_seq_k: Optional,
    max_q: int,
    max_k: int,
    dropout_p: float,
    is_causal: bool,
    philox_seed: torch.Tensor,
    philox_offset: torch.Tensor,
    *,
    scale: float | None = None,
) -> tuple[Optional, ...]:
    _demand(query, key, dropout_p, False)
    mask = _mask(attn_bias)
    settings = {"scale": _scale(query, scale), "causal": bool(is_causal)}
    found: list[Optional] = [_like(query, query.shape[3]), None, None, None]
    delta = _statistic(query)
    outputs = [found[0], delta]
    wide = attn_bias is not None and grad_input_mask[3]
    if wide:
        outputs.append(allocate((*query.shape[:3], key.shape[2]), None, query.dtype))
    inputs = [grad_out, query, key, value]
    run("attention_backward_queries", [*inputs, out, logsumexp, *mask], outputs, **settings)  # type: ignore[arg-type]
    if wide and attn_bias is not None:
        found[3] = outputs[2].sum_to_size(attn_bias.shape).to(attn_bias.dtype)  # type: ignore[union-attr]
    if grad_input_mask[1] or grad_input_mask[2]:
        found[1:3] = [_like(key, key.shape[3]), _like(value, value.shape[3])]
        pair = [tensor for tensor in found[1:3] if tensor is not None]
        run("attention_backward_keys", [*inputs, logsumexp, delta, *mask], pair, **settings)
    return tuple(found)


def _demand(query: torch.Tensor, key: torch.Tensor, dropout: float, debug: bool) -> None:
    if query.dim() != 4 or key.dim() != 4:
        raise Unsupported("attention of another rank than four")
    if dropout > 0 or debug:
        raise Unsupported("attention with dropout")


def _scale(query: torch.Tensor, scale: float | None) -> float:
    return float(query.shape[-1]) ** -0.5 if scale is None else float(scale)


def _mask(bias: Optional) -> list[torch.Tensor]:
    """The mask with four axes."""
    return [] if bias is None else [bias[(None,) * (4 - bias.dim())]]


def _statistic(query: torch.Tensor) -> torch.Tensor:
    """Room for a number per query: not in sticks, for cores own any number of queries."""
    size = tuple(query.shape[:3])
    return allocate(size, None, torch.float32, SpyreTensorLayout.linear(size, "f32"))


def _like(tensor: torch.Tensor, width: int) -> torch.Tensor:
    """Room for a result whose axes follow each other in memory as those of ``tensor``."""
    size = (*tensor.shape[:-1], width)
    if tensor.is_contiguous():
        return allocate(size, None, tensor.dtype)
    if width == tensor.shape[-1]:
        shape = torch.empty_strided(tensor.shape, tensor.stride(), device="meta")
        return allocate(size, torch.empty_like(shape).stride(), tensor.dtype)
    order = sorted(range(len(size)), key=lambda axis: tensor.stride()[axis], reverse=True)
    like = torch.empty([size[axis] for axis in order], device="meta")
    back = [order.index(axis) for axis in range(len(size))]
    return allocate(size, like.permute(back).stride(), tensor.dtype)
