"""Graded tests of chapter 2: reading and predicting time.  Values follow from the answers."""

from __future__ import annotations

from functools import partial
from typing import Any

from spyrelab.grade import WrongError, expect_at_most, expect_equal, task
from spyrelab.kernels import matmul
from spyrelab.timing import estimate, roofline, split_times

bound_of = partial(task, "ch02.1", "bound_of")
roofline_us = partial(task, "ch02.2", "roofline_us")
predict_speedup = partial(task, "ch02.3", "predict_speedup")
choose_split = partial(task, "ch02.4", "choose_split")

UNITS = ("DDR load", "SFP", "PT", "DDR store")


def expect_near(value: Any, expected: float, rtol: float, what: str) -> None:
    """Fail unless a plain number is within ``rtol`` of the expected one."""
    if not isinstance(value, int | float) or isinstance(value, bool):
        raise WrongError(f"{what}: expected a number, got {value!r}")
    if not abs(value - expected) <= rtol * abs(expected):
        raise WrongError(f"{what}: expected {expected:.4g} within {rtol:.1%}, got {value:.4g}")


# ---- 1: read a timeline ------------------------------------------------------------------


def expect_bound(impl: Any, timeline: Any, unit: str, share: float) -> None:
    found = impl.bound_of(timeline)
    expect_equal(type(found).__name__, "tuple", "type of the answer")
    expect_equal(len(found), 2, "length of the answer (unit, share)")
    expect_equal(found[0], unit, "the unit that bounds the timeline")
    expect_near(found[1], share, 1e-6, f"share of the time that {unit} is busy")


def row_of_spans(rng: Any, unit: str, total: float, count: int, first: float) -> Any:
    """Spans one after the other that are busy for ``total``."""
    parts = rng.uniform(1, 2, count)
    spans, now = [], first
    for part in parts / parts.sum() * total:
        spans.append((unit, now, now + float(part)))
        now += float(part) + float(rng.uniform(0.1, 0.4))
    return spans


@bound_of(
    hints=[
        "The bound is the unit that is busy longest in all: not the one with the longest single "
        "entry, nor the one with most entries.",
        "Add up end - begin per unit, and divide the largest sum by the last end.",
    ]
)
def test_bound_of_spans_apart(impl: Any, rng: Any) -> None:
    """Units whose entries do not overlap."""
    order = [UNITS[i] for i in rng.permutation(4)]
    spans = row_of_spans(rng, order[0], 40.0, 8, 0.0)
    spans += [(order[1], 2.0, 32.0)]
    spans += row_of_spans(rng, order[2], 6.0, 30, 1.0)
    spans += [(order[3], 50.0, 60.0)]
    rng.shuffle(spans)
    expect_bound(impl, [(u, float(b), float(e)) for u, b, e in spans], order[0], 40 / 60)


@bound_of(
    hints=[
        "Two loads on their way at once keep the load engine busy once, not twice.",
        "Sort by begin, remember per unit up to when it is busy already, and count only what lies "
        "beyond that.",
    ]
)
def test_bound_of_overlapping_spans(impl: Any, rng: Any) -> None:
    """Entries of one unit that overlap, or lie inside one another."""
    first = float(rng.uniform(1, 3))
    spans = [("DDR load", first + i, first + i + 8.0) for i in range(12)]
    spans += [("DDR load", first + 1, first + 2), ("SFP", 0.0, 24.0), ("DDR store", 27.0, 40.0)]
    rng.shuffle(spans)
    expect_bound(impl, [(u, float(b), float(e)) for u, b, e in spans], "SFP", 24 / 40)


@bound_of(
    hints=[
        "Time begins at 0, where the kernel is launched, and not with the first entry.",
        "share = busy time / last end.",
    ]
)
def test_bound_of_a_program(impl: Any, given: Any, rng: Any) -> None:
    """The timeline of a short program, in which the launch shows."""
    rows = 32 * int(rng.integers(2, 9))
    timeline = given.timeline_of(given.activation_in_one_tile(rows, 128))
    busy = {unit: sum(e - b for u, b, e in timeline if u == unit) for unit, _, _ in timeline}
    unit = max(busy, key=lambda name: busy[name])
    expect_bound(impl, timeline, unit, busy[unit] / max(end for _, _, end in timeline))


# ---- 2: the roofline ---------------------------------------------------------------------


def expect_roofline(impl: Any, b: int, m: int, n: int, k: int) -> None:
    expected = roofline(matmul(b, m, n, k, split=(1, 1, 1, 1))).seconds * 1e6
    expect_near(impl.roofline_us(b, m, n, k), expected, 1e-3, f"roofline_us{(b, m, n, k)}")


@roofline_us(
    hints=[
        "Many rows: the matrix units bound the product. How many operations is one "
        "multiply-accumulate?",
        "2 * m * n * k operations; seconds times 1e6 are microseconds.",
    ]
)
def test_roofline_of_many_rows(impl: Any, rng: Any) -> None:
    """A product that the matrix units bound."""
    m, n, k = (512 * int(rng.integers(4, 9)) for _ in range(3))
    expect_roofline(impl, 1, m, n, k)


@roofline_us(
    hints=[
        "Few rows, or little depth: memory bounds the product. Which arrays cross it, at how many "
        "bytes an element?",
        "2 bytes for each of m * k, k * n and m * n elements: the result counts too.",
    ]
)
def test_roofline_of_few_rows(impl: Any, rng: Any) -> None:
    """Products that memory bounds."""
    expect_roofline(impl, 1, int(rng.integers(1, 40)), 512 * int(rng.integers(4, 9)), 4096)
    expect_roofline(impl, 1, 1024, 64 * int(rng.integers(20, 40)), 64)


@roofline_us(
    hints=[
        "Each of the b products has operands of its own.",
        "Both the operations and the bytes are b times as many.",
    ]
)
def test_roofline_of_a_batch(impl: Any, rng: Any) -> None:
    """Several products at once."""
    b = int(rng.integers(2, 9))
    expect_roofline(impl, b, 1024, 1024, 1024)
    expect_roofline(impl, b, 8, 512, 256)


# ---- 3: predict a speed-up, then run -----------------------------------------------------


def expect_speedup(impl: Any, given: Any, rows: int, cols: int, passes: int) -> None:
    slow, fast = (estimate(given.centre(rows, cols, p)).seconds for p in (passes, 1))
    what = f"predict_speedup({rows}, {cols}, {passes})"
    expect_near(impl.predict_speedup(rows, cols, passes), slow / fast, 0.03, what)


@predict_speedup(
    hints=[
        "Fewer bytes are not all: is a byte written as fast as a byte read?",
        "time = bytes read / READ_RATE + bytes written / WRITE_RATE; slow over fast.",
    ]
)
def test_speedup_of_a_second_pass(impl: Any, given: Any, rng: Any) -> None:
    """Two passes over a large matrix."""
    expect_speedup(impl, given, 1024 * int(rng.integers(2, 5)), 1024, 2)


@predict_speedup(
    hints=[
        "How often does the program read its matrix?",
        "It reads passes * rows * cols elements of 2 bytes, and writes them once.",
    ]
)
def test_speedup_of_more_passes(impl: Any, given: Any, rng: Any) -> None:
    """Any number of passes."""
    expect_speedup(impl, given, 2048, 1024, int(rng.integers(4, 7)))


@predict_speedup(
    hints=[
        "A small kernel gains less. Which part of its time has nothing to do with bytes?",
        "Add LAUNCH to both times before you divide.",
    ]
)
def test_speedup_of_a_small_kernel(impl: Any, given: Any, rng: Any) -> None:
    """A matrix so small that the launch shows."""
    expect_speedup(impl, given, 128 * int(rng.integers(1, 3)), 128, 3)


# ---- 4: choose a split -------------------------------------------------------------------


def expect_good_split(impl: Any, m: int, n: int, k: int) -> None:
    found = impl.choose_split(m, n, k)
    what = f"choose_split({m}, {n}, {k})"
    kinds = [type(part).__name__ for part in found] if isinstance(found, tuple) else found
    expect_equal(kinds, ["int", "int"], f"{what}: types of the parts")
    times = {c.split[1:3]: c.seconds for c in split_times(1, m, n, k) if c.split[3] == 1}
    if found not in times:
        raise WrongError(f"{what}: {found} cuts no product of {m} x {n} into 32 parts")
    best = round(min(times.values()) * 1e9)
    expect_at_most(round(times[found] * 1e9), best * 11 // 10, f"{what} = {found}: predicted ns")


@choose_split(
    hints=[
        "What does one core read? All parts of one axis means that each core takes in the whole "
        "of the other operand.",
        "Cut both axes: with pm parts of m and 32 / pm of n a core reads m / pm rows of the left "
        "and 32 / pm of the columns; 4 x 8 is a good start for up to 512 rows.",
    ]
)
def test_split_of_some_hundred_rows(impl: Any, rng: Any) -> None:
    """64 to 512 rows, many columns."""
    for m in (64 * int(rng.integers(1, 4)), 512):
        expect_good_split(impl, m, 2048 * int(rng.integers(1, 5)), 4096)


@choose_split(
    hints=[
        "With many rows a core reads its columns again for every 128 rows (256 of up to 128 "
        "columns): what does that say about the parts of m?",
        "Give a core about 128 rows: m / 128 parts, to the next power of two, at most 16.",
    ]
)
def test_split_of_many_rows(impl: Any, rng: Any) -> None:
    """1,024 rows and more."""
    for m in (1024, 2048):
        expect_good_split(impl, m, 2048 * int(rng.integers(1, 5)), 4096)


@choose_split(
    hints=[
        "There cannot be more parts than rows.",
        "min(parts, the largest power of two up to m).",
    ]
)
def test_split_of_a_few_rows(impl: Any, rng: Any) -> None:
    """One, two or three rows: a decoding step."""
    for m in (1, 2, 3):
        expect_good_split(impl, m, 2048 * int(rng.integers(1, 5)), 4096)
