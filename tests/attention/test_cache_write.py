"""Writing new keys and values into pages, in both languages."""

from __future__ import annotations

import importlib

import pytest
import torch

from spyrelab.attention import AttentionError, reference

SIZES = [(2, 64, 16), (3, 80, 16), (8, 128, 128)]
DTYPES = pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16], ids=["fp16", "bf16"])


def check(language: str, device: str, heads: int, dim: int, page: int, dtype: torch.dtype) -> None:
    rng = torch.Generator().manual_seed(0)
    key, value = (torch.randn(37, heads, dim, generator=rng).to(dtype) for _ in range(2))
    before = torch.randn(6, page, heads, dim, generator=rng).to(dtype)
    slots = torch.randperm(6 * page, generator=rng)[:37]
    slots[[3, 36]] = -1
    want = before.clone(), before.clone()
    reference.reshape_and_cache(key, value, *want, slots)
    found = before.to(device), before.to(device)
    module = importlib.import_module(f"spyrelab.attention.{language}_kernels.cache_write")
    module.reshape_and_cache(key.to(device), value.to(device), *found, slots.to(device))
    for got, expected in zip(found, want, strict=True):
        assert torch.equal(got.cpu(), expected)


@DTYPES
@pytest.mark.parametrize(("heads", "dim", "page"), SIZES)
def test_triton_writes_the_same_bits(
    triton_device: str, heads: int, dim: int, page: int, dtype: torch.dtype
) -> None:
    check("triton", triton_device, heads, dim, page, dtype)


@DTYPES
def test_helion_writes_the_same_bits(helion_device: str, dtype: torch.dtype) -> None:
    check("helion", helion_device, *SIZES[1], dtype)


def test_caches_of_two_layouts_are_refused(triton_device: str) -> None:
    module = importlib.import_module("spyrelab.attention.triton_kernels.cache_write")
    key = torch.zeros(1, 2, 64, dtype=torch.float16, device=triton_device)
    cache = torch.zeros(2, 16, 2, 64, dtype=torch.float16, device=triton_device)
    slots = torch.zeros(1, dtype=torch.int64, device=triton_device)
    with pytest.raises(AttentionError, match="differ in shape or strides"):
        module.reshape_and_cache(key, key, cache, cache[:1], slots)
