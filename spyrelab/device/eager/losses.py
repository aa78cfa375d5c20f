"""Losses and gradients of ATen that are one pointwise operation, perhaps with a reduction."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from spyrelab.device.eager.kernel import enter
from spyrelab.device.eager.launch import run
from spyrelab.device.eager.results import Promotion, broadcast, fresh, prepared, result_type
from spyrelab.device.factories import allocate
from spyrelab.opspec import Unsupported

__all__ = ["register"]

_MEAN, _SUM = 1, 2


def register() -> None:
    """Enter all of them."""
    for which in ("", ".out"):
        enter(f"mse_loss{which}", _loss("mse_loss"))
        enter(f"smooth_l1_loss{which}", _loss("smooth_l1_loss"))
        enter(f"huber_loss{which}", _loss("huber_loss"))
    for which in ("", ".grad_input"):
        enter(f"mse_loss_backward{which}", _mse_backward)
        enter(f"smooth_l1_loss_backward{which}", _threshold_loss_backward("smooth_l1_loss"))
    enter("huber_loss_backward", _threshold_loss_backward("huber_loss"))
    enter("huber_loss_backward.out", _threshold_loss_backward("huber_loss"))
    for full, op, order in _GRADIENTS:
        enter(full, _gradient(op, order))
    enter("native_dropout_backward", _dropout_backward)
    enter("log_sigmoid_forward", _log_sigmoid)
    enter("log_sigmoid_backward", _log_sigmoid_backward)
    enter("log_sigmoid_backward.grad_input", _log_sigmoid_backward)


def _pair_size(*tensors: torch.Tensor) -> torch.Size:
    if any(t.device.type != "spyre" or not t.is_floating_point() for t in tensors):
        raise Unsupported("operands that are no floats of the card")
    if any(t.dtype == torch.float64 for t in tensors):
        raise Unsupported("float64 elements")
    return broadcast(tensors)


def _loss(op: str) -> Callable[..., torch.Tensor]:
    def kernel(
        x: torch.Tensor,
        y: torch.Tensor,
        reduction: int = _MEAN,
        parameter: float | None = None,
        *,
        beta: float | None = None,
        delta: float | None = None,
        out: torch.Tensor | None = None,
    ) -> torch.Tensor:
        size = _pair_size(x, y)
        given = next((v for v in (parameter, beta, delta) if v is not None), None)
        numbers = [] if op == "mse_loss" else [1.0 if given is None else float(given)]
        if numbers == [0.0]:
            raise Unsupported("a threshold of zero")
        dtype = result_type([x, y], Promotion.DEFAULT)
        shape = size if reduction not in (_MEAN, _SUM) else torch.Size(())
        if out is not None and out.shape != shape and not out.numel():
            raise Unsupported("a result whose size is not known yet")
        wide = dtype if reduction not in (_MEAN, _SUM) else torch.float32
        each = fresh(size, wide, [x, y])
        if each.numel():
            run(op, [x, y, *numbers], [each])
        elif reduction == _MEAN:
            raise Unsupported("the mean of nothing")
        if reduction == _MEAN:
            each = each.mean().to(dtype)
        elif reduction == _SUM:
            each = each.sum().to(dtype)
        return each if out is None else prepared(out, shape, dtype, op).copy_(each)

    return kernel


def _norm(reduction: int, size: torch.Size) -> float:
    return 1.0 / max(size.numel(), 1) if reduction == _MEAN else 1.0


def _mse_backward(
    grad: torch.Tensor,
    x: torch.Tensor,
    y: torch.Tensor,
    reduction: int,
    *,
    grad_input: torch.Tensor | None = None,
) -> torch.Tensor:
    size = _pair_size(grad, x, y)
    result = _target(grad_input, size, x)
    if result.numel():
        run("mse_loss_backward", [grad, x, y, 2.0 * _norm(reduction, size)], [result])
    return result


def _target(out: torch.Tensor | None, size: torch.Size, like: torch.Tensor) -> torch.Tensor:
    if out is None:
        return fresh(size, like.dtype, [like])
    return prepared(out, size, like.dtype, "a gradient")


def _threshold_loss_backward(op: str) -> Callable[..., torch.Tensor]:
    def kernel(
        grad: torch.Tensor,
        x: torch.Tensor,
        y: torch.Tensor,
        reduction: int,
        parameter: float,
        *,
        grad_input: torch.Tensor | None = None,
        out: torch.Tensor | None = None,
    ) -> torch.Tensor:
        size = _pair_size(grad, x, y)
        if parameter == 0:
            raise Unsupported("a threshold of zero")
        result = _target(grad_input if grad_input is not None else out, size, x)
        numbers = [_norm(reduction, size), float(parameter)]
        if result.numel():
            run(f"{op}_backward", [grad, x, y, *numbers], [result])
        return result

    return kernel


# ATen mixes numbers and tensors in some of these: ``order`` picks the arguments in opspec's order.
_GRADIENTS: tuple[tuple[str, str, tuple[int, ...]], ...] = (
    ("threshold_backward", "threshold_backward", (0, 1, 2)),
    ("threshold_backward.grad_input", "threshold_backward", (0, 1, 2)),
    ("hardtanh_backward", "hardtanh_backward", (0, 1, 2, 3)),
    ("hardtanh_backward.grad_input", "hardtanh_backward", (0, 1, 2, 3)),
    ("hardshrink_backward", "hardshrink_backward", (0, 1, 2)),
    ("hardshrink_backward.grad_input", "hardshrink_backward", (0, 1, 2)),
    ("softshrink_backward", "softshrink_backward", (0, 1, 2)),
    ("softshrink_backward.grad_input", "softshrink_backward", (0, 1, 2)),
    ("softplus_backward", "softplus_backward", (0, 1, 2, 3)),
    ("softplus_backward.grad_input", "softplus_backward", (0, 1, 2, 3)),
)


def _gradient(op: str, order: tuple[int, ...]) -> Callable[..., torch.Tensor]:
    def kernel(*args: Any, grad_input: torch.Tensor | None = None) -> torch.Tensor:
        chosen = [args[position] for position in order]
        tensors = [v for v in chosen if isinstance(v, torch.Tensor)]
        size = _pair_size(*tensors)
        result = _target(grad_input, size, tensors[0])
        operands = [v if isinstance(v, torch.Tensor) else float(v) for v in chosen]
        if result.numel():
            run(op, operands, [result])
        return result

    return kernel


def _dropout_backward(grad: torch.Tensor, mask: torch.Tensor, scale: float) -> torch.Tensor:
    if grad.shape != mask.shape or not grad.is_floating_point() or grad.dtype == torch.float64:
        raise Unsupported("operands that do not fit")
    result = fresh(grad.shape, grad.dtype, [grad])
    if result.numel():
        run("native_dropout_backward", [grad, mask, float(scale)], [result])
    return result


def _log_sigmoid(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    size = _pair_size(x)
    result = fresh(size, x.dtype, [x])
    if result.numel():
        run("log_sigmoid", [x], [result])
    return result, allocate((0,), None, x.dtype)


def _log_sigmoid_backward(
    grad: torch.Tensor,
    x: torch.Tensor,
    buffer: torch.Tensor,
    *,
    grad_input: torch.Tensor | None = None,
) -> torch.Tensor:
    size = _pair_size(grad, x)
    result = _target(grad_input, size, x)
    if result.numel():
        run("log_sigmoid_backward", [grad, x], [result])
    return result
