"""The batches that attention is judged on, and tensors for them from a fixed seed."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

import torch

from spyrelab.attention.batch import PagedBatch
from spyrelab.attention.errors import AttentionError

__all__ = ["BUCKETS", "RAGGED", "UNIFORM", "Bucket", "Scenario", "bucket_of", "scenarios"]

UNIFORM = (1.0,)
RAGGED = (0.1, 0.4, 0.5, 1.0, 0.2)
"""Shares of the longest context, sequence after sequence: a median of 40 %, as in the published
micro-benchmark of IBM's Triton attention kernels."""

SPARE_PAGES = 8
"""Pages of the cache that no sequence owns."""


class Bucket(StrEnum):
    """Kinds of batches that share one tuned configuration."""

    DECODE_SHORT = "decode-short"
    DECODE_LONG = "decode-long"
    PREFILL_SHORT = "prefill-short"
    PREFILL_LONG = "prefill-long"
    MIXED_SHORT = "mixed-short"
    MIXED_LONG = "mixed-long"


@dataclass(frozen=True, kw_only=True)
class Scenario:
    """A batch in numbers; :meth:`build` makes its tensors.

    Attributes
    ----------
    query_lens, kv_lens : tuples of int
        New tokens and context of each sequence; 0 and 0 is an empty sequence.
    heads, kv_heads, head_dim, page : int
    dtype : torch.dtype
        float16, bfloat16 or float32.
    window, soft_cap
        As in :class:`PagedBatch`.
    stale : float
        What the cache holds where no token of the batch is.  NaN shows every kernel that lets
        such values into a sum, even with weight 0.
    seed : int
    """

    query_lens: tuple[int, ...]
    kv_lens: tuple[int, ...]
    heads: int = 32
    kv_heads: int = 8
    head_dim: int = 128
    page: int = 16
    dtype: torch.dtype = torch.float16
    window: int | None = None
    soft_cap: float | None = None
    stale: float = math.nan
    seed: int = 0

    @classmethod
    def of(
        cls,
        batch: int,
        max_len: int,
        decode_share: float,
        page: int = 16,
        pattern: tuple[float, ...] = UNIFORM,
        prefix_share: float = 0.0,
        **fields: object,
    ) -> Scenario:
        """A batch whose decoding sequences are spread evenly between the others.

        Parameters
        ----------
        max_len
            Tokens of the longest context; ``pattern`` gives each sequence its share of it.
        decode_share
            Part of the sequences that have one new token; all tokens of the others are new,
            but for the part ``prefix_share`` of their context, which the cache holds already.
        """
        if batch < 1 or max_len < 1 or not 0 <= decode_share <= 1 or not 0 <= prefix_share < 1:
            raise AttentionError("batch and max_len from 1 up, shares between 0 and 1")
        lens = [max(1, round(max_len * pattern[i % len(pattern)])) for i in range(batch)]
        decodes = [_evenly(i, decode_share) for i in range(batch)]
        new = [
            1 if decode else length - int(length * prefix_share)
            for decode, length in zip(decodes, lens, strict=True)
        ]
        known = {"query_lens": tuple(new), "kv_lens": tuple(lens), "page": page}
        return cls(**known, **fields)  # type: ignore[arg-type]

    @property
    def name(self) -> str:
        """Short and unique within a sweep: ``b16-s2048-d1.00-p16-ragged``."""
        lens = set(self.kv_lens)
        shape = "uniform" if len(lens) == 1 else "ragged"
        longest = max(self.kv_lens, default=0)
        kind = f"b{len(self.kv_lens)}-s{longest}-d{self.decode_share:.2f}"
        return f"{kind}-p{self.page}-{shape}"

    @property
    def decode_share(self) -> float:
        """Part of the sequences with one new token; 0 without sequences."""
        ones = sum(n == 1 for n in self.query_lens)
        return ones / len(self.query_lens) if self.query_lens else 0.0

    def build(self, device: str | torch.device = "cpu") -> PagedBatch:
        """Tensors from the seed, the same on every device; pages lie in random order."""
        rng = torch.Generator().manual_seed(self.seed)
        shape = (sum(self.query_lens), self.heads, self.head_dim)
        needed = [-(-n // self.page) for n in self.kv_lens]
        blocks = sum(needed) + SPARE_PAGES
        query = torch.randn(shape, generator=rng).to(self.dtype)
        table = _block_table(needed, torch.randperm(blocks, generator=rng))
        cache = (blocks, self.page, self.kv_heads, self.head_dim)
        keys, values = (torch.randn(cache, generator=rng).to(self.dtype) for _ in "kv")
        unused = _unused(table, self.kv_lens, needed, blocks, self.page)
        keys[unused], values[unused] = self.stale, self.stale
        starts = torch.tensor([0, *self.query_lens]).cumsum(0)
        made = PagedBatch(
            query=query,
            key_cache=keys,
            value_cache=values,
            block_table=table,
            kv_lens=torch.tensor(self.kv_lens, dtype=torch.int32),
            query_start=starts.to(torch.int32),
            host_query_lens=self.query_lens,
            host_kv_lens=self.kv_lens,
            scale=1 / math.sqrt(self.head_dim),
            window=self.window,
            soft_cap=self.soft_cap,
        )
        return made if torch.device(device).type == "cpu" else made.to(device)


def _evenly(index: int, share: float) -> bool:
    """Whether the element is one of those that a share picks, spread evenly."""
    return math.floor((index + 1) * share + 1e-9) > math.floor(index * share + 1e-9)


def _block_table(needed: list[int], order: torch.Tensor) -> torch.Tensor:
    """Each sequence's pages from a random order; page 0 where a row has no more."""
    table = torch.zeros(len(needed), max([1, *needed]), dtype=torch.int32)
    used = 0
    for row, count in zip(table, needed, strict=True):
        row[:count] = order[used : used + count]
        used += count
    return table


def _unused(
    table: torch.Tensor, lengths: tuple[int, ...], needed: list[int], blocks: int, page: int
) -> torch.Tensor:
    """Where the cache holds no token of the batch, bool ``[blocks, page]``."""
    unused = torch.ones(blocks, page, dtype=torch.bool)
    for row, length, count in zip(table, lengths, needed, strict=True):
        held = torch.arange(count * page).view(count, page) < length
        unused[row[:count].long()] = ~held
    return unused


def scenarios(
    batches: tuple[int, ...] = (1, 4, 16),
    max_lens: tuple[int, ...] = (128, 512, 2048),
    decode_shares: tuple[float, ...] = (0.0, 0.5, 1.0),
    pages: tuple[int, ...] = (16, 64),
    patterns: tuple[tuple[float, ...], ...] = (UNIFORM, RAGGED),
) -> Iterator[Scenario]:
    """The sweep of the comparison; a batch of one has neither half a share nor a pattern."""
    for batch in batches:
        for max_len in max_lens:
            for share in decode_shares:
                for page in pages:
                    for pattern in patterns:
                        single = pattern is not UNIFORM or 0 < share < 1
                        if batch > 1 or not single:
                            yield Scenario.of(batch, max_len, share, page, pattern)


BUCKETS = {
    Bucket.DECODE_SHORT: Scenario.of(4, 512, 1.0, pattern=RAGGED),
    Bucket.DECODE_LONG: Scenario.of(16, 2048, 1.0, pattern=RAGGED),
    Bucket.PREFILL_SHORT: Scenario.of(4, 512, 0.0, pattern=RAGGED),
    Bucket.PREFILL_LONG: Scenario.of(4, 2048, 0.0, pattern=RAGGED),
    Bucket.MIXED_SHORT: Scenario.of(4, 512, 0.5, pattern=RAGGED),
    Bucket.MIXED_LONG: Scenario.of(16, 2048, 0.5, pattern=RAGGED),
}
"""The scenarios that are tuned; every other one uses the configuration of its bucket."""

SHORT = 512
"""Longest context, in tokens, of the short buckets."""


def bucket_of(scenario: Scenario) -> Bucket:
    """The bucket whose tuned configuration serves a scenario."""
    share = scenario.decode_share
    kind = "decode" if share == 1 else "prefill" if share == 0 else "mixed"
    length = "short" if max(scenario.kv_lens, default=0) <= SHORT else "long"
    return Bucket(f"{kind}-{length}")
