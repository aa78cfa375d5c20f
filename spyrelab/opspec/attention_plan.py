"""How attention is divided over cores and cut into tiles whose scores fit the scratchpad."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache

from spyrelab.kernels.division import LX_BYTES, ceil_div, round_up
from spyrelab.machine import SPYRE
from spyrelab.opspec.errors import Unsupported

__all__ = ["SCORE_SECONDS", "AttentionPlan", "Extents", "plan_keys", "plan_queries"]

_ROWS = (16, 32, 64, 96, 128, 192, 256, 384, 512, 1024)
_KEYS = (16, 32, 64, 128, 256, 512, 1024, 2048)
SCORE_SECONDS = 8e-10
"""Elementwise operations per score: scale, maximum, difference, exponential, sum, rounding. This
and the next two were fitted to `timing.estimate` of heads of 64 and 128 elements."""
_FILL = 64
_SERIAL = 0.3


@dataclass(frozen=True)
class Extents:
    """What a plan depends on.

    Attributes
    ----------
    entries, group, rows, keys, depth, width : int
        Batches times kv heads, query heads of each, queries, keys, head dimensions of
        queries and of values.
    itemsize : int
        Bytes of an element.
    causal, masked, gradient : bool
        ``gradient`` is for gradients of queries or keys.
    """

    entries: int
    group: int
    rows: int
    keys: int
    depth: int
    width: int
    itemsize: int
    causal: bool
    masked: bool
    gradient: bool = False

    @property
    def score_bytes(self) -> int:
        """Scratchpad bytes per score: two or three f32 values and one rounded."""
        extra = (8 if self.causal else 0) + (4 + self.itemsize if self.masked else 0)
        extra += 8 if self.gradient else 0
        return 12 + self.itemsize + extra


@dataclass(frozen=True)
class AttentionPlan:
    """Cores per role (the product is the grid; partners in the keys are neighbours), and tiles."""

    entry_parts: int
    group_parts: int
    row_parts: int
    key_parts: int
    group: int
    rows: int
    keys: int

    @property
    def cores(self) -> int:
        """Cores that take part."""
        return self.entry_parts * self.group_parts * self.row_parts * self.key_parts


@lru_cache(maxsize=1024)
def plan_queries(
    extents: Extents, cores: int = SPYRE.cores, lx_bytes: int = LX_BYTES
) -> AttentionPlan:
    """The plan of least estimated time where each core owns queries and walks the keys.

    Raises
    ------
    Unsupported
        Not even a tile of one query and the fewest keys fits.
    """
    return _least(extents, cores, lx_bytes, _queries_cost, _queries_bytes)


@lru_cache(maxsize=1024)
def plan_keys(
    extents: Extents, cores: int = SPYRE.cores, lx_bytes: int = LX_BYTES
) -> AttentionPlan:
    """The same where each core owns keys and walks the queries: for gradients of keys."""
    return _least(extents, cores, lx_bytes, _keys_cost, _keys_bytes)


def _queries_bytes(e: Extents, rows: int, keys: int) -> int:
    held = rows * (e.depth * e.itemsize + e.width * 8 + 64)
    if e.gradient:
        held += rows * (e.depth * 8 + 2 * e.width * e.itemsize)
    return held + keys * (e.depth + e.width) * e.itemsize + rows * keys * e.score_bytes


def _keys_bytes(e: Extents, rows: int, keys: int) -> int:
    wide = e.depth + e.width
    held = keys * wide * (e.itemsize + 8) + rows * wide * e.itemsize + rows * 64
    return held + rows * keys * (e.score_bytes + 4)


def _queries_cost(e: Extents, p: AttentionPlan) -> float:
    heads = ceil_div(ceil_div(e.group, p.group), p.group_parts) * ceil_div(e.entries, p.entry_parts)
    blocks = heads * ceil_div(ceil_div(e.rows, p.rows), p.row_parts)
    side = "above" if e.causal else ""
    keys = ceil_div(e.keys, p.key_parts)
    steps = heads * _steps(e.rows, keys, p.rows, p.keys, p.row_parts, side)
    return _seconds(e, p, blocks, p.rows * p.group, steps, min(p.keys, keys))


def _keys_cost(e: Extents, p: AttentionPlan) -> float:
    entries = ceil_div(e.entries, p.entry_parts)
    blocks = entries * ceil_div(ceil_div(e.keys, p.keys), p.row_parts)
    side = "below" if e.causal else ""
    steps = entries * _steps(e.keys, e.rows, p.keys, p.rows, p.row_parts, side)
    return _seconds(e, p, blocks, p.keys, steps * ceil_div(e.group, p.group), p.rows * p.group)


@lru_cache(maxsize=1 << 14)
def _steps(owned: int, walked: int, tile: int, step: int, parts: int, hidden: str) -> int:
    """Tiles that the busiest core walks; ``hidden`` says on which side of the diagonal there
    are none."""
    blocks, most = ceil_div(owned, tile), ceil_div(walked, step)
    if not hidden:
        return ceil_div(blocks, parts) * most
    totals = [0] * parts
    for block in range(blocks):
        turn, place = divmod(block, parts)
        reached = min(most, ceil_div((block + 1) * tile, step))
        passed = min(most, block * tile // step)
        core = parts - 1 - place if turn % 2 else place
        totals[core] += reached if hidden == "above" else most - passed
    return max(totals)


def _seconds(e: Extents, p: AttentionPlan, blocks: int, held: int, steps: int, width: int) -> float:
    """A core holds ``held`` rows ``blocks`` times, and takes ``steps`` of ``width`` in all."""
    wide = e.depth + e.width
    mask = held * e.itemsize if e.masked else 0
    walked = steps * width
    moved = walked * (wide * e.itemsize + mask) + blocks * held * 2 * wide * e.itemsize
    scores = held * walked
    products = scores * wide / (SPYRE.macs_per_cycle["f16"] * SPYRE.clock_hz)
    products *= 2 if e.gradient else 1
    narrow = sum(_FILL / min(tile, _FILL * 2) for tile in (p.rows * p.group, p.keys))
    folded = 4 * blocks * held * e.width / SPYRE.sfp_elements_per_second if p.key_parts > 1 else 0
    computing = products * narrow + scores * SCORE_SECONDS + folded
    moving = moved * _readers(e, p) / SPYRE.ddr_stream_bytes_per_second
    waiting = (blocks + 2 * steps) * SPYRE.loop_iteration_seconds
    return max(computing, moving) + _SERIAL * min(computing, moving) + waiting


def _readers(e: Extents, p: AttentionPlan) -> float:
    """Cores that read by themselves: those that walk the same keys in step read together."""
    together = p.group_parts * p.row_parts
    if e.rows * e.group < _FILL:
        return p.cores  # reading is all there is to do: nobody reads what another has
    return p.cores / (math.sqrt(min(together, 4)) if e.causal else together)


def _least(
    e: Extents,
    cores: int,
    lx_bytes: int,
    cost: Callable[[Extents, AttentionPlan], float],
    used: Callable[[Extents, int, int], int],
) -> AttentionPlan:
    best: tuple[float, AttentionPlan] | None = None
    for group, rows, keys in _tiles(e):
        if used(e, group * rows, keys) > lx_bytes:
            continue
        for parts in _parts(e, cores, group, rows, keys, cost is _keys_cost):
            plan = AttentionPlan(*parts, group, rows, keys)
            seconds = cost(e, plan)
            if best is None or seconds < best[0]:
                best = seconds, plan
    if best is None:
        raise Unsupported(f"attention with heads of {e.depth} and {e.width} elements")
    return best[1]


def _tiles(e: Extents) -> Iterator[tuple[int, int, int]]:
    groups = [g for g in range(1, e.group + 1) if e.group % g == 0]
    even = {round_up(ceil_div(e.rows, parts), 32) for parts in (1, 2, 3, 4, 6, 8, 12, 16, 24, 32)}
    rows = {min(e.rows, count) for count in (*_ROWS, *even)}
    keys = {min(e.keys, count) for count in _KEYS}
    return itertools.product(groups, sorted(rows), sorted(keys))


def _parts(
    e: Extents, cores: int, group: int, rows: int, keys: int, own_keys: bool
) -> Iterator[tuple[int, int, int, int]]:
    blocks = ceil_div(e.keys, keys) if own_keys else ceil_div(e.rows, rows)
    for entries in _counts(e.entries, cores):
        left = cores // entries
        for groups in (1,) if own_keys else _counts(e.group // group, left):
            rest = left // groups
            found = min(blocks, rest)
            partners = 1
            # Queries of which there is only one block may share their keys.
            if not own_keys and blocks == 1 and not e.causal and not e.gradient:
                whole = e.keys // keys
                while partners * 2 <= min(rest, whole) and whole % (partners * 2) == 0:
                    partners *= 2
            yield entries, groups, found, 1
            if partners > 1:
                yield entries, groups, 1, partners


def _counts(extent: int, most: int) -> list[int]:
    """Ways to share ``extent`` things: those that leave no core idle, and as many as there are."""
    top = min(extent, most)
    return sorted({n for n in range(1, top + 1) if extent % n == 0} | {top}, reverse=True)
