"""Paged attention for decoding: one query per sequence, keys and values in pages."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from spyrelab.kernels.arrays import Array, KernelError, element_type, random_array, zeros
from spyrelab.kernels.division import TILE_ELEMENTS, ceil_div, positive
from spyrelab.kernels.kernel import Kernel
from spyrelab.ktir.builder import Builder, Scalar, Tensor, View
from spyrelab.ktir.ir import Module
from spyrelab.ktir.types import I32, INDEX

State = tuple[Tensor, Tensor, Tensor]
"""Running weighted sum of values [group, head_dim], maximum and total of weights [group]."""


def paged_attention(
    queries: int,
    heads: int,
    kv_heads: int,
    head_dim: int,
    page_size: int,
    max_pages: int,
    num_pages: int | None = None,
    dtype: str = "f16",
    scale: float | None = None,
    cores: int = 32,
    block_pages: int | None = None,
) -> Module:
    """``out[q, h] = softmax(scale * query[q, h] @ keys.T) @ values`` over each own context.

    The context of query q is the first ``lengths[q]`` tokens of the pages that
    ``page_table[q]`` names, at most ``max_pages``.  Heads share keys and values in groups of
    ``heads / kv_heads``.  A query with no context gives zeros.

    Pairs (query, kv head) go round the cores.  A core walks its context with an online
    softmax (Milakov and Gimelshein 2018): blocks of full pages first, then page by page, the
    last one masked.  Trip counts come from ``lengths``.

    Arguments of the kernel: query, out ``[queries, heads, head_dim]``; keys, values
    ``[num_pages, page_size, kv_heads, head_dim]``; page_table ``[queries, max_pages]`` and
    lengths ``[queries]``, both int32.
    Bytes moved: ``2 * itemsize * head_dim * (queries * heads + kv_heads * tokens)`` with
    tokens the context lengths rounded up to pages, plus the tables.

    Parameters
    ----------
    num_pages
        Pages of the cache (default ``queries * max_pages``).
    scale
        Default ``1 / sqrt(head_dim)``.
    block_pages
        Pages per step (default: about one tile of keys).
    """
    positive(queries=queries, heads=heads, kv_heads=kv_heads, head_dim=head_dim)
    positive(page_size=page_size, max_pages=max_pages, cores=cores)
    if heads % kv_heads:
        raise KernelError(f"heads = {heads} is no multiple of kv_heads = {kv_heads}")
    pages = num_pages or queries * max_pages
    positive(num_pages=pages)
    element = element_type(dtype)
    block = block_pages or max(1, TILE_ELEMENTS * 2 // (page_size * head_dim))
    b = Builder("paged_attention", grid=(cores,))
    at = b.pointers("query", "keys", "values", "page_table", "lengths", "out")
    rows, cache = (queries * heads, head_dim), (pages, page_size, kv_heads, head_dim)
    kernel = _Attention(
        b,
        query=b.view(at[0], sizes=rows, dtype=element),
        keys=b.view(at[1], sizes=cache, dtype=element),
        values=b.view(at[2], sizes=cache, dtype=element),
        page_table=b.view(at[3], sizes=(queries, max_pages), dtype=I32),
        lengths=b.view(at[4], sizes=(queries,), dtype=I32),
        out=b.view(at[5], sizes=rows, dtype=element),
        group=heads // kv_heads,
        block=min(block, max_pages),
        scale=1 / math.sqrt(head_dim) if scale is None else scale,
    )
    core = b.compute_tile_id()
    with b.loop(core, queries * kv_heads, cores, names="pair") as pair:
        kernel.attend(pair, (pair // kv_heads).named("q"), (pair % kv_heads).named("kv"))
    return b.build()


@dataclass
class _Attention:
    b: Builder
    query: View
    keys: View
    values: View
    page_table: View
    lengths: View
    out: View
    group: int
    block: int
    scale: float

    @property
    def page_size(self) -> int:
        return self.keys.memref.shape[1] or 0

    @property
    def head_dim(self) -> int:
        return self.keys.memref.shape[3] or 0

    def attend(self, pair: Scalar, q: Scalar, kv: Scalar) -> None:
        """One query's group of heads that shares kv head ``kv``."""
        b, group, dim, block = self.b, self.group, self.head_dim, self.block
        length = b.load(self.lengths[q], shape=(1,)).item().to(INDEX).named("length")
        query = b.load(self.query[pair * group, 0], shape=(group, dim))
        state: State = (
            b.fill((group, dim), 0.0),
            b.fill((group,), -math.inf),
            b.fill((group,), 0.0),
        )
        names = ("page", "sum", "top", "weight")
        pages = ((length + (self.page_size - 1)) // self.page_size).named("pages")
        blocks = b.constant(0)
        if block > 1:
            blocks = (length // (self.page_size * block) * block).named("block_pages")
            loop = b.loop(0, blocks, block, carry=state, names=names)
            with loop as (page, *inner):
                loop.yield_(*self._step(query, q, kv, page, block, None, *inner))
            state = loop.results
        loop = b.loop(blocks, pages, 1, carry=state, names=names)
        with loop as (page, *inner):
            left = (length - page * self.page_size).named("left")
            loop.yield_(*self._step(query, q, kv, page, 1, left, *inner))
        total, _, weight = loop.results
        # A query without context has weight 0: its sum of 0 stays 0.
        factor = 1.0 / b.maximum(weight, 1e-30)
        result = total * b.broadcast(factor, (group, dim), 1)
        b.store(result.to(self.out.dtype), self.out[pair * group, 0])

    def _step(
        self,
        query: Tensor,
        q: Scalar,
        kv: Scalar,
        page: Scalar,
        count: int,
        left: Scalar | None,
        total: Tensor,
        top: Tensor,
        weight: Tensor,
    ) -> State:
        """Take in ``count`` pages; only the first ``left`` tokens count where it is given."""
        b, group, dim = self.b, self.group, self.head_dim
        tokens = count * self.page_size
        keys = self._pages(self.keys, q, kv, page, tokens)
        values = self._pages(self.values, q, kv, page, tokens)
        scores = b.matmul(query, keys, transpose_right=True) * self.scale
        if left is not None:
            valid = b.constant_tensor(range(tokens), I32) < b.splat(left.to(I32), (tokens,))
            off = b.fill((group, tokens), -math.inf)
            scores = b.select(b.broadcast(valid, (group, tokens), 0), scores, off)
            # What lies in a page beyond the context may be NaN, and 0 * NaN is NaN.
            zero = b.full((tokens, dim), 0.0, values.dtype)
            values = b.select(b.broadcast(valid, (tokens, dim), 1), values, zero)
        higher = b.reduce("max", scores, 1, initial=top)
        powers = b.exp(scores - b.broadcast(higher, (group, tokens), 1))
        decay = b.exp(top - higher).named("decay")
        scaled = total * b.broadcast(decay, (group, dim), 1)
        weight = b.reduce("add", powers, 1, initial=weight * decay)
        return b.matmul(powers.to(values.dtype), values, into=scaled), higher, weight

    def _pages(self, cache: View, q: Scalar, kv: Scalar, page: Scalar, tokens: int) -> Tensor:
        size, table = self.page_size, self.page_table
        if tokens == size:
            return self.b.gather(
                cache, (tokens, self.head_dim), lambda t, d: (table[q, page], t, kv, d)
            )
        return self.b.gather(
            cache,
            (tokens, self.head_dim),
            lambda t, d: (table[q, page + t // size], t % size, kv, d),
        )


def spec(
    query: Array,
    keys: Array,
    values: Array,
    page_table: Array,
    lengths: Array,
    scale: float | None = None,
    **_: Any,
) -> Array:
    """Attention of each query over its gathered context, in float32."""
    heads, head_dim = query.shape[1:]
    group = heads // keys.shape[2]
    scale = 1 / math.sqrt(head_dim) if scale is None else scale
    out = np.zeros_like(query)
    for q, length in enumerate(lengths):
        pages = page_table[q, : ceil_div(int(length), keys.shape[1])]
        if not length:
            continue
        k, v = (c[pages].reshape(-1, *c.shape[2:])[:length].swapaxes(0, 1) for c in (keys, values))
        scores = query[q].reshape(-1, group, head_dim) @ k.swapaxes(1, 2) * scale
        weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
        out[q] = (weights / weights.sum(axis=-1, keepdims=True) @ v).reshape(heads, head_dim)
    return out


def arguments(
    queries: int,
    heads: int,
    kv_heads: int,
    head_dim: int,
    page_size: int,
    max_pages: int,
    num_pages: int | None = None,
    dtype: str = "f16",
    context: int | None = None,
    seed: int = 0,
    **_: Any,
) -> dict[str, Array]:
    """Random query and cache, shuffled pages, and room for out.

    All contexts have ``context`` tokens; without it they are ragged, 0 to the most there is.
    """
    rng = np.random.default_rng(seed)
    pages = num_pages or queries * max_pages
    cache = (pages, page_size, kv_heads, head_dim)
    order = rng.permutation(max(pages, queries * max_pages))[: queries * max_pages] % pages
    lengths = rng.integers(0, max_pages * page_size + 1, queries)
    return {
        "query": random_array(rng, (queries, heads, head_dim), dtype),
        "keys": random_array(rng, cache, dtype),
        "values": random_array(rng, cache, dtype),
        "page_table": order.reshape(queries, max_pages).astype(np.int32),
        "lengths": (lengths if context is None else np.full(queries, context)).astype(np.int32),
        "out": zeros((queries, heads, head_dim), dtype),
    }


PAGED_ATTENTION = Kernel("paged_attention", paged_attention, spec, arguments)
