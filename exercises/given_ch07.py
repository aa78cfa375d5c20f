"""Kernels that chapter 7 hands out."""

from __future__ import annotations

import triton
import triton.language as tl


@triton.jit
def unmasked_softmax(x, out, columns, BLOCK: tl.constexpr):
    """Softmax of a row, if it has BLOCK elements: find out what happens if not."""
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    values = tl.load(x + row * columns + at)
    powers = tl.exp(values - tl.max(values, axis=0))
    tl.store(out + row * columns + at, powers / tl.sum(powers, axis=0))


@triton.jit
def scaled_window(
    x, out, rows, columns, factor,
    ROWS: tl.constexpr, COLUMNS: tl.constexpr,
):  # fmt: skip
    """``factor * x`` of a matrix ``[rows, columns]``, a tile of ROWS x COLUMNS in each program."""
    row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    column = tl.program_id(1) * COLUMNS + tl.arange(0, COLUMNS)
    at = row[:, None] * columns + column[None, :]
    inside = (row < rows)[:, None] & (column < columns)[None, :]
    values = tl.load(x + at, mask=inside)
    tl.store(out + at, values * factor, mask=inside)


@triton.jit
def product(
    a, b, out, m, n, k,
    BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr,
):  # fmt: skip
    """``a [m, k] @ b [k, n]``: at most 32 programs, each with every 32nd tile of the result."""
    left = tl.make_tensor_descriptor(a, [m, k], [k, 1], [BM, BK])
    right = tl.make_tensor_descriptor(b, [k, n], [n, 1], [BK, BN])
    target = tl.make_tensor_descriptor(out, [m, n], [n, 1], [BM, BN])
    across = tl.cdiv(n, BN)
    for tile in tl.range(tl.program_id(0), tl.cdiv(m, BM) * across, tl.num_programs(0)):
        row, column = tile // across * BM, tile % across * BN
        total = tl.zeros((BM, BN), dtype=tl.float32)
        for start in tl.range(0, k, BK):
            total = tl.dot(left.load([row, start]), right.load([start, column]), total)
        target.store([row, column], total.to(out.dtype.element_ty))


@triton.jit
def naive_scores(
    query, keys, out, tokens,
    G: tl.constexpr, D: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    """One query head against a tile of keys; grid (heads, tiles of tokens)."""
    head = tl.program_id(0)
    token = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    dim = tl.arange(0, D)
    q = tl.load(query + head * D + dim).to(tl.float32)
    at = (head // G * tokens + token)[:, None] * D + dim[None, :]
    k = tl.load(keys + at, mask=(token < tokens)[:, None], other=0.0).to(tl.float32)
    tl.store(out + head * tokens + token, tl.sum(k * q[None, :], axis=1), mask=token < tokens)
