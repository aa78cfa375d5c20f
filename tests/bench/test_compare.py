"""Comparing two results: exact on emulated numbers, silent about host times."""

from __future__ import annotations

from dataclasses import replace

import pytest

from spyrelab.bench.compare import compare
from spyrelab.bench.results import Results, Row

BASE = Row(
    "ch01", "softmax-8x8", "vm", True,
    cycles=1000, device_us=1.0, ddr_bytes=4096, lx_peak=512, utilization=0.5, host_s=1e-3,
)  # fmt: skip


def results(*rows, machine="m"):
    return Results({"machine": machine}, list(rows))


def check(new, fail_above=0.0):
    return compare(results(BASE), results(*new), fail_above)


def test_the_same_is_the_same():
    found = check([BASE])
    assert found.changes == () and found.rows == 1 and found.same_machine


@pytest.mark.parametrize(
    ("change", "regression"),
    [
        ({"cycles": 1001}, True),
        ({"cycles": 999}, False),
        ({"ddr_bytes": 4097}, True),
        ({"lx_peak": 640}, True),
        ({"device_us": 1.01}, True),
        ({"utilization": 0.49}, True),
        ({"utilization": 0.6}, False),
        ({"cycles": None}, True),
        ({"host_s": 1.0}, False),
        ({"host_s": None}, False),
        ({"correct": False, "cycles": None, "host_s": None}, True),
    ],
)
def test_what_counts(change, regression):
    found = check([replace(BASE, **change)])
    assert len(found.changes) == 1
    assert bool(found.regressions) is regression


def test_a_tolerance_is_for_emulated_numbers():
    worse = replace(BASE, cycles=1020)
    assert check([worse], 0.01).regressions and not check([worse], 0.02).regressions
    assert check([worse], 0.02).changes[0].verdict == "worse, allowed"


def test_rows_that_come_and_go():
    other = replace(BASE, impl="triton")
    assert [c.verdict for c in check([BASE, other]).changes] == ["new"]
    assert [c.verdict for c in check([other]).changes] == ["REGRESSION", "new"]


def test_from_zero_is_infinitely_worse():
    found = compare(results(replace(BASE, lx_peak=0)), results(BASE))
    assert found.regressions[0].worse_by == float("inf")


def test_numbers_that_were_absent_are_no_change():
    assert compare(results(replace(BASE, cycles=None)), results(BASE)).changes == ()


def test_other_machines_are_noticed():
    assert not compare(results(BASE), results(BASE, machine="n")).same_machine
