"""Time of the ``spyrelab`` dialect: elements cost sticks, atomics both ways, barriers waiting."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from spyrelab import emulator
from spyrelab.ktir import F16, F32, I1, I32, Module
from spyrelab.ktir.builder import Builder, Row
from spyrelab.timing import Estimate, UnknownValueError, estimate
from tests.emulator.spyrelab_cases import built, loaded, whole_view, zeros
from tests.timing.test_exact_counts import difference

RNG = np.random.default_rng(5)
COUNT = 4096


def offsets(kind: str) -> np.ndarray:
    every = np.arange(COUNT, dtype=np.int32)
    return {"adjacent": every, "apart": every * 64, "random": RNG.permutation(every * 64)}[kind]


def gathering(what: str, source: str = "loaded", cores: int = 1) -> Module:
    b = Builder("g", grid=(cores,))
    x = b.view(b.pointers("x")[0], (COUNT * 64,), F16)
    if source == "loaded":
        at = loaded(whole_view(b, "at", (COUNT,), I32))
    else:
        at = b.constant_tensor(range(COUNT), I32) * (1 if source == "adjacent" else 64)
    if what == "gather":
        b.gather_elements(x, at)
    elif what == "scatter":
        b.scatter_elements(b.full((COUNT,), 1.0, F16), x, at)
    else:
        b.atomic_rmw("fadd", b.full((COUNT,), 1.0, F16), x, at)
    return built(b)


def port_bytes(made: Estimate) -> float:
    return made.schedule.port_bytes


@pytest.mark.parametrize("what", ["gather", "scatter", "atomic"])
def test_an_element_apart_costs_a_stick(what: str) -> None:
    times = 2 if what == "atomic" else 1
    adjacent = estimate(gathering(what, "adjacent"))
    apart = estimate(gathering(what, "apart"))
    assert port_bytes(adjacent) == times * COUNT * 2
    assert port_bytes(apart) == times * COUNT * 128
    assert adjacent.counts.keys() == apart.counts.keys()
    assert all((adjacent.counts[k] == apart.counts[k]).all() for k in apart.counts)
    assert apart.seconds > 20 * adjacent.seconds - 20 * adjacent.card.constants.launch_seconds
    assert not apart.inexact


def test_offsets_that_are_not_given_are_taken_to_be_apart() -> None:
    module = gathering("gather")
    blind, told = estimate(module), estimate(module, {"at": offsets("adjacent")})
    index = COUNT * 4
    assert port_bytes(blind) == COUNT * 128 + index
    assert port_bytes(told) == COUNT * 2 + index
    assert any("'at'" in reason for reason in blind.inexact)
    assert not told.inexact
    assert port_bytes(estimate(module, {"at": offsets("random")})) == COUNT * 128 + index


def test_an_atomic_takes_as_long_as_reading_and_writing() -> None:
    read, write, both = (estimate(gathering(w, "apart")) for w in ("gather", "scatter", "atomic"))
    launch = read.card.constants.launch_seconds
    assert both.seconds - launch == pytest.approx(
        read.seconds + write.seconds - 2 * launch, rel=0.01
    )


@pytest.mark.parametrize("stride", [1, 32, 64])
def test_rows_are_runs(stride: int) -> None:
    b = Builder("g")
    x = b.view(b.pointers("x")[0], (1 << 16,), F16)
    at = b.constant_tensor(range(16), I32) * 2048
    b.gather_elements(x, at, row=Row(32, stride))
    made = estimate(built(b))
    sticks = {1: 1, 32: 16, 64: 32}[stride]
    assert port_bytes(made) == 16 * sticks * 128
    assert made.counts["ddr_read"].tolist() == [16 * 32 * 2]


# ---- the counts are the emulator's -------------------------------------------------------


def everything(cores: int) -> Module:
    """Programs in a loop, with offsets from memory and from arithmetic, masks and atomics."""
    b = Builder("e", grid=(cores,))
    total = b.argument("total")
    core = b.compute_tile_id()
    x, y = (b.view(p, (1 << 14,), F16) for p in b.pointers("x", "y"))
    at, mask = (
        b.view(b.pointers(name)[0], (16, 64), kind) for name, kind in (("at", I32), ("mask", I1))
    )
    n = whole_view(b, "n", (8,), I32)
    with b.loop(core, total, cores) as program:
        places = b.reshape(b.load(at[program, 0], (1, 64)), (64,))
        some = b.reshape(b.load(mask[program, 0], (1, 64)), (64,))
        found = b.scan(b.gather_elements(x, places, some), 0, "max", reverse=True)
        lines = b.constant_tensor(range(64), I32) + (program * 64).to(I32)
        b.scatter_elements(b.take(found, places % 64, 0), y, lines)
        b.turn(program)
        counts = b.histogram(places, 8, some)
        b.atomic_rmw("add", counts, n, b.constant_tensor(range(8), I32))
        b.turn_done()
        rows = b.gather_elements(x, b.constant_tensor((0, 100), I32), row=Row(50, 3, 40))
        b.scatter_elements(rows, y, b.constant_tensor((9000, 9100), I32), row=Row(50, 1, 40))
    b.barrier()
    return built(b)


@pytest.mark.parametrize("total", [0, 1, 4, 5, 16])
def test_counts_of_a_bit_of_everything(total: int) -> None:
    """With masks that are not given, all elements are taken to count: here they do."""
    module = everything(4)
    arguments: dict[str, Any] = {
        "total": total,
        "at": RNG.integers(0, 1 << 14, (16, 64)).astype(np.int32),
        "mask": np.ones((16, 64), bool),
        **{name: zeros(1 << 14, F16) for name in "xy"},
        "n": zeros(8, I32),
    }
    counters = emulator.run(module, arguments, engine="null").counters
    known = {name: arguments[name] for name in ("total", "at", "mask")}
    assert difference(estimate(module, known), counters) is None
    blind = estimate(module, {"total": total})
    assert difference(blind, counters) is None
    assert bool(blind.inexact) == (total > 0)


@pytest.mark.parametrize("total", [4, 16])
def test_masked_elements_cost_nothing_where_the_mask_is_known(total: int) -> None:
    module, mask = everything(4), RNG.integers(0, 2, (16, 64)).astype(bool)
    arguments: dict[str, Any] = {
        "total": total,
        "at": RNG.integers(0, 1 << 14, (16, 64)).astype(np.int32),
        "mask": mask,
        **{name: zeros(1 << 14, F16) for name in "xy"},
        "n": zeros(8, I32),
    }
    counters = emulator.run(module, arguments, engine="null").counters
    made = estimate(module, {name: arguments[name] for name in ("total", "at", "mask")})
    assert difference(made, counters) is None
    assert not made.inexact


def test_after_many_iterations_the_first_stands_for_the_rest() -> None:
    """A mask that changes in every one of 2,000 iterations: counts are not exact, and said so."""
    b = Builder("l")
    x = b.view(b.pointers("x")[0], (1 << 14,), F16)
    lines = b.constant_tensor(range(64), I32)
    with b.loop(0, 2000) as i:
        at = lines + (i % 7).to(I32)
        b.gather_elements(x, at, at < 60)
    module = built(b)
    made = estimate(module)
    assert any("changes with the iteration" in reason for reason in made.inexact)
    counters = emulator.run(module, {"x": zeros(1 << 14, F16)}, engine="null").counters
    assert made.counts["ddr_read"][0] == pytest.approx(int(counters.ddr_read[0]), rel=0.2)


def test_what_is_stored_is_not_what_was_given() -> None:
    """A trip count that an atomic has changed is unknown, and the message names the array."""
    b = Builder("u")
    n = whole_view(b, "n", (1,), I32)
    b.atomic_rmw("add", b.constant(1, I32), n, b.constant(0))
    with b.loop(0, b.load(n[0], (1,)).item(0).to(b.constant(0).dtype)):
        b.barrier()
    with pytest.raises(UnknownValueError, match="'n'"):
        estimate(built(b), {"n": np.ones(1, np.int32)})


# ---- offsets that a program computes -----------------------------------------------------


def test_splats_broadcasts_and_reshapes_of_offsets_are_followed() -> None:
    b = Builder("o", grid=(2,))
    core = b.compute_tile_id()
    x = b.view(b.pointers("x")[0], (1 << 16,), F16)
    rows = b.broadcast(b.constant_tensor(range(8), I32) * 64, (8, 64), 1)
    columns = b.broadcast(b.constant_tensor(range(64), I32), (8, 64), 0)
    at = rows + columns + b.splat((core * 512).to(I32), (8, 64))
    b.gather_elements(x, b.reshape(at, (512,)))
    b.gather_elements(x, b.transpose(at))
    made = estimate(built(b))
    assert not made.inexact
    assert port_bytes(made) == 2 * (512 * 2 + 512 * 128)


# ---- scan, take, histogram, order --------------------------------------------------------


def test_scans_takes_and_histograms_work_on_the_vector_unit() -> None:
    def with_(n: int, what: str) -> Estimate:
        b = Builder("v")
        x = loaded(whole_view(b, "x", (n,), I32))
        if what == "scan":
            b.scan(x, 0)
        elif what == "take":
            b.take(x, x, 0)
        elif what == "histogram":
            b.histogram(x, 64)
        return estimate(built(b))

    for what, work in (("scan", 4096 * 12 - 4095), ("take", 4096), ("histogram", 2 * 64 * 4096)):
        made = with_(4096, what)
        assert made.counts["ops_sfp"].tolist() == [work]
        assert made.seconds > with_(4096, "").seconds
        assert made.seconds > with_(1024, what).seconds


def test_turns_prints_and_assertions_are_free() -> None:
    def with_(order: bool) -> Module:
        b = Builder("f", grid=(8,))
        core = b.compute_tile_id()
        x = b.view(b.pointers("x")[0], (8,), F32)
        if order:
            b.turn(core)
            b.assert_(core < 8, "x")
        b.atomic_rmw("fadd", b.constant(1.0, F32), x, b.constant(0))
        if order:
            b.turn_done()
            b.print_("x", core)
        return built(b)

    assert estimate(with_(True)).seconds == estimate(with_(False)).seconds


def test_a_barrier_waits_for_the_slowest_core() -> None:
    """Core 0 works before it, core 1 behind it: one after the other, not side by side."""

    def with_(barrier: bool) -> Estimate:
        b = Builder("w", grid=(2,))
        core = b.compute_tile_id()
        x = b.view(b.pointers("x")[0], (64,), F32)
        one = b.full((64, 64), 1.0, F32)
        with b.if_(core.equals(0)):
            b.exp(b.exp(one))
        if barrier:
            b.barrier()
        with b.if_(core.equals(1)):
            b.exp(b.exp(b.load(x[0], (64,))))
            b.exp(b.exp(one))
        return estimate(built(b))

    apart, ordered = with_(False), with_(True)
    launch = apart.card.constants.launch_seconds
    assert ordered.seconds - launch > 1.6 * (apart.seconds - launch)
