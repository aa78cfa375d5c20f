"""One batch of paged attention: queries of many sequences in a row, keys and values in pages."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from itertools import accumulate

import torch

from spyrelab.attention.errors import AttentionError

__all__ = ["PagedBatch"]


@dataclass(frozen=True)
class PagedBatch:
    """Everything that attention over a paged cache reads.

    A query at position ``i`` of its sequence sees the keys at positions ``j <= i``, and with a
    window only those with ``j > i - window``.  The queries of a sequence are its last tokens.

    Attributes
    ----------
    query : Tensor ``[tokens, H, D]``
        The new tokens of all sequences, one sequence after the other.
    key_cache, value_cache : Tensor ``[blocks, page, KVH, D]``
        Pages of tokens.  What lies behind the last token of a sequence may be anything.
    block_table : int32 Tensor ``[sequences, most pages]``
        Page numbers in the order of tokens; entries behind the last page are valid numbers.
    kv_lens : int32 Tensor ``[sequences]``
        Tokens of each context, the new ones included.
    query_start : int32 Tensor ``[sequences + 1]``
        Where each sequence's queries begin; the last entry is the number of tokens.
    host_query_lens, host_kv_lens : tuples of int
        The same lengths on the host, where a serving engine knows them before it launches.
    scale : float
        Factor of ``query @ key``.
    window : int, optional
        Tokens that a query sees, itself included.
    soft_cap : float, optional
        Scores become ``soft_cap * tanh(score / soft_cap)``.
    """

    query: torch.Tensor
    key_cache: torch.Tensor
    value_cache: torch.Tensor
    block_table: torch.Tensor
    kv_lens: torch.Tensor
    query_start: torch.Tensor
    host_query_lens: tuple[int, ...]
    host_kv_lens: tuple[int, ...]
    scale: float
    window: int | None = None
    soft_cap: float | None = None

    def __post_init__(self) -> None:
        """Check shapes and lengths.

        Raises
        ------
        AttentionError
            They do not fit together, or a size is one that the kernels do not take.
        """
        _check_shapes(self)
        _check_lengths(self)

    @property
    def sequences(self) -> int:
        return len(self.host_kv_lens)

    @property
    def heads(self) -> int:
        return self.query.shape[1]

    @property
    def kv_heads(self) -> int:
        return self.key_cache.shape[2]

    @property
    def group(self) -> int:
        """Query heads that share a head of keys and values."""
        return self.heads // self.kv_heads

    @property
    def head_dim(self) -> int:
        return self.query.shape[2]

    @property
    def page(self) -> int:
        """Tokens of a page."""
        return self.key_cache.shape[1]

    @property
    def max_query_len(self) -> int:
        return max(self.host_query_lens, default=0)

    @property
    def max_kv_len(self) -> int:
        return max(self.host_kv_lens, default=0)

    @property
    def host_query_start(self) -> tuple[int, ...]:
        return tuple(accumulate(self.host_query_lens, initial=0))

    def first_visible(self, sequence: int) -> int:
        """The first position that any query of a sequence sees."""
        if self.window is None:
            return 0
        first_query = self.host_kv_lens[sequence] - self.host_query_lens[sequence]
        return max(0, first_query - self.window + 1)

    def to(self, device: str | torch.device) -> PagedBatch:
        """The same batch with its tensors on another device."""
        values = {f.name: getattr(self, f.name) for f in fields(self)}
        tensors = {n: v.to(device) for n, v in values.items() if isinstance(v, torch.Tensor)}
        return PagedBatch(**{**values, **tensors})

    def empty_output(self) -> torch.Tensor:
        """Room for the result ``[tokens, H, D]``, beside the queries."""
        return torch.empty_like(self.query)


def _check_shapes(batch: PagedBatch) -> None:
    if batch.query.dim() != 3 or batch.key_cache.dim() != 4:
        raise AttentionError("query is [tokens, H, D] and a cache [blocks, page, KVH, D]")
    if batch.key_cache.shape != batch.value_cache.shape:
        raise AttentionError("the caches of keys and values differ in shape")
    if batch.query.shape[2] != batch.key_cache.shape[3]:
        raise AttentionError(
            f"queries have head size {batch.query.shape[2]}, keys {batch.key_cache.shape[3]}"
        )
    if batch.heads % batch.kv_heads:
        raise AttentionError(f"{batch.heads} heads are no multiple of {batch.kv_heads} KV heads")
    dtypes = {batch.query.dtype, batch.key_cache.dtype, batch.value_cache.dtype}
    if len(dtypes) > 1:
        raise AttentionError(f"queries and caches have several dtypes: {dtypes}")
    if batch.page & (batch.page - 1):
        raise AttentionError(f"pages of {batch.page} tokens: the kernels take powers of two")
    if batch.window is not None and batch.window < 1:
        raise AttentionError(f"window = {batch.window}: a query sees at least itself")
    if batch.soft_cap is not None and not batch.soft_cap > 0:
        raise AttentionError(f"soft_cap = {batch.soft_cap} is not positive; None turns it off")
    if not math.isfinite(batch.scale) or batch.scale <= 0:
        raise AttentionError(f"scale = {batch.scale} is no positive number")


def _check_lengths(batch: PagedBatch) -> None:
    queries, contexts = batch.host_query_lens, batch.host_kv_lens
    if not len(queries) == len(contexts) == batch.block_table.shape[0]:
        raise AttentionError("as many query lengths, context lengths and rows of the block table")
    if sum(queries) != batch.query.shape[0]:
        raise AttentionError(f"lengths add up to {sum(queries)} of {batch.query.shape[0]} queries")
    for number, (new, context) in enumerate(zip(queries, contexts, strict=True)):
        if not 0 <= new <= context:
            raise AttentionError(f"sequence {number}: {new} new tokens in a context of {context}")
        if context > batch.block_table.shape[1] * batch.page:
            raise AttentionError(f"sequence {number}: the block table has no room for {context}")
