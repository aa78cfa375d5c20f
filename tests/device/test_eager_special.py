"""Special functions on the card, against float64 on the CPU."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch

EVERYWHERE = (
    "digamma", "erfcx", "i0", "i0e", "i1", "i1e", "bessel_j0", "bessel_j1", "log_ndtr",
    "spherical_bessel_j0", "gammaln",
)  # fmt: skip
POSITIVE = (
    "bessel_y0", "bessel_y1", "modified_bessel_k0", "modified_bessel_k1",
    "scaled_modified_bessel_k0", "scaled_modified_bessel_k1", "entr",
)  # fmt: skip


def _check(compute: Callable[[torch.Tensor], torch.Tensor], x: torch.Tensor, rtol: float) -> None:
    with torch.spyre.fallback("error"):
        found = compute(x.to("spyre")).cpu()
    torch.testing.assert_close(found, compute(x.double()).float(), rtol=rtol, atol=3e-6)


@pytest.mark.parametrize("name", EVERYWHERE)
def test_functions_of_any_number(name: str) -> None:
    x = torch.linspace(-7.93, 8.11, 401)  # no value close to a pole
    _check(getattr(torch.special, name), x, 1e-5)


@pytest.mark.parametrize("name", POSITIVE)
def test_functions_of_positive_numbers(name: str) -> None:
    _check(getattr(torch.special, name), torch.linspace(0.01, 12, 401), 1e-5)


@pytest.mark.parametrize("order", range(5))
def test_polygamma(order: int) -> None:
    x = torch.cat([torch.linspace(0.05, 20, 301), torch.tensor([-0.4, -1.3, -2.6, -7.2])])
    _check(lambda t: torch.special.polygamma(order, t), x, 2e-5)


def test_inverses_of_error_functions() -> None:
    x = torch.linspace(-0.999, 0.999, 301)
    _check(torch.erfinv, x, 1e-5)
    _check(torch.special.ndtri, (x + 1) / 2, 1e-5)


def test_poles_and_limits() -> None:
    x = torch.tensor([0.0, -1.0, float("inf"), 1.0, 2.0], device="spyre")
    assert torch.lgamma(x).tolist() == [float("inf")] * 3 + [0.0, 0.0]
    assert torch.erfinv(torch.tensor([1.0, -1.0, 0.0], device="spyre")).tolist() == [
        float("inf"), -float("inf"), 0.0,
    ]  # fmt: skip
    assert torch.special.xlog1py(x[:1], torch.tensor([-1.0], device="spyre")).item() == 0
