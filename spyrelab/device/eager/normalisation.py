"""Normalisation of ATen on the card, forward and backward."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import torch

from spyrelab.device.eager.kernel import enter
from spyrelab.device.eager.launch import run
from spyrelab.device.factories import allocate
from spyrelab.opspec import Unsupported

__all__ = ["register"]

Mask = Sequence[bool]
Optional = torch.Tensor | None


def register() -> None:
    """Enter all of them."""
    enter("native_layer_norm", _layer_norm)
    enter("native_layer_norm_backward", _layer_norm_backward)
    enter("native_group_norm", _group_norm)
    enter("native_group_norm_backward", _group_norm_backward)
    enter("native_batch_norm", _batch_norm)
    enter("_native_batch_norm_legit", _legit_batch_norm)
    enter("_native_batch_norm_legit.no_stats", _batch_norm_without_statistics)
    enter("_batch_norm_with_update", _batch_norm_with_update)
    enter("native_batch_norm_backward", _batch_norm_backward)
    enter("batch_norm_backward", _updated_batch_norm_backward)


def _demand(x: torch.Tensor, *others: Optional) -> None:
    if not x.is_floating_point() or x.dtype == torch.float64 or x.numel() == 0:
        raise Unsupported("a norm of nothing, or of numbers that are no floats")
    if any(other is not None and other.dtype != x.dtype for other in others):
        raise Unsupported("a norm of mixed types")


def _given(*tensors: Optional) -> list[torch.Tensor]:
    return [tensor for tensor in tensors if tensor is not None]


def _layer_norm(
    x: torch.Tensor, normalized_shape: Sequence[int], weight: Optional, bias: Optional, eps: float
) -> tuple[torch.Tensor, ...]:
    count = len(normalized_shape)
    if x.numel():
        _demand(x, weight, bias)
    if not count or tuple(x.shape[-count:]) != tuple(normalized_shape):
        raise Unsupported("a shape that does not fit")
    result = allocate(x.shape, None, x.dtype)
    size = (*x.shape[:-count], *(1,) * count)
    statistics = [allocate(size, None, x.dtype) for _ in range(2)]
    if x.numel() == 0:
        return _norm_of_nothing(result, statistics)
    run(
        "layer_norm",
        [x, *_given(weight, bias)],
        [result, *statistics],
        normalized_dims=count,
        eps=float(eps),
        weight=weight is not None,
        bias=bias is not None,
    )
    return result, *statistics


def _norm_of_nothing(
    result: torch.Tensor, statistics: Sequence[torch.Tensor]
) -> tuple[torch.Tensor, ...]:
    if any(statistic.numel() for statistic in statistics):
        raise Unsupported("statistics of nothing")
    return result, *statistics


def _layer_norm_backward(
    grad: torch.Tensor,
    x: torch.Tensor,
    normalized_shape: Sequence[int],
    mean: torch.Tensor,
    rstd: torch.Tensor,
    weight: Optional,
    bias: Optional,
    mask: Mask,
) -> tuple[Optional, ...]:
    _demand(x, grad, weight, bias)
    count = len(normalized_shape)
    found: list[Optional] = [None, None, None]
    if mask[0]:
        found[0] = slope = allocate(x.shape, None, x.dtype)
        inputs = [grad, x, mean, rstd, *_given(weight)]
        has_weight = weight is not None
        run("layer_norm_backward", inputs, [slope], normalized_dims=count, weight=has_weight)
    wanted = [n for n, given in ((1, weight), (2, bias)) if mask[n] and given is not None]
    if wanted:
        made = [allocate(normalized_shape, None, x.dtype) for _ in (1, 2)]
        run("layer_norm_parameters_backward", [grad, x, mean, rstd], made, normalized_dims=count)
        for number in wanted:
            found[number] = made[number - 1]
    return tuple(found)


def _group_norm(
    x: torch.Tensor,
    weight: Optional,
    bias: Optional,
    batch: int,
    channels: int,
    spatial: int,
    groups: int,
    eps: float,
) -> tuple[torch.Tensor, ...]:
    del channels, spatial
    if x.numel():
        _demand(x, weight, bias)
    result = allocate(x.shape, None, x.dtype)
    statistics = [allocate((batch, groups), None, x.dtype) for _ in range(2)]
    if x.numel() == 0:
        return _norm_of_nothing(result, statistics)
    run(
        "group_norm",
        [x, *_given(weight, bias)],
        [result, *statistics],
        groups=groups,
        eps=float(eps),
        weight=weight is not None,
        bias=bias is not None,
    )
    return result, *statistics


def _group_norm_backward(
    grad: torch.Tensor,
    x: torch.Tensor,
    mean: torch.Tensor,
    rstd: torch.Tensor,
    weight: Optional,
    batch: int,
    channels: int,
    spatial: int,
    groups: int,
    mask: Mask,
) -> tuple[Optional, ...]:
    _demand(x, grad, weight)
    found: list[Optional] = [None, None, None]
    if mask[0]:
        found[0] = result = allocate(x.shape, None, x.dtype)
        inputs = [grad, x, mean, rstd, *_given(weight)]
        run("group_norm_backward", inputs, [result], groups=groups, weight=weight is not None)
    if mask[1] or mask[2]:
        grouped = (batch, groups, channels // groups, spatial)
        slope, normal = grad.reshape(grouped), x.reshape(grouped)
        normal = (normal - mean.reshape(batch, groups, 1, 1)) * rstd.reshape(batch, groups, 1, 1)
        if mask[1]:
            found[1] = (slope * normal).sum((0, 3)).reshape(channels)
        if mask[2]:
            found[2] = slope.sum((0, 3)).reshape(channels)
    return tuple(found)


def _batch_norm(
    x: torch.Tensor,
    weight: Optional,
    bias: Optional,
    running_mean: Optional,
    running_var: Optional,
    training: bool,
    momentum: float,
    eps: float,
) -> tuple[torch.Tensor, ...]:
    _demand(x, weight, bias)
    running = _given(running_mean, running_var)
    if len(running) == 1 or (not training and not running) or x.dim() < 2:
        raise Unsupported("batch norm without statistics")
    if any(tensor.dtype != x.dtype for tensor in running):
        raise Unsupported("statistics of another type")
    if training and math.prod(x.shape) == x.shape[1]:
        raise Unsupported("one value per channel: torch says so")
    result = allocate(x.shape, None, x.dtype)
    statistics = [allocate((x.shape[1] if training else 0,), None, x.dtype) for _ in range(2)]
    outputs = [result, *statistics, *running] if training else [result]
    run(
        "batch_norm",
        [x, *_given(weight, bias), *running],
        outputs,
        eps=float(eps),
        momentum=float(momentum),
        training=training,
        weight=weight is not None,
        bias=bias is not None,
        running=bool(running),
    )
    return result, *statistics


def _legit_batch_norm(
    x: torch.Tensor,
    weight: Optional,
    bias: Optional,
    running_mean: Optional,
    running_var: Optional,
    training: bool,
    momentum: float,
    eps: float,
) -> tuple[torch.Tensor, ...]:
    return _batch_norm(x, weight, bias, running_mean, running_var, training, momentum, eps)


def _batch_norm_without_statistics(
    x: torch.Tensor,
    weight: Optional,
    bias: Optional,
    training: bool,
    momentum: float,
    eps: float,
) -> Any:
    return _batch_norm(x, weight, bias, None, None, training, momentum, eps)


def _batch_norm_with_update(
    x: torch.Tensor,
    weight: Optional,
    bias: Optional,
    running_mean: torch.Tensor,
    running_var: torch.Tensor,
    momentum: float,
    eps: float,
) -> tuple[torch.Tensor, ...]:
    results = _batch_norm(x, weight, bias, running_mean, running_var, True, momentum, eps)
    return *results, allocate((0,), None, torch.uint8)


def _batch_norm_backward(
    grad: torch.Tensor,
    x: torch.Tensor,
    weight: Optional,
    running_mean: Optional,
    running_var: Optional,
    save_mean: Optional,
    save_invstd: Optional,
    training: bool,
    eps: float,
    mask: Mask,
) -> tuple[Optional, ...]:
    mean, rstd = save_mean, save_invstd
    if not training and running_mean is not None and running_var is not None:
        mean, rstd = running_mean, (running_var + eps).rsqrt()
    _demand(x, grad, weight, mean, rstd)
    if mean is None or rstd is None or x.dim() < 2:
        raise Unsupported("the gradient of a norm without statistics")
    channels = (x.shape[1],)
    slopes = [allocate(x.shape, None, x.dtype)]
    if mask[1] or mask[2]:
        slopes += [allocate(channels, None, x.dtype) for _ in (1, 2)]
    inputs = [grad, x, mean, rstd, *_given(weight)]
    attributes = {"weight": weight is not None, "training": training}
    run("batch_norm_backward", inputs, slopes, **attributes)
    found: list[Optional] = [*slopes, None, None][:3]
    return tuple(slope if wanted else None for slope, wanted in zip(found, mask, strict=True))


def _updated_batch_norm_backward(
    grad: torch.Tensor,
    x: torch.Tensor,
    weight: Optional,
    running_mean: Optional,
    running_var: Optional,
    save_mean: Optional,
    save_var: Optional,
    update: bool,
    eps: float,
    mask: Mask,
    reserve: torch.Tensor,
) -> tuple[Optional, ...]:
    del reserve
    return _batch_norm_backward(
        grad, x, weight, running_mean, running_var, save_mean, save_var, update, eps, mask
    )
