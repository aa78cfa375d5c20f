"""`best_split` and `split_times`."""

from __future__ import annotations

import math
import time

import pytest

from spyrelab import kernels
from spyrelab.timing import TimingError, best_split, estimate, split_times


def test_splits_use_all_cores_and_whole_sticks() -> None:
    choices = split_times(1, 512, 1024, 4096)
    assert all(math.prod(choice.split) == 32 for choice in choices)
    assert all(choice.split[2] <= 16 for choice in choices)
    times = [choice.seconds for choice in choices]
    assert times == sorted(times)


def test_fp8_is_not_cut_along_depth() -> None:
    assert all(c.split[3] == 1 for c in split_times(1, 512, 8192, 4096, dtype="f8E4M3FN"))


def test_milliseconds() -> None:
    start = time.perf_counter()
    for n in range(20):
        best_split(1, 512, 4096 + 64 * n, 4096)
    assert (time.perf_counter() - start) / 20 < 0.02


@pytest.mark.parametrize("shape", [(1, 64, 4096, 4096), (32, 64, 128, 576), (1, 2048, 4096, 2048)])
def test_the_choice_has_the_time_of_its_program(shape: tuple[int, int, int, int]) -> None:
    for choice in split_times(*shape)[:3]:
        b, m, n, k = shape
        made = estimate(kernels.matmul(b, m, n, k, split=choice.split))
        assert made.seconds == pytest.approx(choice.seconds, rel=0.03)


def test_products_too_small_are_refused() -> None:
    with pytest.raises(TimingError, match="cannot be cut"):
        best_split(1, 1, 64, 64)
    with pytest.raises(TimingError, match="at least 1"):
        best_split(1, 0, 64, 64)
    with pytest.raises(TimingError, match="no matrix rate"):
        best_split(1, 64, 64, 64, dtype="f64")
    assert best_split(1, 1, 64, 64, cores=1).split == (1, 1, 1, 1)
