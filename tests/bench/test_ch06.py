"""The bench of chapter 6: modules checked against the CPU, and what compiling them is worth."""

from __future__ import annotations

import json

import pytest

from spyrelab.bench import Results
from spyrelab.bench.compiled_modules import COMPILED_MODULES, made_module
from spyrelab.bench.harness import plan, run_job
from spyrelab.bench.inductor import ceiling_seconds
from spyrelab.bench.registry import all_chapters
from spyrelab.bench.results import Row
from spyrelab.bench.table import make_table

CHAPTER = all_chapters()["ch06"]


def rows_of(pattern):
    jobs = plan([CHAPTER], CHAPTER.implementations, [pattern], quick=False)
    return [row for job in jobs for row in run_job(job, 1, "as-loaded")]


def test_ten_modules_at_two_sizes():
    assert len(COMPILED_MODULES) == 10
    assert len(CHAPTER.cases) == 20
    quick = plan([CHAPTER], CHAPTER.implementations, (), quick=True)
    assert 0 < len(quick) < 5


@pytest.mark.parametrize("name", COMPILED_MODULES)
def test_modules_are_the_same_every_time(name):
    module, given = made_module(name, 16)
    again, same = made_module(name, 16)
    assert (given == same).all()
    assert (module(given) == again(same)).all()


@pytest.mark.parametrize("name", ["adapter-16x", "residual_norm-16x"])
def test_compiled_is_checked_and_faster(name):
    eager, laid_out, compiled = rows_of(name)
    assert all(row.correct for row in (eager, laid_out, compiled))
    assert eager.device_us > laid_out.device_us > compiled.device_us
    assert compiled.device_ratio >= 2
    assert compiled.extra["launches"] < laid_out.extra["launches"] < eager.extra["launches"]
    assert 1 <= compiled.extra["bytes_over_least"] <= 1.25
    assert compiled.device_us >= compiled.extra["ceiling_us"]
    assert compiled.extra["fallbacks_inside"] == {}
    json.dumps(Results({}, [eager, laid_out, compiled]).to_json())


def test_the_longer_bound_counts():
    assert ceiling_seconds(10**6, 1) == pytest.approx(ceiling_seconds(10**6, 0))
    assert ceiling_seconds(1, 10**12) > ceiling_seconds(10**6, 0)


def test_a_table_ends_with_geometric_means():
    rows = []
    for case, times in {"a": (40.0, 20.0, 10.0), "b": (90.0, 10.0, 10.0)}.items():
        for impl, device_us in zip(CHAPTER.implementations, times, strict=True):
            extra = {"bytes_over_least": 1.0}
            rows.append(Row("ch06", case, impl, True, device_us=device_us, extra=extra))
    remarks = "\n".join(make_table(Results({"threads": 1}, rows)).remarks)
    assert "eager over compiled: 6.00x in geometric mean over 2 modules" in remarks
    assert "(4.00x to 9.00x)" in remarks
