"""Sort, topk, k-th value, median, and where extremes lie, against torch."""

from __future__ import annotations

import pytest
import torch

from spyrelab.opspec.errors import Unsupported
from tests.opspec.card import run
from tests.opspec.row_cases import FLOATS, check, choices_of_dims, random

DTYPES = [torch.float16, torch.float32, torch.int32]
SHAPES = [(1,), (3,), (65,), (5, 100), (129, 3), (3, 2, 64)]


def with_ties(shape: tuple[int, ...], dtype: torch.dtype) -> torch.Tensor:
    x = random(shape, torch.int32).to(dtype)
    if dtype.is_floating_point and x.numel() > 5:
        flat = x.view(-1)
        flat[0], flat[1], flat[3] = -0.0, float("nan"), float("nan")
        flat[2], flat[-1], flat[-2] = float("inf"), float("-inf"), 0.0
    return x


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_sort_and_topk(shape: tuple[int, ...], dtype: torch.dtype) -> None:
    x = with_ties(shape, dtype)
    for dim in range(len(shape)):
        for down in (False, True):
            wanted = torch.sort(x, dim=dim, descending=down, stable=True)
            check("sort", [x], wanted, dim=dim, descending=down)
            for k in sorted({1, min(7, shape[dim]), shape[dim]}):
                first = [w.narrow(dim, 0, k).contiguous() for w in wanted]
                check("topk", [x], first, dim=dim, largest=down, k=k)


def test_minus_zero_keeps_its_sign_and_place() -> None:
    x = torch.tensor([0.0, -0.0, 1.0, -0.0, 0.0])
    values, places = torch.zeros(5), torch.zeros(5, dtype=torch.int64)
    run("sort", [x], [values, places])
    assert places.tolist() == [0, 1, 3, 4, 2]
    assert torch.signbit(values).tolist() == [False, True, True, False, False]


def test_topk_of_rows_longer_than_the_scratchpad() -> None:
    x = random((2, 40_000), torch.float32)
    check("topk", [x], torch.topk(x, 33), k=33)
    with pytest.raises(Unsupported, match="scratchpad"):
        run("sort", [x], [x.clone(), torch.zeros(x.shape, dtype=torch.int64)])


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_ranks(shape: tuple[int, ...]) -> None:
    for x in (random(shape, torch.float32), with_ties(shape, torch.float16)):
        for dim in range(len(shape)):
            check("median", [x], torch.median(x, dim)[:1], dims=dim)
            kth = min(3, shape[dim])
            check("kthvalue", [x], torch.kthvalue(x, kth, dim)[:1], dims=dim, k=kth)
        check("median", [x], [torch.median(x)])


def test_sorting_i64_is_left_to_the_host() -> None:
    whole = random((5,), torch.int64)
    with pytest.raises(Unsupported, match="i64"):
        run("sort", [whole], [whole.clone(), whole.clone()])


@pytest.mark.parametrize("dtype", [*FLOATS, torch.int64])
@pytest.mark.parametrize("shape", [*SHAPES, (2, 3, 5, 67)], ids=str)
def test_positions(shape: tuple[int, ...], dtype: torch.dtype) -> None:
    for special in (False, True):
        x = random(shape, dtype, special)
        for dim in range(len(shape)):
            check("max_dim", [x], torch.max(x, dim), dims=dim)
            check("min_dim", [x], torch.min(x, dim), dims=dim)
            check("argmin", [x], [torch.argmin(x, dim)], dims=dim)
        check("argmax", [x], [torch.argmax(x)])
        for dims in choices_of_dims(len(shape)):
            check("aminmax", [x], [x.amin(dims), x.amax(dims)], dims=dims)


def test_argmax_of_a_long_row_uses_all_cores() -> None:
    x = random((3, 50_003), torch.float16)
    counters = check("argmax", [x], [torch.argmax(x, 1)], dims=1, sanitize="padding")
    assert (counters.ddr_read > 0).sum() == 32
