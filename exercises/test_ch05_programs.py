"""Graded tests of chapter 5: tiles, splits that agree, and a chain.  Programs are run and timed."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from spyrelab.grade import (
    WrongError,
    estimate_program,
    expect_at_most,
    expect_close,
    expect_equal,
    expect_work,
    run_program,
    task,
)
from spyrelab.layout import SpyreTensorLayout, pack, unpack
from spyrelab.tiling import TilingError
from spyrelab.tiling.lx import default_capacity

STICK = 128
BUFFERS = ("x", "top", "shifted", "powers", "total")

tile_softmax = partial(task, "ch05.5", "tile_softmax")
agree = partial(task, "ch05.6", "agree")
plan_chain = partial(task, "ch05.7", "plan_chain")


def softmax_of(x: Any) -> Any:
    powers = np.exp(x.astype(np.float32) - x.max(1, keepdims=True))
    return powers / powers.sum(1, keepdims=True)


# ---- 5: tiles ---------------------------------------------------------------------------------


def expect_tiles(impl: Any, given: Any, rng: Any, shape: Any, capacity: int, turns: int) -> None:
    rows, cols = shape
    what = f"tile_softmax({rows}, {cols}, {capacity})"
    answer = impl.tile_softmax(rows, cols, capacity)
    if not isinstance(answer, tuple) or len(answer) != 2 or not isinstance(answer[1], dict):
        raise WrongError(f"{what}: expected (turns, addresses), got {answer!r}")
    found, addresses = answer
    expect_equal(sorted(addresses), sorted(BUFFERS), f"{what}: tensors with an address")
    if not isinstance(found, int) or found < 1 or rows % found:
        raise WrongError(f"{what}: {found!r} turns do not divide {rows} rows")
    for name, address in addresses.items():
        expect_place(what, name, address, rows // found, cols, capacity)
    launch = given.softmax_program(rows, cols, found, addresses)
    x = rng.standard_normal(shape).astype(np.float16)
    layout = SpyreTensorLayout.default(shape)
    memory = {"given": pack(x, layout), "out": np.zeros(layout.numel, np.float16)}
    sparse = np.zeros(SpyreTensorLayout.sparse((rows, 1)).numel, np.float16)
    rest = {n: sparse if n in ("top", "total") else memory["out"] for n in launch.tensors}
    taken = {
        a: (rest | memory)[n].copy() for a, n in zip(launch.arguments, launch.tensors, strict=True)
    }
    run = run_program(launch.module, taken)
    out = dict(zip(launch.tensors, launch.arguments, strict=True))["out"]
    expect_close(unpack(run.outputs[out], layout, shape), softmax_of(x), 4e-3, 2e-4, what, cores=1)
    expect_work(run, x.nbytes, x.nbytes)
    expect_at_most(run.counters.ddr_bytes, 2 * x.nbytes, f"{what}: bytes through DDR")
    expect_at_most(found, turns, f"{what}: turns")


def expect_place(what: str, name: str, address: Any, rows: int, cols: int, capacity: int) -> None:
    if address is None:
        return
    if not isinstance(address, int) or address < 0 or address % STICK:
        raise WrongError(f"{what}: {name} lies at {address!r}, which is no stick")
    size = rows * (STICK if name in ("top", "total") else cols * 2)
    if address + size > capacity:
        raise WrongError(f"{what}: {name} ends at {address + size:,}, beyond {capacity:,}")


@tile_softmax(
    hints=[
        "Start with everything in one turn: one place for the matrix, one for a statistic. Which "
        "tensors are alive at the same time?",
        "x, shifted and powers can take the same place, one after the other. top must not lie "
        "where x does, and takes 128 bytes per row.",
    ]
)
def test_softmax_in_one_turn(impl: Any, given: Any, rng: Any) -> None:
    """Matrices that fit the 1.6 MiB."""
    expect_tiles(impl, given, rng, (128, 512), default_capacity(), 1)
    expect_tiles(impl, given, rng, (48, 64), default_capacity(), 1)


@tile_softmax(
    hints=[
        "If it does not fit, take fewer rows at a time: the rows of a turn take rows / turns * "
        "cols * 2 bytes, and their statistics are no smaller than sticks.",
        "Look for the smallest number of turns that divides the rows and for which the matrix and "
        "one column of statistics fit: top is dead when total is born.",
    ]
)
def test_softmax_in_turns(impl: Any, given: Any, rng: Any) -> None:
    """Matrices that do not fit."""
    expect_tiles(impl, given, rng, (96, 256), 21_000, 3)
    expect_tiles(impl, given, rng, (90, 128), 40 * 1024, 1)
    expect_tiles(impl, given, rng, (60, 192), 60 * 4 * STICK // 5, 5)
    expect_tiles(impl, given, rng, (7, 1024), 3000, 7)


# ---- 6: splits that agree ---------------------------------------------------------------------


def pair_of(impl: Any, given: Any, shape: tuple[int, int, int]) -> Any:
    what = f"agree{shape}"
    answer = impl.agree(*shape)
    try:
        product, softmax = (tuple(map(int, parts)) for parts in answer)
    except (TypeError, ValueError):
        raise WrongError(f"{what}: expected ((M, N, K), (rows, columns)), got {answer!r}") from None
    expect_equal((len(product), len(softmax)), (3, 2), f"{what}: numbers of parts")
    if min(*product, *softmax) < 1 or np.prod(product) > 32 or np.prod(softmax) > 32:
        raise WrongError(f"{what}: {answer} is no split over 32 cores")
    _, _, cols = shape
    if (cols // 64) % product[1] or (cols // 64) % softmax[1]:
        raise WrongError(f"{what}: {cols // 64} sticks of columns in parts of {answer}")
    try:
        return given.pair_program(*shape, product, softmax)
    except TilingError as error:
        raise WrongError(f"{what}: {error}") from None


def best_of(given: Any, shape: tuple[int, int, int]) -> int:
    """Nanoseconds of the best pair that leaves K whole."""
    sticks = shape[2] // 64
    pairs = [(32 // q, q) for q in range(1, 33) if sticks % q == 0]
    programs = (given.pair_program(*shape, (p, q, 1), (p, q)) for p, q in pairs)
    return round(1e9 * min(estimate_program(program).seconds for program in programs))


def expect_fast(impl: Any, given: Any, shape: tuple[int, int, int]) -> None:
    program = pair_of(impl, given, shape)
    seconds = estimate_program(program).seconds
    budget = best_of(given, shape) * 11 // 10
    expect_at_most(round(1e9 * seconds), budget, f"agree{shape}: predicted nanoseconds")


@agree(
    hints=[
        "A core of the softmax finds what the product left on the same core, and nothing else.",
        "Both have to cut rows alike and columns alike, and nobody may cut K: then a core has only "
        "a part of a sum. Columns are cut in whole sticks.",
    ]
)
def test_pairs_that_agree(impl: Any, given: Any, rng: Any) -> None:
    """The result, and that nothing else goes through DDR."""
    shape = (256, 256, 256)
    program = pair_of(impl, given, shape)
    layout = SpyreTensorLayout.default(shape[:2])
    x, w = (rng.standard_normal(shape[:2]).astype(np.float16) / 4 for _ in range(2))
    memory = {"t0": pack(x, layout), "t1": pack(w, layout), "t2": np.zeros_like(pack(x, layout))}
    run = run_program(program, memory)
    right = softmax_of((x.astype(np.float32) @ w.astype(np.float32)).astype(np.float16))
    expect_close(unpack(run.outputs["t2"], layout, shape[:2]), right, 1e-2, 1e-3)
    wrote = int(run.counters.ddr_write.sum())
    expect_at_most(wrote, x.nbytes, f"agree{shape}: bytes written to DDR")


@agree(
    hints=[
        "Rows alone would suit the softmax: no core would have to ask another. What does the "
        "product say to that?",
        "A core of the product needs rows / p rows of x and cols / q columns of w. For p * q = 32 "
        "their sum is least where its block of the result is about square.",
    ]
)
def test_pairs_in_time(impl: Any, given: Any) -> None:
    """Predicted time where 32 cores divide everything."""
    for shape in ((512, 1024, 1024), (256, 1024, 1024), (1024, 1024, 512)):
        expect_fast(impl, given, shape)


@agree(
    hints=[
        "Not every number of sticks can be cut into 2, 4 or 8 equal parts.",
        "320 columns are 5 sticks, so it is 5 parts or none; 6 parts of the rows keep 30 of 32 "
        "cores at work.",
    ]
)
def test_pairs_of_odd_sizes(impl: Any, given: Any) -> None:
    """Sticks that powers of two do not divide."""
    for shape in ((384, 1024, 320), (1000, 512, 768)):
        expect_fast(impl, given, shape)


# ---- 7: a chain -------------------------------------------------------------------------------


def seconds_of(choice: Any, alone: Any, saved: Any, launch: float) -> float:
    total = launch + alone[0][choice[0]]
    for i in range(1, len(alone)):
        same = choice[i] == choice[i - 1]
        total += alone[i][choice[i]] + (-saved[i - 1][choice[i]] if same else launch)
    return float(total)


def best_seconds(alone: Any, saved: Any, launch: float) -> float:
    """The least time, from the end to the beginning."""
    count = len(alone[0])
    rest = [0.0] * count
    for i in reversed(range(1, len(alone))):
        go_on = [alone[i][s] + rest[s] for s in range(count)]
        apart = launch + min(go_on)
        rest = [min(apart, go_on[s] - saved[i - 1][s]) for s in range(count)]
    return launch + min(alone[0][s] + rest[s] for s in range(count))


def expect_chain(impl: Any, alone: Any, saved: Any, launch: float) -> None:
    found = impl.plan_chain([list(row) for row in alone], [list(row) for row in saved], launch)
    expect_equal(type(found).__name__, "list", "type of the answer")
    expect_equal(len(found), len(alone), "splits in the answer")
    splits = range(len(alone[0]))
    if any(choice not in splits for choice in found):
        raise WrongError(f"there are splits 0 to {splits[-1]}, got {found}")
    total, best = seconds_of(found, alone, saved, launch), best_seconds(alone, saved, launch)
    what = f"a chain of {len(alone)}"
    if len(alone) <= 2:  # short enough to be read, and followed on paper
        what = f"plan_chain({alone}, {saved}, {launch}) = {found}"
    expect_at_most(round(1e3 * total), round(1e3 * best), f"{what}: predicted nanoseconds")


@plan_chain(
    hints=[
        "Two operations: either each has its own best split, or both have the same. Compare "
        "alone[0][s] + alone[1][s] - saved[0][s] with two launches.",
        "Even where both like the same split best, another one may save more. And where nothing "
        "is saved, a launch still is.",
    ]
)
def test_chains_of_two(impl: Any, rng: Any) -> None:
    """A product and what follows, in microseconds."""
    expect_chain(impl, [[54.2, 37.1, 33.5, 33.5]], [], 3.0)
    expect_chain(impl, [[54.2, 37.1, 33.5], [32.9, 32.9, 33.0]], [[11.4, 15.5, 18.1]], 3.0)
    expect_chain(impl, [[20.0, 25.0], [25.0, 20.0]], [[0.0, 0.0]], 2.0)
    for _ in range(4):
        alone, saved = rng.uniform(10, 40, (2, 5)), rng.uniform(0, 9, (1, 5))
        expect_chain(impl, alone.tolist(), saved.tolist(), 3.0)


@plan_chain(
    hints=[
        "What is best for the first two may be bad for the third.",
        "For each split of the last operation so far, remember the least time to get there, and "
        "how. The next operation comes from its own split, or from the cheapest of all.",
    ]
)
def test_chains_of_many(impl: Any, rng: Any) -> None:
    """Chains in which it pays to look ahead, some of them long."""
    alone = [[10.0, 14.0], [14.0, 14.0], [18.0, 10.0], [18.0, 10.0]]
    expect_chain(impl, alone, [[3.0, 3.0]] * 3, 4.0)
    for length in (3, 4, 6, 300):
        rows, gains = rng.uniform(10, 40, (length, 6)), rng.uniform(0, 12, (length - 1, 6))
        expect_chain(impl, rows.tolist(), gains.tolist(), 5.0)
