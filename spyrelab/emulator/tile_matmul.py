"""Matrix products of flat row-major tiles: out = rounded c + a b."""

from __future__ import annotations

import numpy as np
from numba import njit

from spyrelab.emulator.linkage import FLOATS, INT, INTS, Floats, Integers, tile_function
from spyrelab.emulator.tile_float import round_tile
from spyrelab.emulator.tile_integer import wrap_tile
from spyrelab.emulator.tile_maps import compiled, fill


@njit(nogil=True, error_model="numpy", cache=True)
def matmul_scratch_size(exact: int, transposed_b: int, m: int, n: int, k: int) -> int:
    """Elements of scratch that `matmul_float` needs."""
    if not exact:
        return m * n
    return n + (k * n if transposed_b else 0)


@tile_function(INT, INT, INT, INT, FLOATS, FLOATS, FLOATS, FLOATS, INT, INT, INT, FLOATS)
def matmul_float(
    exact: int,
    rounding: int,
    transposed_a: int,
    transposed_b: int,
    a: Floats,
    b: Floats,
    c: Floats,
    out: Floats,
    m: int,
    n: int,
    k: int,
    scratch: Floats,
) -> None:
    """out (m, n) = rounded c + a b, a (m, k) or transposed (k, m), b (k, n) or (n, k).

    ``exact`` sums in float32 with k ascending, product and sum rounded apart; otherwise BLAS
    chooses the order. ``out`` may be ``c``.
    """
    if exact:
        _multiply_in_order(transposed_a, transposed_b, a, b, c, out, m, n, k, scratch)
    else:
        product = scratch[: m * n]
        _multiply_by_blas(transposed_a, transposed_b, a, b, product, m, n, k)
        for i in range(m * n):
            out[i] = c[i] + product[i]
    round_tile(rounding, out[: m * n])


@compiled
def _multiply_by_blas(
    transposed_a: int,
    transposed_b: int,
    a: Floats,
    b: Floats,
    product: Floats,
    m: int,
    n: int,
    k: int,
) -> None:
    result = product.reshape(m, n)
    left, right = a[: m * k], b[: k * n]
    if k == 0:
        fill(np.float32(0.0), product)
    elif transposed_a and transposed_b:
        np.dot(left.reshape(k, m).T, right.reshape(n, k).T, result)
    elif transposed_a:
        np.dot(left.reshape(k, m).T, right.reshape(k, n), result)
    elif transposed_b:
        np.dot(left.reshape(m, k), right.reshape(n, k).T, result)
    else:
        np.dot(left.reshape(m, k), right.reshape(k, n), result)


@compiled
def _multiply_in_order(
    transposed_a: int,
    transposed_b: int,
    a: Floats,
    b: Floats,
    c: Floats,
    out: Floats,
    m: int,
    n: int,
    k: int,
    scratch: Floats,
) -> None:
    sums = scratch[:n]
    if transposed_b:
        turned = scratch[n : n + k * n]
        for j in range(n):
            for p in range(k):
                turned[p * n + j] = b[j * k + p]
    else:
        turned = b
    row, column = (1, m) if transposed_a else (k, 1)
    for i in range(m):
        fill(np.float32(0.0), sums)
        whole = k // 4 * 4
        for p in range(0, whole, 4):
            start = i * row + p * column
            _add_four_rows(
                a[start],
                a[start + column],
                a[start + 2 * column],
                a[start + 3 * column],
                turned[p * n : (p + 4) * n],
                sums,
            )
        for p in range(whole, k):
            _add_row(a[i * row + p * column], turned[p * n : (p + 1) * n], sums)
        target, initial = out[i * n : (i + 1) * n], c[i * n : (i + 1) * n]
        for j in range(n):
            target[j] = initial[j] + sums[j]


@compiled
def _add_four_rows(w: float, x: float, y: float, z: float, rows: Floats, sums: Floats) -> None:
    # Four steps of k at once keep the running sums in registers; their order is unchanged.
    n = sums.size
    first, second, third, fourth = rows[:n], rows[n : 2 * n], rows[2 * n : 3 * n], rows[3 * n :]
    for j in range(n):
        total = sums[j] + w * first[j]
        total = total + x * second[j]
        total = total + y * third[j]
        sums[j] = total + z * fourth[j]


@compiled
def _add_row(factor: float, row: Floats, sums: Floats) -> None:
    for j in range(sums.size):
        sums[j] += factor * row[j]


@tile_function(INT, INT, INT, INTS, INTS, INTS, INTS, INT, INT, INT)
def matmul_int(
    bits: int,
    transposed_a: int,
    transposed_b: int,
    a: Integers,
    b: Integers,
    c: Integers,
    out: Integers,
    m: int,
    n: int,
    k: int,
) -> None:
    """out (m, n) = c + a b on int64, wrapped to ``bits``; ``out`` is not ``a`` or ``b``."""
    row_a, column_a = (1, m) if transposed_a else (k, 1)
    row_b, column_b = (1, k) if transposed_b else (n, 1)
    for i in range(m):
        for j in range(n):
            total = c[i * n + j]
            for p in range(k):
                total += a[i * row_a + p * column_a] * b[p * row_b + j * column_b]
            out[i * n + j] = total
    wrap_tile(bits, out[: m * n])
