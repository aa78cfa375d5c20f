"""Graded tests of chapter 1.  Sizes and values follow from the answers' source."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from spyrelab.grade import (
    expect_at_most,
    expect_close,
    expect_equal,
    expect_work,
    run_program,
    task,
)
from spyrelab.machine import SPYRE

CORES = SPYRE.cores

owner_of = partial(task, "ch01.1", "owner_of")
axpy = partial(task, "ch01.2", "axpy")
predict_traffic = partial(task, "ch01.3", "predict_traffic")
repair_centre = partial(task, "ch01.4", "repair_centre")


def half(rng: Any, *shape: int, scale: float = 1.0) -> Any:
    return (rng.standard_normal(shape) * scale).astype(np.float16)


def sticks(elements: int, itemsize: int = 2) -> int:
    return -(-elements * itemsize // SPYRE.stick_bytes)


# ---- 1: who owns which sticks ----------------------------------------------------------


def expect_owners(impl: Any, rng: Any, n: int, itemsize: int) -> None:
    lanes = SPYRE.stick_bytes // itemsize
    run = -(-sticks(n, itemsize) // CORES)
    for index in [0, n - 1, *map(int, rng.integers(0, n, 20))]:
        stick, lane = divmod(index, lanes)
        what = f"owner_of({index}, {n}, {itemsize})"
        expect_equal(impl.owner_of(index, n, itemsize), (stick // run, stick, lane), what)


@owner_of(
    hints=[
        "A stick is 128 bytes, so 64 elements of 2 bytes; divmod gives both stick and lane.",
        "Every core owns a run of sticks / 32 neighbours: which run does a stick fall into?",
    ]
)
def test_owner_in_even_runs(impl: Any, rng: Any) -> None:
    """A vector of f16 whose sticks divide evenly over the cores."""
    expect_owners(impl, rng, 64 * CORES * int(rng.integers(2, 9)), 2)


@owner_of(
    hints=[
        "How many elements a stick holds depends on their size.",
        "lanes = 128 // itemsize",
    ]
)
def test_owner_for_other_item_sizes(impl: Any, rng: Any) -> None:
    """Elements of 1 and 4 bytes."""
    for itemsize in (4, 1):
        lanes = SPYRE.stick_bytes // itemsize
        expect_owners(impl, rng, lanes * CORES * int(rng.integers(2, 9)), itemsize)


@owner_of(
    hints=[
        "When the sticks do not divide by 32, round up: no core beyond the 32nd may be named.",
        "A run is ceil(sticks / 32) long, and so is the number of sticks: ceil(n / lanes). "
        "-(-a // b) rounds up.",
    ]
)
def test_owner_in_uneven_runs(impl: Any, rng: Any) -> None:
    """Any number of elements."""
    for n in (int(rng.integers(2100, 9000)) | 1, 64 * CORES * 3 + 1, 64 * CORES - 1, 5):
        expect_owners(impl, rng, n, 2)


# ---- 2: a kernel for any n ---------------------------------------------------------------


def run_axpy(impl: Any, rng: Any, n: int) -> Any:
    alpha = int(rng.integers(9, 24)) / 8
    x, y = half(rng, n), half(rng, n)
    arrays = {"x": x, "y": y, "out": np.full(n, 99, np.float16)}
    run = run_program(impl.axpy(n, alpha), arrays, races=False)
    expected = np.float32(alpha) * x.astype(np.float32) + y.astype(np.float32)
    # Two roundings to f16 of values up to 16: half of 2**-7 each.
    expect_close(run.outputs["out"], expected, rtol=1e-3, atol=1e-2)
    expect_work(run, reads=4 * n, writes=2 * n, operations=2 * n)
    return run.counters


@axpy(
    hints=[
        "Core c works on elements c * share ... (c + 1) * share - 1; what is share for this n?",
        "b.view(x, sizes=(n,), dtype=F16) names the array, b.load(view[first], shape=(share,)) "
        "loads a tile of it; store to out the same way.",
    ]
)
def test_axpy_of_whole_runs(impl: Any, rng: Any) -> None:
    """n is a multiple of 32 cores times 64 elements."""
    for least in (2, 6):
        run_axpy(impl, rng, 64 * CORES * (least + int(rng.integers(0, 4))))


@axpy(
    hints=[
        "The tail: n is not always a multiple of the cores. Who works on the last elements?",
        "Round the share up. The last tile then overhangs the view of sizes (n,), which masks "
        "it: loads give zero there, stores are dropped. Do not make the view larger than n.",
    ]
)
def test_axpy_with_a_tail(impl: Any, rng: Any) -> None:
    """Any n: the tail is not lost, and nothing beyond it is touched."""
    for n in (64 * CORES * 2 + 1, int(rng.integers(5000, 9000)) | 1):
        run_axpy(impl, rng, n)


@axpy(
    hints=[
        "Count the loads: x and y are read once each, and out is written once.",
        "Keep what you loaded in a variable, and let no two tiles overlap.",
    ]
)
def test_axpy_moves_each_element_once(impl: Any, rng: Any) -> None:
    """DDR traffic is three arrays."""
    n = int(rng.integers(5000, 9000)) | 1
    counters = run_axpy(impl, rng, n)
    expect_at_most(int(counters.ddr_read.sum()), 4 * n, "bytes read from DDR")
    expect_at_most(int(counters.ddr_write.sum()), 2 * n, "bytes written to DDR")


@axpy(
    hints=[
        "A share has to be a whole number of sticks, or two cores write to one stick.",
        "share = ceil(ceil(n / 64) / 32) * 64",
    ]
)
def test_axpy_keeps_sticks_whole(impl: Any, rng: Any) -> None:
    """No stick is written twice."""
    n = 64 * CORES * 3 - int(rng.integers(100, 1000))
    counters = run_axpy(impl, rng, n)
    expect_at_most(int(counters.sticks_written.sum()), sticks(n), "sticks written")


@axpy(
    hints=[
        "Is every core at work? One core must not do more than its even share.",
        "grid=(32,), and the tile of a core begins at b.compute_tile_id() * share.",
    ]
)
def test_axpy_on_all_cores(impl: Any, rng: Any) -> None:
    """The busiest core writes no more than an even share of the sticks."""
    n = int(rng.integers(20000, 60000)) | 1
    counters = run_axpy(impl, rng, n)
    share = -(-sticks(n) // CORES)
    expect_at_most(int(counters.sticks_written.max()), share, "sticks written by one core")


@axpy(
    hints=[
        "With fewer elements than a share, a tile would be larger than the view, which verify "
        "rejects.",
        "The tile is min(share, n) long.",
    ]
)
def test_axpy_of_a_few_elements(impl: Any, rng: Any) -> None:
    """n below one stick."""
    run_axpy(impl, rng, int(rng.integers(1, 63)))


# ---- 3: predict, then run ----------------------------------------------------------------


def traffic(given: Any, rng: Any, rows: int, cols: int) -> tuple[int, int]:
    arrays = {
        "x": half(rng, rows, cols),
        "powers": np.zeros((rows, cols), np.float32),
        "out": np.zeros((rows, cols), np.float16),
    }
    counters = run_program(given.softmax_in_three_passes(rows, cols), arrays, races=False).counters
    return int(counters.ddr_read.sum()), int(counters.ddr_write.sum())


def predicted(impl: Any, rows: int, cols: int) -> Any:
    found = impl.predict_traffic(rows, cols)
    kind = type(found).__name__
    expect_equal(kind, "tuple", "type of the prediction")
    expect_equal(len(found), 2, "length of the prediction (read, written)")
    return found


@predict_traffic(
    hints=[
        "What is stored, and in which type? Each store moves its tile once.",
        "powers is f32 (4 bytes an element), out is f16 (2 bytes).",
    ]
)
def test_bytes_written(impl: Any, given: Any, rng: Any) -> None:
    """The bytes written, for rows that divide evenly."""
    rows, cols = 128 * int(rng.integers(1, 3)), 64 * int(rng.integers(1, 4))
    written = traffic(given, rng, rows, cols)[1]
    expect_equal(predicted(impl, rows, cols)[1], written, f"bytes written for {rows} x {cols}")


@predict_traffic(
    hints=[
        "Count the loads of every pass: how often does x come from main memory?",
        "Three loads: x (2 bytes an element) twice, powers (4 bytes) once.",
    ]
)
def test_bytes_read(impl: Any, given: Any, rng: Any) -> None:
    """The bytes read, for rows that divide evenly."""
    rows, cols = 128 * int(rng.integers(1, 3)), 64 * int(rng.integers(1, 4))
    read = traffic(given, rng, rows, cols)[0]
    expect_equal(predicted(impl, rows, cols)[0], read, f"bytes read for {rows} x {cols}")


@predict_traffic(
    hints=[
        "What happens with the rows of a tile that lie beyond the view?",
        "They are masked and move nothing, and bytes are not rounded up to sticks: only "
        "rows * cols elements count.",
    ]
)
def test_bytes_of_odd_sizes(impl: Any, given: Any, rng: Any) -> None:
    """Rows that do not fill the last tile, and columns that do not fill a stick."""
    rows, cols = 4 * int(rng.integers(9, 40)) + 1, int(rng.integers(65, 250)) | 1
    expected = traffic(given, rng, rows, cols)
    expect_equal(predicted(impl, rows, cols), expected, f"(read, written) for {rows} x {cols}")


# ---- 4: find the bugs --------------------------------------------------------------------


def run_centre(impl: Any, given: Any, rng: Any, shift: float) -> Any:
    x = (rng.uniform(0.5, 3.0, (60, 100)) + shift).astype(np.float16)
    arrays = {"x": x, "y": np.full_like(x, 99)}
    run = run_program(impl.repair_centre(given.BROKEN_CENTRE), arrays, races=False)
    expect_close(run.outputs["y"], x - x.max(axis=1, keepdims=True), what="y")
    expect_work(run, reads=x.nbytes, writes=x.nbytes, operations=x.size)
    return run.counters


@repair_centre(
    hints=[
        "Row 0 is right and later rows are not: how far is it from one row to the next?",
        "Compare the strides of the two memory views with their sizes.",
    ]
)
def test_repaired_values(impl: Any, given: Any, rng: Any) -> None:
    """Rows of positive numbers."""
    run_centre(impl, given, rng, 0.0)


@repair_centre(
    hints=[
        "What does the program take for the largest value of a row whose values are all below 0?",
        "A maximum starts from minus infinity, in f16 the bit pattern 0xFC00.",
    ]
)
def test_repaired_values_below_zero(impl: Any, given: Any, rng: Any) -> None:
    """Rows of negative numbers."""
    run_centre(impl, given, rng, -6.0)


@repair_centre(
    hints=[
        "The values are right, but how many cores compute row 16?",
        "32 cores begin at rows 0 ... 31: the step to a core's next row is 32.",
    ]
)
def test_repaired_traffic(impl: Any, given: Any, rng: Any) -> None:
    """Every row is read and written once."""
    counters = run_centre(impl, given, rng, 0.0)
    expect_at_most(counters.ddr_bytes, 4 * 60 * 100, "bytes read and written")
