"""Compiled matrix products: exact order against its definition, BLAS within rounding."""

from __future__ import annotations

import numpy as np
import pytest

from spyrelab.emulator.formats import round_to, wrap
from spyrelab.emulator.tile_matmul import matmul_float, matmul_int, matmul_scratch_size
from spyrelab.ktir.types import F16, F32, I8, I64
from tests.emulator.numeric_cases import assert_same_bits, integer_values, rounding

SHAPES = [(1, 1, 1), (1, 17, 9), (5, 8, 16), (7, 33, 13), (16, 64, 130), (3, 4, 0)]


def in_order(a, b, c):
    total = np.zeros((a.shape[0], b.shape[1]), np.float32)
    for k in range(a.shape[1]):
        total = total + a[:, k : k + 1] * b[k]
    return c + total


def operands(shape, seed=0):
    m, n, k = shape
    random = np.random.default_rng(seed)
    for size in ((m, k), (k, n), (m, n)):
        yield round_to(random.normal(0, 1, size).astype(np.float32), F16)


def stored(matrix, transposed):
    return np.ascontiguousarray(matrix.T if transposed else matrix).ravel()


@pytest.mark.parametrize("transposed_b", [False, True])
@pytest.mark.parametrize("transposed_a", [False, True])
@pytest.mark.parametrize("scalar", [F32, F16], ids=str)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("exact", [True, False])
def test_float_products(exact, shape, scalar, transposed_a, transposed_b):
    m, n, k = shape
    a, b, c = operands(shape)
    out = np.empty(m * n, np.float32)
    scratch = np.empty(matmul_scratch_size(exact, transposed_b, m, n, k), np.float32)
    matmul_float(
        exact,
        rounding(scalar),
        transposed_a,
        transposed_b,
        stored(a, transposed_a),
        stored(b, transposed_b),
        c.ravel(),
        out,
        m,
        n,
        k,
        scratch,
    )
    expected = round_to(in_order(a, b, c), scalar).ravel()
    if exact:
        assert_same_bits(out, expected)
    else:  # another order of a float32 sum, then one rounding to the type
        unit = 2.0**-10 if scalar == F16 else 2.0**-23
        bound = np.abs(a).astype(np.float64) @ np.abs(b) * k * 2.0**-23
        error = np.abs(out.reshape(m, n) - in_order(a, b, c))
        assert (error <= bound + unit * np.abs(expected.reshape(m, n)) + 1e-12).all()


@pytest.mark.parametrize("transposed_b", [False, True])
@pytest.mark.parametrize("transposed_a", [False, True])
@pytest.mark.parametrize("scalar", [I8, I64], ids=str)
def test_integer_products_wrap(scalar, transposed_a, transposed_b):
    m, n, k = 4, 6, 5
    a, b = integer_values(scalar, m * k), integer_values(scalar, k * n, 1)
    a, b, c = a.reshape(m, k), b.reshape(k, n), integer_values(scalar, m * n, 2)
    out = np.empty(m * n, np.int64)
    left, right = stored(a, transposed_a), stored(b, transposed_b)
    matmul_int(scalar.bits, transposed_a, transposed_b, left, right, c, out, m, n, k)
    np.testing.assert_array_equal(out, wrap(c + (a @ b).ravel(), scalar))
