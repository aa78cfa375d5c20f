"""Graded tests of chapter 7: elementwise kernels, masks, descriptors, one pass over long rows."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import torch

from spyrelab.grade import expect_at_most, expect_close, expect_equal, task
from spyrelab.grade.kernels import access_kinds, launch_kernel, moved_bytes, predict_kernel

SECONDS = 120.0
"""Triton is imported and kernels are compiled meanwhile, perhaps on a busy machine."""

JIT = ("torch",)
"""What ``@triton.jit`` looks at.  A kernel itself cannot call torch."""

vector_add = partial(task, "ch07.1", "vector_add", may_use=JIT, seconds=SECONDS)
row_softmax = partial(task, "ch07.2", "row_softmax", may_use=JIT, seconds=SECONDS)
by_descriptor = partial(task, "ch07.3", "by_descriptor", may_use=JIT, seconds=SECONDS)
online_logsumexp = partial(task, "ch07.4", "online_logsumexp", may_use=JIT, seconds=SECONDS)

STRANGER = -77.0
"""What lies where a kernel must not write."""


def floats(rng: Any, *size: int) -> torch.Tensor:
    return torch.from_numpy(rng.standard_normal(size).astype(np.float32))


def room(count: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    """Elements on the card that nobody has written."""
    return torch.full((count,), STRANGER, dtype=dtype, device="spyre")


def ceil(count: int, block: int) -> int:
    return -(-count // block)


# ---- 1: vector add ------------------------------------------------------------------------------


def expect_added(impl: Any, rng: Any, n: int, block: int) -> None:
    kernel = impl.vector_add()
    x, y = floats(rng, n), floats(rng, n)
    alpha = round(float(rng.uniform(1.5, 3)), 3)
    out = room(n + 3 * block)
    launch_kernel(kernel, (ceil(n, block),), x.to("spyre"), y.to("spyre"), out, alpha, n, block)
    found = out.cpu().numpy()
    text = f"{n} elements in blocks of {block}"
    wanted = (alpha * x + y).numpy()
    expect_close(found[:n], wanted, rtol=1e-5, atol=1e-6, what=f"out, {text}")
    expect_close(found[n:], np.full(3 * block, STRANGER), what=f"what lies behind out, {text}")


@vector_add(
    hints=[
        "Which elements are those of one program? It knows its number, tl.program_id(0).",
        "at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK); load x + at and y + at, store out + "
        "at.",
    ]
)
def test_whole_blocks(impl: Any, rng: Any) -> None:
    """Vectors of whole blocks."""
    expect_added(impl, rng, 64, 64)
    expect_added(impl, rng, 64 * int(rng.integers(3, 90)), 64)


@vector_add(
    hints=[
        "The last block is not full. Who owns what lies behind element n?",
        "Give every load and the store a mask=at < n.",
    ]
)
def test_the_last_block(impl: Any, rng: Any) -> None:
    """Vectors that end within a block."""
    expect_added(impl, rng, 64 * int(rng.integers(3, 40)) + int(rng.integers(1, 63)), 64)
    expect_added(impl, rng, 5, 128)


# ---- 2: the missing mask ------------------------------------------------------------------------


def expect_softmax(impl: Any, rng: Any, rows: int, columns: int, block: int, shift: float) -> None:
    kernel = impl.row_softmax()
    x = floats(rng, rows, columns) + shift
    out = room(rows * columns + 2 * block)
    launch_kernel(kernel, (rows,), x.to("spyre"), out, columns, block)
    found = out.cpu().numpy()
    wanted = torch.softmax(x, -1).numpy()
    text = f"{rows} rows of {columns}, BLOCK {block}"
    got = found[: rows * columns].reshape(rows, columns)
    expect_close(got, wanted, rtol=1e-4, atol=1e-6, what=f"out, {text}")
    expect_close(
        found[rows * columns :], np.full(2 * block, STRANGER), what=f"what lies behind out, {text}"
    )


@row_softmax(
    hints=[
        "A program reads BLOCK elements, and writes as many: whose are those behind its row?",
        "inside = at < columns, as the mask of the load and of the store.",
    ]
)
def test_rows_that_are_shorter(impl: Any, rng: Any) -> None:
    """Rows that do not fill a block, and what lies behind the last one."""
    expect_softmax(impl, rng, 7, 64, 64, 0.0)
    # Far above zero: what a masked load puts in place of an element does not show.
    expect_softmax(impl, rng, 7, int(rng.integers(20, 60)), 64, 200.0)


@row_softmax(
    hints=[
        "A masked load reads zeros. exp(0) is 1, and zero may be larger than all of a row.",
        'Ask for something else: other=-float("inf"), which loses every maximum and whose '
        "exponential is 0.",
    ]
)
def test_what_a_mask_reads(impl: Any, rng: Any) -> None:
    """Rows of small values, and of values far below zero."""
    expect_softmax(impl, rng, 5, int(rng.integers(65, 120)), 128, 0.0)
    expect_softmax(impl, rng, 5, int(rng.integers(65, 120)), 128, -200.0)


# ---- 3: descriptors -----------------------------------------------------------------------------

ROWS, COLUMNS = 8, 32


def window_arguments(rng: Any, rows: int, columns: int) -> tuple[torch.Tensor, tuple[Any, ...]]:
    x = floats(rng, rows, columns)
    out = room(rows * columns + 512)
    return x, (x.to("spyre"), out, rows, columns, 2.5, ROWS, COLUMNS)


def expect_window(impl: Any, rng: Any, rows: int, columns: int) -> None:
    kernel = impl.by_descriptor()
    x, arguments = window_arguments(rng, rows, columns)
    launch_kernel(kernel, (ceil(rows, ROWS), ceil(columns, COLUMNS)), *arguments)
    found = arguments[1].cpu().numpy()
    text = f"a matrix of {rows} x {columns}"
    got = found[: rows * columns].reshape(rows, columns)
    expect_close(got, (2.5 * x).numpy(), rtol=1e-6, what=f"out, {text}")
    expect_close(
        found[rows * columns :], np.full(512, STRANGER), what=f"what lies behind out, {text}"
    )


@by_descriptor(
    hints=[
        "A descriptor has the shape and the strides of the whole matrix, and the shape of a tile.",
        "tl.make_tensor_descriptor(x, [rows, columns], [columns, 1], [ROWS, COLUMNS]); .load and "
        ".store take the place of a tile's first element.",
    ]
)
def test_the_same_result(impl: Any, rng: Any) -> None:
    """Matrices of whole tiles, and others."""
    expect_window(impl, rng, 2 * ROWS, 3 * COLUMNS)
    expect_window(impl, rng, 13, 4 * int(rng.integers(9, 30)))


@by_descriptor(
    hints=[
        'Something still goes through a pointer: spyrelab.explain(kernel, ..., stage="access", '
        "grid=...) says what.",
        "Make one descriptor of x and one of out; no tl.load and no tl.store are left.",
    ]
)
def test_nothing_goes_through_pointers(impl: Any, rng: Any) -> None:
    """Every access of the kernel."""
    kernel = impl.by_descriptor()
    _, arguments = window_arguments(rng, 16, 64)
    found = access_kinds(kernel, (2, 2), *arguments)
    others = [
        f"{operation} of {name}: {kind}" for name, operation, kind in found if kind != "descriptor"
    ]
    expect_equal(others, [], "accesses that are not by descriptor")


# ---- 4: one pass --------------------------------------------------------------------------------


def expect_logsumexp(impl: Any, x: torch.Tensor, block: int) -> None:
    kernel = impl.online_logsumexp()
    rows, columns = x.shape
    out = room(rows)
    launch_kernel(kernel, (rows,), x.to("spyre"), out, columns, block)
    wanted = torch.logsumexp(x.double(), -1).numpy()
    text = f"{rows} rows of {columns}, BLOCK {block}"
    expect_close(out.cpu().numpy(), wanted, rtol=1e-5, atol=1e-4, what=f"out, {text}")


@online_logsumexp(
    hints=[
        "A row comes in tiles. What has to be remembered from one to the next?",
        "for start in range(0, columns, BLOCK), with a mask for the last tile; the total adds up "
        "over tiles.",
    ]
)
def test_rows_of_many_tiles(impl: Any, rng: Any) -> None:
    """Rows that are longer than a tile, of small values."""
    expect_logsumexp(impl, floats(rng, 3, 64), 64)
    expect_logsumexp(impl, floats(rng, 5, 64 * 3 + int(rng.integers(1, 60))), 64)


@online_logsumexp(
    hints=[
        "exp(1000) is infinite. Relative to what can the powers be taken, if the largest value "
        "may still come?",
        "Keep the largest value so far. When a tile has a higher one, multiply the total by "
        "tl.exp(top - higher) before anything is added to it. The first top is minus infinity.",
    ]
)
def test_large_values(impl: Any, rng: Any) -> None:
    """Values up to 1000, far below zero, rising and falling along the row."""
    slope = torch.linspace(-1000, 1000, 500)
    expect_logsumexp(impl, torch.stack([slope, -slope, slope * 0 - 900]) + floats(rng, 3, 500), 64)


@online_logsumexp(
    hints=[
        "The result is right, but every element is read more than once.",
        "The largest value and the total can be kept up to date in the same loop.",
    ]
)
def test_each_element_is_read_once(impl: Any, rng: Any) -> None:
    """Bytes that the kernel reads."""
    x = floats(rng, 4, 1024).to("spyre")
    launch = predict_kernel(impl.online_logsumexp(), (4,), x, room(4), 1024, 128)
    expect_at_most(moved_bytes(launch), 4 * 1024 * 4, "bytes read")
