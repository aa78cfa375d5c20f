"""Small linear algebra on the card, composed of products and reductions."""

from __future__ import annotations

from typing import Any

import torch

from spyrelab.device.eager.kernel import enter
from spyrelab.device.eager.results import broadcast, prepared
from spyrelab.opspec import Unsupported

__all__ = ["register"]

Optional = torch.Tensor | None


def register() -> None:
    """Enter all of them."""
    for which in ("", ".out"):
        enter(f"linalg_cross{which}", _cross)
        enter(f"renorm{which}", _renorm)
    enter("renorm_", _renorm_in_place)
    enter("trace", _trace)
    enter("_cdist_forward", _distances)
    enter("_pdist_forward", _own_distances)


def _floats(*tensors: torch.Tensor) -> None:
    for tensor in tensors:
        if not tensor.is_floating_point() or tensor.dtype == torch.float64:
            raise Unsupported(f"{tensor.dtype} elements")
        if tensor.device.type != "spyre":
            raise Unsupported("operands on two devices: the fallback says so")


def _into(out: Optional, result: torch.Tensor) -> torch.Tensor:
    if out is None:
        return result
    return prepared(out, result.shape, result.dtype, "out").copy_(result)


def _cross(
    x: torch.Tensor, y: torch.Tensor, *, dim: int = -1, out: Optional = None
) -> torch.Tensor:
    _floats(x, y)
    rank = max(x.dim(), y.dim())
    if x.dim() != y.dim() or not -rank <= dim < rank or x.dtype != y.dtype:
        raise Unsupported("vectors that do not fit: torch says why")
    if x.shape[dim] != 3 or y.shape[dim] != 3:
        raise Unsupported("vectors that are not of three elements: torch says so")
    size = broadcast([x, y])
    a, b = (v.expand(size).to(torch.float32) for v in (x, y))
    turned = [(v.roll(-1, dim), v.roll(1, dim)) for v in (a, b)]
    (a1, a2), (b1, b2) = turned
    return _into(out, (a1 * b2 - a2 * b1).to(x.dtype))


def _renorm(
    x: torch.Tensor, p: Any, dim: int, largest: Any, *, out: Optional = None
) -> torch.Tensor:
    _floats(x)
    if x.dim() < 2 or not -x.dim() <= dim < x.dim() or p <= 0 or largest < 0:
        raise Unsupported("a norm that torch refuses")
    others = [d for d in range(x.dim()) if d != dim % x.dim()]
    norms = torch.linalg.vector_norm(x, p, others, keepdim=True, dtype=torch.float32)
    factors = (largest / (norms + 1e-7)).where(norms > largest, 1.0)
    return _into(out, x * factors.to(x.dtype))


def _renorm_in_place(x: torch.Tensor, p: Any, dim: int, largest: Any) -> torch.Tensor:
    return x.copy_(_renorm(x, p, dim, largest))


def _trace(x: torch.Tensor) -> torch.Tensor:
    if x.dim() != 2:
        raise Unsupported("the trace of what is no matrix: torch says so")
    return x.diagonal().sum()


def _distances(x: torch.Tensor, y: torch.Tensor, p: float, mode: int | None) -> torch.Tensor:
    """Norms of all differences; a product would lose what is small beside the operands."""
    _floats(x, y)
    if x.shape[-1] != y.shape[-1] or x.dtype != y.dtype or min(x.dim(), y.dim()) < 2:
        raise Unsupported("points that do not fit: torch says why")
    if x.shape[-1] == 0:
        size = broadcast([x[..., :1, :1], y[..., :1, :1]])[:-2]
        size = torch.Size((*size, x.shape[-2], y.shape[-2]))
        return torch.zeros(size, dtype=x.dtype, device=x.device)
    differences = x.to(torch.float32).unsqueeze(-2) - y.to(torch.float32).unsqueeze(-3)
    result: torch.Tensor = torch.linalg.vector_norm(differences, p, -1).to(x.dtype)
    return result


def _own_distances(x: torch.Tensor, p: float = 2.0) -> torch.Tensor:
    _floats(x)
    if x.dim() != 2:
        raise Unsupported("points that are no matrix: torch says so")
    if x.shape[0] < 2 or x.shape[1] == 0:
        pairs = x.shape[0] * max(x.shape[0] - 1, 0) // 2
        return torch.zeros(pairs, dtype=x.dtype, device=x.device)
    square = _distances(x, x, p, None)
    count = x.shape[0]
    first, second = torch.triu_indices(count, count, 1, device="cpu")
    places = (first * count + second).to(x.device)
    return square.reshape(-1).index_select(0, places)
