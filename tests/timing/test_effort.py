"""What an estimate costs: counted in steps and looks, which are the same on every computer."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable

import pytest

from spyrelab import kernels
from spyrelab.ktir import F16, Builder, Module
from spyrelab.timing import best_split, estimate, schedule, splits, walk

Effort = Counter[str]


@pytest.fixture
def effort(monkeypatch: pytest.MonkeyPatch) -> Callable[[Module], Effort]:
    """Steps that are scheduled, and iterations and operations that are looked at."""
    counts: Effort = Counter()

    def count(owner: type, name: str) -> None:
        real = getattr(owner, name)

        def counted(*args: object, **named: object) -> object:
            counts[name] += 1
            return real(*args, **named)

        monkeypatch.setattr(owner, name, counted)

    count(schedule._Clock, "_step")
    count(walk.Walker, "count_look")
    count(walk.Walker, "operation")

    def spent(module: Module) -> Effort:
        counts.clear()
        estimate(module)
        return Counter(counts)

    return spent


def loop(turns: int) -> Module:
    """Every core ``turns`` tiles of a stick."""
    return kernels.pointwise("x * 2", (32 * turns, 4096), tile=4096)


def nest(turns: int) -> Module:
    """A loop in a loop: rows of tiles."""
    b = Builder("nest", grid=(32,))
    sizes = (32 * turns, 64 * turns)
    x, out = (b.view(p, sizes=sizes, dtype=F16) for p in b.pointers("x", "out"))
    first = b.compute_tile_id() * turns
    with b.loop(0, turns, 1, names="row") as row, b.loop(0, 64 * turns, 64, names="column") as col:
        b.store(b.exp(b.load(x[first + row, col], shape=(1, 64))), out[first + row, col])
    return b.build()


@pytest.mark.parametrize("build", [loop, nest], ids=["loop", "nested"])
def test_effort_does_not_grow_with_trip_counts(
    build: Callable[[int], Module], effort: Callable[[Module], Effort]
) -> None:
    few, many = effort(build(100)), effort(build(10_000))
    assert many == few
    assert few["_step"] and few["count_look"]


def test_a_loop_of_any_length_is_a_few_dozen_steps(effort: Callable[[Module], Effort]) -> None:
    spent = effort(loop(10_000))
    assert spent["_step"] <= 3 * (schedule.SETTLING + 4)
    assert spent["count_look"] <= 8


@pytest.mark.parametrize("split", [c.split for c in splits.split_times(1, 512, 4096, 4096)])
def test_any_split_of_a_large_product_is_little_work(
    split: tuple[int, int, int, int], effort: Callable[[Module], Effort]
) -> None:
    spent = effort(kernels.matmul(1, 512, 4096, 4096, split=split))
    assert spent["_step"] <= 100
    assert spent["count_look"] <= 20
    assert spent["operation"] <= 600


def test_a_choice_prices_all_splits_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = []
    real = splits.seconds
    monkeypatch.setattr(splits, "seconds", lambda *a: calls.append(1) or real(*a))
    best_split(1, 512, 4096, 4096 + 64)
    assert len(calls) == 1


def test_seconds_stay_far_below_a_second() -> None:
    """A loose check of the clock itself: about 3 ms alone, on a computer that others use too."""
    module = loop(10_000)
    estimate(module)
    start = time.perf_counter()
    estimate(module)
    assert time.perf_counter() - start < 0.5


def test_cores_that_leave_a_loop_at_different_turns_share_its_looks(
    effort: Callable[[Module], Effort],
) -> None:
    b = Builder("ragged", grid=(32,))
    x, out = (b.view(p, sizes=(32 * 64, 64), dtype=F16) for p in b.pointers("x", "out"))
    core = b.compute_tile_id()
    with b.loop(0, core + 1, 1, names="row") as row:
        b.store(b.exp(b.load(x[core * 64 + row, 0], shape=(1, 64))), out[core * 64 + row, 0])
    spent = effort(b.build())
    assert spent["count_look"] <= 2
    assert spent["_step"] <= 32 * 3 * 2
