"""Losses of classes and gates on the card, composed of other operations."""

from __future__ import annotations

from typing import Any

import torch

from spyrelab.device.eager.kernel import enter
from spyrelab.device.eager.recording import promise
from spyrelab.device.eager.results import prepared
from spyrelab.device.transfer import to_host
from spyrelab.opspec import Unsupported

__all__ = ["register"]

_MEAN, _SUM = 1, 2
Optional = torch.Tensor | None


def register() -> None:
    """Enter all of them, forward and backward."""
    for name in ("nll_loss", "nll_loss2d"):
        for which in ("", ".output"):
            enter(f"{name}_forward{which}", _nll)
        for which in ("", ".grad_input"):
            enter(f"{name}_backward{which}", _nll_backward)
    for which in ("", ".out"):
        enter(f"binary_cross_entropy{which}", _cross_entropy)
        enter(f"glu{which}", _glu)
    for which in ("", ".grad_input"):
        enter(f"binary_cross_entropy_backward{which}", _cross_entropy_backward)
        enter(f"glu_backward{which}", _glu_backward)


def _floats(*tensors: Optional) -> None:
    for tensor in tensors:
        if tensor is None:
            continue
        if not tensor.is_floating_point() or tensor.dtype == torch.float64:
            raise Unsupported(f"{tensor.dtype} elements")
        if tensor.device.type != "spyre" or tensor.numel() == 0:
            raise Unsupported("a loss of nothing")


def _classes(x: torch.Tensor, target: torch.Tensor, weight: Optional, ignored: int) -> int:
    """The dimension of classes."""
    _floats(x, weight)
    along = 0 if x.dim() == 1 else 1
    fits = x.dim() and target.dtype == torch.int64 and target.device.type == "spyre"
    if not fits or target.shape != (*x.shape[:along], *x.shape[along + 1 :]):
        raise Unsupported("a target that does not fit: torch says why")
    if weight is not None and weight.shape != (x.shape[along],):
        raise Unsupported("weights that do not fit: torch says why")
    if promise(target, 0, x.shape[along], ignored):
        return along
    host = to_host(target, shared=True)
    if bool(((host != ignored) & ((host < 0) | (host >= x.shape[along]))).any()):
        raise Unsupported("a class that does not exist: torch says which")
    return along


def _shares(
    x: torch.Tensor, target: torch.Tensor, weight: Optional, along: int, ignored: int
) -> tuple[torch.Tensor, torch.Tensor]:
    """The classes that are looked up, and what each element of the batch weighs, in float32."""
    counts = target != ignored
    classes = target.where(counts, 0)
    if weight is None:
        return classes, counts.to(torch.float32)
    weights = weight.to(torch.float32)
    taken = weights.index_select(0, classes.reshape(-1)).reshape(classes.shape)
    return classes, taken.masked_fill(~counts, 0.0)


def _nll(
    x: torch.Tensor,
    target: torch.Tensor,
    weight: Optional,
    reduction: int,
    ignored: int,
    *,
    output: Optional = None,
    total_weight: Optional = None,
) -> tuple[torch.Tensor, torch.Tensor]:
    along = _classes(x, target, weight, ignored)
    classes, shares = _shares(x, target, weight, along, ignored)
    taken = x.gather(along, classes.unsqueeze(along)).squeeze(along).to(torch.float32)
    each = (-taken * shares).masked_fill(target == ignored, 0.0)
    total = shares.sum()
    if reduction == _MEAN:
        each = each.sum() / total
    elif reduction == _SUM:
        each = each.sum()
    if reduction not in (_MEAN, _SUM):
        total = torch.zeros((), dtype=torch.float32, device=x.device)
    results = each.to(x.dtype), total.to(x.dtype)
    if output is None or total_weight is None:
        return results
    for out, result in zip((output, total_weight), results, strict=True):
        prepared(out, result.shape, x.dtype, "nll_loss").copy_(result)
    return output, total_weight


def _nll_backward(
    grad: torch.Tensor,
    x: torch.Tensor,
    target: torch.Tensor,
    weight: Optional,
    reduction: int,
    ignored: int,
    total_weight: torch.Tensor,
    *,
    grad_input: Optional = None,
) -> torch.Tensor:
    along = _classes(x, target, weight, ignored)
    classes, shares = _shares(x, target, weight, along, ignored)
    slope = -shares * grad.to(torch.float32)
    if reduction == _MEAN:
        slope = slope / total_weight.to(torch.float32)
    slope = slope.masked_fill(target == ignored, 0.0).to(x.dtype)
    result = torch.zeros(x.shape, dtype=x.dtype, device=x.device)
    result.scatter_(along, classes.unsqueeze(along), slope.unsqueeze(along))
    if grad_input is None:
        return result
    return prepared(grad_input, x.shape, x.dtype, "nll_loss").copy_(result)


def _reduced(each: torch.Tensor, reduction: int) -> torch.Tensor:
    if reduction == _MEAN:
        return each.mean()
    return each.sum() if reduction == _SUM else each


def _cross_entropy(
    x: torch.Tensor,
    target: torch.Tensor,
    weight: Optional = None,
    reduction: int = _MEAN,
    *,
    out: Optional = None,
) -> torch.Tensor:
    _floats(x, target, weight)
    if bool(((x < 0) | (x > 1)).any()):
        raise Unsupported("probabilities outside 0 and 1: torch says so")
    wide, wanted = x.to(torch.float32), target.to(torch.float32)
    miss = (-wide).log1p().clamp_min(-100.0)
    each = (wanted - 1.0) * miss - wanted * wide.log().clamp_min(-100.0)
    if weight is not None:
        each = each * weight.to(torch.float32)
    result = _reduced(each, reduction).to(x.dtype)
    return result if out is None else prepared(out, result.shape, x.dtype, "loss").copy_(result)


def _cross_entropy_backward(
    grad: torch.Tensor,
    x: torch.Tensor,
    target: torch.Tensor,
    weight: Optional = None,
    reduction: int = _MEAN,
    *,
    grad_input: Optional = None,
) -> torch.Tensor:
    _floats(grad, x, target, weight)
    wide = x.to(torch.float32)
    slope = (wide - target) / (wide * (1.0 - wide)).clamp_min(1e-12) * grad
    if weight is not None:
        slope = slope * weight
    if reduction == _MEAN:
        slope = slope / x.numel()
    result = slope.to(x.dtype)
    if grad_input is None:
        return result
    return prepared(grad_input, x.shape, x.dtype, "loss").copy_(result)


def _halves(x: torch.Tensor, dim: int) -> tuple[torch.Tensor, ...]:
    if not x.dim() or not -x.dim() <= dim < x.dim() or x.shape[dim] % 2:
        raise Unsupported("a dimension that has no halves: torch says so")
    return x.to(torch.float32).chunk(2, dim)


def _glu(x: torch.Tensor, dim: int = -1, *, out: Optional = None) -> torch.Tensor:
    if x.numel():
        _floats(x)
    value, gate = _halves(x, dim)
    result = (value * gate.sigmoid()).to(x.dtype)
    return result if out is None else prepared(out, result.shape, x.dtype, "glu").copy_(result)


def _glu_backward(
    grad: torch.Tensor, x: torch.Tensor, dim: int, *, grad_input: Optional = None
) -> Any:
    _floats(grad, x)
    value, gate = _halves(x, dim)
    open_ = gate.sigmoid()
    first = open_ * grad
    second = first * (1.0 - open_) * value
    result = torch.cat([first, second], dim).to(x.dtype)
    if grad_input is None:
        return result
    return prepared(grad_input, x.shape, x.dtype, "glu").copy_(result)
