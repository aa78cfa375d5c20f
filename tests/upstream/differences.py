"""Gradients by formula against differences, all of it on the device, in float32."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch

DEVICE = "spyre"
STEP = 1e-2
"""Of the differences: as far as float32 sums stay exact enough."""

GRADCHECKED = (
    "add", "mul", "div.no_rounding_mode", "exp", "tanh", "sigmoid", "matmul", "mm", "bmm",
    "addmm", "sum", "mean", "softmax", "log_softmax", "nn.functional.layer_norm",
    "nn.functional.gelu", "cat", "permute", "index_select", "gather",
)  # fmt: skip
"""Operators whose gradients are checked so."""


class MismatchError(AssertionError):
    """The device's answer is not the right one."""


def check_gradients(compute: Callable[[], torch.Tensor], leaves: Sequence[torch.Tensor]) -> None:
    """Compare the gradients of ``compute()``, weighed and summed, for six elements a leaf."""

    def total() -> torch.Tensor:
        result = compute()
        weights = torch.linspace(0.5, 1.5, max(result.numel(), 1)).reshape(result.shape)
        return (result * weights.to(DEVICE)).sum()

    gradients = torch.autograd.grad(total(), list(leaves), allow_unused=True)
    for leaf, gradient in zip(leaves, gradients, strict=True):
        for index in range(min(leaf.numel(), 6)):
            slope = _slope(total, leaf, index)
            formula = 0.0 if gradient is None else float(gradient.reshape(-1)[index])
            if abs(slope - formula) > 2e-2 + 2e-2 * abs(slope):
                raise MismatchError(
                    f"gradient {formula:g} of element {index}, differences {slope:g}"
                )


def _slope(total: Callable[[], torch.Tensor], leaf: torch.Tensor, index: int) -> float:
    values = leaf.detach().cpu().clone()
    sums = []
    with torch.no_grad():
        for sign in (1, -1):
            changed = values.clone().reshape(-1)
            changed[index] += sign * STEP
            leaf.copy_(changed.reshape(values.shape))
            sums.append(float(total()))
        leaf.copy_(values)
    return (sums[0] - sums[1]) / (2 * STEP)
