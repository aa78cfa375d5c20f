"""`tl.dot_scaled`: operands in 4 and 8 bits with a scale for each 32 of them."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch
import triton
import triton.language as tl

from tests.triton.translated import launch

M, N, K = 16, 32, 64
E2M1 = torch.tensor([0, 0.5, 1, 1.5, 2, 3, 4, 6, -0.0, -0.5, -1, -1.5, -2, -3, -4, -6])
TYPES = {
    "e4m3": torch.float8_e4m3fn,
    "e5m2": torch.float8_e5m2,
    "bf16": torch.bfloat16,
    "fp16": torch.float16,
}


@triton.jit
def scaled(
    a, a_scale, c, c_scale, out,
    LEFT: tl.constexpr, RIGHT: tl.constexpr, SCALES: tl.constexpr, ALONG_K: tl.constexpr,
    M: tl.constexpr, N: tl.constexpr, K: tl.constexpr,
):  # fmt: skip
    m, n, groups = tl.arange(0, M), tl.arange(0, N), tl.arange(0, K // 32)
    K_LEFT: tl.constexpr = K // 2 if LEFT == "e2m1" else K
    x = tl.load(a + m[:, None] * K_LEFT + tl.arange(0, K_LEFT)[None, :])
    ROWS: tl.constexpr = K // 2 if RIGHT == "e2m1" and ALONG_K else K
    COLUMNS: tl.constexpr = N // 2 if RIGHT == "e2m1" and not ALONG_K else N
    y = tl.load(c + tl.arange(0, ROWS)[:, None] * COLUMNS + tl.arange(0, COLUMNS)[None, :])
    x_scale = tl.load(a_scale + m[:, None] * (K // 32) + groups[None, :])
    y_scale = tl.load(c_scale + n[:, None] * (K // 32) + groups[None, :])
    if SCALES == "both":
        found = tl.dot_scaled(x, x_scale, LEFT, y, y_scale, RIGHT, rhs_k_pack=ALONG_K)
    else:
        found = tl.dot_scaled(x, None, LEFT, y, y_scale, RIGHT, rhs_k_pack=ALONG_K)
    tl.store(out + m[:, None] * N + n[None, :], found)


def operand(kind: str, shape: tuple[int, int], axis: int) -> tuple[torch.Tensor, torch.Tensor]:
    """What the kernel reads, and the numbers that it stands for; packed along an axis."""
    if kind != "e2m1":
        values = torch.randn(shape, generator=torch.Generator().manual_seed(axis)).to(TYPES[kind])
        return values, values.float()
    codes = torch.randint(0, 16, shape, generator=torch.Generator().manual_seed(axis))
    low, high = codes.unflatten(axis, (-1, 2)).unbind(axis + 1)
    return (low | high << 4).to(torch.uint8), E2M1[codes]


def powers(scale: torch.Tensor) -> torch.Tensor:
    """``[rows, K]`` factors of e8m0 bytes."""
    wide = torch.exp2(scale.double() - 127).repeat_interleave(32, 1)
    return torch.where(scale.repeat_interleave(32, 1) == 255, math.nan, wide)


FORMATS = [
    ("e4m3", "e4m3", True, "both"),
    ("e5m2", "e2m1", True, "both"),
    ("e2m1", "e2m1", False, "both"),
    ("bf16", "e2m1", True, "right"),
    ("fp16", "e5m2", True, "right"),
]


@pytest.mark.parametrize(("left", "right", "along", "scales"), FORMATS)
def test_scales_are_applied_before_the_product(
    left: str, right: str, along: bool, scales: str
) -> None:
    a, a_values = operand(left, (M, K), 1)
    c, c_values = operand(right, (K, N), 0 if along else 1)
    rng = torch.Generator().manual_seed(3)
    a_scale = torch.randint(120, 132, (M, K // 32), generator=rng, dtype=torch.uint8)
    c_scale = torch.randint(120, 132, (N, K // 32), generator=rng, dtype=torch.uint8)
    args: dict[str, Any] = {"a": a, "a_scale": a_scale, "c": c, "c_scale": c_scale}
    args["out"] = torch.zeros(M, N)
    chosen = {"LEFT": left, "RIGHT": right, "SCALES": scales, "ALONG_K": along}
    got = launch(scaled, (1,), args, M=M, N=N, K=K, **chosen)["out"]
    factor = powers(a_scale) if scales == "both" else 1.0
    x, y = a_values.double() * factor, c_values.double() * powers(c_scale).T
    # Factors are exact in 16 bits; sums are taken in f32.
    torch.testing.assert_close(got, (x @ y).float(), rtol=1e-5, atol=1e-3)


def test_ends_of_the_range_of_scales() -> None:
    a, c = torch.ones(M, K).to(TYPES["e4m3"]), torch.ones(K, N).to(TYPES["e4m3"])
    a_scale = torch.full((M, K // 32), 127, dtype=torch.uint8)
    c_scale = a_scale.new_full((N, K // 32), 127)
    a_scale[0, 0], a_scale[1] = 255, 0
    args = {"a": a, "a_scale": a_scale, "c": c, "c_scale": c_scale, "out": torch.zeros(M, N)}
    chosen = {"LEFT": "e4m3", "RIGHT": "e4m3", "SCALES": "both", "ALONG_K": True}
    got = launch(scaled, (1,), args, M=M, N=N, K=K, **chosen)["out"]
    assert got[0].isnan().all()
    assert (got[1] <= K * 2.0**-126).all()
    assert (got[2:] == K).all()
