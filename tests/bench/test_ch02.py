"""The bench of chapter 2: every measured split predicted, gated exactly, and ranked."""

from __future__ import annotations

import json

import pytest

from spyrelab.bench import Results, compare
from spyrelab.bench.harness import count_left_out, plan, run_job
from spyrelab.bench.predictions import traced
from spyrelab.bench.published import measured_splits
from spyrelab.bench.registry import all_chapters
from spyrelab.bench.table import make_table
from spyrelab.errors import UsageError
from spyrelab.timing import estimate
from spyrelab.timing.result import UNITS

CHAPTER = all_chapters()["ch02"]
SUMMARY = "best_split-64x4096x12800"


def rows_of(*patterns, implementations=CHAPTER.implementations):
    jobs = plan([CHAPTER], implementations, patterns, quick=True)
    return [row for job in jobs for row in run_job(job, 1, "roofline")]


@pytest.fixture(scope="module")
def shape():
    """A shape's summary, and one of its splits."""
    return rows_of(SUMMARY, "matmul-64x4096x12800-m4n8k1")


def test_every_measured_split_is_a_case():
    names = {case.name for case in CHAPTER.cases}
    assert len(names) == len(CHAPTER.cases)
    for (_, m, n, k), splits in measured_splits().items():
        assert len(splits) >= 18
        assert f"best_split-{m}x{k}x{n}" in names
        for b, *parts in splits:
            assert b == 1
            cut = "".join(f"{a}{p}" for a, p in zip("mnk", parts, strict=True))
            assert f"matmul-{m}x{k}x{n}-{cut}" in names


def test_published_times_keep_id_and_source():
    for splits in measured_splits().values():
        for split, found in splits.items():
            assert split[0] * split[1] * split[2] * split[3] == 32
            assert found.id and "@" in found.source and found.microseconds > 0


def test_rows_of_a_split(shape):
    roofline, schedule, measured = (row for row in shape if row.case.endswith("m4n8k1"))
    assert [r.impl for r in (roofline, schedule, measured)] == ["roofline", "schedule", "measured"]
    published = measured_splits()[1, 64, 12800, 4096][1, 4, 8, 1]
    assert measured.device_us == published.microseconds
    assert (measured.cycles, measured.host_s, measured.extra["id"]) == (None, None, published.id)
    case = next(c for c in CHAPTER.cases if c.name == schedule.case)
    made = estimate(case.kernel.build(**case.parameters))
    assert schedule.cycles == made.cycles
    assert schedule.device_us == pytest.approx(made.seconds * 1e6)
    assert schedule.utilization == made.busy(made.bottleneck)
    assert schedule.extra["measured_us"] == published.microseconds
    assert roofline.device_us < schedule.device_us
    assert all(row.correct and row.baseline == "roofline" for row in shape)


def test_the_summary_ranks_the_splits(shape):
    roofline, schedule, measured = (row for row in shape if row.case.startswith("best_split"))
    assert schedule.extra["predicted_best"] == schedule.extra["measured_best"] == [1, 4, 8, 1]
    assert measured.extra["best_split"] == [1, 4, 8, 1]
    assert schedule.extra["regret"] == 1
    assert schedule.extra["spearman"] > 0.7
    assert schedule.extra["median_log_error"] < roofline.extra["median_log_error"]
    assert roofline.extra["spearman"] is roofline.extra["predicted_best"] is None
    remarks = " ".join(make_table(Results({}, shape)).remarks)
    assert "rank correlation" in remarks and "regret" in remarks


def test_the_summary_prices_the_chosen_split(shape):
    schedule = next(row for row in shape if (row.case, row.impl) == (SUMMARY, "schedule"))
    case = next(case for case in CHAPTER.cases if case.name == SUMMARY)
    made = traced(case).estimate
    assert schedule.cycles == made.cycles
    assert schedule.utilization == max(made.busy(unit) for unit in UNITS)
    assert schedule.lx_peak > 0 and schedule.ddr_bytes == made.counts["ddr_read"].sum() + (
        made.counts["ddr_write"].sum()
    )


def test_quick_leaves_single_splits_out_unless_they_are_asked_for():
    def names(*patterns, quick=True):
        jobs = plan([CHAPTER], CHAPTER.implementations, patterns, quick=quick)
        return [job.case.name for job in jobs]

    summaries = [name for name in names(quick=False) if name.startswith("best_split")]
    assert names() == [*summaries, "loop-100", "loop-10000", "estimate-512x4096x4096"]
    assert names("matmul-64x4096x12800-m4n8k1") == ["matmul-64x4096x12800-m4n8k1"]
    every = CHAPTER.implementations
    left_out = count_left_out([CHAPTER], every, [], True)
    assert left_out == len(names(quick=False)) - len(names()) == 57
    assert count_left_out([CHAPTER], every, [], False) == 0
    assert count_left_out([CHAPTER], every, ["x"], True) == 0
    assert count_left_out([CHAPTER], ["vm"], [], True) == 0
    remarks = make_table(Results({"left_out": left_out}, [])).remarks
    assert any(remark.startswith("57 cases") for remark in remarks)


def test_rows_are_json(shape):
    json.dumps(Results({}, shape).to_json(), allow_nan=False)


def test_compare_gates_predicted_cycles_exactly(shape):
    again = rows_of("matmul-64x4096x12800-m4n8k1", implementations=["schedule"])
    (old,) = (r for r in shape if r.impl == "schedule" and r.case == again[0].case)
    assert (again[0].cycles, again[0].device_us) == (old.cycles, old.device_us)
    slower = old.__class__(**{**old.__dict__, "cycles": old.cycles + 1})
    found = compare(Results({}, [old]), Results({}, [slower]))
    assert [change.metric for change in found.regressions] == ["cycles"]


def test_a_loop_is_estimated_run_and_checked():
    roofline, schedule, vm = rows_of("loop-100*")[:3]
    assert (roofline.impl, schedule.impl, vm.impl) == ("roofline", "schedule", "vm")
    assert schedule.host_ratio and vm.host_ratio and vm.cycles == schedule.cycles
    assert (vm.ddr_bytes, vm.lx_peak) == (schedule.ddr_bytes, schedule.lx_peak)
    assert vm.device_ratio == roofline.device_us / vm.device_us
    assert schedule.cycles > roofline.cycles > 0


def test_an_estimate_is_compared_with_a_run():
    case = next(c for c in CHAPTER.cases if c.label == "estimate")
    assert case.name == "estimate-512x4096x4096"
    (job,) = plan([CHAPTER], CHAPTER.implementations, [case.name], quick=True)
    assert job.implementations == ("roofline", "schedule", "vm")


def test_a_shape_without_measurements_is_refused():
    from spyrelab.bench.implementations import Workload
    from spyrelab.bench.predictions import quote

    case = next(c for c in CHAPTER.cases if c.name.startswith("matmul"))
    other = case.__class__(**{**case.__dict__, "parameters": {**case.parameters, "m": 7}})
    with pytest.raises(UsageError, match="no published time"), quote(Workload(other, 1)):
        pass
