"""The write side of paged attention: new keys and values go to their places in the pages.

A token's place is its slot, ``block * page + offset``; a negative slot drops the token (a
serving engine pads its batches).  All KV heads of a token are one box of memory on both sides.

Grid: at most 32 programs, each with every 32nd token: a launch costs nothing per token.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl

from spyrelab.attention.errors import AttentionError
from spyrelab.machine import SPYRE

__all__ = ["reshape_and_cache"]


@triton.jit
def cache_kernel(
    key,
    value,
    key_cache,
    value_cache,
    slots,
    tokens,
    key_token,
    key_head,
    value_token,
    value_head,
    cache_block,
    cache_token,
    cache_head,
    KVH: tl.constexpr,
    D: tl.constexpr,
    KVH_PADDED: tl.constexpr,
    D_PADDED: tl.constexpr,
    PAGE: tl.constexpr,
):
    """Copy each token's keys and values into its page.  Strides count elements."""
    head = tl.arange(0, KVH_PADDED)[:, None]
    dim = tl.arange(0, D_PADDED)[None, :]
    mask = (head < KVH) & (dim < D)
    for token in range(tl.program_id(0), tokens, tl.num_programs(0)):
        slot = tl.load(slots + token)
        if slot >= 0:
            place = slot // PAGE * cache_block + slot % PAGE * cache_token
            place += head * cache_head + dim
            row = tl.load(key + token * key_token + head * key_head + dim, mask=mask)
            tl.store(key_cache + place, row, mask=mask)
            row = tl.load(value + token * value_token + head * value_head + dim, mask=mask)
            tl.store(value_cache + place, row, mask=mask)


def reshape_and_cache(
    key: torch.Tensor,
    value: torch.Tensor,
    key_cache: torch.Tensor,
    value_cache: torch.Tensor,
    slots: torch.Tensor,
) -> None:
    """Write ``key`` and ``value`` ``[tokens, KVH, D]`` into the caches, in place.

    Raises
    ------
    AttentionError
        The two caches differ in shape or strides.
    """
    layouts = {(tuple(c.shape), c.stride()) for c in (key_cache, value_cache)}
    if len(layouts) > 1:
        raise AttentionError("the caches of keys and values differ in shape or strides")
    tokens, heads, dim = key.shape
    if not tokens:
        return
    cache_kernel[(min(SPYRE.cores, tokens),)](
        key,
        value,
        key_cache,
        value_cache,
        slots,
        tokens,
        *key.stride()[:2],
        *value.stride()[:2],
        *key_cache.stride()[:3],
        KVH=heads,
        D=dim,
        KVH_PADDED=triton.next_power_of_2(heads),
        D_PADDED=triton.next_power_of_2(dim),
        PAGE=key_cache.shape[1],
    )
