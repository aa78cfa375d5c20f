"""Paged attention as it is written for a GPU: blocks of queries, tiles of tokens, raw pointers.

The idea is the Q block of vLLM's Triton kernels (arXiv 2511.11581): all query heads that share
a KV head, over a few tokens, make the rows of one matrix, so that a tile of keys is loaded once
for all of them.  The tile is a number of tokens that need not fit the pages: each token looks
its own page up.

Rows of a block: row ``m`` is token ``m // G`` and head ``m % G`` of the group.
Grid: (an upper bound of the blocks, KV heads).  Blocks of one sequence do not run into the next,
so a program searches for its sequence, and leaves if the sequence has fewer blocks.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl

from spyrelab.attention.batch import PagedBatch
from spyrelab.attention.heuristics import PointerConfig, pointer_config
from spyrelab.attention.triton_kernels.online import capped, find_sequence, visible_tiles

__all__ = ["attend"]


@triton.jit
def pointer_kernel(
    out,
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
    G: tl.constexpr,
    D: tl.constexpr,
    D_PADDED: tl.constexpr,
    PAGE: tl.constexpr,
    BLOCK_Q: tl.constexpr,
    BLOCK_M: tl.constexpr,
    TILE: tl.constexpr,
    WINDOW: tl.constexpr,
    SOFT_CAP: tl.constexpr,
):
    """One block of queries against all that it sees.  Strides count elements."""
    block = tl.program_id(0)
    kv_head = tl.program_id(1)
    sequence = find_sequence(query_start, block, sequences, BLOCK_Q)
    row_start = tl.load(query_start + sequence)
    query_len = tl.load(query_start + sequence + 1) - row_start
    first = (block - row_start // BLOCK_Q - sequence) * BLOCK_Q
    if first >= query_len:
        return
    kv_len = tl.load(kv_lens + sequence)

    row = tl.arange(0, BLOCK_M)
    dim = tl.arange(0, D_PADDED)
    token = first + row // G
    held = (token < query_len) & (row < BLOCK_Q * G)
    place = (row_start + token) * query_token + (kv_head * G + row % G) * query_head
    at_query = place[:, None] + dim[None, :]
    q_mask = held[:, None] & (dim < D)[None, :]
    q = tl.load(query + at_query, mask=q_mask, other=0.0)

    acc = tl.zeros([BLOCK_M, D_PADDED], tl.float32)
    top = tl.full([BLOCK_M], float("-inf"), tl.float32)
    total = tl.zeros([BLOCK_M], tl.float32)
    position = kv_len - query_len + token
    begin, end, last = visible_tiles(query_len, kv_len, first, BLOCK_Q, TILE, WINDOW)
    for tile in range(begin, end):
        key_at = tile * TILE + tl.arange(0, TILE)
        inside = key_at < last
        page = tl.load(block_table + sequence * table_row + key_at // PAGE, mask=inside, other=0)
        cell = page.to(tl.int64) * cache_block + key_at % PAGE * cache_token
        cell += kv_head * cache_head
        k_mask = inside[None, :] & (dim < D)[:, None]
        k = tl.load(key_cache + cell[None, :] + dim[:, None], mask=k_mask, other=0.0)
        # What lies behind the last token may be NaN, and 0 * NaN is NaN: values are masked too.
        v_mask = inside[:, None] & (dim < D)[None, :]
        v = tl.load(value_cache + cell[:, None] + dim[None, :], mask=v_mask, other=0.0)

        scores = capped(scale * tl.dot(q, k), SOFT_CAP)
        seen = key_at[None, :] <= position[:, None]
        if WINDOW > 0:
            seen = seen & (key_at[None, :] > position[:, None] - WINDOW)
        scores = tl.where(seen, scores, float("-inf"))
        higher = tl.maximum(top, tl.max(scores, 1))
        # A row that has seen nothing yet: -inf minus -inf would be NaN.
        pivot = tl.where(higher > float("-inf"), higher, 0.0)
        weights = tl.exp(scores - pivot[:, None])
        decay = tl.exp(top - pivot)
        total = total * decay + tl.sum(weights, 1)
        acc = tl.dot(weights.to(v.dtype), v, acc * decay[:, None])
        top = higher
    result = acc / total[:, None]
    tl.store(out + at_query, result.to(out.dtype.element_ty), mask=q_mask)


def attend(
    batch: PagedBatch, out: torch.Tensor | None = None, config: PointerConfig | None = None
) -> torch.Tensor:
    """Attention of a batch ``[tokens, H, D]``; the configuration is the heuristic's by default."""
    config = config or pointer_config(batch)
    out = batch.empty_output() if out is None else out
    blocks = batch.query.shape[0] // config.block_q + batch.sequences
    if not batch.query.shape[0]:
        return out
    pointer_kernel[(blocks, batch.kv_heads)](
        out,
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
        D=batch.head_dim,
        D_PADDED=triton.next_power_of_2(batch.head_dim),
        PAGE=batch.page,
        BLOCK_Q=config.block_q,
        BLOCK_M=triton.next_power_of_2(config.block_q * batch.group),
        TILE=config.tile,
        WINDOW=batch.window or 0,
        SOFT_CAP=batch.soft_cap or 0.0,
    )
    return out
