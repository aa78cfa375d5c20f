"""The write side of paged attention in Helion: a scatter of rows by slot.

Grid: tiles of tokens.  A negative slot drops its token by the mask of the store.
Two index tensors in one expression would mean all pairs of them, as in an outer product, so the
cache is seen as rows of tokens instead of pages and offsets.
"""

from __future__ import annotations

import helion
import helion.language as hl
import torch

from spyrelab.attention.helion_kernels.launch import run

__all__ = ["cache_kernel", "reshape_and_cache"]

TOKENS = 16
"""Tokens of a tile."""


@helion.kernel(static_shapes=False)
def cache_kernel(
    key: torch.Tensor,
    value: torch.Tensor,
    key_cache: torch.Tensor,
    value_cache: torch.Tensor,
    slots: torch.Tensor,
) -> None:
    """Copy rows ``[tokens, KVH, D]`` to row ``slot`` of the cache, its pages seen as one."""
    heads = hl.specialize(key.size(1))
    dim = hl.specialize(key.size(2))
    keys = key_cache.view(-1, heads, dim)
    values = value_cache.view(-1, heads, dim)
    for tile in hl.tile(key.size(0)):
        slot = slots[tile]
        kept = (slot >= 0)[:, None, None]
        hl.store(keys, [slot, slice(None), slice(None)], key[tile, :, :], extra_mask=kept)
        hl.store(values, [slot, slice(None), slice(None)], value[tile, :, :], extra_mask=kept)


def reshape_and_cache(
    key: torch.Tensor,
    value: torch.Tensor,
    key_cache: torch.Tensor,
    value_cache: torch.Tensor,
    slots: torch.Tensor,
) -> None:
    """Write ``key`` and ``value`` ``[tokens, KVH, D]`` into the caches, in place."""
    run(cache_kernel, (key, value, key_cache, value_cache, slots), {"block_sizes": [TOKENS]})
