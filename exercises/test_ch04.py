"""Graded tests of chapter 4: coordinates, formats and views.  Values follow from the answers."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from spyrelab.grade import WrongError, expect_close, expect_equal, task
from spyrelab.layout import SpyreTensorLayout, access, convert, pack

LANES = 64

default_layout = partial(task, "ch04.1", "default_layout")
unpack = partial(task, "ch04.2", "unpack")
to_df16 = partial(task, "ch04.3", "to_df16")
needs_gather = partial(task, "ch04.4", "needs_gather")


# ---- 1: a default layout ----------------------------------------------------------------------


def expect_layout(impl: Any, size: tuple[int, ...]) -> None:
    wanted = SpyreTensorLayout.default(size)
    found = impl.default_layout(size)
    what = f"default_layout({size})"
    expect_equal(type(found).__name__, "tuple", f"{what}: type of the answer")
    expect_equal(len(found), 2, f"{what}: length of the answer (device_size, stride_map)")
    for name, got in zip(("device_size", "stride_map"), found, strict=True):
        expect_equal(list(got), list(getattr(wanted, name)), f"{what}: {name}")


@default_layout(
    hints=[
        "Start with the stick: 64 neighbours of the last dimension. How many host elements is it "
        "from one stick of a row to the next, and from one row to the next?",
        "A matrix is [sticks of a row, rows, 64], and one step along each of them is 64, a row, "
        "and 1 host elements.",
    ]
)
def test_layout_of_matrices(impl: Any, rng: Any) -> None:
    """Matrices whose rows are whole sticks."""
    for _ in range(3):
        expect_layout(impl, (int(rng.integers(65, 999)), LANES * int(rng.integers(2, 30))))


@default_layout(
    hints=[
        "The last stick of a row may be half empty, but it is there.",
        "There are ceil(extent / 64) sticks in a row; -(-a // b) rounds up. Host strides are "
        "those of the host, where rows have no padding.",
    ]
)
def test_layout_with_padding(impl: Any, rng: Any) -> None:
    """Rows that end inside a stick."""
    for _ in range(3):
        expect_layout(impl, (int(rng.integers(2, 99)), LANES * int(rng.integers(1, 9)) + 1))
    expect_layout(impl, (int(rng.integers(2, 99)), int(rng.integers(2, 60))))


@default_layout(
    hints=[
        "A tensor may have any number of dimensions, from one to many.",
        "The first dimension stands right before the lanes, those in the middle are outermost and "
        "keep their order: (5, 100, 150) is [100, 3, 5, 64]. A vector has no first dimension "
        "besides its last.",
    ]
)
def test_layout_of_any_rank(impl: Any, rng: Any) -> None:
    """One, three and four dimensions."""
    expect_layout(impl, (5, 100, 150))
    expect_layout(impl, (int(rng.integers(65, 999)),))
    expect_layout(impl, (*map(int, rng.integers(2, 9, 3)), 130))


# ---- 2: unpack by coordinates -----------------------------------------------------------------


def expect_unpacked(impl: Any, rng: Any, size: tuple[int, ...], layout: SpyreTensorLayout) -> None:
    array = rng.integers(1, 2000, size).astype(np.float16)
    memory = pack(array, layout)
    memory[pack(np.ones_like(array), layout) == 0] = -1  # padding may hold anything
    found = impl.unpack(memory, layout.device_size, layout.stride_map, size)
    what = f"device_size {list(layout.device_size)}, stride_map {list(layout.stride_map)}"
    if not isinstance(found, np.ndarray):
        raise WrongError(f"{what}: expected an array, got a {type(found).__name__}")
    expect_close(found, array, what=what)


@unpack(
    hints=[
        "Take host element 1000 of a 4 x 256 matrix, by hand: which row, which stick of the row, "
        "which lane? Then add these coordinates up, times the device strides.",
        "Sort the device dimensions by host stride, the largest first, and let at, rest = "
        "divmod(rest, stride) for each; device strides are row-major over device_size.",
    ]
)
def test_unpack_whole_sticks(impl: Any, rng: Any) -> None:
    """Tensors without padding, in several dim_orders."""
    size = (int(rng.integers(2, 9)), 128)
    expect_unpacked(impl, rng, size, SpyreTensorLayout.default(size))
    size = (64, int(rng.integers(2, 5)), 192)
    for order in ((0, 1, 2), (1, 0, 2), (1, 2, 0)):
        expect_unpacked(impl, rng, size, SpyreTensorLayout.default(size, "f16", order))


@unpack(
    hints=[
        "Padding is no part of the tensor: device coordinates that no host element has.",
        "Walk through the host elements, not through the device's: each finds its own place, and "
        "nobody asks what lies in between.",
    ]
)
def test_unpack_leaves_padding_out(impl: Any, rng: Any) -> None:
    """Rows that end inside a stick, and more room than is needed."""
    size = (int(rng.integers(2, 9)), 64 * int(rng.integers(1, 4)) + int(rng.integers(1, 63)))
    layout = SpyreTensorLayout.default(size)
    expect_unpacked(impl, rng, size, layout)
    larger = [n + k for n, k in zip(layout.device_size, (1, 3, 0), strict=True)]
    expect_unpacked(impl, rng, size, layout.padded(larger))


@unpack(
    hints=[
        "Along a device dimension of one element nothing can move, however large its stride is.",
        "Leave dimensions of extent 1 out: a row of 48 elements has one stick, whose stride of 64 "
        "is larger than a row.",
    ]
)
def test_unpack_short_rows(impl: Any, rng: Any) -> None:
    """Rows shorter than a stick."""
    for size in ((int(rng.integers(3, 9)), int(rng.integers(2, 60))), (4, 3, 40)):
        expect_unpacked(impl, rng, size, SpyreTensorLayout.default(size))


@unpack(
    hints=[
        "A stride of -1: the host knows nothing of these lanes.",
        "Leave the dimension of stride -1 out as well: its coordinate is always 0.",
    ]
)
def test_unpack_sparse(impl: Any, rng: Any) -> None:
    """One element per stick."""
    for size in ((int(rng.integers(3, 99)),), (int(rng.integers(3, 9)), 5)):
        expect_unpacked(impl, rng, size, SpyreTensorLayout.sparse(size))


# ---- 3: the 1-6-9 format ----------------------------------------------------------------------


def expect_patterns(impl: Any, bits: Any) -> None:
    bits = np.asarray(bits, np.uint16)
    found = impl.to_df16(bits.copy())
    kind = f"{type(found).__name__} of {getattr(found, 'dtype', 'nothing')}"
    expect_equal(kind, "ndarray of uint16", "type of the answer")
    expect_equal(found.shape, bits.shape, "shape of the answer")
    wanted = convert(bits, "f16", "df16")
    bad = np.flatnonzero(found.ravel() != wanted.ravel())
    if len(bad):
        at = bad[0]
        pattern, value = int(bits.ravel()[at]), float(bits.view(np.float16).ravel()[at])
        raise WrongError(
            f"{len(bad):,} of {bits.size:,} patterns differ; first f16 {pattern:#06x} ({value:g}):"
            f" expected {int(wanted.ravel()[at]):#06x}, got {int(found.ravel()[at]):#06x}"
        )


def normal(rng: Any, count: int) -> Any:
    """Patterns of f16 that are neither zero, subnormal, infinite nor NaN."""
    return rng.integers(0x0400, 0x7C00, count) | (rng.integers(0, 2, count) << 15)


@to_df16(
    hints=[
        "Write 1.0 in both: 0x3C00 in f16, whose bias is 15, and 0x3E00 in 1-6-9, with 31. Where "
        "do sign, exponent and fraction lie?",
        "The exponent grows by 16 and moves to bit 9; the fraction loses its last bit; the sign "
        "stays where it is. 0 is not 2 ** -31: zero stays zero.",
    ]
)
def test_patterns_without_rounding(impl: Any, rng: Any) -> None:
    """Zeros, and values that 9 bits of fraction hold."""
    expect_patterns(impl, [0x0000, 0x8000, 0x3C00, 0xBC00, *(normal(rng, 200) & 0xFFFE)])
    expect_patterns(impl, (normal(rng, 60) & 0xFFFE).reshape(3, 4, 5))


@to_df16(
    hints=[
        "An odd fraction lies exactly half way between two neighbours: which one is to be taken?",
        "Add half a unit before you cut the last bit off; a carry may run into the exponent, and "
        "that is right: the fields lie side by side for a reason.",
    ]
)
def test_patterns_are_rounded(impl: Any, rng: Any) -> None:
    """Any normal value."""
    expect_patterns(impl, [0x3C01, 0x3C03, 0x3FFF, 0x7BFF, 0xBFFF, *normal(rng, 200)])


@to_df16(
    hints=[
        "The smallest f16 numbers have an exponent field of 0, and no leading 1. In 1-6-9 they "
        "have one.",
        "Take the detour over float32: every f16 value is a normal number there, with a bias of "
        "127 and 23 bits of fraction.",
    ]
)
def test_patterns_of_subnormals(impl: Any, rng: Any) -> None:
    """Values below 2 ** -14."""
    expect_patterns(impl, [0x0001, 0x8001, 0x03FF, *rng.integers(1, 0x400, 100)])


@to_df16(
    hints=[
        "What has an exponent field of 31 in f16 is no number.",
        "Where bits & 0x7FFF is at least 0x7C00, the answer is 0x7FFF, whatever the sign.",
    ]
)
def test_patterns_of_infinities(impl: Any, rng: Any) -> None:
    """Infinities and NaNs."""
    expect_patterns(impl, [0x7C00, 0xFC00, 0x7E00, 0xFE01, *normal(rng, 20)])


# ---- 4: which views can be followed -----------------------------------------------------------


def expect_gather(impl: Any, slices: list[tuple[int, int, int]]) -> None:
    for start, stop, step in slices:
        cols = stop + 100
        extent = len(range(start, stop, step))
        layout = SpyreTensorLayout.default((2, cols))
        wanted = access(layout, (2, extent), (cols, step), start) is None
        found = impl.needs_gather(start, stop, step)
        expect_equal(type(found).__name__, "bool", "type of the answer")
        expect_equal(found, wanted, f"needs_gather({start}, {stop}, {step})")


@needs_gather(
    hints=[
        "x[:, 10:200] has 54 elements in its first stick: how many has the next, and from which "
        "lane on?",
        "Neighbours that go on into the next stick have to begin at lane 0. Those that stay in one "
        "stick may begin anywhere.",
    ]
)
def test_slices_of_neighbours(impl: Any, rng: Any) -> None:
    """Steps of 1."""
    inside = int(rng.integers(1, 30))
    some = [(64 * int(rng.integers(0, 5)), 400 + int(rng.integers(0, 99)), 1) for _ in range(3)]
    some += [(64 * int(rng.integers(0, 5)) + int(rng.integers(1, 63)), 500, 1) for _ in range(3)]
    some += [(64 + inside, 128 - int(rng.integers(0, 20)), 1), (64 + inside, 128 + inside, 1)]
    expect_gather(impl, some)


@needs_gather(
    hints=[
        "With a step of 16 each stick gives four elements; with a step of 24 it is three, two or "
        "three. And where in their stick do they lie?",
        "The step has to divide 64, so that every stick is like the one before, and the first "
        "element has to lie among the first step lanes, where the later sticks begin too.",
    ]
)
def test_slices_with_gaps(impl: Any, rng: Any) -> None:
    """Steps below 64, over several sticks."""
    steps = [2, 4, 8, 16, 32, *map(int, rng.integers(3, 62, 6))]
    starts = [0, 64, *map(int, rng.integers(0, 200, 4))]
    some = [(start, start + 200 + step, step) for step in steps for start in starts]
    some += [(64 * int(rng.integers(0, 3)) + step - 1, 600, step) for step in (4, 8, 32)]
    expect_gather(impl, some)


@needs_gather(
    hints=[
        "A slice may also skip whole sticks, or end before its first stick does.",
        "If the step is a multiple of 64, every element is in the same lane of its stick. And for "
        "the end of a stick the last element counts, not stop.",
    ]
)
def test_slices_of_few_elements(impl: Any, rng: Any) -> None:
    """Steps of whole sticks, and slices that stay inside one stick."""
    some = [(int(rng.integers(0, 99)), 900, 64 * k) for k in (1, 2, 3)]
    for step in (3, 7, 24, 40, 63):
        first = int(rng.integers(1, 63 - step // 2))
        some += [(first, first + 1, step), (first, max(first + 1, 64), step)]
        last = first + (63 - first) // step * step
        some += [(first, last + step, step), (first, last + step + 1, step)]
    expect_gather(impl, some)
