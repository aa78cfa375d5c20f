"""Effects of the real card, each against the rows that show it."""

from __future__ import annotations

import math

import pytest

from spyrelab import kernels
from spyrelab.timing import best_split, estimate
from tests.timing.measured import ROWS


@pytest.mark.parametrize("name", ROWS)
def test_rows_are_near(name: str) -> None:
    row = ROWS[name]
    # Pods disagree by 3 to 7 %; a quarter is what the worst of these rows is off.
    assert abs(math.log(row.predicted / row.microseconds)) < 0.3


def ratio(one: str, other: str) -> tuple[float, float]:
    a, b = ROWS[one], ROWS[other]
    return a.predicted / b.predicted, a.microseconds / b.microseconds


@pytest.mark.parametrize(
    ("slow", "fast"),
    [
        ("GS-069", "GS-072"),  # a cohort of 32 against one of 4
        ("GS-062", "GS-072"),  # unicast and two passes
        ("GS-071", "GS-072"),  # a split of depth
        ("GS-066", "GS-071"),  # no common left block: passes are read by each core
        ("KF-005", "KF-006"),  # partners 16 apart
        ("LX-001", "LX-002"),  # the back end's share
        ("LX-005", "LX-006"),
    ],
)
def test_effect_has_its_size(slow: str, fast: str) -> None:
    predicted, seen = ratio(slow, fast)
    assert predicted > 1.2
    assert abs(math.log(predicted / seen)) < 0.3


def test_small_tiles_do_not_mind_distant_partners() -> None:
    predicted, seen = ratio("KF-013", "KF-014")
    assert seen < 1.1
    assert predicted == pytest.approx(1.0, abs=0.05)


def test_one_core_takes_a_nanosecond_per_array_step() -> None:
    """1024 multiply-accumulates per step: CS-007 has twice the columns of CS-001."""
    steps = 128 * 128 * 8192 / 1024
    wide, narrow = (ROWS[name].predict().seconds for name in ("CS-007", "CS-001"))
    seen = (ROWS["CS-007"].microseconds - ROWS["CS-001"].microseconds) * 1e3 / steps
    assert seen == pytest.approx(0.99, abs=0.01)
    assert (wide - narrow) / steps * 1e9 == pytest.approx(1.0, abs=0.1)


def test_stream_bandwidth_is_flat() -> None:
    rates = []
    for megabytes in (2, 4, 8, 16, 32):
        module = kernels.pointwise("x * 2", (megabytes * 512, 1024))
        rates.append(2 * megabytes * 2**20 / estimate(module).seconds / 1e9)
    assert max(rates) / min(rates) < 1.15
    assert all(90 < rate < 112 for rate in rates)  # BW and PS rows: 99 to 108


def test_cohorts_order_as_measured() -> None:
    names = ["GS-072", "GS-075", "GS-058", "GS-069"]
    times = [ROWS[name].predicted for name in names]
    assert times == sorted(times)


def test_best_split_is_the_measured_one() -> None:
    assert best_split(1, 512, 4096, 4096).split == (1, 4, 8, 1)
    assert best_split(1, 512, 12800, 4096).split == (1, 4, 8, 1)
