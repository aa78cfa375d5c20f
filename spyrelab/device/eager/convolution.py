"""Convolution of ATen on the card: products over patches, forward and backward."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from spyrelab.device import convolution as on_host
from spyrelab.device import counts
from spyrelab.device.eager.launch import run
from spyrelab.device.factories import allocate
from spyrelab.device.library import replace
from spyrelab.opspec import Unsupported

__all__ = ["register"]


def register() -> None:
    """Enter the kernels, in place of those that leave the device."""
    replace("convolution_overrideable", _forward)
    replace("convolution_backward_overrideable", _backward)


def _forward(x: torch.Tensor, weight: torch.Tensor, bias: Any, *rest: Any) -> torch.Tensor:
    try:
        result = _convolve(x, weight, bias, *rest)
    except Unsupported:
        return on_host.forward(x, weight, bias, *rest)
    counts.native("aten::convolution")
    return result


def _backward(grad: torch.Tensor, x: torch.Tensor, weight: torch.Tensor, *rest: Any) -> Any:
    try:
        result = _gradients(grad, x, weight, *rest)
    except Unsupported:
        return on_host.backward(grad, x, weight, *rest)
    counts.native("aten::convolution_backward")
    return result


def _demand(*tensors: torch.Tensor | None) -> None:
    given = [t for t in tensors if t is not None]
    if any(t.numel() == 0 or t.device.type != "spyre" for t in given):
        raise Unsupported("a convolution of nothing")
    if len({t.dtype for t in given}) != 1 or given[0].dtype not in (
        torch.float16,
        torch.bfloat16,
        torch.float32,
    ):
        raise Unsupported("element types that do not fit")


def _size(
    x: torch.Tensor,
    weight: torch.Tensor,
    stride: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int],
    transposed: bool,
    output_padding: Sequence[int],
    groups: int,
) -> tuple[int, ...]:
    kernel = weight.shape[2:]
    spatial = zip(x.shape[2:], kernel, stride, padding, dilation, output_padding, strict=True)
    if transposed:
        extents = [(n - 1) * s - 2 * p + d * (k - 1) + o + 1 for n, k, s, p, d, o in spatial]
        return (x.shape[0], weight.shape[1] * groups, *extents)
    extents = [(n + 2 * p - d * (k - 1) - 1) // s + 1 for n, k, s, p, d, _ in spatial]
    return (x.shape[0], weight.shape[0], *extents)


def _convolve(
    x: torch.Tensor,
    weight: torch.Tensor,
    bias: torch.Tensor | None,
    stride: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int],
    transposed: bool,
    output_padding: Sequence[int],
    groups: int,
) -> torch.Tensor:
    _demand(x, weight, bias)
    size = _size(x, weight, stride, padding, dilation, transposed, output_padding, groups)
    if min(size) < 1:
        raise Unsupported("a result of nothing")
    result = allocate(size, None, x.dtype)
    run(
        "convolution",
        [x, weight, *([] if bias is None else [bias])],
        [result],
        stride=tuple(stride),
        padding=tuple(padding),
        dilation=tuple(dilation),
        transposed=bool(transposed),
        output_padding=tuple(output_padding),
        groups=groups,
    )
    return result


def _gradients(
    grad: torch.Tensor,
    x: torch.Tensor,
    weight: torch.Tensor,
    stride: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int],
    transposed: bool,
    output_padding: Sequence[int],
    groups: int,
    mask: Sequence[bool],
) -> tuple[torch.Tensor | None, ...]:
    _demand(grad, x, weight)
    if transposed:
        raise Unsupported("the gradient of a transposed convolution")
    window = {
        "stride": tuple(stride),
        "padding": tuple(padding),
        "dilation": tuple(dilation),
        "groups": groups,
    }
    found: list[torch.Tensor | None] = [None, None, None]
    if mask[0]:
        found[0] = slope = allocate(x.shape, None, x.dtype)
        run("convolution_input", [grad, weight], [slope], **window)
    if mask[1]:
        found[1] = slope = allocate(weight.shape, None, x.dtype)
        run("convolution_weight", [grad, x], [slope], **window)
    if mask[2]:
        found[2] = grad.sum([0, *range(2, grad.dim())])
    return tuple(found)
