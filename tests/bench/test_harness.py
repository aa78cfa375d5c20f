"""Rows: checked before they are timed, reduced where the reference is slow, ratios in one run."""

from __future__ import annotations

import numpy as np
import pytest

from spyrelab.bench.chapters.ch01 import CHAPTER
from spyrelab.bench.harness import plan, run_job
from spyrelab.bench.implementations import Workload, agrees, run_torch
from spyrelab.bench.measure import measure
from spyrelab.bench.registry import all_chapters
from spyrelab.errors import SpyreLabError
from tests.bench.conftest import tiny_case


def run(chapter, names, baseline="torch", **options):
    jobs = plan([chapter], names, [], quick=False)
    return [row for job in jobs for row in run_job(job, 1, baseline, **options)]


def test_rows_of_the_real_reference_and_torch(tiny):
    chapter = tiny("torch", "reference")
    torch, reference = run(chapter, ["torch", "reference"])[:2]
    assert torch.correct and reference.correct
    assert (torch.cycles, torch.ddr_bytes, torch.lx_peak) == (None, None, None)
    assert reference.ddr_bytes == 3 * 70 * 2
    assert reference.lx_peak > 0 and reference.extra["tiles"] == ["tensor<64xf16>"]
    assert torch.host_ratio == 1.0
    assert reference.host_ratio == torch.host_s / reference.host_s
    assert reference.extra["repeats"] == 7 and reference.extra["median_s"] >= reference.host_s


def test_a_wrong_kernel_gets_no_number(tiny):
    rows = run(tiny("torch", "wrong"), ["torch", "wrong"])
    bad = rows[1]
    assert (bad.correct, bad.status) == (False, "WRONG")
    assert bad.host_s is bad.host_ratio is bad.ddr_bytes is None
    assert "repeats" not in bad.extra
    assert rows[0].host_s


def test_a_wrong_baseline_gives_no_ratios(tiny):
    rows = run(tiny("wrong", "reference"), ["wrong", "reference"], "wrong")
    assert [row.host_ratio for row in rows] == [None] * 4
    assert rows[1].host_s


def test_a_failure_ends_the_bench_unless_told_otherwise(tiny):
    chapter = tiny("torch", "broken")
    with pytest.raises(SpyreLabError, match="no such kernel"):
        run(chapter, ["torch", "broken"])
    rows = run(chapter, ["torch", "broken"], keep_going=True)
    assert [row.status for row in rows] == ["ok", "ERROR"] * 2
    assert "no such kernel" in rows[1].extra["error"]


def test_the_reference_runs_a_reduced_case_with_everyone_beside_it(tiny):
    chapter = tiny("torch", "reference", reduced=tiny_case(66), slow=True)
    rows = run(chapter, ["torch", "reference"])
    assert [(row.case, row.impl) for row in rows] == [
        ("vector_add-70", "torch"),
        ("vector_add-66", "torch"),
        ("vector_add-66", "reference"),
        ("vector_add-130", "torch"),
        ("vector_add-130", "reference"),
    ]
    assert "note" not in rows[0].extra
    assert rows[2].extra["reduced_from"] == "vector_add-70"
    assert "reduced shape 66" in rows[2].extra["note"]
    assert rows[2].host_ratio == rows[1].host_s / rows[2].host_s
    assert rows[1].extra["speedup_over_reference"] == rows[2].host_s / rows[1].host_s


def test_quick_reduces_and_no_reference_means_no_reduced_case():
    quick = plan([CHAPTER], CHAPTER.implementations, [], quick=True)
    full = plan([CHAPTER], CHAPTER.implementations, [], quick=False)
    assert sum(job.reduced_from is not None for job in quick) == 8
    assert sum(job.reduced_from is not None for job in full) == 2
    assert all(job.reduced_from is None for job in plan([CHAPTER], ["vm"], [], quick=True))
    alone = plan([CHAPTER], ["reference"], ["softmax"], quick=True)
    assert [job.implementations for job in alone] == [("reference",)]


def test_chapter_one_has_its_cases():
    chapter = all_chapters()["ch01"]
    assert chapter.implementations == ("torch", "vm", "reference")
    names = [case.name for case in chapter.cases]
    assert len(set(names)) == len(names) == 9
    for case in chapter.cases:
        assert case.reason and 0 < case.tolerance < 0.01
        assert case.reduced is None or case.reduced.name != case.name


@pytest.mark.parametrize(
    "case", [c.reduced or c for c in CHAPTER.cases], ids=lambda case: case.name
)
def test_torch_computes_what_the_specification_says(case):
    workload = Workload(case, 1)
    with run_torch(workload) as ready:
        ready.call()
        assert agrees(ready.result(), workload.expected, case.tolerance)


def test_agreement_is_relative_and_strict():
    expected = np.array([1e-3, 2e-3, -1e-3], np.float32)
    assert agrees(expected * (1 + 1e-4), expected, 1e-3)
    assert not agrees(np.zeros(3, np.float32), expected, 1e-3)
    assert not agrees(expected + np.float32(1e-5), expected, 1e-3)
    assert not agrees(expected[:2], expected, 1e-3)
    assert not agrees(np.array([np.nan, 2e-3, -1e-3], np.float32), expected, 1e-3)


def test_implementations_take_turns():
    seen = []
    calls = {name: lambda name=name: seen.append(name) or sum(range(100_000)) for name in "ab"}
    samples = measure(calls, 9)
    assert [len(samples[name].seconds) for name in "ab"] == [9, 9]
    turns = [name for i, name in enumerate(seen) if i == 0 or seen[i - 1] != name]
    assert turns == ["a", "b"] * (len(turns) // 2) and len(turns) >= 18
    assert samples["a"].least <= samples["a"].quartiles[1]


def test_fewer_than_seven_repeats_are_refused():
    with pytest.raises(ValueError, match="fewer than 7"):
        measure({}, 6)
