"""Scans along any axis against torch."""

from __future__ import annotations

import pytest
import torch

from tests.opspec.row_cases import check, random

DTYPES = [torch.float16, torch.float32, torch.int64]
SHAPES = [(1,), (65,), (5, 127), (129, 3), (3, 2, 64), (4099,)]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_sums_and_products(shape: tuple[int, ...], dtype: torch.dtype) -> None:
    x = random(shape, dtype)
    near = 1 + x * 0.01 if dtype.is_floating_point else x
    for dim in range(len(shape)):
        wide = x.float() if dtype.is_floating_point else x
        check("cumsum", [x], [wide.cumsum(dim).to(dtype)], dim=dim, scale=8)
        wide = near.float() if dtype.is_floating_point else near
        check("cumprod", [near], [wide.cumprod(dim).to(dtype)], dim=dim, scale=8)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_extremes_with_places(shape: tuple[int, ...], dtype: torch.dtype) -> None:
    for special in (False, True):
        x = random(shape, dtype, special)
        for dim in range(len(shape)):
            check("cummax", [x], torch.cummax(x, dim), dim=dim)
            check("cummin", [x], torch.cummin(x, dim), dim=dim)


@pytest.mark.parametrize("dim", [0, 1])
def test_special_values_stay_behind_where_they_occur(dim: int) -> None:
    x = random((70, 130), torch.float32, special=True)
    check("cumsum", [x], [x.cumsum(dim)], dim=dim, scale=8, sanitize="padding")
    check("logcumsumexp", [x], [x.logcumsumexp(dim)], dim=dim, scale=4)


def test_a_long_row_keeps_its_precision() -> None:
    x = torch.rand(300_007)
    exact = x.double().cumsum(0)
    check("cumsum", [x], [exact.float()], dim=0)


@pytest.mark.parametrize("shape", [(20_011,), (3, 5000), (9_001, 2)], ids=str)
def test_rows_that_cores_share(shape: tuple[int, ...]) -> None:
    x = random(shape, torch.float32, special=True)
    for dim in range(len(shape)):
        counters = check("cumsum", [x], [x.cumsum(dim)], dim=dim, scale=20)
        check("cummax", [x], torch.cummax(x, dim), dim=dim)
        if shape[dim] > 1000:
            assert (counters.ddr_read > 0).sum() > 8
