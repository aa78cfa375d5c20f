"""Pieces that the Triton kernels share: the search for a sequence, and what a block sees."""

from __future__ import annotations

import triton
import triton.language as tl

__all__ = ["capped", "find_sequence", "visible_tiles"]


@triton.jit
def find_sequence(query_start, block, sequences, BLOCK_Q: tl.constexpr):
    """The sequence that a block of queries belongs to, by binary search.

    Sequence ``s`` begins at block ``query_start[s] // BLOCK_Q + s``: rounding down loses less
    than one block per sequence, so one more for each gives all of them room.
    """
    low = 0
    high = sequences
    while high - low > 1:
        middle = (low + high) // 2
        begins = tl.load(query_start + middle) // BLOCK_Q + middle
        if begins <= block:
            low = middle
        else:
            high = middle
    return low


@triton.jit
def visible_tiles(
    query_len, kv_len, first, BLOCK_Q: tl.constexpr, TILE: tl.constexpr, WINDOW: tl.constexpr
):
    """The tiles ``[begin, end)`` and the last token of what a block of queries sees.

    The block begins with query ``first`` of its sequence.
    """
    context = kv_len - query_len
    last = tl.minimum(kv_len, context + first + BLOCK_Q)
    begin = 0
    if WINDOW > 0:
        begin = tl.maximum(0, context + first - WINDOW + 1) // TILE
    return begin, tl.cdiv(last, TILE), last


@triton.jit
def capped(scores, SOFT_CAP: tl.constexpr):
    """``SOFT_CAP * tanh(scores / SOFT_CAP)`` by one exponential; 0 leaves scores alone.

    Overflow of the exponential gives 1, underflow -1, as it should.
    """
    if SOFT_CAP > 0:
        scores = SOFT_CAP - 2 * SOFT_CAP / (1 + tl.exp(scores * (2 / SOFT_CAP)))
    return scores
