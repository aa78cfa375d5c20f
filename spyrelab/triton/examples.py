"""Three kernels in Triton: softmax, matrix product, RMS norm.

The same three stand in `spyrelab.helion.examples`. They are written for this card: at most one
program for each core, every program loops over its share of the work, and memory is reached through
descriptors, whose shape says where a tensor ends, so that no mask is needed. The rows that a
descriptor describes have at least 16 bytes.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl

from spyrelab.machine import SPYRE

__all__ = ["matmul", "matmul_kernel", "rms_norm", "rms_norm_kernel", "softmax", "softmax_kernel"]


@triton.jit
def softmax_kernel(x, out, rows, columns, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    """Softmax of each row of ``x [rows, columns]``, ``ROWS`` at a time."""
    source = tl.make_tensor_descriptor(x, [rows, columns], [columns, 1], [ROWS, COLUMNS])
    target = tl.make_tensor_descriptor(out, [rows, columns], [columns, 1], [ROWS, COLUMNS])
    inside = tl.arange(0, COLUMNS)[None, :] < columns
    for block in tl.range(tl.program_id(0), tl.cdiv(rows, ROWS), tl.num_programs(0)):
        values = source.load([block * ROWS, 0]).to(tl.float32)
        # Beyond a row's end a descriptor reads zeros, which would count.
        values = tl.where(inside, values, -float("inf"))
        grown = tl.exp(values - tl.max(values, axis=1)[:, None])
        shares = grown / tl.sum(grown, axis=1)[:, None]
        target.store([block * ROWS, 0], shares.to(out.dtype.element_ty))


@triton.jit
def matmul_kernel(
    a, b, out, m, n, k,
    BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr,
):  # fmt: skip
    """``a [m, k] @ b [k, n]``, added up in float32."""
    left = tl.make_tensor_descriptor(a, [m, k], [k, 1], [BM, BK])
    right = tl.make_tensor_descriptor(b, [k, n], [n, 1], [BK, BN])
    target = tl.make_tensor_descriptor(out, [m, n], [n, 1], [BM, BN])
    across = tl.cdiv(n, BN)
    for block in tl.range(tl.program_id(0), tl.cdiv(m, BM) * across, tl.num_programs(0)):
        row, column = block // across * BM, block % across * BN
        total = tl.zeros((BM, BN), dtype=tl.float32)
        for start in tl.range(0, k, BK):
            total = tl.dot(left.load([row, start]), right.load([start, column]), total)
        target.store([row, column], total.to(out.dtype.element_ty))


@triton.jit
def rms_norm_kernel(
    x, weight, out, rows, columns, epsilon,
    ROWS: tl.constexpr, COLUMNS: tl.constexpr,
):  # fmt: skip
    """Rows of ``x [rows, columns]`` by their root mean square, times ``weight [columns]``."""
    source = tl.make_tensor_descriptor(x, [rows, columns], [columns, 1], [ROWS, COLUMNS])
    target = tl.make_tensor_descriptor(out, [rows, columns], [columns, 1], [ROWS, COLUMNS])
    scales = tl.make_tensor_descriptor(weight, [columns], [1], [COLUMNS])
    scale = scales.load([0]).to(tl.float32)
    for block in tl.range(tl.program_id(0), tl.cdiv(rows, ROWS), tl.num_programs(0)):
        values = source.load([block * ROWS, 0]).to(tl.float32)
        mean = tl.sum(values * values, axis=1) / columns
        scaled = values * tl.rsqrt(mean + epsilon)[:, None] * scale[None, :]
        target.store([block * ROWS, 0], scaled.to(out.dtype.element_ty))


def _block(width: int) -> int:
    """Columns of a tile that holds whole rows: descriptors take 16 bytes and more."""
    return max(triton.next_power_of_2(width), 8)


def softmax(x: torch.Tensor, rows: int = 4) -> torch.Tensor:
    """Softmax of each row of ``x [rows, columns]``; ``rows`` of them in a tile."""
    x, out = x.contiguous(), torch.empty(x.shape, dtype=x.dtype, device=x.device)
    height, width = x.shape
    grid = (min(triton.cdiv(height, rows), SPYRE.cores),)
    softmax_kernel[grid](x, out, height, width, rows, _block(width))
    return out


def matmul(
    a: torch.Tensor, b: torch.Tensor, blocks: tuple[int, int, int] = (64, 64, 64)
) -> torch.Tensor:
    """``a [m, k] @ b [k, n]`` in tiles of ``blocks``: rows, columns, and steps of k.

    Raises
    ------
    ValueError
        The shapes do not fit each other.
    """
    (m, k), (other, n) = a.shape, b.shape
    if k != other:
        raise ValueError(f"matmul: a has {k} columns but b has {other} rows")
    a, b = a.contiguous(), b.contiguous()
    out = torch.empty((m, n), dtype=a.dtype, device=a.device)
    grid = (min(triton.cdiv(m, blocks[0]) * triton.cdiv(n, blocks[1]), SPYRE.cores),)
    matmul_kernel[grid](a, b, out, m, n, k, *blocks)
    return out


def rms_norm(
    x: torch.Tensor, weight: torch.Tensor, epsilon: float = 1e-6, rows: int = 4
) -> torch.Tensor:
    """Rows of ``x [rows, columns]`` by their root mean square, times ``weight [columns]``."""
    x, out = x.contiguous(), torch.empty(x.shape, dtype=x.dtype, device=x.device)
    height, width = x.shape
    grid = (min(triton.cdiv(height, rows), SPYRE.cores),)
    rms_norm_kernel[grid](x, weight, out, height, width, epsilon, rows, _block(width))
    return out
