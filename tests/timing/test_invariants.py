"""What holds of every timeline, whatever the program: properties of random small programs."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from spyrelab import emulator, kernels
from spyrelab.kernels.division import rows_per_tile
from spyrelab.ktir import F16, Builder, Module
from spyrelab.machine import SPYRE
from spyrelab.timing import Estimate, estimate, roofline
from spyrelab.viz.events import bandwidth, engine_events
from spyrelab.viz.occupancy import scratchpad

SIZES = st.sampled_from([1, 3, 31, 63, 64, 65, 97, 127, 128, 129, 251, 512])
"""Below, at and above a stick and a tile of the PT, and primes."""

CORES = st.integers(1, 32)
COUNTS = (
    *("ddr_read", "ddr_write", "lx_read", "lx_write", "ring"),
    *("ops_pt", "ops_sfp", "ops_special", "ops_move"),
)
SLACK = 1e-9
"""Relative error of adding a few thousand times in float64."""


@st.composite
def splits(draw: st.DrawFn) -> tuple[int, int, int, int]:
    """Parts of (b, m, n, k), at most 32 in all; often with several along k."""
    found: list[int] = []
    for _ in "kmnb":
        found.append(draw(st.integers(1, 32 // math.prod(found))))
    k, m, n, b = found
    return b, m, n, k


@st.composite
def programs(draw: st.DrawFn) -> tuple[str, dict[str, Any]]:
    """A kernel and its parameters."""
    name = draw(st.sampled_from(["matmul", "matmul", *STREAMS, "pointwise"]))
    one, other = draw(SIZES), draw(SIZES)
    if name == "matmul":
        sizes = {"b": draw(st.sampled_from([1, 1, 3, 8])), "m": one, "n": other, "k": draw(SIZES)}
        return name, {**sizes, "split": draw(splits())}
    if name == "pointwise":
        expression = draw(st.sampled_from(["x * 2", "x + y", "x * 2 + y"]))
        return name, {"expr": expression, "shape": (one, other), "cores": draw(CORES)}
    return name, {"rows": one, "cols": other, "cores": draw(CORES)}


STREAMS = ("softmax", "layer_norm", "rms_norm", "row_reduce", "transpose")

AWKWARD = [
    ("matmul", {"b": 1, "m": 127, "n": 129, "k": 65, "split": (1, 2, 1, 16)}),
    ("matmul", {"b": 3, "m": 1, "n": 1, "k": 1, "split": (3, 1, 1, 1)}),
    ("softmax", {"rows": 1, "cols": 63, "cores": 32}),
    ("pointwise", {"expr": "x + y", "shape": (97, 3), "cores": 31}),
    ("transpose", {"rows": 129, "cols": 251, "cores": 17}),
]


def build(program: tuple[str, dict[str, Any]]) -> Module:
    name, parameters = program
    return kernels.CATALOGUE[name].build(**parameters)


@pytest.mark.parametrize("program", AWKWARD, ids=lambda p: p[0])
def test_awkward_programs(program: tuple[str, dict[str, Any]]) -> None:
    counts_are_the_emulators(program)
    timeline_is_sound(estimate(build(program)))


@settings(max_examples=60, deadline=None)
@given(programs())
def test_counts_are_the_emulators(program: tuple[str, dict[str, Any]]) -> None:
    counts_are_the_emulators(program)


def counts_are_the_emulators(program: tuple[str, dict[str, Any]]) -> None:
    """Every counter of every core, exactly."""
    name, parameters = program
    module = build(program)
    arguments = kernels.CATALOGUE[name].arguments(**parameters)
    counters = emulator.run(module, arguments, engine="null").counters
    found = estimate(module).counts
    for column in emulator.counters.Column:
        key = column.name.lower()
        if key in COUNTS:
            mine = found.get(key, np.zeros(counters.cores, int))
            assert mine.tolist() == counters.column(column).tolist(), key


@settings(max_examples=20, deadline=None)
@given(programs())
def test_the_vm_counts_the_same(program: tuple[str, dict[str, Any]]) -> None:
    name, parameters = program
    module = build(program)
    arguments = kernels.CATALOGUE[name].arguments(**parameters)
    counters = emulator.run(module, arguments).counters
    found = estimate(module).counts
    for key in ("ddr_read", "ddr_write"):
        total = int(found[key].sum()) if key in found else 0
        assert total == int(getattr(counters, key).sum())


# ---- the timeline ------------------------------------------------------------------------


def timeline_is_sound(made: Estimate) -> None:
    """Engines do one thing at a time, the last event is the end, the scratchpad is enough."""
    events = engine_events(made)
    for one, other in pairwise(events):
        if (one.core, one.engine) == (other.core, other.engine):
            assert one.end <= other.start * (1 + SLACK) + 1e-15
    begin = made.card.constants.launch_seconds
    assert all(begin * (1 - SLACK) <= event.start <= event.end for event in events)
    last = max((event.end for event in events), default=begin)
    assert made.cycles == max(1, round(last * made.machine.clock_hz))
    assert made.seconds == made.cycles / made.machine.clock_hz
    for core in range(made.card.cores):
        assert all(0 <= held <= SPYRE.lx_bytes for _, held in scratchpad(made, events, core))
    for unit in ("port", "load", "store", "pt", "sfp", "lx", "ring", "sums"):
        assert 0 <= made.busy(unit) <= 1


@settings(max_examples=60, deadline=None)
@given(programs())
def test_small_timelines_are_sound(program: tuple[str, dict[str, Any]]) -> None:
    timeline_is_sound(estimate(build(program)))


SPLITS = [(1, 4, 8, 1), (1, 1, 32, 1), (1, 32, 1, 1), (1, 4, 4, 2), (2, 2, 4, 2), (1, 1, 1, 32)]


@settings(max_examples=25, deadline=None)
@given(
    st.sampled_from([2, 4, 8]),
    st.integers(1, 16).map(lambda i: 32 * i),
    st.integers(1, 32).map(lambda i: 128 * i),
    st.integers(1, 32).map(lambda i: 128 * i),
    st.sampled_from(SPLITS),
    st.sampled_from([0.05, 0.2, 0.8, 0.99]),
)
def test_products_keep_the_timeline_sound(
    b: int, m: int, n: int, k: int, split: tuple[int, int, int, int], fraction: float
) -> None:
    module = kernels.matmul(b, m, n, k, split=split, lx_backend_fraction=fraction)
    made = estimate(module)
    timeline_is_sound(made)
    never_below_the_bounds(made)


@settings(max_examples=20, deadline=None)
@given(st.integers(1, 4000), st.integers(1, 40).map(lambda i: 64 * i), st.booleans(), CORES)
def test_streams_keep_the_timeline_sound(rows: int, cols: int, norm: bool, cores: int) -> None:
    shape = (rows, cols)
    module = kernels.pointwise("x + y", shape, cores=cores)
    made = estimate(kernels.softmax(*shape, cores=cores) if norm else module)
    timeline_is_sound(made)
    never_below_the_bounds(made)


def loop(height: int, sticks: int, turns: int, cores: int) -> Module:
    """out = exp(x) + x, every core ``turns`` tiles."""
    rows, cols = cores * turns * height, 64 * sticks
    b = Builder("exponential", grid=(cores,))
    x, out = (b.view(p, sizes=(rows, cols), dtype=F16) for p in b.pointers("x", "out"))
    first = b.compute_tile_id() * (turns * height)
    with b.loop(0, turns * height, height, names="row") as row:
        tile = b.load(x[first + row, 0], shape=(height, cols))
        b.store(b.exp(tile) + tile, out[first + row, 0])
    return b.build()


@settings(max_examples=30, deadline=None)
@given(st.sampled_from([1, 8, 64, 200]), st.integers(1, 64), st.integers(1, 40), CORES)
def test_loops_keep_the_timeline_sound(height: int, sticks: int, turns: int, cores: int) -> None:
    peak = 2 * height * 64 * sticks * 2  # two tiles
    # A planner leaves the back end its share of the scratchpad.
    assume(peak <= SPYRE.lx_bytes * (1 - SPYRE.lx_back_end_fraction))
    module = loop(height, sticks, turns, cores)
    assert int(emulator.lower(module).lx_peaks[0]) == peak
    made = estimate(module)
    timeline_is_sound(made)
    never_below_the_bounds(made)
    assert max(held for _, held in scratchpad(made, engine_events(made), 0)) >= peak


@pytest.mark.parametrize("cores", [1, 5, 32])
def test_without_a_loop_the_scratchpad_holds_what_the_emulator_counts(cores: int) -> None:
    """Also where a result takes over the place of its operand."""
    for module in (
        kernels.vector_add(64 * cores, cores=cores),
        kernels.pointwise("x * 2 + y", (2 * cores, 128), cores=cores),
        kernels.pointwise("x * x", (cores, 64), cores=cores),
    ):
        made, peaks = estimate(module), emulator.lower(module).lx_peaks
        events = engine_events(made)
        for core in range(cores):
            held = max(held for _, held in scratchpad(made, events, core))
            assert held == peaks[core]


@settings(max_examples=30, deadline=None)
@given(programs())
def test_all_bytes_of_the_port_are_drawn(program: tuple[str, dict[str, Any]]) -> None:
    made = estimate(build(program))
    starts, rates = bandwidth(made)
    width = made.schedule.seconds / len(starts)
    assert float((rates * width).sum()) == pytest.approx(made.port_bytes, rel=1e-6)


# ---- bounds ------------------------------------------------------------------------------


def never_below_the_bounds(made: Estimate) -> None:
    """Neither faster than the roofline, nor than its own traffic at the memory's nameplate."""
    bound = roofline(made.module)
    assert made.seconds >= bound.seconds
    assert made.seconds >= made.port_bytes / SPYRE.ddr_peak_bytes_per_second
    macs = made.counts.get("ops_pt", np.zeros(1))
    peak = SPYRE.peak_flops("f16") / SPYRE.cores
    assert made.seconds >= 2 * int(macs.max()) / peak


@settings(max_examples=40, deadline=None)
@given(programs())
def test_no_program_is_faster_than_its_bounds(program: tuple[str, dict[str, Any]]) -> None:
    never_below_the_bounds(estimate(build(program)))


# ---- more is never faster ----------------------------------------------------------------


@settings(max_examples=25, deadline=None)
@given(CORES, st.integers(1, 300), st.integers(1, 300), st.integers(1, 16), st.booleans())
def test_time_grows_with_bytes(cores: int, one: int, other: int, sticks: int, norm: bool) -> None:
    """Rows for every core: the same tiles, or more of them.

    A kernel that chooses other tiles for more rows may well be faster: softmax gets whole tiles.
    """

    def cycles(rows: int) -> int:
        if norm:
            whole = rows_per_tile(64 * sticks) * (2 + rows % 20)
            return estimate(kernels.softmax(cores * whole, 64 * sticks, cores=cores)).cycles
        return estimate(kernels.pointwise("x * 2", (cores * rows, 64 * sticks), cores=cores)).cycles

    fewer, more = sorted((one, other), key=lambda rows: rows % 20 if norm else rows)
    assert cycles(fewer) <= cycles(more)


@settings(max_examples=40, deadline=None)
@given(
    st.fixed_dictionaries(
        {
            "b": st.sampled_from([1, 1, 4]),
            "m": st.sampled_from([1, 8, 32, 64, 96, 512, 1024]),
            "n": st.integers(1, 32).map(lambda i: 64 * i),
            "k": st.integers(1, 32).map(lambda i: 64 * i),
        }
    ),
    st.sampled_from("mnk"),
    st.sampled_from(SPLITS[:4] + SPLITS[5:]),
)
@example({"b": 1, "m": 64, "n": 4096, "k": 4096}, "n", (1, 4, 4, 2))
def test_twice_the_product_is_never_faster(
    sizes: dict[str, int], axis: str, split: tuple[int, int, int, int]
) -> None:
    once = kernels.matmul(**sizes, split=split)
    twice = kernels.matmul(**{**sizes, axis: 2 * sizes[axis]}, split=split)
    assert estimate(once).cycles <= estimate(twice).cycles
