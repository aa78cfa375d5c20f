"""Paged attention for a dataflow card: 32 cores, whole pages, a schedule made on the host.

What is different from a kernel for a GPU:

* The grid has at most 32 programs, and each walks its own list of work (``plan``): a program
  here is a core, and there is no other one to take over while it waits.
* A page is a box.  Its number is a scalar, so what is loaded is a box at a known place, in the
  order of heads: ``[heads, page, D]`` from a cache ``[blocks, page, KV heads, D]``, by a
  descriptor whose strides swap the axes.  Several KV heads lie side by side in memory, which
  makes a run long enough for the memory port.
* ``SHARE`` cores next to each other take the same pages at the same time, each for its part of
  the query heads: the page crosses the port once.  A cache does this on a GPU.
* A step takes ``TILES`` tiles and scales the running sum once.  Steps whose tokens everybody
  sees have no mask at all; the few others come before and after.
* Small pages are gathered into one tile where many rows need it: the matrix unit would idle.

Rows of a core, per KV head: row ``m`` is query ``m // GROUP`` and head ``m % GROUP`` of its part.
Grid: (cores,).  Split contexts leave their result and its logarithm of the total (base 2); a
second launch combines them.
"""

from __future__ import annotations

import triton
import triton.language as tl

from spyrelab.attention.triton_kernels.online import capped

__all__ = ["combine_kernel", "spyre_kernel"]

LOG2_E = tl.constexpr(1.4426950408889634)


@triton.jit
def spyre_kernel(
    out,
    part_log,
    query,
    key_cache,
    value_cache,
    block_table,
    units,
    starts,
    scale,
    blocks,
    table_row,
    cache_block,
    cache_token,
    cache_head,
    KVH: tl.constexpr,
    G: tl.constexpr,
    D: tl.constexpr,
    D_PADDED: tl.constexpr,
    PAGE: tl.constexpr,
    BLOCK_Q: tl.constexpr,
    HEADS: tl.constexpr,
    SHARE: tl.constexpr,
    GROUP: tl.constexpr,
    PAGES: tl.constexpr,
    TILES: tl.constexpr,
    WINDOW: tl.constexpr,
    SOFT_CAP: tl.constexpr,
    COLUMNS: tl.constexpr,
    SPLIT: tl.constexpr,
):
    """All units of one group of cores, for one part of the query heads."""
    group = tl.program_id(0) // SHARE
    part = tl.program_id(0) % SHARE
    keys = tl.make_tensor_descriptor(
        key_cache,
        shape=[blocks, KVH, PAGE, D],
        strides=[cache_block, cache_head, cache_token, 1],
        block_shape=[1, HEADS, PAGE, D_PADDED],
    )
    values = tl.make_tensor_descriptor(
        value_cache,
        shape=[blocks, KVH, PAGE, D],
        strides=[cache_block, cache_head, cache_token, 1],
        block_shape=[1, HEADS, PAGE, D_PADDED],
    )
    at = cache_block, cache_token, cache_head
    M: tl.constexpr = BLOCK_Q * GROUP

    for unit in range(tl.load(starts + group), tl.load(starts + group + 1)):
        column = units + unit * COLUMNS
        table = block_table + tl.load(column) * table_row
        head = tl.load(column + 1)
        token = tl.load(column + 2)
        queries = tl.load(column + 3)
        position = tl.load(column + 4)
        first_page = tl.load(column + 5)
        plain_begin = tl.load(column + 6)
        plain_end = tl.load(column + 7)
        last_page = tl.load(column + 8)
        out_row = tl.load(column + 9)

        # The descriptor ends with the block's last query: rows behind it read as zero.
        q_rows = tl.make_tensor_descriptor(
            query,
            shape=[KVH, token + queries, G, D],
            strides=[G * D, KVH * G * D, D, 1],
            block_shape=[HEADS, BLOCK_Q, GROUP, D_PADDED],
        )
        q = q_rows.load([head, token, part * GROUP, 0]).reshape(HEADS, M, D_PADDED)
        query_at = position + tl.arange(0, M) // GROUP
        acc = tl.zeros([HEADS, M, D_PADDED], tl.float32)
        top = tl.full([HEADS, M], float("-inf"), tl.float32)
        total = tl.zeros([HEADS, M], tl.float32)
        state = acc, top, total
        caches = keys, values, key_cache, value_cache
        seen = query_at, position + queries

        if WINDOW > 0:
            state = take_pages(
                state, q, caches, at, table, head, seen, first_page, plain_begin, scale,
                D, PAGE, PAGES, 1, HEADS, WINDOW, SOFT_CAP, True,
            )  # fmt: skip
        state = take_pages(
            state, q, caches, at, table, head, seen, plain_begin, plain_end, scale,
            D, PAGE, PAGES, TILES, HEADS, WINDOW, SOFT_CAP, False,
        )  # fmt: skip
        state = take_pages(
            state, q, caches, at, table, head, seen, plain_end, last_page, scale,
            D, PAGE, PAGES, 1, HEADS, WINDOW, SOFT_CAP, True,
        )  # fmt: skip

        acc, top, total = state
        result = (acc / total[:, :, None]).to(out.dtype.element_ty)
        out_rows = tl.make_tensor_descriptor(
            out,
            shape=[KVH, out_row + queries, G, D],
            strides=[G * D, KVH * G * D, D, 1],
            block_shape=[HEADS, BLOCK_Q, GROUP, D_PADDED],
        )
        result = result.reshape(HEADS, BLOCK_Q, GROUP, D_PADDED)
        out_rows.store([head, out_row, part * GROUP, 0], result)
        if SPLIT:
            factor = LOG2_E if SOFT_CAP > 0 else scale * LOG2_E
            in_group = part * GROUP + tl.arange(0, GROUP)
            place = (
                out_row * KVH * G + (head + tl.arange(0, HEADS))[:, None] * G + in_group[None, :]
            )
            mask = tl.broadcast_to((in_group < G)[None, :], [HEADS, GROUP])
            tl.store(part_log + place, top * factor + tl.log2(total), mask=mask)


@triton.jit
def take_pages(
    state, q, caches, at, table, head, seen, begin, end, scale,
    D: tl.constexpr, PAGE: tl.constexpr, PAGES: tl.constexpr, TILES: tl.constexpr,
    HEADS: tl.constexpr, WINDOW: tl.constexpr, SOFT_CAP: tl.constexpr, MASKED: tl.constexpr,
):  # fmt: skip
    """Take pages ``[begin, end)`` into the running softmax ``state``: acc, top, total."""
    acc, top, total = state
    keys, values, key_cache, value_cache = caches
    query_at, kv_len = seen
    # Powers of two are what the exponential is made of; the scale goes into the same factor.
    factor = LOG2_E if SOFT_CAP > 0 else scale * LOG2_E
    limit = tl.minimum(kv_len, end * PAGE)
    for page in range(begin, end, TILES * PAGES):
        key_at = page * PAGE + tl.arange(0, PAGES * PAGE)
        ids = ()
        scores = ()
        higher = top
        for tile in tl.static_range(TILES):
            number = page_numbers(table, page + tile * PAGES, end, PAGES)
            k = load_tile(keys, key_cache, at, number, head, D, PAGE, PAGES, HEADS, q.shape[2])
            found = tl.dot(q, tl.permute(k, (0, 2, 1)))
            if SOFT_CAP > 0:
                found = capped(found * scale, SOFT_CAP)
            if MASKED:
                allowed = (key_at <= query_at[:, None]) & (key_at < limit)[None, :]
                if WINDOW > 0:
                    allowed = allowed & (key_at > query_at[:, None] - WINDOW)
                found = tl.where(allowed[None, :, :], found, float("-inf"))
            higher = tl.maximum(higher, tl.max(found, 2))
            scores = scores + (found,)  # noqa: RUF005
            ids = ids + (number,)  # noqa: RUF005
        # A row that has seen nothing yet: -inf minus -inf would be NaN.
        pivot = tl.where(higher > float("-inf"), higher, 0.0)
        decay = tl.exp2((top - pivot) * factor)
        total = total * decay
        acc = acc * decay[:, :, None]
        slope = tl.full(scores[0].shape, 0.0, tl.float32) + factor
        offset = tl.broadcast_to((-pivot * factor)[:, :, None], scores[0].shape)
        for tile in tl.static_range(TILES):
            weights = tl.exp2(tl.fma(scores[tile], slope, offset))
            total += tl.sum(weights, 2)
            v = load_tile(
                values, value_cache, at, ids[tile], head, D, PAGE, PAGES, HEADS, q.shape[2]
            )
            if MASKED:
                # What lies behind the last token may be NaN, and 0 * NaN is NaN.
                v = tl.where((key_at < limit)[None, :, None], v, 0.0)
            acc = tl.dot(weights.to(v.dtype), v, acc)
        top = higher
    return acc, top, total


@triton.jit
def page_numbers(table, page, end, PAGES: tl.constexpr):
    """One page's number, or those of several; page 0 from ``end`` on."""
    if PAGES == 1:
        number = tl.load(table + page)
    else:
        pages = page + tl.arange(0, PAGES)
        number = tl.load(table + pages, mask=pages < end, other=0)
    return number


@triton.jit
def load_tile(
    pages, cache, at, number, head,
    D: tl.constexpr, PAGE: tl.constexpr, PAGES: tl.constexpr, HEADS: tl.constexpr,
    D_PADDED: tl.constexpr,
):  # fmt: skip
    """Keys or values of ``PAGES`` pages, ``[HEADS, PAGES * PAGE, D]``."""
    if PAGES == 1:
        tile = pages.load([number, head, 0, 0])
    else:
        cache_block, cache_token, cache_head = at
        heads = (head + tl.arange(0, HEADS))[:, None, None, None] * cache_head
        blocks = number.to(tl.int64)[None, :, None, None] * cache_block
        tokens = tl.arange(0, PAGE)[None, None, :, None] * cache_token
        dims = tl.arange(0, D_PADDED)[None, None, None, :]
        tile = tl.load(cache + heads + blocks + tokens + dims, mask=dims < D, other=0.0)
    return tile.reshape(HEADS, PAGES * PAGE, D_PADDED)


@triton.jit
def combine_kernel(
    out,
    part_out,
    part_log,
    slots,
    rows,
    KVH: tl.constexpr,
    G: tl.constexpr,
    G_PADDED: tl.constexpr,
    D: tl.constexpr,
    D_PADDED: tl.constexpr,
):
    """Combine the partial results of each token, head group by head group.

    With ``l`` the logarithms of the totals, ``out = sum(2^(l - m) part) / sum(2^(l - m))``.
    """
    in_group = tl.arange(0, G_PADDED)
    dim = tl.arange(0, D_PADDED)
    held = in_group < G
    mask = held[:, None] & (dim < D)[None, :]
    for task in range(tl.program_id(0), rows * KVH, tl.num_programs(0)):
        row = task // KVH
        heads = task % KVH * G + in_group
        token = tl.load(slots + 2 * row)
        acc = tl.zeros([G_PADDED, D_PADDED], tl.float32)
        top = tl.full([G_PADDED], float("-inf"), tl.float32)
        total = tl.zeros([G_PADDED], tl.float32)
        for slot in range(tl.load(slots + 2 * row + 1), tl.load(slots + 2 * row + 3)):
            place = slot * KVH * G + heads
            log = tl.load(part_log + place, mask=held, other=0.0)
            part = tl.load(part_out + place[:, None] * D + dim[None, :], mask=mask, other=0.0)
            higher = tl.maximum(top, log)
            decay = tl.exp2(top - higher)
            weight = tl.exp2(log - higher)
            acc = acc * decay[:, None] + part * weight[:, None]
            total = total * decay + weight
            top = higher
        place = (token * KVH * G + heads)[:, None] * D + dim[None, :]
        tl.store(out + place, (acc / total[:, None]).to(out.dtype.element_ty), mask=mask)
