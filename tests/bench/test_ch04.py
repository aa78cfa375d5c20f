"""The bench of chapter 4: layouts by name, rows that are checked first, exact against greedy."""

from __future__ import annotations

import numpy as np
import pytest

from spyrelab.bench import layouts
from spyrelab.bench.harness import plan, run_job
from spyrelab.bench.layouts import PRODUCTS, layout_called
from spyrelab.bench.registry import all_chapters
from spyrelab.errors import UsageError
from spyrelab.layout import SpyreTensorLayout
from spyrelab.layout.graph_examples import GRAPHS

CHAPTER = all_chapters()["ch04"]


def rows_of(*patterns, quick=False):
    jobs = plan([CHAPTER], CHAPTER.implementations, patterns, quick)
    return {(row.case, row.impl): row for job in jobs for row in run_job(job, 1, "copy")}


def test_layouts_have_names():
    size = (4, 512, 100)
    assert layout_called("rows", size) == SpyreTensorLayout.default(size)
    assert layout_called("columns", size) == SpyreTensorLayout.default(size, "f16", [0, 2, 1])
    assert layout_called("linear", size).is_linear
    assert layout_called("sparse", size).is_synthetic


def test_every_graph_and_product_is_a_case():
    names = {case.name for case in CHAPTER.cases}
    assert len(names) == len(CHAPTER.cases)
    assert {f"placement-{name}" for name in GRAPHS} <= names
    assert {f"product-512x1024x1024-{name}" for name in PRODUCTS} <= names


def test_transfers_are_checked_and_timed():
    rows = rows_of("transfer-500x1000-rows")
    assert [impl for _, impl in rows] == ["copy", "pack", "unpack"]
    for row in rows.values():
        assert row.correct and row.host_s and row.host_ratio and row.device_us is None


def test_a_restickify_counts_its_sticks():
    rows = rows_of("restickify-512x1024-rows-columns")
    row = rows["restickify-512x1024-rows-columns", "restickify"]
    assert row.correct and row.cycles and row.ddr_bytes == 2 * 2 * 512 * 1024
    counters = row.extra["counters"]
    assert (counters["sticks_read"], counters["sticks_written"]) == (8192, 8192)


def test_a_packed_weight_saves_the_restickify():
    rows = rows_of("product")
    times = {case.split("-")[-1]: row.device_us for (case, _), row in rows.items()}
    assert all(row.correct for row in rows.values())
    assert times["right_transposed_and_packed"] == times["as_it_is"]
    assert times["right_transposed"] > 2 * times["as_it_is"]


@pytest.mark.parametrize("name", ["branches_with_channels_first", "chain_of_transposed_sums"])
def test_exact_placement_is_at_least_twice_as_good(name):
    greedy, exact = rows_of(f"placement-{name}").values()
    assert greedy.correct and exact.correct
    assert exact.device_ratio >= 2
    assert len(exact.extra["restickifies"]) < len(greedy.extra["restickifies"])


def test_a_wrong_program_shows_no_number(monkeypatch):
    def nothing(size, source, target):
        from spyrelab.ktir import F16, Builder

        b = Builder("restickify", grid=(32,))
        for pointer in b.pointers("source", "target"):
            b.view(pointer, sizes=(64,), dtype=F16)
        return b.build()

    monkeypatch.setattr(layouts, "restickify", nothing)
    layouts._is_right.cache_clear()
    try:
        rows = rows_of("placement-branches_with_channels_first", "restickify-4096-sparse-rows")
    finally:
        layouts._is_right.cache_clear()
    wrong = [row for (_, impl), row in rows.items() if impl != "eager"]
    assert len(wrong) == 3
    for row in wrong:
        assert (row.correct, row.cycles, row.device_us, row.host_s) == (False, None, None, None)


def test_padding_is_never_read():
    """Unpacking is benched on memory whose padding is NaN."""
    rows = rows_of("transfer-500x1000-rows")
    assert rows["transfer-500x1000-rows", "unpack"].correct
    assert np.isfinite(rows["transfer-500x1000-rows", "unpack"].host_s)


def test_only_a_restickify_is_a_program():
    for case in CHAPTER.cases:
        if case.kernel.name == "restickify":
            continue
        with pytest.raises(UsageError, match="no single program"):
            case.kernel.build(**case.parameters)
