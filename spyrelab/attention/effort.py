"""How much there is to predict: a GPU-style kernel visits many small tiles, one after the other."""

from __future__ import annotations

from spyrelab.attention.batch import PagedBatch
from spyrelab.attention.heuristics import PointerConfig, SegmentedConfig
from spyrelab.attention.scenarios import Scenario

__all__ = ["key_visits", "tile_visits"]


def tile_visits(batch: PagedBatch | Scenario, config: PointerConfig | SegmentedConfig) -> int:
    """Tiles of keys that all blocks of queries visit together.

    The time that a prediction takes grows with it, by about half a millisecond each.
    """
    queries, contexts = _lengths(batch)
    visits = 0
    for new, length in zip(queries, contexts, strict=True):
        for first in range(0, new, config.block_q):
            last = length - new + min(new, first + config.block_q)
            visits += -(-last // config.tile)
    return visits * batch.kv_heads


def key_visits(batch: PagedBatch | Scenario) -> int:
    """Pairs of a query and a key that it may see, over all query heads: the work of a launch."""
    pairs = 0
    for new, length in zip(*_lengths(batch), strict=True):
        pairs += new * (length - new) + new * (new + 1) // 2
    return pairs * batch.heads


def _lengths(batch: PagedBatch | Scenario) -> tuple[tuple[int, ...], tuple[int, ...]]:
    if isinstance(batch, Scenario):
        return batch.query_lens, batch.kv_lens
    return batch.host_query_lens, batch.host_kv_lens
