"""Every Triton kernel on small batches against the reference, on the emulated card."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
import torch

from spyrelab.attention import AttentionError, PagedBatch, Scenario, reference
from spyrelab.attention.heuristics import (
    PointerConfig,
    SegmentedConfig,
    SpyreConfig,
    SpyreConfigs,
    spyre_configs,
)
from spyrelab.attention.implementations import IMPLEMENTATIONS, implementation
from tests.attention.conftest import BATCHES, FEATURES, TOLERANCE, small

NAMES = [i.name for i in IMPLEMENTATIONS if i.language == "triton"]
SHAPES = [(80, 6, 16), (256, 4, 16), (128, 8, 128), (64, 2, 64), (64, 4, 32)]
"""Head size, heads over two KV heads, page: odd sizes and the ends of what is asked for."""


def check(name: str, device: str, scenario: Scenario, config: Any = None) -> None:
    batch = scenario.build()
    placed = batch.to(device)
    out = placed.empty_output().fill_(float("nan"))
    found = implementation(name).load()(placed, out, config)
    assert found is out
    want = reference.paged_attention(batch)
    tolerance = TOLERANCE[scenario.dtype]
    torch.testing.assert_close(found.cpu().float(), want, atol=tolerance, rtol=0)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16], ids=["fp16", "bf16"])
@pytest.mark.parametrize("features", FEATURES.values(), ids=FEATURES)
@pytest.mark.parametrize("name", NAMES)
def test_a_kernel_matches_the_reference(
    triton_device: str, name: str, features: dict[str, Any], dtype: torch.dtype
) -> None:
    for batch in BATCHES:
        check(name, triton_device, small(batch, dtype=dtype, **features))


@pytest.mark.parametrize(("dim", "heads", "page"), SHAPES)
@pytest.mark.parametrize("name", NAMES)
def test_a_kernel_takes_other_shapes(
    triton_device: str, name: str, dim: int, heads: int, page: int
) -> None:
    check(name, triton_device, small("prefix", head_dim=dim, heads=heads, page=page))


CONFIGS = [
    ("triton-pointer", PointerConfig(1, 64)),
    ("triton-pointer", PointerConfig(8, 16)),
    ("triton-segmented", SegmentedConfig(2, 16, 4)),
]


@pytest.mark.parametrize(("name", "config"), CONFIGS)
def test_a_kernel_takes_other_blocks(triton_device: str, name: str, config: Any) -> None:
    check(name, triton_device, small("prefix", window=40), config)


DECODE = SpyreConfig(1, 2, 2, 1, 4)
SPYRE = [
    (SpyreConfig(1, 1, 1, 1, 1), SpyreConfig(4, 2, 2, 1, 2)),
    (SpyreConfig(1, 2, 2, 2, 2), SpyreConfig(16, 2, 1, 2, 2)),
    (SpyreConfig(1, 2, 1, 4, 1, cores=4), SpyreConfig(8, 1, 2, 4, 1, cores=16)),
]


@pytest.mark.parametrize(("decode", "prefill"), SPYRE)
@pytest.mark.parametrize("window", [None, 40])
def test_the_spyre_kernel_takes_every_division(
    triton_device: str, decode: SpyreConfig, prefill: SpyreConfig, window: int | None
) -> None:
    config = SpyreConfigs(decode, prefill)
    check("triton-spyre", triton_device, small("prefix", window=window), config)


def test_a_division_that_does_not_fit_is_refused(triton_device: str) -> None:
    batch = small("decode").build(triton_device)
    wrong = SpyreConfigs(replace(DECODE, kv_heads=4), DECODE)
    with pytest.raises(AttentionError, match="does not divide 2 KV heads"):
        implementation("triton-spyre").load()(batch, config=wrong)


def test_the_result_does_not_depend_on_the_number_of_cores(triton_device: str) -> None:
    batch = small("prefill").build(triton_device)
    prefill = spyre_configs(batch).prefill
    results = [
        implementation("triton-spyre").load()(
            batch,
            config=SpyreConfigs(DECODE, replace(prefill, share=1, cores=cores)),
        )
        for cores in (1, 4, 32)
    ]
    assert all(torch.equal(one.cpu(), results[0].cpu()) for one in results[1:])


@pytest.mark.parametrize("name", NAMES)
def test_a_batch_without_tokens_launches_nothing(triton_device: str, name: str) -> None:
    batch = Scenario(query_lens=(0, 0), kv_lens=(0, 20), heads=4, kv_heads=2, head_dim=64).build()
    found = implementation(name).load()(batch.to(triton_device))
    assert found.shape == (0, 4, 64)


def test_a_cache_in_the_order_of_heads_is_taken_as_it_is(triton_device: str) -> None:
    batch = small("mixed", stale=0.0).build()
    want = reference.paged_attention(batch)
    turned = head_major(batch, triton_device)
    assert turned.key_cache.stride(2) > turned.key_cache.stride(1)
    for name in NAMES:
        found = implementation(name).load()(turned)
        torch.testing.assert_close(found.cpu().float(), want, atol=4e-3, rtol=0)


def head_major(batch: PagedBatch, device: str) -> PagedBatch:
    """Caches stored as ``[blocks, KVH, page, D]``, seen as ever."""
    placed = batch.to(device)
    keys, values = (
        cache.transpose(1, 2).contiguous().to(device).transpose(1, 2)
        for cache in (batch.key_cache, batch.value_cache)
    )
    return replace(placed, key_cache=keys, value_cache=values)
