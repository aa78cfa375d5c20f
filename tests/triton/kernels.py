"""Kernels in the style of Triton's tutorials, written as for a GPU."""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from triton.language.extra import libdevice


@triton.jit
def add(x, y, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    tl.store(out + at, tl.load(x + at, inside) + tl.load(y + at, inside), inside)


@triton.jit
def softmax(out, x, out_stride, x_stride, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    values = tl.load(x + row * x_stride + at, mask=at < n, other=-float("inf"))
    values = tl.exp(values - tl.max(values, axis=0))
    tl.store(out + row * out_stride + at, values / tl.sum(values, axis=0), mask=at < n)


@triton.jit
def matmul(
    a, b, c, m, n, k, am, ak, bk, bn, cm, cn,
    BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr,
):  # fmt: skip
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    columns = tl.program_id(1) * BN + tl.arange(0, BN)
    inner = tl.arange(0, BK)
    left = a + rows[:, None] * am + inner[None, :] * ak
    right = b + inner[:, None] * bk + columns[None, :] * bn
    total = tl.zeros((BM, BN), dtype=tl.float32)
    for step in range(0, tl.cdiv(k, BK)):
        rest = k - step * BK
        x = tl.load(left, mask=(rows[:, None] < m) & (inner[None, :] < rest), other=0.0)
        y = tl.load(right, mask=(inner[:, None] < rest) & (columns[None, :] < n), other=0.0)
        total += tl.dot(x, y)
        left += BK * ak
        right += BK * bk
    place = c + rows[:, None] * cm + columns[None, :] * cn
    inside = (rows[:, None] < m) & (columns[None, :] < n)
    tl.store(place, total.to(c.dtype.element_ty), mask=inside)


@triton.heuristics({"EVEN": lambda args: args["n"] % args["BLOCK"] == 0})
@triton.jit
def scale(pair, x, n, BLOCK: tl.constexpr, EVEN: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    out, factor = pair
    if EVEN:
        tl.store(out + at, tl.load(x + at) * factor)
    else:
        tl.store(out + at, tl.load(x + at, at < n) * factor, at < n)


@triton.jit
def double_rows(source, target, BLOCK: tl.constexpr):
    row = tl.program_id(0) * BLOCK
    target.store([row, 0], source.load([row, 0]) * 2)


@triton.jit
def typed(out, tiny, small, number, wide, unsigned, half, flag):
    tl.store(out, tiny.to(tl.float32))
    tl.store(out + 1, small.to(tl.float32))
    tl.store(out + 2, number.to(tl.float32))
    tl.store(out + 3, (wide >> 32).to(tl.float32))
    tl.store(out + 4, (unsigned >> 60).to(tl.float32))
    tl.store(out + 5, half * 1.0)
    tl.store(out + 6, flag.to(tl.float32))


@triton.jit
def count_rows(out, lengths, BLOCK: tl.constexpr):
    program = tl.program_id(0)
    total = tl.zeros((BLOCK,), dtype=tl.float32)
    for _ in range(0, tl.load(lengths + program)):
        total += 1.0
    tl.store(out + program * BLOCK + tl.arange(0, BLOCK), total)


@triton.jit
def special(x, y, out, n, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    a, b = tl.load(x + at, at < n, other=1.0), tl.load(y + at, at < n, other=1.0)
    value = libdevice.hypot(a, b) + libdevice.pow(libdevice.abs(a), 2.0)
    tl.store(out + at, value + libdevice.isnan(a).to(a.dtype), at < n)


@triton.jit
def toward_zero(x):
    tl.store(x, libdevice.add_rz(tl.load(x), 1.0))


@triton.jit
def squares_gathered(x, table, out, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    picked = tl.load(table + at)
    tl.store(out + at, tl.load(x + picked * picked))


def product(kernel, a: torch.Tensor, b: torch.Tensor, **options):
    """``a @ b`` by a kernel like `matmul`."""
    c = torch.empty(a.shape[0], b.shape[1], dtype=a.dtype, device=a.device)

    def grid(meta):
        return triton.cdiv(c.shape[0], meta["BM"]), triton.cdiv(c.shape[1], meta["BN"])

    sizes = (a.shape[0], b.shape[1], a.shape[1])
    kernel[grid](a, b, c, *sizes, *a.stride(), *b.stride(), *c.stride(), **options)
    return c


@triton.jit
def picked_rows(x, out, order, rows, columns, BLOCK: tl.constexpr):
    """Rows in an order; that some of them are left out by their number makes it a gather."""
    i, at = tl.arange(0, BLOCK), tl.arange(0, BLOCK)
    row = tl.load(order + i)
    inside = (row < rows)[:, None] & (at < columns)[None, :]
    values = tl.load(x + row[:, None] * BLOCK + at[None, :], mask=inside, other=0.0)
    tl.store(out + i[:, None] * BLOCK + at[None, :], values)


@triton.jit
def since_the_last(x, out, ends, BLOCK: tl.constexpr):
    """Sums of rows from where the sequence before ends; the first has none before it."""
    number = tl.program_id(0)
    end = tl.load(ends + number)
    start = tl.load(ends + number - 1, mask=number > 0, other=0)
    at = tl.arange(0, BLOCK)
    total = tl.zeros((BLOCK,), tl.float32)
    for row in range(start, end):
        total += tl.load(x + row * BLOCK + at)
    tl.store(out + number * BLOCK + at, total)
