"""Softmax and log-softmax, forward and backward, against torch."""

from __future__ import annotations

import pytest
import torch

from tests.opspec.row_cases import FLOATS, SHAPES, check, random

A = torch.ops.aten


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_softmax_along_every_axis(shape: tuple[int, ...], dtype: torch.dtype) -> None:
    x, grad = random(shape, dtype), random((*shape, 1), dtype)[..., 0].contiguous()
    for dim in range(len(shape)):
        options = {"dim": dim, "dtype": dtype}
        soft, logs = torch.softmax(x.float(), dim), torch.log_softmax(x.float(), dim)
        check("softmax", [x], [soft], **options)
        check("log_softmax", [x], [logs], **options)
        soft, logs = soft.to(dtype), logs.to(dtype)
        wanted = A._softmax_backward_data(grad.float(), soft.float(), dim, torch.float32)
        check("softmax_backward", [grad, soft], [wanted], **options)
        wanted = A._log_softmax_backward_data(grad.float(), logs.float(), dim, torch.float32)
        check("log_softmax_backward", [grad, logs], [wanted], scale=2, **options)


@pytest.mark.parametrize("dim", [0, 1])
def test_softmax_trusts_no_padding(dim: int) -> None:
    x = random((70, 130), torch.float16)
    wanted = torch.softmax(x.float(), dim)
    check("softmax", [x], [wanted], dtype=x.dtype, dim=dim, sanitize="padding")


@pytest.mark.parametrize("shape", [(1, 300_001), (40, 3), (2, 700_000)], ids=str)
def test_rows_that_cores_share_are_read_once(shape: tuple[int, ...]) -> None:
    x = random(shape, torch.float16)
    counters = check("softmax", [x], [torch.softmax(x.float(), -1)], dtype=x.dtype)
    assert int(counters.ddr_read.sum()) <= 1.1 * x.numel() * 2


@pytest.mark.parametrize(("shape", "dim"), [((1, 3_400_000), 1), ((3_000, 1_400), 0)])
def test_rows_longer_than_the_scratchpad_are_read_twice(shape: tuple[int, ...], dim: int) -> None:
    x = random(shape, torch.float16)
    x.narrow(dim, 0, shape[dim] // 2).fill_(float("-inf"))
    for op, function in (("softmax", torch.softmax), ("log_softmax", torch.log_softmax)):
        counters = check(op, [x], [function(x.float(), dim)], dim=dim, dtype=x.dtype)
        assert int(counters.ddr_read.sum()) <= 2 * x.numel() * 2
    x.view(-1)[7] = float("inf")
    check("softmax", [x], [torch.softmax(x.float(), dim)], dim=dim, dtype=x.dtype)


def test_half_to_float_and_special_values() -> None:
    x = random((6, 100), torch.float16, special=True)
    check("softmax", [x], [torch.softmax(x, -1, dtype=torch.float32)])
    masked = torch.full((3, 70), float("-inf"))
    masked[1, 5] = 0
    check("softmax", [masked], [torch.softmax(masked, -1)])
    check("log_softmax", [masked], [torch.log_softmax(masked, -1)])
