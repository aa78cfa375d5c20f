"""Meta-parameters of the hand-tuned kernels, all in one place, and what a tuner may try."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from spyrelab.attention.batch import PagedBatch
from spyrelab.machine import SPYRE

__all__ = [
    "PointerConfig",
    "SegmentedConfig",
    "SpyreConfig",
    "SpyreConfigs",
    "helion_bucket",
    "helion_config",
    "helion_segments",
    "pointer_candidates",
    "pointer_config",
    "segmented_candidates",
    "segmented_config",
    "spyre_candidates",
    "spyre_configs",
]


@dataclass(frozen=True)
class PointerConfig:
    """Queries per block and tokens per tile of the GPU-style kernel."""

    block_q: int
    tile: int


@dataclass(frozen=True)
class SegmentedConfig:
    """Queries per block, tokens per tile and segments of a context."""

    block_q: int
    tile: int
    segments: int


@dataclass(frozen=True)
class SpyreConfig:
    """How the Spyre-aware kernel cuts its work.

    Attributes
    ----------
    block_q : int
        Queries of a block; with one, contexts may be split.
    kv_heads : int
        KV heads that a core takes together: neighbours in memory, so that they are one run.
    share : int
        Cores that take the same keys and values at the same time, each for other query heads:
        what they read crosses the memory port once.
    pages : int
        Pages of a tile, gathered where there are several.
    tiles : int
        Tiles of a step; the running sum is scaled once per step.
    cores : int
        Programs at most.
    """

    block_q: int
    kv_heads: int
    share: int
    pages: int
    tiles: int
    cores: int = 32

    @property
    def step(self) -> int:
        """Pages of a step."""
        return self.pages * self.tiles


@dataclass(frozen=True)
class SpyreConfigs:
    """One for the sequences with one new token, one for the others."""

    decode: SpyreConfig
    prefill: SpyreConfig


GPU_ROWS = 16
"""Rows of a block on a GPU: the smallest matrix that tensor cores take."""

GPU_LONG_PREFILL = 4096
"""Average number of new tokens from which on larger blocks win on a GPU."""


def pointer_config(batch: PagedBatch) -> PointerConfig:
    """The published decision tree for GPUs (arXiv 2511.11581), unchanged.

    16 rows and 32 tokens, but 64 and 64 for long prefills; 16 tokens where all sequences decode.
    """
    long = batch.query.shape[0] >= GPU_LONG_PREFILL * max(1, batch.sequences)
    rows = 64 if long and batch.max_query_len > 1 else GPU_ROWS
    tile = 64 if long else 32 if batch.max_query_len > 1 else 16
    return PointerConfig(max(1, rows // batch.group), tile)


def segmented_config(batch: PagedBatch) -> SegmentedConfig:
    """The same blocks; 16 segments, vLLM's number for decoding on a GPU."""
    pointer = pointer_config(batch)
    return SegmentedConfig(pointer.block_q, pointer.tile, 16)


def pointer_candidates(batch: PagedBatch) -> Iterator[PointerConfig]:
    """Blocks up to 512 rows and tiles of 16 to 256 tokens; a decode needs one query a block."""
    for rows in (16, 32, 64, 128, 256, 512):
        block_q = max(1, rows // batch.group)
        if block_q <= max(4, batch.max_query_len):
            yield from (PointerConfig(block_q, tile) for tile in (16, 32, 64, 128, 256))


def segmented_candidates(batch: PagedBatch) -> Iterator[SegmentedConfig]:
    """The same, with 2 to 32 segments."""
    for config in pointer_candidates(batch):
        yield from (SegmentedConfig(config.block_q, config.tile, n) for n in (2, 4, 8, 16, 32))


STEP_BYTES = int(SPYRE.lx_back_end_fraction * SPYRE.lx_bytes)
"""Keys and values of a step: as much as is loaded ahead while the step before is worked on."""

PREFILL_ROWS = 512
"""Rows of scores per core: a tile of keys serves them all, and their f32 sums fit."""

LEAST_ROWS = 128
"""Rows of scores per core below which a tile of keys is too little used."""

STICK = 64
"""Tokens of a tile from which on the matrix unit has no idle columns."""


def spyre_configs(batch: PagedBatch) -> SpyreConfigs:
    """Both configurations, from sizes alone."""
    return SpyreConfigs(_spyre_decode(batch), _spyre_prefill(batch))


def _spyre_decode(batch: PagedBatch) -> SpyreConfig:
    """Whole pages for all heads, in step with the cores that take the other query heads."""
    share = min(4, _power_up(batch.group))
    heads = _dividing(batch.kv_heads)
    while heads > 1 and _step_bytes(batch, heads, 1) > STEP_BYTES:
        heads //= 2
    tiles = 1
    while tiles * batch.page < 2 * STICK and _step_bytes(batch, heads, 2 * tiles) <= STEP_BYTES:
        tiles *= 2
    return SpyreConfig(1, heads, share, 1, tiles)


def _spyre_prefill(batch: PagedBatch) -> SpyreConfig:
    """Many rows for each tile of keys, tiles that fill the matrix unit, and two of them a step.

    Two heads at a time double a run in memory, and two cores share what is read. Shorter blocks
    where there are fewer than two for each core: the last ones see most keys.
    """
    group = _power_up(batch.group)
    heads = min(2, _dividing(batch.kv_heads))
    block_q = min(_power_up(batch.max_query_len), max(1, PREFILL_ROWS // (heads * group)))
    while block_q * group > LEAST_ROWS and _units(batch, block_q) < 2 * SPYRE.cores:
        block_q //= 2
    pages = max(1, STICK // batch.page)
    return SpyreConfig(block_q, heads, min(2, group), pages, 2)


def _units(batch: PagedBatch, block_q: int) -> int:
    """Blocks of the sequences that do not decode, once for each KV head."""
    return sum(-(-n // block_q) for n in batch.host_query_lens if n > 1) * batch.kv_heads


def spyre_candidates(batch: PagedBatch, decode: bool) -> Iterator[SpyreConfig]:
    """What a tuner may try for blocks of one query, or for the others.

    Decodes read little for each product, so small tiles are tried as well; a prefill wants the
    columns of the matrix unit full.
    """
    most = _power_up(batch.max_query_len)
    blocks = [1] if decode else [n for n in (32, 64, 128) if n <= max(32, most)]
    least = 1 if decode else max(1, STICK // batch.page)
    tiles = (1, 2, 4, 8) if decode else (1, 2)
    for block_q in blocks:
        for heads in _powers(min(8 if decode else 4, _dividing(batch.kv_heads))):
            for share in _powers(min(8 if decode else 2, _power_up(batch.group))):
                for pages in _powers(max(1, (4 if decode else 2) * STICK // batch.page)):
                    for count in tiles:
                        fits = _step_bytes(batch, heads, pages * count) <= STEP_BYTES
                        if fits and pages >= least:
                            yield SpyreConfig(block_q, heads, share, pages, count)


def _step_bytes(batch: PagedBatch, heads: int, pages: int) -> int:
    return 2 * pages * batch.page * heads * batch.head_dim * batch.query.element_size()


def _power_up(value: int) -> int:
    """The power of two that is at least ``value``."""
    return 1 << max(0, value - 1).bit_length()


def _dividing(value: int) -> int:
    """The largest power of two that divides ``value``."""
    return value & -value


def _powers(most: int) -> list[int]:
    return [1 << n for n in range(most.bit_length())]


def helion_bucket(batch: PagedBatch) -> int:
    """Most queries of a block, as a compile-time number: 1, 8, 16, 32, 64 or 128."""
    longest = _power_up(batch.max_query_len)
    return 1 if longest == 1 else min(128, max(8, longest))


def helion_config(batch: PagedBatch, combine: bool = False) -> dict[str, list[int]]:
    """Block sizes: queries, pages, and with ``combine`` the tokens and heads of the last phase.

    32 queries and 64 tokens are what the published search found on an H100 for prefills; a
    decode has one query, and as many tokens.
    """
    sizes = [min(helion_bucket(batch), 32), max(1, 64 // batch.page)]
    return {"block_sizes": [*sizes, 1, 8] if combine else sizes}


def helion_segments(batch: PagedBatch) -> int:
    """Segments that give every core work where there are fewer blocks than cores."""
    blocks = sum(-(-n // helion_bucket(batch)) for n in batch.host_query_lens) * batch.kv_heads
    return min(16, _power_up(-(-SPYRE.cores // max(1, blocks))))
