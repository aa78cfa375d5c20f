"""Histograms, writes by mask and the order of long whole numbers, computed on the card."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch


@pytest.fixture(autouse=True)
def on_the_card_alone() -> Iterator[None]:
    with torch.spyre.fallback("error"):
        yield


def check(function: Callable[..., Any], *given: torch.Tensor) -> None:
    """The same bits on both devices."""
    wanted = function(*(tensor.clone() for tensor in given))
    found = function(*(tensor.to("spyre") for tensor in given))
    pairs = zip(wanted, found, strict=True) if isinstance(wanted, tuple) else [(wanted, found)]
    for theirs, mine in pairs:
        torch.testing.assert_close(mine.cpu(), theirs, rtol=0, atol=0)


EDGES = torch.tensor([-(2**63), 2**63 - 1, 0, -1, 2**32, 2**31, -(2**31) - 1, 0])


@pytest.mark.parametrize("descending", [False, True])
@pytest.mark.parametrize(("size", "dim"), [((33,), 0), ((5, 33), 1), ((9, 4, 3), 0)])
def test_long_numbers_sort_over_their_whole_range(
    size: tuple[int, ...], dim: int, descending: bool
) -> None:
    generator = torch.Generator().manual_seed(0)
    whole = torch.randint(-(2**62), 2**62, size, generator=generator)
    few = torch.randint(-2, 3, size, generator=generator)
    for x in (whole, few, EDGES[:, None, None] if len(size) == 3 else EDGES):
        along = min(dim, x.dim() - 1)
        check(lambda x, d=along: x.sort(dim=d, descending=descending, stable=True), x)


def test_the_greatest_long_numbers() -> None:
    check(lambda x: x.topk(3).values, EDGES)
    check(lambda x: x.topk(2, largest=False).values, EDGES)


MASKS = [
    torch.arange(280).view(4, 70) % 3 == 0,
    torch.zeros(4, 70, dtype=torch.bool),
    torch.ones(3, 2, 5, dtype=torch.bool),
    torch.tensor(True),
    torch.zeros(0, 3, dtype=torch.bool),
]


@pytest.mark.parametrize("mask", MASKS, ids=lambda mask: f"{list(mask.shape)}")
def test_elements_scattered_where_a_mask_holds(mask: torch.Tensor) -> None:
    x = torch.arange(mask.numel(), dtype=torch.float32).view(mask.shape) - 5
    check(torch.masked_scatter, x, mask, x * 2 + 1)
    if mask.dim():
        check(torch.masked_scatter, x[:1], mask, x * 2 + 1)


def test_one_number_put_where_a_mask_holds() -> None:
    def put(x: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        x[mask] = 7.0
        return x

    def put_inside(x: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        x[:, mask] = x[0, 0, 1]
        return x

    x = torch.arange(120.0).view(4, 5, 6)
    check(put, x, x % 7 == 0)
    check(put, x, torch.arange(4) > 2)
    check(put_inside, x, torch.arange(5) > 2)


def test_a_mask_of_another_size_is_refused_as_torch_does() -> None:
    x, mask = torch.zeros(4, 3, device="spyre"), torch.ones(3, dtype=torch.bool, device="spyre")
    with torch.spyre.fallback("count"), pytest.raises(IndexError, match="mask"):
        x[mask] = 1.0


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16], ids=str)
@pytest.mark.parametrize("bounds", [(8, -1, 1), (7, 0.3, 2.7), (100, 0, 0), (5, -1, -1)], ids=str)
def test_histograms(dtype: torch.dtype, bounds: tuple[int, float, float]) -> None:
    x = torch.randn(4, 40, generator=torch.Generator().manual_seed(0)).to(dtype)
    check(lambda x: torch.histc(x, *bounds), x)
    check(lambda x: torch.histc(x, *bounds), torch.zeros(0, dtype=dtype))
    check(lambda x: torch.histc(x, *bounds), torch.full((3,), 2.0, dtype=dtype))


def test_not_a_number_is_in_no_bin() -> None:
    check(lambda x: torch.histc(x, 4, -1, 1), torch.tensor([0.5, float("nan"), -1.0, 1.0, 1.1]))


def test_counts_of_numbers() -> None:
    x = torch.tensor([1, 5, 5, 0, 2, 5])
    check(torch.bincount, x)
    check(lambda x: torch.bincount(x, minlength=9), x)
