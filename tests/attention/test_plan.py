"""The Spyre-aware kernel's schedule: everything is done once, and evenly."""

from __future__ import annotations

from collections import Counter

import torch
from hypothesis import given
from hypothesis import strategies as st

from spyrelab.attention import PagedBatch, Scenario
from spyrelab.attention.heuristics import SpyreConfig
from spyrelab.attention.plan import Unit, make_plan
from tests.attention.conftest import SMALL

LENS = st.lists(
    st.tuples(st.integers(0, 40), st.integers(0, 300)).map(lambda n: (n[0], n[0] + n[1])),
    min_size=1,
    max_size=5,
)
CONFIGS = st.builds(
    SpyreConfig,
    block_q=st.sampled_from([1, 4, 16]),
    kv_heads=st.sampled_from([1, 2]),
    share=st.sampled_from([1, 2]),
    pages=st.sampled_from([1, 2, 4]),
    tiles=st.sampled_from([1, 2, 4]),
)


def build(lens: list[tuple[int, int]], window: int | None = None) -> PagedBatch:
    queries, contexts = zip(*lens, strict=True)
    return Scenario(query_lens=queries, kv_lens=contexts, window=window, **SMALL).build()


def units_of(rows: torch.Tensor) -> list[Unit]:
    return [Unit(*row) for row in rows.tolist()]


@given(lens=LENS, config=CONFIGS, window=st.sampled_from([None, 1, 20, 100]))
def test_every_query_sees_each_of_its_pages_once(
    lens: list[tuple[int, int]], config: SpyreConfig, window: int | None
) -> None:
    batch = build(lens, window)
    plan = make_plan(batch, config, range(batch.sequences))
    done: Counter[tuple[int, int, int]] = Counter()
    plain: set[tuple[int, int]] = set()
    for unit in units_of(plan.units):
        assert unit.first_page <= unit.plain_begin <= unit.plain_end <= unit.last_page
        assert (unit.plain_end - unit.plain_begin) % config.step == 0
        for query in range(unit.queries):
            at = unit.position + query
            assert batch.host_query_start[unit.sequence] <= unit.first_token + query
            for page in range(unit.first_page, unit.last_page):
                done[unit.first_token + query, unit.kv_head, page] += 1
                if unit.plain_begin <= page < unit.plain_end:
                    first, last = page * batch.page, (page + 1) * batch.page - 1
                    assert last <= at
                    assert window is None or first > at - window
                    plain.add((unit.first_token, page))
    assert set(done.values()) <= {1}
    for sequence, (new, length) in enumerate(lens):
        for query in range(new):
            at = length - new + query
            first = 0 if window is None else max(0, at - window + 1)
            token = batch.host_query_start[sequence] + query
            needed = range(first // batch.page, at // batch.page + 1)
            for head in range(0, batch.kv_heads, config.kv_heads):
                assert all(done[token, head, page] for page in needed)


@given(lens=LENS, config=CONFIGS)
def test_groups_of_cores_get_whole_lists(lens: list[tuple[int, int]], config: SpyreConfig) -> None:
    plan = make_plan(build(lens), config, range(len(lens)))
    starts = plan.starts.tolist()
    assert starts[0] == 0
    assert starts[-1] == plan.units.shape[0]
    assert starts == sorted(starts)
    assert plan.groups * config.share == config.cores


def test_one_long_context_is_cut_for_all_groups() -> None:
    batch = build([(1, 4096), (1, 16)])
    config = SpyreConfig(block_q=1, kv_heads=2, share=2, pages=1, tiles=2)
    plan = make_plan(batch, config, [0, 1])
    loads = torch.diff(plan.starts).tolist()
    assert max(loads) - min(loads) <= 1
    assert plan.slots is not None
    assert plan.slots.tolist() == [[0, 0], [1, 15], [-1, 16]]
    assert sorted(u.out_row for u in units_of(plan.units)) == list(range(16))
    assert max(u.pages for u in units_of(plan.units)) == 18


def test_short_contexts_stay_whole() -> None:
    batch = build([(1, 100), (1, 60), (1, 128)])
    plan = make_plan(batch, SpyreConfig(1, 2, 2, 1, 1), [0, 1, 2])
    assert plan.slots is None
    assert plan.partials == 0
    assert [u.pages for u in units_of(plan.units)] == [8, 7, 4]


def test_a_plan_of_nothing_is_empty() -> None:
    plan = make_plan(build([(0, 0)]), SpyreConfig(1, 1, 1, 1, 1), [0])
    assert plan.units.shape == (0, 10)
    assert plan.slots is None
