"""Orthogonal polynomials on the card: the recurrence, step by step, up to the highest degree."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from spyrelab.device.eager.kernel import enter, is_ours
from spyrelab.device.eager.results import broadcast, prepared
from spyrelab.device.transfer import to_host
from spyrelab.opspec import Unsupported

__all__ = ["register"]

_HIGHEST = 64
"""Degrees beyond this are left to the host."""

First = Callable[[torch.Tensor], torch.Tensor]
Step = Callable[[torch.Tensor, int, torch.Tensor, torch.Tensor], torch.Tensor]


def _chebyshev(x: torch.Tensor, k: int, last: torch.Tensor, before: torch.Tensor) -> torch.Tensor:
    return (x + x) * last - before


_FAMILIES: dict[str, tuple[First, Step]] = {
    "chebyshev_polynomial_t": (lambda x: x, _chebyshev),
    "chebyshev_polynomial_u": (lambda x: x + x, _chebyshev),
    "chebyshev_polynomial_v": (lambda x: x + x - 1.0, _chebyshev),
    "chebyshev_polynomial_w": (lambda x: x + x + 1.0, _chebyshev),
    "hermite_polynomial_h": (
        lambda x: x + x,
        lambda x, k, last, before: (x + x) * last - before * (2.0 * k),
    ),
    "hermite_polynomial_he": (
        lambda x: x * 1.0,
        lambda x, k, last, before: x * last - before * float(k),
    ),
    "laguerre_polynomial_l": (
        lambda x: 1.0 - x,
        lambda x, k, last, before: ((2.0 * k + 1.0 - x) * last - before * float(k)) / (k + 1.0),
    ),
    "legendre_polynomial_p": (
        lambda x: x * 1.0,
        lambda x, k, last, before: ((2.0 * k + 1.0) * x * last - before * float(k)) / (k + 1.0),
    ),
}
"""The polynomial of degree one, and the one of degree k + 1 from those of k and k - 1."""


def register() -> None:
    """Enter all of them."""
    for name, (first, step) in _FAMILIES.items():
        for which in ("", ".out", ".x_scalar", ".n_scalar", ".x_scalar_out", ".n_scalar_out"):
            enter(f"special_{name}{which}", _polynomial(first, step, shifted=False))
            if name.startswith("chebyshev"):
                enter(f"special_shifted_{name}{which}", _polynomial(first, step, shifted=True))


def _polynomial(first: First, step: Step, shifted: bool) -> Any:
    def kernel(x: Any, n: Any, *, out: torch.Tensor | None = None) -> torch.Tensor:
        place, degree = _operands(x, n)
        wide = place.to(torch.float32)
        wide = wide + wide - 1.0 if shifted else wide
        last, before = first(wide), torch.ones_like(wide)
        result = before.where(degree == 0, 0.0)
        for k in range(1, _highest(degree) + 1):
            result = last.where(degree == k, result)
            last, before = step(wide, k, last, before), last
        result = result.to(place.dtype)
        if out is None:
            return result
        return prepared(out, result.shape, place.dtype, "out").copy_(result)

    return kernel


def _operands(x: Any, n: Any) -> tuple[torch.Tensor, torch.Tensor]:
    """Places and whole degrees, of one size."""
    tensors = [t for t in (x, n) if isinstance(t, torch.Tensor)]
    if not all(is_ours(t) and t.dtype == torch.float32 for t in tensors):
        raise Unsupported("operands that are no float32 of the card")
    if not isinstance(x, torch.Tensor):
        x = torch.full(n.shape, float(x), dtype=torch.float32, device=n.device)
    if not isinstance(n, torch.Tensor):
        n = torch.full(x.shape, float(n), dtype=torch.float32, device=x.device)
    size = broadcast([x, n])
    return x.expand(size), n.expand(size).trunc()


def _highest(degree: torch.Tensor) -> int:
    if degree.numel() == 0:
        return 0
    top = float(to_host(degree).max())
    if not top <= _HIGHEST:
        raise Unsupported("a polynomial of that degree")
    return int(top)
