"""Graded tests of chapter 2: kernels within a predicted time, and without races."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from spyrelab.grade import (
    estimate_program,
    expect_at_most,
    expect_close,
    expect_equal,
    expect_work,
    run_program,
    task,
)
from spyrelab.machine import SPYRE

CORES = SPYRE.cores

overlapped = partial(task, "ch02.5", "overlapped")
column_sums = partial(task, "ch02.6", "column_sums")
repair_race = partial(task, "ch02.7", "repair_race")


def expect_time(program: Any, slow: Any, seconds: float, percent: int) -> None:
    """Fail if a program takes more than ``seconds`` and ``percent`` on top; both in cycles."""
    budget = round(seconds * SPYRE.clock_hz) * (100 + percent) // 100
    cycles, before = estimate_program(program).cycles, estimate_program(slow).cycles
    expect_at_most(cycles, budget, f"predicted cycles (the program given takes {before:,})")


# ---- 5: overlap --------------------------------------------------------------------------


def run_overlapped(program: Any, rng: Any, rows: int, cols: int) -> Any:
    x = (rng.standard_normal((rows, cols)) * 2).astype(np.float16)
    arrays = {"x": x, "out": np.full_like(x, 99)}
    run = run_program(program, arrays)
    expected = np.tanh(np.tanh(np.tanh(x.astype(np.float32))))
    # One rounding to f16: half of 2**-10 of the value, and a little for tanh itself.
    expect_close(run.outputs["out"], expected, rtol=5.5e-4, atol=1e-6)
    expect_work(run, reads=x.nbytes, writes=x.nbytes, operations=3 * x.size)
    return run.counters


@overlapped(
    hints=[
        "Keep the arithmetic, and put a loop over tiles of a core's rows around it. The tile's "
        "height divides the share, or the last tile reaches into the next core's rows.",
        "with b.loop(begin, begin + share, height) as row: load x[row, 0], compute, store; and "
        "share = ceil(rows / (32 * height)) * height.",
    ]
)
def test_overlapped_values(impl: Any, rng: Any) -> None:
    """Rows that divide evenly."""
    rows = 8 * CORES * int(rng.integers(1, 4))
    run_overlapped(impl.overlapped(rows, 64), rng, rows, 64)


@overlapped(
    hints=[
        "Some rows belong to no core, or to two: check sizes that do not divide.",
        "Make the share a multiple of the tile's height, and end the loop at "
        "min(begin + share, rows).",
    ]
)
def test_overlapped_rows_of_any_number(impl: Any, rng: Any) -> None:
    """Any number of rows and columns; each element is moved once."""
    rows, cols = int(rng.integers(300, 900)) | 1, int(rng.integers(65, 200)) | 1
    counters = run_overlapped(impl.overlapped(rows, cols), rng, rows, cols)
    expect_equal(counters.ddr_bytes, 4 * rows * cols, "bytes read and written")


@overlapped(
    hints=[
        "The first load and the last store hide behind nothing: how large may they be?",
        "Cut a core's rows into eight tiles or more; but keep rows whole, since runs "
        "of less than four sticks waste the port.",
    ]
)
def test_overlapped_time(impl: Any, given: Any, rng: Any) -> None:
    """The time that memory alone needs, with 18 % on top."""
    rows, cols = CORES * 8 * int(rng.integers(8, 17)), 1024
    program, slow = impl.overlapped(rows, cols), given.activation_in_one_tile(rows, cols)
    run_overlapped(program, rng, rows, cols)
    nbytes = 2 * rows * cols
    memory = given.LAUNCH + nbytes / given.READ_RATE + nbytes / given.WRITE_RATE
    expect_time(program, slow, memory, 18)


# ---- 6: fewer, longer bursts -------------------------------------------------------------


def run_columns(program: Any, rng: Any, rows: int, cols: int) -> None:
    x = rng.uniform(0.5, 1.5, (rows, cols)).astype(np.float16)
    arrays = {"x": x, "out": np.full(cols, 99, np.float32)}
    run = run_program(program, arrays)
    # f32 sums of numbers near 1, in any order.
    expect_close(run.outputs["out"], x.astype(np.float64).sum(axis=0), rtol=5e-6)
    expect_work(run, reads=x.nbytes, writes=4 * cols, operations=x.size - cols)


@column_sums(
    hints=[
        "Are the values sums over all rows, added up in f32?",
        "Convert with .to(F32) before b.reduce('add', ..., 0), and let produce_reduce add the "
        "partial sums of the cores; core 0 stores.",
    ]
)
def test_column_sums_values(impl: Any, rng: Any) -> None:
    """Rows that divide evenly, sums that f16 cannot hold."""
    rows = 8 * CORES * int(rng.integers(8, 17))
    run_columns(impl.column_sums(rows, 128), rng, rows, 128)


@column_sums(
    hints=[
        "Rows at the end are lost, or counted twice: who adds the tail?",
        "Round a core's share up to whole tiles; the view of sizes (rows, cols) gives zeros below "
        "the last row.",
    ]
)
def test_column_sums_of_any_size(impl: Any, rng: Any) -> None:
    """Any number of rows and columns."""
    sizes = (int(rng.integers(300, 900)) | 1, int(rng.integers(65, 300)) | 1)
    for rows, cols in (sizes, (int(rng.integers(33, 60)) | 1, 64)):
        run_columns(impl.column_sums(rows, cols), rng, rows, cols)


@column_sums(
    hints=[
        "How long are the runs in memory that one load reads? A run of one stick takes as long as "
        "one of three.",
        "Give cores rows, not columns: a load of whole rows is one long run. Read x once.",
    ]
)
def test_column_sums_time(impl: Any, given: Any, rng: Any) -> None:
    """The time of reading x once, with 25 % on top."""
    rows, cols = CORES * 8 * int(rng.integers(12, 17)), 2048
    program, slow = impl.column_sums(rows, cols), given.column_sums_by_stick(rows, cols)
    run_columns(program, rng, rows, cols)
    memory = given.LAUNCH + 2 * rows * cols / given.READ_RATE
    expect_time(program, slow, memory, 25)


# ---- 7: find the race --------------------------------------------------------------------


def run_sum(impl: Any, given: Any, rng: Any) -> Any:
    x = rng.integers(-20, 20, (256, 64)).astype(np.float16)
    arrays = {"x": x, "y": np.full_like(x, 99)}
    run = run_program(impl.repair_race(given.RACING_SUM), arrays)
    above = np.vstack([np.zeros_like(x[:1]), x[:-1]])
    expect_close(run.outputs["y"], x + above, what="y")
    expect_close(run.outputs["x"], x, what="x, which is not to be changed")
    expect_work(run, reads=x.nbytes, writes=x.nbytes, operations=x.size)
    return run.counters


@repair_race(
    hints=[
        "List for each core the rows that it reads and those that it writes: which rows does a "
        "neighbour write?",
        "Core t reads row 8 t - 1, so the result may not go where x is; and a core's first row is "
        "core * share, with tiles of 8 rows.",
    ]
)
def test_repaired_race(impl: Any, given: Any, rng: Any) -> None:
    """Right values under the sanitizer."""
    run_sum(impl, given, rng)


@repair_race(
    hints=[
        "One core alone has no race, and takes 32 times as long.",
        "Keep grid = [32]: the program divides its work well, it only names the wrong places.",
    ]
)
def test_repaired_race_on_all_cores(impl: Any, given: Any, rng: Any) -> None:
    """Each core writes its own 8 rows."""
    counters = run_sum(impl, given, rng)
    expect_at_most(int(counters.ddr_write.max()), 8 * 64 * 2, "bytes written by one core")


@repair_race(
    hints=[
        "Races are gone, but rows are written more often than once.",
        "A core needs its own rows and the one above each: two loads and one store of 8 rows.",
    ]
)
def test_repaired_race_traffic(impl: Any, given: Any, rng: Any) -> None:
    """Two loads and one store of the matrix."""
    counters = run_sum(impl, given, rng)
    expect_at_most(counters.ddr_bytes, (3 * 256 - 1) * 64 * 2, "bytes read and written")
