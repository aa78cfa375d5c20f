"""Loads through a page table: how far runs go, who shares them, and what a look costs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from spyrelab import emulator
from spyrelab.ktir import F16, I32, Builder, Module
from spyrelab.timing import Estimate, clipping, estimate, touched
from tests.timing.test_exact_counts import difference

PAGE, DIM, CORES = 16, 128, 4
PAGES = 64
TILE = PAGE * DIM * 2
"""Bytes of the tile that a core loads in a turn."""


def paged(
    pages: int, sequences: int = CORES, heads: int = 1, masked: bool = False, whole: bool = False
) -> Module:
    """Core c reads the first pages of sequence ``c % sequences``, a page in each turn.

    A page holds ``heads`` rows for a token, of which one is read. Masked, sequence c ends c tokens
    earlier. ``whole`` pages are looked up at once, otherwise each token looks its own page up.
    """
    b = Builder("paged", (CORES,))
    cache, table = b.pointers("cache", "table")
    core = b.compute_tile_id()
    sequence = core % sequences
    row = heads * DIM
    with b.loop(0, pages, names="page") as page:
        if whole:
            sizes, strides = (PAGES, PAGE, DIM), (PAGE * row, row, 1)
            view = b.view(cache, sizes=sizes, strides=strides, dtype=F16)
            picked = b.view(table, sizes=(sequences, pages), dtype=I32)
            b.gather(view, (1, PAGE, DIM), lambda n, t, d: (picked[sequence, page + n], t, d))
        else:
            end = pages * PAGE - (core if masked else 0)
            left = end - page * PAGE
            view = b.view(
                cache, (PAGES, PAGE, DIM, left), strides=(PAGE * row, row, 1, 0), dtype=F16
            )
            picked = b.view(table, (sequences, pages, left), strides=(pages, 1, 0), dtype=I32)
            b.gather(
                view,
                (PAGE, DIM),
                lambda t, d: (
                    picked[sequence, (page * PAGE + t) // PAGE, t],
                    (page * PAGE + t) % PAGE,
                    d,
                    t,
                ),
            )
    return b.build()


def tables(pages: int, sequences: int = CORES, common: int = 0) -> np.ndarray:
    """Pages of sequences, the first ``common`` of each the same."""
    own = np.arange(sequences * pages, dtype=np.int32).reshape(sequences, pages)
    own[:, :common] = own[:1, :common]
    return own


def port_bytes(made: Estimate) -> float:
    return made.schedule.port_bytes


@pytest.mark.parametrize("whole", [False, True])
@pytest.mark.parametrize("masked", [False, True])
def test_counts_are_the_emulators(masked: bool, whole: bool) -> None:
    module, table = paged(5, masked=masked and not whole, whole=whole), tables(5)
    cache = np.zeros(PAGES * PAGE * DIM, np.float16)
    made = estimate(module, {"table": table})
    assert not made.inexact
    arguments = {"cache": cache, "table": table}
    assert difference(made, emulator.run(module, arguments).counters) is None


@pytest.mark.parametrize("masked", [False, True])
def test_turns_are_looked_at_together_and_no_point_alone(
    masked: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[Any] = []
    clip = clipping.clip_indirect

    def counted(*given: Any) -> bool:
        seen.append(given)
        return clip(*given)

    monkeypatch.setattr(touched, "clip_indirect", counted)
    monkeypatch.setattr(touched, "enumerate_tile", None)
    looks = []
    for pages in (4, 16):
        seen.clear()
        made = estimate(paged(pages, masked=masked), {"table": tables(pages)})
        looks.append(len(seen))
        tokens = CORES * pages * PAGE - (sum(range(CORES)) if masked else 0)
        assert made.counts["ddr_read"].sum() == tokens * (DIM * 2 + 4)
    assert looks[0] == looks[1] <= 3


@pytest.mark.parametrize("whole", [False, True])
def test_a_page_of_one_head_is_a_run_and_one_of_many_heads_is_not(whole: bool) -> None:
    given = {"table": tables(8)}
    one, many = (estimate(paged(8, heads=n, whole=whole), given) for n in (1, 8))
    assert port_bytes(one) == port_bytes(many) == CORES * 8 * TILE
    burst = one.card.constants.burst_sticks * 128 / (DIM * 2)
    assert burst > 1
    paged_step, short_step = (made.schedule.segments[0].step for made in (one, many))
    assert short_step.port_seconds == pytest.approx(burst * paged_step.port_seconds)
    assert many.schedule.port_seconds > 1.5 * one.schedule.port_seconds


@pytest.mark.parametrize("whole", [False, True])
@pytest.mark.parametrize("sequences", [1, 2, 4])
def test_cores_of_one_sequence_share_its_pages(sequences: int, whole: bool) -> None:
    module = paged(8, sequences, whole=whole)
    made = estimate(module, {"table": tables(8, sequences)})
    assert port_bytes(made) == sequences * 8 * TILE
    # Unknown indices are taken to be apart.
    assert port_bytes(estimate(module)) == CORES * 8 * TILE


@pytest.mark.parametrize("whole", [False, True])
@pytest.mark.parametrize("common", [0, 3, 8])
def test_a_common_prefix_is_shared(common: int, whole: bool) -> None:
    made = estimate(paged(8, whole=whole), {"table": tables(8, common=common)})
    assert port_bytes(made) == (common + CORES * (8 - common)) * TILE
    assert made.counts["ddr_read"].sum() >= CORES * 8 * TILE


def test_pages_that_meet_in_a_few_turns_are_shared_there() -> None:
    rng = np.random.default_rng(3)
    table = rng.integers(0, 3, (CORES, 12), np.int32)
    distinct = sum(len(set(column)) for column in table.T.tolist())
    assert distinct < table.size
    assert port_bytes(estimate(paged(12), {"table": table})) == distinct * TILE
