"""The reference against torch's own attention, and the batches that everything is tested on."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
import torch

from spyrelab.attention import (
    BUCKETS,
    AttentionError,
    Bucket,
    PagedBatch,
    Scenario,
    bound_seconds,
    bucket_of,
    distinct_bytes,
    reference,
    scenarios,
)
from tests.attention.conftest import BATCHES, FEATURES, small


def dense(batch: PagedBatch, sequence: int) -> torch.Tensor:
    """One sequence by torch's attention, keys and values in one piece."""
    length, new = batch.host_kv_lens[sequence], batch.host_query_lens[sequence]
    start = batch.host_query_start[sequence]
    places = [
        (int(batch.block_table[sequence, t // batch.page]), t % batch.page) for t in range(length)
    ]
    keys, values = (
        torch.stack([cache[at] for at in places]).float().transpose(0, 1)
        for cache in (batch.key_cache, batch.value_cache)
    )
    query = batch.query[start : start + new].float().transpose(0, 1)
    at = torch.arange(length - new, length)[:, None] - torch.arange(length)[None, :]
    seen = (at >= 0) & (at < (batch.window or math.inf))
    found = torch.nn.functional.scaled_dot_product_attention(
        query[None], keys[None], values[None], attn_mask=seen, scale=batch.scale, enable_gqa=True
    )
    return found[0].transpose(0, 1)


@pytest.mark.parametrize("window", [None, 8])
@pytest.mark.parametrize("name", BATCHES)
def test_the_reference_is_torch_attention(name: str, window: int | None) -> None:
    batch = small(name, window=window).build()
    found = reference.paged_attention(batch)
    for sequence, (start, new) in enumerate(
        zip(batch.host_query_start[:-1], batch.host_query_lens, strict=True)
    ):
        if new:
            want = dense(batch, sequence)
            torch.testing.assert_close(found[start : start + new], want, atol=1e-5, rtol=1e-5)


def test_a_soft_cap_bounds_scores() -> None:
    plain = small("prefill", dtype=torch.float32, head_dim=64).build()
    # Scores far above the cap all become the cap: attention is an average of what is seen.
    loud = replace(plain, query=plain.query.abs() * 1e4, key_cache=plain.key_cache.abs())
    capped = reference.paged_attention(replace(loud, soft_cap=1e-3))
    values = loud.value_cache[loud.block_table[3, :3].long()].flatten(0, 1)[:40].float()
    mean = values.mean(0).repeat_interleave(2, 0)
    torch.testing.assert_close(capped[-1], mean, atol=2e-3, rtol=0)


def test_long_batches_go_in_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    batch = small("prefix").build()
    whole = reference.paged_attention(batch)
    monkeypatch.setattr(reference, "ROWS", 7)
    torch.testing.assert_close(reference.paged_attention(batch), whole)


def test_reshape_and_cache_drops_negative_slots() -> None:
    cache = torch.zeros(2, 4, 1, 2)
    key = torch.arange(1.0, 7.0).view(3, 1, 2)
    reference.reshape_and_cache(key, -key, cache, other := cache.clone(), torch.tensor([5, -1, 0]))
    assert cache.flatten(0, 1)[[5, 0]].flatten().tolist() == [1, 2, 5, 6]
    assert int((cache != 0).sum()) == 4
    assert torch.equal(other, -cache)


def test_tensors_come_from_the_seed() -> None:
    one, same, other = (small("mixed", seed=seed).build() for seed in (1, 1, 2))
    assert torch.equal(one.query, same.query)
    assert torch.equal(one.block_table, same.block_table)
    assert not torch.equal(one.query, other.query)
    used = one.block_table[3, :3].tolist() + one.block_table[1, :2].tolist()
    assert len(set(used)) == 5
    assert used != sorted(used)


def test_what_no_query_sees_is_nan_and_nothing_else() -> None:
    batch = small("mixed").build()
    held = ~batch.key_cache.isnan().any(-1).any(-1)
    assert int(held.sum()) == sum(batch.host_kv_lens)
    assert torch.equal(batch.key_cache.isnan(), batch.value_cache.isnan())


def test_the_sweep_names_each_scenario_once() -> None:
    sweep = list(scenarios())
    assert len(sweep) == len({s.name for s in sweep}) == 84
    assert all(bucket_of(s) in Bucket for s in sweep)


def test_buckets_hold_their_own_scenario() -> None:
    assert set(BUCKETS) == set(Bucket)
    assert {bucket: bucket_of(scenario) for bucket, scenario in BUCKETS.items()} == {
        bucket: bucket for bucket in Bucket
    }


def test_decodes_are_spread_between_prefills() -> None:
    mixed = Scenario.of(4, 64, 0.5, prefix_share=0.25)
    assert mixed.query_lens == (48, 1, 48, 1)
    assert mixed.kv_lens == (64, 64, 64, 64)


def test_the_bound_counts_what_is_seen_once() -> None:
    plain = small("decode").build()
    token = 2 * 2 * 64 * 2
    new = 2 * 3 * 4 * 64 * 2
    assert distinct_bytes(plain) == 58 * token + new + 4 * (1 + 2 + 3 + 4 + 5)
    windowed = replace(plain, window=8)
    assert distinct_bytes(windowed) == (1 + 8 + 8) * token + new + 4 * (1 + 2 + 1 + 4 + 5)
    assert bound_seconds(plain) == pytest.approx(distinct_bytes(plain) / 159e9)


WRONG = {
    "head size 64, keys 32": {"query": torch.zeros(58, 4, 64)},
    "no multiple": {"query": torch.zeros(58, 3, 32)},
    "several dtypes": {"query": torch.zeros(58, 4, 32, dtype=torch.float16)},
    "add up to": {"query": torch.zeros(57, 4, 32)},
    "at least itself": {"window": 0},
    "is not positive": {"soft_cap": 0.0},
    "no positive number": {"scale": math.nan},
    "new tokens in a context": {"host_kv_lens": (1, 16, 0, 40)},
    "has no room": {"host_kv_lens": (1, 17, 0, 49)},
    "as many query lengths": {"host_kv_lens": (1, 17, 40)},
}


@pytest.mark.parametrize("message", WRONG)
def test_a_batch_that_does_not_fit_is_refused(message: str) -> None:
    batch = small("prefill", head_dim=32, dtype=torch.float32).build()
    with pytest.raises(AttentionError, match=message):
        replace(batch, **WRONG[message])  # type: ignore[arg-type]


def test_pages_are_powers_of_two() -> None:
    with pytest.raises(AttentionError, match="powers of two"):
        small("prefill", page=24).build()


@pytest.mark.parametrize("features", FEATURES.values(), ids=FEATURES)
def test_a_batch_moves_to_the_device_and_back(features: dict[str, object]) -> None:
    batch = small("mixed", stale=0.0, **features).build()
    back = batch.to("spyre").to("cpu")
    assert torch.equal(back.key_cache, batch.key_cache)
    assert (back.window, back.soft_cap) == (batch.window, batch.soft_cap)
