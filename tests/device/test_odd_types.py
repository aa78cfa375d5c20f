"""Types that torch refuses, and sizes that do not exist: its own errors, nothing of ours."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch.nn import functional


@pytest.mark.parametrize(
    ("compute", "dtype"),
    [
        (lambda x: x - x, torch.bool),
        (lambda x: -x, torch.bool),
        (lambda x: x & x, torch.float32),
        (functional.silu, torch.int32),
        (functional.leaky_relu, torch.int64),
        (lambda x: torch.addcdiv(x, x, x), torch.int32),
        (lambda x: torch.lerp(x, x.to(torch.int16), 0.3), torch.float32),
        (lambda x: x.softmax(0), torch.int32),
    ],
)
def test_what_the_host_refuses(
    compute: Callable[[torch.Tensor], torch.Tensor], dtype: torch.dtype
) -> None:
    x = torch.ones(70).to(dtype)
    with pytest.raises(RuntimeError) as expected:
        compute(x)
    with pytest.raises(RuntimeError) as found:
        compute(x.to("spyre"))
    assert str(found.value) == str(expected.value)


@pytest.mark.parametrize("compute", [functional.hardtanh, torch.nan_to_num])
def test_whole_numbers_stay_whole(compute: Callable[[torch.Tensor], torch.Tensor]) -> None:
    x = torch.arange(-3, 4, dtype=torch.int16)
    found = compute(x.to("spyre"))
    assert found.dtype == torch.int16 and torch.equal(found.cpu(), compute(x))


def test_sizes_and_strides_below_zero() -> None:
    with pytest.raises(RuntimeError, match="negative dimension -1"):
        torch.empty(-1, device="spyre")
    with pytest.raises(RuntimeError, match="Negative strides"):
        torch.empty_strided((3,), (-1,), device="spyre")


@pytest.mark.parametrize("dtype", [torch.float16, torch.int32, torch.bool])
def test_deterministic_mode_fills_fresh_memory(dtype: torch.dtype) -> None:
    torch.use_deterministic_algorithms(True)
    try:
        found = torch.empty(3, 70, dtype=dtype, device="spyre")
        expected = torch.empty(3, 70, dtype=dtype)
    finally:
        torch.use_deterministic_algorithms(False)
    assert torch.equal(found.cpu().nan_to_num(7), expected.nan_to_num(7))
