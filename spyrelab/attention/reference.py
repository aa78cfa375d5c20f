"""What paged attention and its cache update are: plain torch in float32 on the host."""

from __future__ import annotations

import torch

from spyrelab.attention.batch import PagedBatch

__all__ = ["paged_attention", "reshape_and_cache"]

ROWS = 256
"""Queries at a time: their scores against a long context still fit the host's caches."""


def paged_attention(batch: PagedBatch) -> torch.Tensor:
    """Attention of every query over its own context, float32 ``[tokens, H, D]`` on the host.

    Keys and values are gathered through the block table, scores masked by position (causal,
    and by the window), and softmax is taken over all of a context at once.
    """
    batch = batch.to("cpu")
    out = torch.zeros(batch.query.shape, dtype=torch.float32)
    for sequence, length in enumerate(batch.host_query_lens):
        keys, values = (_context(batch, cache, sequence) for cache in _caches(batch))
        start = batch.host_query_start[sequence]
        for first in range(0, length, ROWS):
            rows = slice(start + first, start + min(first + ROWS, length))
            position = batch.host_kv_lens[sequence] - length + first
            out[rows] = _attend(batch, batch.query[rows].float(), keys, values, position)
    return out


def _caches(batch: PagedBatch) -> tuple[torch.Tensor, torch.Tensor]:
    return batch.key_cache, batch.value_cache


def _context(batch: PagedBatch, cache: torch.Tensor, sequence: int) -> torch.Tensor:
    """A sequence's keys or values in the order of tokens, float32 ``[KVH, length, D]``."""
    length = batch.host_kv_lens[sequence]
    pages = batch.block_table[sequence, : -(-length // batch.page)].long()
    return cache[pages].flatten(0, 1)[:length].float().transpose(0, 1)


def _attend(
    batch: PagedBatch,
    query: torch.Tensor,
    keys: torch.Tensor,
    values: torch.Tensor,
    position: int,
) -> torch.Tensor:
    """Rows of queries ``[rows, H, D]``, the first of which stands at ``position``."""
    rows, heads, dim = query.shape
    grouped = query.view(rows, batch.kv_heads, batch.group, dim).permute(1, 2, 0, 3)
    scores = grouped @ keys[:, None].transpose(-1, -2) * batch.scale
    if batch.soft_cap is not None:
        scores = batch.soft_cap * torch.tanh(scores / batch.soft_cap)
    at = torch.arange(position, position + rows)[:, None]
    key_at = torch.arange(keys.shape[1])[None, :]
    seen = key_at <= at
    if batch.window is not None:
        seen &= key_at > at - batch.window
    weights = torch.softmax(scores.masked_fill(~seen, float("-inf")), dim=-1)
    return (weights @ values[:, None]).permute(2, 0, 1, 3).reshape(rows, heads, dim)


def reshape_and_cache(
    key: torch.Tensor,
    value: torch.Tensor,
    key_cache: torch.Tensor,
    value_cache: torch.Tensor,
    slots: torch.Tensor,
) -> None:
    """Write new tokens into their pages, in place.

    Parameters
    ----------
    key, value : Tensor ``[tokens, KVH, D]``
    key_cache, value_cache : Tensor ``[blocks, page, KVH, D]``
    slots : int64 Tensor ``[tokens]``
        ``block * page + offset`` of each token; a negative slot drops it.
    """
    kept = slots >= 0
    for new, cache in ((key, key_cache), (value, value_cache)):
        cache.view(-1, *cache.shape[2:])[slots[kept]] = new[kept]
