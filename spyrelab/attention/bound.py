"""The bytes that attention has to move, whatever the kernel."""

from __future__ import annotations

from spyrelab.attention.batch import PagedBatch
from spyrelab.machine import SPYRE, Machine

__all__ = ["bound_seconds", "distinct_bytes"]


def distinct_bytes(batch: PagedBatch) -> int:
    """Distinct bytes of queries, of keys and values that are seen, of the result and the tables.

    Every byte counts once, however many heads or queries need it.  Only tokens count that some
    query sees: of a last page that is filled in part, the part; with a window, what it covers.
    """
    itemsize = batch.query.element_size()
    token = 2 * batch.kv_heads * batch.head_dim * itemsize
    seen = pages = 0
    for sequence, length in enumerate(batch.host_kv_lens):
        if batch.host_query_lens[sequence]:
            first = batch.first_visible(sequence)
            seen += length - first
            pages += -(-length // batch.page) - first // batch.page
    new = 2 * batch.query.numel() * itemsize
    tables = 4 * (pages + batch.kv_lens.numel() + batch.query_start.numel())
    return new + seen * token + tables


def bound_seconds(batch: PagedBatch, machine: Machine = SPYRE) -> float:
    """Seconds for the distinct bytes at the card's sustained rate of reading."""
    return distinct_bytes(batch) / machine.ddr_read_bytes_per_second
