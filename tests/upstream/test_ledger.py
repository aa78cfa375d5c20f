"""The op ledger holds: its totals, its completeness, and a sample of it that changes every day.

SPYRELAB_LEDGER=all runs everything instead of the sample, SPYRELAB_LEDGER=<number> another day's.
"""

from __future__ import annotations

import datetime
import os
import subprocess
import sys

import pytest

from tests.upstream.ledger import PASSING, disagreements, native_both_ways, read, totals
from tests.upstream.shards import ROOT, run_all

SHARES = 14
"""Days until every case has had its turn."""
ASKED = os.environ.get("SPYRELAB_LEDGER", "")
DAY = int(ASKED) if ASKED.isdigit() else datetime.datetime.now(datetime.UTC).date().toordinal()
SAMPLE = "all" if ASKED == "all" else f"day-{DAY}-share-{DAY % SHARES}-of-{SHARES}"


def _chosen() -> list[str]:
    cases = sorted(read())
    return cases if ASKED == "all" else cases[DAY % SHARES :: SHARES]


def test_the_required_share_of_operators_passes_and_is_native() -> None:
    counts = totals(read())
    operators, modules = counts["op"], counts["module"]
    assert operators.total() >= 1200
    assert sum(operators[status] for status in PASSING) >= 1200
    assert operators["native"] >= 600
    assert native_both_ways(read()) >= 600
    assert sum(modules[status] for status in PASSING) >= 112
    assert counts["gradcheck"]["xfail"] == counts["opcheck"]["xfail"] == 0


def test_every_expected_failure_has_a_reason() -> None:
    silent = [case for case, (status, why) in read().items() if status == "xfail" and not why]
    assert silent == []


def test_every_fallback_names_the_operators_that_left_the_device() -> None:
    ledger = read()
    assert all("aten::" in why for status, why in ledger.values() if status == "fallback")


def test_the_ledger_lists_every_case_that_applies_and_no_other() -> None:
    listed = subprocess.run(
        [sys.executable, "-m", "tests.upstream.ledger", "--list"],
        cwd=ROOT, capture_output=True, text=True, check=True, timeout=300,
    )  # fmt: skip
    assert sorted(read()) == sorted(listed.stdout.split())


@pytest.mark.parametrize("sample", [SAMPLE])
def test_a_sample_comes_out_as_the_ledger_says(sample: str) -> None:
    workers = min(2, os.cpu_count() or 1)
    found = run_all(_chosen(), workers)
    assert set(found) == set(_chosen())
    assert disagreements(found, read()) == []


def test_disagreements_are_found_in_both_directions() -> None:
    ledger = {
        "op:a:float32": ("native", ""),
        "op:b:float32": ("xfail", "no such thing"),
        "op:c:float32": ("fallback", "aten::c"),
        "op:d:float32": ("native", ""),
    }
    passing = {case: {"status": status, "reason": why} for case, (status, why) in ledger.items()}
    passing["op:b:float32"] = {"status": "fail", "reason": "no such thing"}
    assert disagreements(passing, ledger) == []
    for case, status in (
        ("op:a:float32", "fallback"),
        ("op:a:float32", "fail"),
        ("op:b:float32", "native"),
        ("op:c:float32", "crash"),
        ("op:e:float32", "fail"),
    ):
        changed = {**passing, case: {"status": status, "reason": ""}}
        assert len(disagreements(changed, ledger)) == 1, (case, status)
