"""Paged attention with the context cut in segments, for few and long sequences.

One new token per sequence gives few blocks of queries, and most of a machine would idle.  So a
third grid axis cuts what a block sees into segments (flash decoding; the parallel tiled softmax
of arXiv 2511.11581).  Each program leaves what it has so far, and a second launch combines:
with ``t`` the largest of all tops, ``out = sum(e^(top - t) acc) / sum(e^(top - t) total)``.

Partial results, float32: acc ``[tokens, H, S, D]``, top and total ``[tokens, H, S]``.
Grids: (blocks, KV heads, segments), then (tokens, heads).
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl

from spyrelab.attention.batch import PagedBatch
from spyrelab.attention.heuristics import SegmentedConfig, segmented_config
from spyrelab.attention.triton_kernels.online import capped, find_sequence, visible_tiles

__all__ = ["attend"]


@triton.jit
def segment_kernel(
    part_acc,
    part_top,
    part_total,
    query,
    key_cache,
    value_cache,
    block_table,
    kv_lens,
    query_start,
    scale,
    sequences,
    table_row,
    query_token,
    query_head,
    cache_block,
    cache_token,
    cache_head,
    H: tl.constexpr,
    G: tl.constexpr,
    D: tl.constexpr,
    D_PADDED: tl.constexpr,
    PAGE: tl.constexpr,
    BLOCK_Q: tl.constexpr,
    BLOCK_M: tl.constexpr,
    TILE: tl.constexpr,
    SEGMENTS: tl.constexpr,
    WINDOW: tl.constexpr,
    SOFT_CAP: tl.constexpr,
):
    """One block of queries against one segment of what it sees."""
    block = tl.program_id(0)
    kv_head = tl.program_id(1)
    segment = tl.program_id(2)
    sequence = find_sequence(query_start, block, sequences, BLOCK_Q)
    row_start = tl.load(query_start + sequence)
    query_len = tl.load(query_start + sequence + 1) - row_start
    first = (block - row_start // BLOCK_Q - sequence) * BLOCK_Q
    if first >= query_len:
        return
    kv_len = tl.load(kv_lens + sequence)
    begin, end, last = visible_tiles(query_len, kv_len, first, BLOCK_Q, TILE, WINDOW)
    tiles = tl.cdiv(end - begin, SEGMENTS)
    begin += segment * tiles
    end = tl.minimum(end, begin + tiles)
    if begin >= end:
        return

    row = tl.arange(0, BLOCK_M)
    dim = tl.arange(0, D_PADDED)
    token = first + row // G
    head = kv_head * G + row % G
    held = (token < query_len) & (row < BLOCK_Q * G)
    place = (row_start + token) * query_token + head * query_head
    q_mask = held[:, None] & (dim < D)[None, :]
    q = tl.load(query + place[:, None] + dim[None, :], mask=q_mask, other=0.0)

    acc = tl.zeros([BLOCK_M, D_PADDED], tl.float32)
    top = tl.full([BLOCK_M], float("-inf"), tl.float32)
    total = tl.zeros([BLOCK_M], tl.float32)
    position = kv_len - query_len + token
    for tile in range(begin, end):
        key_at = tile * TILE + tl.arange(0, TILE)
        inside = key_at < last
        page = tl.load(block_table + sequence * table_row + key_at // PAGE, mask=inside, other=0)
        cell = page.to(tl.int64) * cache_block + key_at % PAGE * cache_token
        cell += kv_head * cache_head
        k_mask = inside[None, :] & (dim < D)[:, None]
        k = tl.load(key_cache + cell[None, :] + dim[:, None], mask=k_mask, other=0.0)
        v_mask = inside[:, None] & (dim < D)[None, :]
        v = tl.load(value_cache + cell[:, None] + dim[None, :], mask=v_mask, other=0.0)

        scores = capped(scale * tl.dot(q, k), SOFT_CAP)
        seen = key_at[None, :] <= position[:, None]
        if WINDOW > 0:
            seen = seen & (key_at[None, :] > position[:, None] - WINDOW)
        scores = tl.where(seen, scores, float("-inf"))
        higher = tl.maximum(top, tl.max(scores, 1))
        pivot = tl.where(higher > float("-inf"), higher, 0.0)
        weights = tl.exp(scores - pivot[:, None])
        decay = tl.exp(top - pivot)
        total = total * decay + tl.sum(weights, 1)
        acc = tl.dot(weights.to(v.dtype), v, acc * decay[:, None])
        top = higher

    slot = ((row_start + token) * H + head).to(tl.int64) * SEGMENTS + segment
    tl.store(part_acc + slot[:, None] * D + dim[None, :], acc, mask=q_mask)
    tl.store(part_top + slot, top, mask=held)
    tl.store(part_total + slot, total, mask=held)


@triton.jit
def reduce_segments_kernel(
    out,
    part_acc,
    part_top,
    part_total,
    kv_lens,
    query_start,
    sequences,
    query_token,
    query_head,
    H: tl.constexpr,
    D: tl.constexpr,
    D_PADDED: tl.constexpr,
    BLOCK_Q: tl.constexpr,
    TILE: tl.constexpr,
    SEGMENTS: tl.constexpr,
    WINDOW: tl.constexpr,
):
    """One row of the result from the segments that were not empty."""
    token = tl.program_id(0)
    head = tl.program_id(1)
    sequence = find_token(query_start, token, sequences)
    row_start = tl.load(query_start + sequence)
    query_len = tl.load(query_start + sequence + 1) - row_start
    kv_len = tl.load(kv_lens + sequence)
    first = (token - row_start) // BLOCK_Q * BLOCK_Q
    begin, end, _last = visible_tiles(query_len, kv_len, first, BLOCK_Q, TILE, WINDOW)
    used = tl.cdiv(end - begin, tl.cdiv(end - begin, SEGMENTS))

    segment = tl.arange(0, SEGMENTS)
    dim = tl.arange(0, D_PADDED)
    slot = (token * H + head).to(tl.int64) * SEGMENTS + segment
    held = segment < used
    tops = tl.load(part_top + slot, mask=held, other=float("-inf"))
    totals = tl.load(part_total + slot, mask=held, other=0.0)
    mask = held[:, None] & (dim < D)[None, :]
    accs = tl.load(part_acc + slot[:, None] * D + dim[None, :], mask=mask, other=0.0)
    weights = tl.exp(tops - tl.max(tops, 0))
    result = tl.sum(accs * weights[:, None], 0) / tl.sum(totals * weights, 0)
    place = token * query_token + head * query_head + dim
    tl.store(out + place, result.to(out.dtype.element_ty), mask=dim < D)


@triton.jit
def find_token(query_start, token, sequences):
    """The sequence that a token belongs to: the last that begins at it or before."""
    low = 0
    high = sequences
    while high - low > 1:
        middle = (low + high) // 2
        if tl.load(query_start + middle) <= token:
            low = middle
        else:
            high = middle
    return low


def attend(
    batch: PagedBatch, out: torch.Tensor | None = None, config: SegmentedConfig | None = None
) -> torch.Tensor:
    """Attention of a batch ``[tokens, H, D]``, in two launches."""
    config = config or segmented_config(batch)
    out = batch.empty_output() if out is None else out
    tokens, heads, dim = batch.query.shape
    if not tokens:
        return out
    shape, float32 = (tokens, heads, config.segments), torch.float32
    part_acc = torch.empty((*shape, dim), dtype=float32, device=batch.query.device)
    part_top, part_total = (
        torch.empty(shape, dtype=float32, device=batch.query.device) for _ in range(2)
    )
    shared = {
        "H": heads,
        "D": dim,
        "D_PADDED": triton.next_power_of_2(dim),
        "BLOCK_Q": config.block_q,
        "TILE": config.tile,
        "SEGMENTS": config.segments,
        "WINDOW": batch.window or 0,
    }
    blocks = tokens // config.block_q + batch.sequences
    segment_kernel[(blocks, batch.kv_heads, config.segments)](
        part_acc,
        part_top,
        part_total,
        batch.query,
        batch.key_cache,
        batch.value_cache,
        batch.block_table,
        batch.kv_lens,
        batch.query_start,
        batch.scale,
        batch.sequences,
        batch.block_table.stride(0),
        *batch.query.stride()[:2],
        *batch.key_cache.stride()[:3],
        G=batch.group,
        PAGE=batch.page,
        BLOCK_M=triton.next_power_of_2(config.block_q * batch.group),
        SOFT_CAP=batch.soft_cap or 0.0,
        **shared,
    )
    reduce_segments_kernel[(tokens, heads)](
        out,
        part_acc,
        part_top,
        part_total,
        batch.kv_lens,
        batch.query_start,
        batch.sequences,
        *batch.query.stride()[:2],
        **shared,
    )
    return out
