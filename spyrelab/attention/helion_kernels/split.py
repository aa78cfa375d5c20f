"""Paged attention in Helion with contexts split over programs, in one launch.

A fourth axis of the grid cuts what a block of queries sees into segments.  Each leaves its
unscaled sum, its largest score and its total of weights in float32, and behind a barrier of the
whole grid the same programs combine them: what takes Triton a second kernel and a second launch.
A barrier needs programs that are all there at once, so the kernel is persistent: at most one
program per core, each with a loop over its share of the grid.

A segment without pages leaves a sum of 0, a top of minus infinity and a total of 0, which count
for nothing.  Grid: sequences x KV heads x blocks x segments, then tokens x heads.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import helion
import helion.language as hl
import torch

from spyrelab.attention.batch import PagedBatch
from spyrelab.attention.helion_kernels.launch import run
from spyrelab.attention.heuristics import helion_bucket, helion_config, helion_segments

__all__ = ["arguments", "attend", "split_kernel"]


@helion.kernel(static_shapes=False)
def split_kernel(
    out: torch.Tensor,
    query: torch.Tensor,
    key_cache: torch.Tensor,
    value_cache: torch.Tensor,
    block_table: torch.Tensor,
    kv_lens: torch.Tensor,
    query_start: torch.Tensor,
    scale: float,
    most_queries: int,
    segments: hl.constexpr,
    bucket: hl.constexpr,
    window: hl.constexpr,
    soft_cap: hl.constexpr,
) -> torch.Tensor:
    """Write ``out[tokens, H, D]``; arguments as in :class:`PagedBatch`, 0 for no window or cap."""
    tokens = query.size(0)
    heads = hl.specialize(query.size(1))
    dim = hl.specialize(query.size(2))
    page = hl.specialize(key_cache.size(1))
    kv_heads = hl.specialize(key_cache.size(2))
    group = heads // kv_heads
    padded = helion.next_power_of_2(group)
    part_acc = query.new_empty([tokens, heads, segments, dim], dtype=torch.float32)
    part_top = query.new_empty([tokens, heads, segments], dtype=torch.float32)
    part_total = query.new_empty([tokens, heads, segments], dtype=torch.float32)
    queries = hl.register_block_size(1, bucket)
    pages = hl.register_block_size(1, 32)
    for tile_s, tile_k, tile_q, tile_g in hl.tile(
        [kv_lens.size(0), kv_heads, most_queries, segments], block_size=[1, 1, queries, 1]
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
            held = (token < query_len)[:, None] & (in_group < group)[None, :]
            q = hl.load(query, [row, head, slice(None)], extra_mask=held[:, :, None])
            width = q.size(2)
            q = q.reshape([tile_q.block_size * padded, width])
            position = (kv_len - query_len + token).repeat_interleave(padded)
            acc = hl.zeros([tile_q.block_size * padded, width], dtype=torch.float32)
            top = hl.full([tile_q.block_size * padded], float("-inf"), dtype=torch.float32)
            total = hl.zeros([tile_q.block_size * padded], dtype=torch.float32)
            context = kv_len - query_len
            first = torch.zeros_like(context)
            if window > 0:
                first = torch.clamp(context + tile_q.begin - window + 1, min=0) // page
            last = torch.minimum(kv_len, context + tile_q.begin + tile_q.block_size)
            end = (last + page - 1) // page
            share = (end - first + segments - 1) // segments
            begin = first + tile_g.begin * share
            for tile_p in hl.tile(begin, torch.minimum(end, begin + share), block_size=pages):
                blocks = block_table[sequence, tile_p]
                key_at = tile_p.begin * page + hl.arange(tile_p.block_size * page)
                k = key_cache[blocks, :, kv_head, :].reshape([tile_p.block_size * page, width])
                v = value_cache[blocks, :, kv_head, :].reshape([tile_p.block_size * page, width])
                mine = key_at < torch.minimum(kv_len, (begin + share) * page)
                v = torch.where(mine[:, None], v, 0.0)
                scores = hl.dot(q, k.T, out_dtype=torch.float32) * scale
                if soft_cap > 0:
                    scores = soft_cap * torch.tanh(scores / soft_cap)
                seen = mine[None, :] & (key_at[None, :] <= position[:, None])
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
            acc = acc.reshape([tile_q.block_size, padded, width])
            top = top.reshape([tile_q.block_size, padded])
            total = total.reshape([tile_q.block_size, padded])
            segment = tile_g.begin
            hl.store(part_acc, [row, head, segment, slice(None)], acc, extra_mask=held[:, :, None])
            hl.store(part_top, [row, head, segment], top, extra_mask=held)
            hl.store(part_total, [row, head, segment], total, extra_mask=held)
    hl.barrier()
    for tile_t, tile_h in hl.tile([tokens, heads]):
        tops = part_top[tile_t, tile_h, :]
        weights = torch.exp(tops - torch.amax(tops, 2)[:, :, None])
        whole = torch.sum(part_total[tile_t, tile_h, :] * weights, 2)
        acc = torch.sum(part_acc[tile_t, tile_h, :, :] * weights[:, :, :, None], 2)
        out[tile_t, tile_h, :] = (acc / whole[:, :, None]).to(out.dtype)
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
        helion_segments(batch),
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
        run(split_kernel, arguments(batch, out), config or helion_config(batch, combine=True))
    return out
