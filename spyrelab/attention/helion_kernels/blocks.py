"""Paged attention in Helion with blocks of queries in the grid.

The loop over queries of the first version becomes a third axis of the grid, as long as the
longest prefill; a block behind the end of its own sequence is skipped by a guard.  Where the
Triton kernel packs its blocks and searches, this one spends programs that do nothing.  A window
also bounds the pages from below.

``bucket`` says how many queries a block may hold, a power of two that is a compile-time number:
it is a key of the tuner, which then finds one configuration for decoding and one for prefills.
Grid: sequences x KV heads x blocks of the longest query.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import helion
import helion.language as hl
import torch

from spyrelab.attention.batch import PagedBatch
from spyrelab.attention.helion_kernels.launch import run
from spyrelab.attention.heuristics import helion_bucket, helion_config

__all__ = ["arguments", "attend", "blocks_kernel"]


@helion.kernel(static_shapes=False)
def blocks_kernel(
    out: torch.Tensor,
    query: torch.Tensor,
    key_cache: torch.Tensor,
    value_cache: torch.Tensor,
    block_table: torch.Tensor,
    kv_lens: torch.Tensor,
    query_start: torch.Tensor,
    scale: float,
    most_queries: int,
    bucket: hl.constexpr,
    window: hl.constexpr,
    soft_cap: hl.constexpr,
) -> torch.Tensor:
    """Write ``out[tokens, H, D]``; arguments as in :class:`PagedBatch`, 0 for no window or cap."""
    heads = hl.specialize(query.size(1))
    hl.specialize(query.size(2))
    page = hl.specialize(key_cache.size(1))
    kv_heads = hl.specialize(key_cache.size(2))
    group = heads // kv_heads
    padded = helion.next_power_of_2(group)
    queries = hl.register_block_size(1, bucket)
    pages = hl.register_block_size(1, 32)
    for tile_s, tile_k, tile_q in hl.tile(
        [kv_lens.size(0), kv_heads, most_queries], block_size=[1, 1, queries]
    ):
        sequence = tile_s.begin
        kv_head = tile_k.begin
        in_group = hl.arange(padded)
        head = kv_head * group + in_group
        start = query_start[sequence]
        query_len = query_start[sequence + 1] - start
        if tile_q.begin < query_len:
            kv_len = kv_lens[sequence]
            token = tile_q.begin + hl.arange(tile_q.block_size)
            row = start + token
            held = ((token < query_len)[:, None] & (in_group < group)[None, :])[:, :, None]
            q = hl.load(query, [row, head, slice(None)], extra_mask=held)
            width = q.size(2)
            q = q.reshape([tile_q.block_size * padded, width])
            position = (kv_len - query_len + token).repeat_interleave(padded)
            acc = hl.zeros([tile_q.block_size * padded, width], dtype=torch.float32)
            top = hl.full([tile_q.block_size * padded], float("-inf"), dtype=torch.float32)
            total = hl.zeros([tile_q.block_size * padded], dtype=torch.float32)
            context = kv_len - query_len
            begin = torch.zeros_like(context)
            if window > 0:
                begin = torch.clamp(context + tile_q.begin - window + 1, min=0) // page
            last = torch.minimum(kv_len, context + tile_q.begin + tile_q.block_size)
            for tile_p in hl.tile(begin, (last + page - 1) // page, block_size=pages):
                blocks = block_table[sequence, tile_p]
                key_at = tile_p.begin * page + hl.arange(tile_p.block_size * page)
                k = key_cache[blocks, :, kv_head, :].reshape([tile_p.block_size * page, width])
                v = value_cache[blocks, :, kv_head, :].reshape([tile_p.block_size * page, width])
                v = torch.where((key_at < kv_len)[:, None], v, 0.0)
                scores = hl.dot(q, k.T, out_dtype=torch.float32) * scale
                if soft_cap > 0:
                    scores = soft_cap * torch.tanh(scores / soft_cap)
                seen = key_at[None, :] <= position[:, None]
                if window > 0:
                    seen = seen & (key_at[None, :] > position[:, None] - window)
                scores = torch.where(seen, scores, float("-inf"))
                higher = torch.maximum(top, torch.amax(scores, 1))
                pivot = torch.where(higher > float("-inf"), higher, 0.0)
                weights = torch.exp(scores - pivot[:, None])
                decay = torch.exp(top - pivot)
                total = total * decay + torch.sum(weights, 1)
                acc = hl.dot(weights.to(v.dtype), v, acc=acc * decay[:, None])
                top = higher
            result = (acc / total[:, None]).to(out.dtype)
            result = result.reshape([tile_q.block_size, padded, width])
            hl.store(out, [row, head, slice(None)], result, extra_mask=held)
    return out


def arguments(batch: PagedBatch, out: torch.Tensor) -> tuple[Any, ...]:
    """What the kernel is called with: also what a tuner needs."""
    return (
        out,
        batch.query,
        batch.key_cache,
        batch.value_cache,
        batch.block_table,
        batch.kv_lens,
        batch.query_start,
        batch.scale,
        batch.max_query_len,
        helion_bucket(batch),
        batch.window or 0,
        batch.soft_cap or 0.0,
    )


def attend(
    batch: PagedBatch, out: torch.Tensor | None = None, config: Mapping[str, Any] | None = None
) -> torch.Tensor:
    """Attention of a batch ``[tokens, H, D]``; the configuration is the heuristic's by default."""
    out = batch.empty_output() if out is None else out
    if batch.query.shape[0]:
        run(blocks_kernel, arguments(batch, out), config or helion_config(batch))
    return out
