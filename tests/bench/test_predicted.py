"""Rows of programs have a predicted time, and a timeline if one is asked for."""

from __future__ import annotations

import json

import pytest

from spyrelab.bench import Results
from spyrelab.bench.chapters.ch01 import CHAPTER
from spyrelab.bench.harness import plan, run_job
from spyrelab.bench.implementations import Workload
from spyrelab.bench.registry import all_cases, all_chapters
from spyrelab.bench.table import make_table
from spyrelab.bench.trace import write_results
from spyrelab.timing import UnknownValueError
from spyrelab.timing.result import UNITS

SMALL = [case.reduced or case for case in CHAPTER.cases]


def jobs_of(*names, implementations=("torch", "vm", "reference")):
    return plan([CHAPTER], implementations, names, quick=True)


def rows_of(jobs):
    return [row for job in jobs for row in run_job(job, 1, "torch")]


@pytest.fixture(scope="module")
def added():
    """Rows of a small kernel."""
    return rows_of(jobs_of("vector_add-4096"))


def test_rows_of_a_program_have_its_predicted_time(added):
    torch, vm, reference = added
    made = Workload(CHAPTER.cases[0], 1).estimate
    for row in (vm, reference):
        assert row.cycles == made.cycles
        assert row.device_us == pytest.approx(made.seconds * 1e6, abs=1e-6)
        assert row.utilization == max(made.busy(unit) for unit in UNITS)
        assert row.ddr_bytes == 3 * 4096 * 2 and row.lx_peak == 512
        assert row.extra["bottleneck"] == made.bottleneck
        assert row.extra["port_bytes"] == made.port_bytes
    assert torch.cycles is torch.device_us is torch.utilization is torch.lx_peak is None


def test_device_times_compare_where_both_have_one(added):
    assert [row.device_ratio for row in added] == [None] * 3
    (job,) = jobs_of("vector_add-4096", implementations=("vm", "reference"))
    assert [row.device_ratio for row in run_job(job, 1, "vm")] == [1.0, 1.0]


@pytest.mark.parametrize("case", SMALL, ids=lambda case: case.name)
def test_every_program_of_chapter_one_is_timed(case):
    workload = Workload(case, 1)
    made = workload.estimate
    assert 0 < max(made.busy(unit) for unit in UNITS) <= 1
    assert bool(workload.indices) == (case.kernel.name == "paged_attention")


def test_a_program_that_cannot_be_timed_says_so(added, monkeypatch):
    def refuse(*_):
        raise UnknownValueError("the trip count of a loop depends on 'n'")

    monkeypatch.setattr("spyrelab.bench.implementations.estimate", refuse)
    (row,) = rows_of(jobs_of("vector_add-4096", implementations=("vm",)))
    assert row.correct and row.cycles is None and row.ddr_bytes and row.lx_peak
    assert row.extra["not_timed"] == "the trip count of a loop depends on 'n'"
    assert any(
        "no predicted time: the trip" in text for text in make_table(Results({}, [row])).remarks
    )


def test_names_of_cases_are_unique():
    names = [case.name for chapter in all_chapters().values() for case in chapter.cases]
    assert len(set(names)) == len(names)
    assert set(names) < set(all_cases())
    assert "softmax-512x1024" in all_cases()


def test_the_trace_has_a_group_of_processes_per_case(added, tmp_path):
    path = tmp_path / "t.json"
    jobs = jobs_of("vector_add")
    rows = [*added, *rows_of([job for job in jobs if job.case.shape == "524288"])]
    write_results(Results({}, rows), jobs, path)
    document = json.loads(path.read_text(encoding="utf-8"))
    events = document["traceEvents"]
    named = {e["pid"]: e["args"]["name"] for e in events if e["name"] == "process_name"}
    cases = ["vector_add-4096", "vector_add-524288"]
    cores = ["card", *(f"core {core}" for core in range(32))]
    assert sorted(named.values()) == sorted(f"{case} {core}" for case in cases for core in cores)
    assert {e["pid"] for e in events} == set(named)
    assert list(document["otherData"]) == cases
    for case in cases:
        row = next(row for row in rows if row.case == case and row.cycles)
        assert document["otherData"][case]["cycles"] == row.cycles
        mine = [e for e in events if named[e["pid"]].startswith(f"{case} ") and e["ph"] == "X"]
        assert max(e["ts"] + e["dur"] for e in mine) == pytest.approx(row.device_us, rel=1e-3)


def test_a_wrong_row_is_not_drawn(added, tmp_path):
    path = tmp_path / "t.json"
    wrong = [row.__class__(**{**row.__dict__, "correct": False}) for row in added]
    write_results(Results({}, wrong), jobs_of("vector_add-4096"), path)
    assert json.loads(path.read_text(encoding="utf-8"))["traceEvents"] == []
