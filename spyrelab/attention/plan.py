"""The schedule of the Spyre-aware kernel: which group of cores takes which pages, in which order.

A serving engine knows all lengths on the host before it launches, so the division of work needs
no search on the device: it is a table that the cores read row by row.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import torch

from spyrelab.attention.batch import PagedBatch
from spyrelab.attention.heuristics import SpyreConfig

__all__ = ["COLUMNS", "Plan", "Unit", "make_plan"]

COLUMNS = 10
"""Numbers of a unit in the table that the kernel reads."""

LEAST_SPLIT = 128
"""Tokens of the shortest piece that a context is cut into: below, combining costs more."""


@dataclass(frozen=True)
class Unit:
    """A block of queries against some pages of its sequence, for some heads.

    Pages ``[first_page, last_page)`` are read.  Every query of the block sees all of the pages
    ``[plain_begin, plain_end)``, which are a whole number of the kernel's steps.

    Attributes
    ----------
    sequence : int
    kv_head : int
        The first of the KV heads that are taken together.
    first_token, queries : int
        Rows of the query tensor.
    position : int
        Of the first query in its sequence.
    out_row : int
        Where the result goes: the row ``first_token``, or a slot for partial results.
    """

    sequence: int
    kv_head: int
    first_token: int
    queries: int
    position: int
    first_page: int
    plain_begin: int
    plain_end: int
    last_page: int
    out_row: int

    def row(self) -> list[int]:
        """The numbers in the order in which the kernel reads them."""
        return [getattr(self, name) for name in self.__dataclass_fields__]

    @property
    def pages(self) -> int:
        return self.last_page - self.first_page


@dataclass(frozen=True)
class Plan:
    """A launch of the kernel as tables on the device.

    Attributes
    ----------
    units : int32 Tensor ``[units, COLUMNS]``
        Ordered by the group of cores that takes them.
    starts : int32 Tensor ``[groups + 1]``
        Where each group's units begin.
    slots : int32 Tensor ``[rows + 1, 2]``, optional
        With split contexts: the token of each row of the result, and where its partial results
        begin.
    partials : int
        Number of partial results; 0 where nothing is split.
    """

    units: torch.Tensor
    starts: torch.Tensor
    slots: torch.Tensor | None
    partials: int

    @property
    def groups(self) -> int:
        return self.starts.numel() - 1


def make_plan(batch: PagedBatch, config: SpyreConfig, sequences: Sequence[int]) -> Plan:
    """Cut the work of some sequences and deal it out, the heaviest units first."""
    groups = config.cores // config.share
    blocks = [b for s in sequences for b in _blocks(batch, config, s)]
    slices = range(0, batch.kv_heads, config.kv_heads)
    slots = None
    partials = 0
    if config.block_q == 1 and blocks:
        fair = -(-sum(b.pages for b in blocks) * len(slices) // groups)
        limit = max(_up(fair, config.step), _up(LEAST_SPLIT // batch.page, config.step), 1)
        pieces = [list(_pieces(block, limit, config)) for block in blocks]
        if any(len(parts) > 1 for parts in pieces):
            slots, blocks = _numbered(pieces)
            partials = len(blocks)
    units = [replace(block, kv_head=head) for block in blocks for head in slices]
    hands = _deal(units, groups)
    starts = [0]
    for hand in hands:
        starts.append(starts[-1] + len(hand))
    rows = [unit.row() for hand in hands for unit in hand]
    device = batch.query.device
    return Plan(
        torch.tensor(rows, dtype=torch.int32).view(-1, COLUMNS).to(device),
        torch.tensor(starts, dtype=torch.int32).to(device),
        None if slots is None else torch.tensor(slots, dtype=torch.int32).to(device),
        partials,
    )


def _blocks(batch: PagedBatch, config: SpyreConfig, sequence: int) -> Iterator[Unit]:
    """A sequence's queries, block by block, each with the pages that it sees."""
    new, length = batch.host_query_lens[sequence], batch.host_kv_lens[sequence]
    start, page = batch.host_query_start[sequence], batch.page
    for first in range(0, new, config.block_q):
        queries = min(config.block_q, new - first)
        position = length - new + first
        last = position + queries
        begin = plain = 0
        if batch.window is not None:
            begin = max(0, position - batch.window + 1) // page
            # From here on the last query of the block sees whole pages, and so do the others.
            plain = -(-max(0, last - batch.window) // page)
        end_page = -(-last // page)
        plain = min(plain, end_page)
        whole = max(plain, (position + 1) // page)
        end = plain + (whole - plain) // config.step * config.step
        yield Unit(
            sequence=sequence,
            kv_head=0,
            first_token=start + first,
            queries=queries,
            position=position,
            first_page=begin,
            plain_begin=plain,
            plain_end=end,
            last_page=end_page,
            out_row=start + first,
        )


def _pieces(block: Unit, limit: int, config: SpyreConfig) -> Iterator[Unit]:
    """A block cut into pieces of at most ``limit`` pages, a whole number of steps each."""
    for first in range(block.first_page, block.last_page, limit):
        last = min(first + limit, block.last_page)
        begin = min(max(first, block.plain_begin), last)
        whole = max(begin, min(last, block.plain_end))
        end = begin + (whole - begin) // config.step * config.step
        yield replace(block, first_page=first, plain_begin=begin, plain_end=end, last_page=last)


def _numbered(pieces: list[list[Unit]]) -> tuple[list[list[int]], list[Unit]]:
    """Slots of partial results: those of one token follow each other."""
    slots: list[list[int]] = []
    units: list[Unit] = []
    for parts in pieces:
        slots.append([parts[0].first_token, len(units)])
        units += [replace(unit, out_row=len(units) + i) for i, unit in enumerate(parts)]
    return [*slots, [-1, len(units)]], units


def _deal(units: Iterable[Unit], groups: int) -> list[list[Unit]]:
    """Longest processing time first (Graham 1969): each unit to the group with the least."""
    hands: list[list[Unit]] = [[] for _ in range(groups)]
    load = [(0, group) for group in range(groups)]
    for unit in sorted(units, key=lambda u: -u.pages):
        taken, group = heapq.heappop(load)
        hands[group].append(unit)
        heapq.heappush(load, (taken + unit.pages, group))
    return hands


def _up(value: int, multiple: int) -> int:
    return -(-value // multiple) * multiple
