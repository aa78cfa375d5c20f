"""Interleaved timing: each repeat runs every implementation, so that all see the same noise."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from time import perf_counter_ns

import numpy as np

__all__ = ["LEAST_REPEATS", "Samples", "measure"]

LEAST_REPEATS = 7
_SAMPLE_NS = 1_000_000
"""A shorter call is repeated within a sample, so that the clock's own cost does not show."""

_MOST_CALLS = 1000


@dataclass(frozen=True)
class Samples:
    """Seconds per call of each repeat, each the mean over ``calls`` calls."""

    seconds: tuple[float, ...]
    calls: int

    @property
    def least(self) -> float:
        return min(self.seconds)

    @property
    def quartiles(self) -> tuple[float, float, float]:
        """25 %, 50 % (the median) and 75 %."""
        first, middle, last = np.percentile(self.seconds, (25, 50, 75))
        return float(first), float(middle), float(last)


def measure(
    calls: Mapping[str, Callable[[], object]], repeats: int = LEAST_REPEATS
) -> dict[str, Samples]:
    """Time every call ``repeats`` times, taking turns; each has run at least once before.

    Raises
    ------
    ValueError
        Fewer than seven repeats.
    """
    if repeats < LEAST_REPEATS:
        raise ValueError(f"{repeats} repeats are fewer than {LEAST_REPEATS}")
    with _collector_off():
        counts = {name: _calls_per_sample(call) for name, call in calls.items()}
        seconds: dict[str, list[float]] = {name: [] for name in calls}
        for _ in range(repeats):
            for name, call in calls.items():
                seconds[name].append(_time(call, counts[name]) / counts[name] * 1e-9)
    return {name: Samples(tuple(seconds[name]), counts[name]) for name in calls}


def _calls_per_sample(call: Callable[[], object]) -> int:
    return int(np.clip(_SAMPLE_NS // max(_time(call, 1), 1), 1, _MOST_CALLS))


def _time(call: Callable[[], object], count: int) -> int:
    start = perf_counter_ns()
    for _ in range(count):
        call()
    return perf_counter_ns() - start


@contextmanager
def _collector_off() -> Iterator[None]:
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()
