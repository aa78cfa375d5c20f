"""Graded tests of chapter 1, the kernels: traffic, exchange, indirection, scratchpad."""

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
    scratchpad_peak,
    task,
)
from spyrelab.machine import SPYRE

CORES = SPYRE.cores
HALF = {"rtol": 2e-3, "atol": 1e-6}
"""Computed in f32 and rounded once to f16 (2**-11), twice that for another order of sums."""

softmax = partial(task, "ch01.5", "softmax")
row_sums = partial(task, "ch01.6", "row_sums")
gather_tokens = partial(task, "ch01.7", "gather_tokens")
tallest_tile = partial(task, "ch01.8", "tallest_tile", may_use=("spyrelab.emulator",))


def half(rng: Any, *shape: int, scale: float = 1.0) -> Any:
    return (rng.standard_normal(shape) * scale).astype(np.float16)


# ---- 5: softmax at its lower bound -------------------------------------------------------


def run_softmax(impl: Any, rng: Any, rows: int, cols: int, scale: float = 2.0) -> Any:
    x = half(rng, rows, cols, scale=scale)
    arrays = {"x": x, "out": np.full_like(x, 99)}
    run = run_program(impl.softmax(rows, cols), arrays, races=False)
    wide = x.astype(np.float64)
    powers = np.exp(wide - wide.max(axis=1, keepdims=True))
    expect_close(run.outputs["out"], powers / powers.sum(axis=1, keepdims=True), **HALF)
    expect_work(run, reads=x.nbytes, writes=x.nbytes, operations=3 * x.size)
    return run.counters


@softmax(
    hints=[
        "Try one row per step: load it, reduce 'max' and 'add' along axis 1, broadcast back.",
        "Convert with .to(F32) right after the load and with .to(F16) right before the store: "
        "differences, powers and sums rounded to f16 lose up to a percent.",
    ]
)
def test_softmax_values(impl: Any, rng: Any) -> None:
    """Rows that divide evenly, computed in f32."""
    for rows in (1, 3):
        run_softmax(impl, rng, CORES * rows, 64 * int(rng.integers(2, 6)))


@softmax(
    hints=[
        "exp overflows for large values: what does the definition subtract first?",
        "Subtract the largest value of the row before exp.",
    ]
)
def test_softmax_of_large_values(impl: Any, rng: Any) -> None:
    """Values of a few hundred."""
    run_softmax(impl, rng, CORES, 128, scale=200.0)


@softmax(
    hints=[
        "Some rows belong to no core, or to two, or padding takes part: check sizes that do not "
        "divide.",
        "share = ceil(rows / 32); the loop of core c ends at min((c + 1) * share, rows), and a "
        "tile is exactly cols wide.",
    ]
)
def test_softmax_of_any_size(impl: Any, rng: Any) -> None:
    """Any number of rows and columns."""
    run_softmax(impl, rng, int(rng.integers(65, 150)) | 1, int(rng.integers(65, 300)) | 1)
    run_softmax(impl, rng, 9, 4097)


@softmax(
    hints=[
        "The least traffic is every element read once and written once. Count your loads.",
        "Load a whole row once and use that value for the maximum, the powers and the result.",
    ]
)
def test_softmax_traffic(impl: Any, rng: Any) -> None:
    """DDR traffic at its lower bound."""
    rows, cols = int(rng.integers(65, 150)) | 1, int(rng.integers(65, 300)) | 1
    counters = run_softmax(impl, rng, rows, cols)
    expect_at_most(counters.ddr_bytes, 2 * 2 * rows * cols, "bytes read and written")


@softmax(
    hints=[
        "Is every core at work? No core needs more than ceil(rows / 32) rows.",
        "grid=(32,), and a core's loop begins at b.compute_tile_id() * share.",
    ]
)
def test_softmax_on_all_cores(impl: Any, rng: Any) -> None:
    """The busiest core has no more than an even share of the rows."""
    rows, cols = int(rng.integers(65, 150)), 128
    counters = run_softmax(impl, rng, rows, cols)
    share = -(-rows // CORES) * cols * 2
    expect_at_most(int(counters.ddr_write.max()), share, "bytes written by one core")


# ---- 6: a sum across cores ---------------------------------------------------------------


def run_sums(impl: Any, x: Any, rtol: float = 5e-6) -> Any:
    """The tolerance is for f32 sums of 30,000 numbers near 1, in any order."""
    rows, cols = x.shape
    arrays = {"x": x, "out": np.full(rows, 99, np.float32)}
    run = run_program(impl.row_sums(rows, cols), arrays, races=False)
    expect_close(run.outputs["out"], x.astype(np.float64).sum(axis=1), rtol=rtol)
    expect_work(run, reads=x.nbytes, writes=4 * rows, operations=x.size - rows)
    return run.counters


def near_one(rng: Any, rows: int, cols: int) -> Any:
    return rng.uniform(0.5, 1.5, (rows, cols)).astype(np.float16)


def any_length(rng: Any) -> Any:
    return near_one(rng, int(rng.integers(2, 9)), int(rng.integers(5000, 20000)) | 1)


@row_sums(
    hints=[
        "Do all 32 cores take part, and does core 0 store what produce_reduce gave?",
        "produce_reduce(partial, TileGroups.adjacent(1, 32)) is one group of 32 tiles; its "
        "leader, core 0, receives the sum: with b.if_(core.equals(0)): b.store(...).",
    ]
)
def test_sums_of_whole_sticks(impl: Any, rng: Any) -> None:
    """Columns that divide evenly, with sums that even f16 holds exactly."""
    ones = rng.uniform(size=(int(rng.integers(1, 5)), 64 * CORES)) < 0.2
    run_sums(impl, ones.astype(np.float16), rtol=0)


@row_sums(
    hints=[
        "Large sums need more digits than f16 has: in which type do you add?",
        "Convert to F32 before the first reduce, not after it.",
    ]
)
def test_sums_in_f32(impl: Any, rng: Any) -> None:
    """Sums that f16 cannot hold."""
    run_sums(impl, near_one(rng, int(rng.integers(5, 9)), 64 * CORES * int(rng.integers(6, 12))))


@row_sums(
    hints=[
        "Columns at the end are lost, or counted twice: who adds the tail?",
        "share = ceil(ceil(cols / 64) / 32) * 64 columns per core; the view masks what overhangs.",
    ]
)
def test_sums_of_any_length(impl: Any, rng: Any) -> None:
    """Any number of columns."""
    for cols in (64 * CORES * 2 + 1, int(rng.integers(5000, 30000)) | 1):
        run_sums(impl, near_one(rng, int(rng.integers(1, 9)), cols))


@row_sums(
    hints=[
        "Each element of x is read by one core only, and only core 0 stores.",
        "The columns of a core begin at core * share; the store stands inside b.if_.",
    ]
)
def test_sums_traffic(impl: Any, rng: Any) -> None:
    """DDR traffic: x once, out once."""
    x = any_length(rng)
    counters = run_sums(impl, x)
    expect_at_most(counters.ddr_bytes, x.nbytes + 4 * len(x), "bytes read and written")


@row_sums(
    hints=[
        "Too many bytes on the ring: what travels, and to whom?",
        "Reduce a core's own columns to [rows] before produce_reduce, and let only the leader "
        "receive (everyone=False).",
    ]
)
def test_sums_on_the_ring(impl: Any, rng: Any) -> None:
    """Ring traffic: one f32 per row from each of 31 cores."""
    x = any_length(rng)
    counters = run_sums(impl, x)
    expect_at_most(int(counters.ring.sum()), (CORES - 1) * len(x) * 4, "bytes on the ring")


@row_sums(
    hints=[
        "Is every core at work? No core needs more than an even share of the columns.",
        "grid=(32,), and the columns of a core begin at b.compute_tile_id() * share.",
    ]
)
def test_sums_on_all_cores(impl: Any, rng: Any) -> None:
    """The busiest core reads no more than an even share, in whole sticks."""
    x = any_length(rng)
    counters = run_sums(impl, x)
    sticks = -(-x.shape[1] * 2 // SPYRE.stick_bytes)
    share = -(-sticks // CORES) * SPYRE.stick_bytes * len(x)
    expect_at_most(int(counters.ddr_read.max()), share, "bytes read by one core")


# ---- 7: gather through a page table ------------------------------------------------------


def run_gather(impl: Any, rng: Any, tokens: int, pages: int, width: int) -> Any:
    store = half(rng, pages, 16, width)
    table = rng.integers(0, pages, -(-tokens // 16)).astype(np.int32)
    arrays = {"store": store, "table": table, "out": np.full((tokens, width), 99, np.float16)}
    run = run_program(impl.gather_tokens(tokens, pages, width), arrays, races=False)
    token = np.arange(tokens)
    expect_close(run.outputs["out"], store[table[token // 16], token % 16])
    expect_work(run, reads=2 * tokens * width, writes=2 * tokens * width)
    return run.counters


@gather_tokens(
    hints=[
        "Step p of the loop handles tokens 16 p ... 16 p + 15. Where does table[p] come in?",
        "b.gather(store, (16, width), lambda t, c: (table[p], t, c)) reads page table[p] of the "
        "store; store the result at out[p * 16, 0].",
    ]
)
def test_gather_of_whole_pages(impl: Any, rng: Any) -> None:
    """Tokens that fill their pages."""
    run_gather(impl, rng, 16 * int(rng.integers(20, 50)), int(rng.integers(60, 90)), 64)


@gather_tokens(
    hints=[
        "The last page is only partly used. Who copies its tokens?",
        "There are ceil(tokens / 16) pages to copy, and the view of out, of sizes "
        "(tokens, width), drops what lies beyond.",
    ]
)
def test_gather_with_a_tail(impl: Any, rng: Any) -> None:
    """Any number of tokens and any width."""
    tokens = 16 * int(rng.integers(40, 70)) + int(rng.integers(1, 16))
    run_gather(impl, rng, tokens, int(rng.integers(60, 90)), int(rng.integers(20, 120)) | 1)


@gather_tokens(
    hints=[
        "Read only the pages that the table names, each once per use.",
        "One gather of shape (16, width) per page, and no other load of the store.",
    ]
)
def test_gather_traffic(impl: Any, rng: Any) -> None:
    """DDR traffic: the named pages, the table, and out."""
    tokens, width = 16 * int(rng.integers(20, 40)) + 3, 64
    counters = run_gather(impl, rng, tokens, 200, width)
    pages = -(-tokens // 16)
    # A page number may be read once per token, not only once per page.
    budget = pages * 16 * (2 * width + 4)
    expect_at_most(int(counters.ddr_read.sum()), budget, "bytes read from DDR")
    expect_at_most(int(counters.ddr_write.sum()), 2 * tokens * width, "bytes written to DDR")


@gather_tokens(
    hints=[
        "Is every core at work? No core needs more than ceil(pages / 32) pages.",
        "The loop of core c takes pages c, c + 32, c + 64, ...",
    ]
)
def test_gather_on_all_cores(impl: Any, rng: Any) -> None:
    """The busiest core copies no more than an even share of the pages."""
    tokens, width = 16 * int(rng.integers(70, 90)), 64
    counters = run_gather(impl, rng, tokens, 100, width)
    share = -(-(tokens // 16) // CORES) * 16 * width * 2
    expect_at_most(int(counters.ddr_write.max()), share, "bytes written by one core")


# ---- 8: fit the scratchpad ---------------------------------------------------------------


def expect_tallest(impl: Any, given: Any, cols: int, lx_bytes: int) -> None:
    """Compare with the emulator's own account, not with a formula."""
    rows = 1 << 20

    def peak(height: int) -> int:
        return scratchpad_peak(given.tanh_by_rows(rows, cols, height))

    height = impl.tallest_tile(cols, lx_bytes)
    expect_equal(type(height).__name__, "int", "type of the height")
    what = f"tallest_tile({cols}, {lx_bytes}) = {height}"
    expect_equal(height >= 1, True, f"{what}, at least 1")
    expect_at_most(peak(height), lx_bytes, f"{what}: peak LX bytes")
    fits = peak(height + 1) <= lx_bytes
    expect_equal(fits, False, f"{what}: does one row more fit")


@tallest_tile(
    hints=[
        "Which tensor values are alive at once at the worst point, and how large are they?",
        "While it is converted, the tile is there twice: in f16 (2 bytes an element) and in f32 "
        "(4 bytes).",
    ]
)
def test_tallest_tile(impl: Any, given: Any, rng: Any) -> None:
    """Columns in whole sticks."""
    for _ in range(3):
        cols, lx_bytes = 64 * int(rng.integers(1, 16)), int(rng.integers(200_000, 1_638_400))
        expect_tallest(impl, given, cols, lx_bytes)


@tallest_tile(
    hints=[
        "Each value takes whole sticks of 128 bytes: what is left over at the end counts too.",
        "Round height * cols * 2 and height * cols * 4 up to 128 each; go down until both fit.",
    ]
)
def test_tallest_tile_of_odd_columns(impl: Any, given: Any, rng: Any) -> None:
    """Columns that leave sticks partly filled, and a budget that is just too small."""
    for _ in range(3):
        cols, height = int(rng.integers(5, 60)) | 1, int(rng.integers(10, 40)) | 1
        expect_tallest(impl, given, cols, 6 * cols * height)
