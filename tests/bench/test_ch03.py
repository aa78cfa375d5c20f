"""The bench of chapter 3: eager calls beside the CPU, checked, with their fallbacks named."""

from __future__ import annotations

import json

import pytest

from spyrelab.bench import Results
from spyrelab.bench.devices import OPERATIONS
from spyrelab.bench.harness import plan, run_job
from spyrelab.bench.registry import all_chapters
from spyrelab.bench.results import Row
from spyrelab.bench.table import make_table
from spyrelab.bench.torch_modules import MODULES

CHAPTER = all_chapters()["ch03"]


def rows_of(*patterns):
    jobs = plan([CHAPTER], CHAPTER.implementations, patterns, quick=True)
    return [row for job in jobs for row in run_job(job, 1, "cpu")]


def test_every_operation_and_module_is_a_case():
    names = {case.name for case in CHAPTER.cases}
    assert len(names) == len(CHAPTER.cases)
    assert {f"dispatch-{name}-64x64" for name in OPERATIONS} <= names
    assert {f"module-{name}" for name in MODULES} <= names


def test_a_quick_bench_leaves_large_copies_out():
    quick = plan([CHAPTER], CHAPTER.implementations, (), quick=True)
    whole = plan([CHAPTER], CHAPTER.implementations, (), quick=False)
    assert len(quick) < len(whole) == len(CHAPTER.cases)


@pytest.mark.parametrize("name", ["dispatch-empty", "dispatch-view", "dispatch-add-64x64"])
def test_dispatch_is_measured_beside_the_cpu(name):
    cpu, spyre = rows_of(name)
    assert (cpu.impl, spyre.impl) == ("cpu", "spyre")
    assert cpu.correct and spyre.correct
    assert cpu.host_s and spyre.host_s
    assert spyre.host_ratio == pytest.approx(cpu.host_s / spyre.host_s)
    assert spyre.extra["fallbacks"] == {}
    assert cpu.device_us is None


def test_an_addition_takes_device_time():
    _, spyre = rows_of("dispatch-add-64x64")
    assert spyre.extra["launches"] == 1
    assert spyre.device_us > 0


@pytest.mark.parametrize("name", ["to_device-float16-500x1000", "to_host-int64-512x512"])
def test_copies_have_a_bandwidth(name):
    rows = rows_of(name)
    assert all(row.correct for row in rows)
    table = make_table(Results({"threads": 1}, rows))
    assert "bandwidth" in table.columns
    assert rows[0].extra["parameters"]["bytes"] in (1_000_000, 2_097_152)


@pytest.mark.parametrize("name", ["module-Linear", "module-gpt_block", "module-LSTM"])
def test_modules_give_the_gradients_of_the_cpu(name):
    cpu, spyre = rows_of(name)
    assert cpu.correct and spyre.correct
    assert 0 <= spyre.extra["fallback_share"] < 1
    assert spyre.extra["operations"] > 3
    json.dumps(Results({}, [cpu, spyre]).to_json())


def test_operations_that_fell_back_are_named():
    extra = {"fallbacks": {"aten::nonzero": 2}, "fallback_share": 0.25, "operations": 8}
    row = Row("ch03", "module-x", "spyre", True, host_s=1.0, baseline="cpu", extra=extra)
    table = make_table(Results({"threads": 1}, [row]))
    assert "module-x: of 8 operations fell back: aten::nonzero 2." in table.remarks
    assert "25%" in table.rows[0]
