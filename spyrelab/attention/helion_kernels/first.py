"""Paged attention in Helion, as one first writes it: sequences and heads, then loops inside.

A tile of the outer loop is one sequence and the heads of one KV head, so there is no search: the
sequence is the tile's own number.  Inside, one loop goes over blocks of queries and one over
pages, some at a time.  The keys of several pages are one indexing expression, and Helion writes
the masks of every tile; left to write are those of the problem (causal, window) and those where
a tile of rows or pages crosses into what belongs to somebody else.

Grid: sequences x KV heads, one program each: a long prefill is one program's work.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import helion
import helion.language as hl
import torch

from spyrelab.attention.batch import PagedBatch
from spyrelab.attention.helion_kernels.launch import run
from spyrelab.attention.heuristics import helion_config

__all__ = ["arguments", "attend", "first_kernel"]


@helion.kernel(static_shapes=False)
def first_kernel(
    out: torch.Tensor,
    query: torch.Tensor,
    key_cache: torch.Tensor,
    value_cache: torch.Tensor,
    block_table: torch.Tensor,
    kv_lens: torch.Tensor,
    query_start: torch.Tensor,
    scale: float,
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
    queries = hl.register_block_size(1, 128)
    pages = hl.register_block_size(1, 32)
    for tile_s, tile_k in hl.tile([kv_lens.size(0), kv_heads], block_size=[1, 1]):
        sequence = tile_s.begin
        kv_head = tile_k.begin
        in_group = hl.arange(padded)
        head = kv_head * group + in_group
        start = query_start[sequence]
        query_len = query_start[sequence + 1] - start
        kv_len = kv_lens[sequence]
        for tile_q in hl.tile(query_len, block_size=queries):
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
            last = torch.minimum(kv_len, kv_len - query_len + tile_q.end)
            for tile_p in hl.tile((last + page - 1) // page, block_size=pages):
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
        batch.window or 0,
        batch.soft_cap or 0.0,
    )


def attend(
    batch: PagedBatch, out: torch.Tensor | None = None, config: Mapping[str, Any] | None = None
) -> torch.Tensor:
    """Attention of a batch ``[tokens, H, D]``; the configuration is the heuristic's by default."""
    out = batch.empty_output() if out is None else out
    if batch.query.shape[0]:
        run(first_kernel, arguments(batch, out), config or helion_config(batch))
    return out
