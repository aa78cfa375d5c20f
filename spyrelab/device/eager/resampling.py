"""Interpolation and adaptive means on the card: a product with a small matrix per dimension.

Such an operation does the same along each spatial dimension, and its weights do not depend on
the data: torch itself, asked on the host for what it makes of unit vectors, gives the matrices.
Nearest neighbours are gathers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache

import torch

from spyrelab.device.eager.kernel import enter, overload
from spyrelab.device.eager.results import prepared
from spyrelab.device.fallback import to_device
from spyrelab.opspec import Unsupported

__all__ = ["register", "resampled"]

_WEIGHTED = (
    ("upsample_linear1d", 1, "upsample_linear1d"),
    ("upsample_bilinear2d", 2, "upsample_linear1d"),
    ("upsample_trilinear3d", 3, "upsample_linear1d"),
    ("upsample_bicubic2d", 2, "upsample_bicubic2d"),
    ("_upsample_bilinear2d_aa", 2, "_upsample_bilinear2d_aa"),
    ("_upsample_bicubic2d_aa", 2, "_upsample_bicubic2d_aa"),
)
"""Operation, spatial dimensions, and the operation that shows the weights of one dimension."""


def register() -> None:
    """Enter all of them, forward and backward."""
    for name, rank, model in _WEIGHTED:
        for which, after in (("", ""), (".out", ".grad_input")):
            enter(f"{name}{which}", _weighted(rank, model))
            enter(f"{name}_backward{after}", _weighted_backward(rank, model))
    for kind in ("upsample_nearest", "_upsample_nearest_exact"):
        for rank in (1, 2, 3):
            for which, after in (("", ""), (".out", ".grad_input")):
                enter(f"{kind}{rank}d{which}", _nearest(kind, rank))
                enter(f"{kind}{rank}d_backward{after}", _nearest_backward(kind, rank))


@lru_cache(maxsize=1 << 8)
def _weights(
    model: str, extent: int, target: int, corners: bool, scale: float | None
) -> torch.Tensor:
    """The matrix of one dimension: what becomes of each unit vector."""
    unit = torch.eye(extent, dtype=torch.float64, device="cpu").unsqueeze(0)
    if "1d" in model:
        made = overload(model)(unit, [target], corners, scale)
    else:
        made = overload(model)(unit.unsqueeze(2), [1, target], corners, None, scale).squeeze(2)
    weights: torch.Tensor = made[0].float()
    return weights


@lru_cache(maxsize=1 << 8)
def _sources(kind: str, extent: int, target: int, scale: float | None) -> torch.Tensor:
    """Where each element of a nearest-neighbour result comes from."""
    places = torch.arange(extent, dtype=torch.float64, device="cpu").reshape(1, 1, extent)
    found: torch.Tensor = overload(f"{kind}1d")(places, [target], scale)[0, 0].long()
    return found


def resampled(x: torch.Tensor, matrices: Sequence[torch.Tensor]) -> torch.Tensor:
    """The last dimensions of ``x`` multiplied by one matrix each, in float32, rounded once."""
    result = x.to(torch.float32)
    for number, matrix in enumerate(matrices):
        dim = x.dim() - len(matrices) + number
        turned = result.movedim(dim, -1)
        flat = turned.reshape(-1, turned.shape[-1]) @ to_device(matrix)
        result = flat.reshape(*turned.shape[:-1], matrix.shape[1]).movedim(-1, dim)
    return result.to(x.dtype).contiguous()


def _checked(x: torch.Tensor, size: Sequence[int], rank: int) -> None:
    if x.dim() != rank + 2 or x.numel() == 0 or len(size) != rank or min(size) < 1:
        raise Unsupported("interpolation that does not fit")
    if not x.is_floating_point() or x.dtype == torch.float64:
        raise Unsupported(f"interpolation of {x.dtype}")


def _into(out: torch.Tensor | None, result: torch.Tensor) -> torch.Tensor:
    if out is None:
        return result
    return prepared(out, result.shape, result.dtype, "interpolation").copy_(result)


def _given(scales: Sequence[float | None], rank: int) -> list[float | None]:
    return [*scales, *(None,) * (rank - len(scales))]


def _weighted(rank: int, model: str) -> Callable[..., torch.Tensor]:
    def kernel(
        x: torch.Tensor,
        size: Sequence[int],
        corners: bool,
        *scales: float | None,
        out: torch.Tensor | None = None,
    ) -> torch.Tensor:
        _checked(x, size, rank)
        extents = zip(x.shape[2:], size, _given(scales, rank), strict=True)
        matrices = [_weights(model, n, m, corners, scale) for n, m, scale in extents]
        return _into(out, resampled(x, matrices))

    return kernel


def _weighted_backward(rank: int, model: str) -> Callable[..., torch.Tensor]:
    def kernel(
        grad: torch.Tensor,
        size: Sequence[int],
        source: Sequence[int],
        corners: bool,
        *scales: float | None,
        grad_input: torch.Tensor | None = None,
    ) -> torch.Tensor:
        _checked(grad, size, rank)
        extents = zip(source[2:], size, _given(scales, rank), strict=True)
        matrices = [_weights(model, n, m, corners, scale).T for n, m, scale in extents]
        return _into(grad_input, resampled(grad, matrices))

    return kernel


def _nearest(kind: str, rank: int) -> Callable[..., torch.Tensor]:
    def kernel(
        x: torch.Tensor,
        size: Sequence[int],
        *scales: float | None,
        out: torch.Tensor | None = None,
    ) -> torch.Tensor:
        _checked(x, size, rank)
        result = x
        for number, scale in enumerate(_given(scales, rank)):
            dim = 2 + number
            sources = _sources(kind, x.shape[dim], size[number], scale)
            result = result.index_select(dim, to_device(sources))
        return _into(out, result)

    return kernel


def _nearest_backward(kind: str, rank: int) -> Callable[..., torch.Tensor]:
    def kernel(
        grad: torch.Tensor,
        size: Sequence[int],
        source: Sequence[int],
        *scales: float | None,
        grad_input: torch.Tensor | None = None,
    ) -> torch.Tensor:
        _checked(grad, size, rank)
        slope = grad.to(torch.float32)
        for number, scale in enumerate(_given(scales, rank)):
            dim = 2 + number
            places = to_device(_sources(kind, source[dim], size[number], scale))
            extents = [*slope.shape[:dim], source[dim], *slope.shape[dim + 1 :]]
            whole = torch.zeros(extents, dtype=slope.dtype, device=slope.device)
            slope = whole.index_add_(dim, places, slope)
        return _into(grad_input, slope.to(grad.dtype))

    return kernel
