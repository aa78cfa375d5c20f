"""Convolution: torch hands it whole to a device, forward and backward."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from spyrelab.device import fallback
from spyrelab.device.library import implement_for_now

__all__ = ["backward", "forward", "register"]


def register() -> None:
    """Enter the kernels of convolution."""
    implement_for_now("convolution_overrideable", forward)
    implement_for_now("convolution_backward_overrideable", backward)


def forward(
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
    """Convolve on the CPU."""
    op = torch.ops.aten.convolution.default
    rest = (stride, padding, dilation, transposed, output_padding, groups)
    return fallback.call(op, x, weight, bias, *rest)


def backward(
    grad: torch.Tensor,
    x: torch.Tensor,
    weight: torch.Tensor,
    stride: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int],
    transposed: bool,
    output_padding: Sequence[int],
    groups: int,
    output_mask: Sequence[bool],
) -> Any:
    """Gradients of input, weight and bias on the CPU."""
    op = torch.ops.aten.convolution_backward.default
    channels = weight.shape[1] * groups if transposed else weight.shape[0]
    bias = [channels] if output_mask[2] else None
    rest = (bias, stride, padding, dilation, transposed, output_padding, groups, output_mask)
    return fallback.call(op, grad, x, weight, *rest)
