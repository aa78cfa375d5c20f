"""Compiled reductions against a plain fold in halves."""

from __future__ import annotations

import numpy as np
import pytest

from spyrelab.emulator.elementwise import TABLE
from spyrelab.emulator.families import BinaryFloat, BinaryInt
from spyrelab.emulator.identities import identity_of
from spyrelab.emulator.tile_reduce import reduce_float, reduce_int, scratch_size
from spyrelab.ktir.types import BF16, F16, F32, I1, I8, I64
from tests.emulator.numeric_cases import (
    assert_same_bits,
    float_values,
    integer_values,
    rounding,
)

FLOAT_COMBINERS = [
    BinaryFloat.ADDF,
    BinaryFloat.MULF,
    BinaryFloat.MAXIMUMF,
    BinaryFloat.MINIMUMF,
    BinaryFloat.MAXNUMF,
    BinaryFloat.MINNUMF,
]
INT_COMBINERS = [
    BinaryInt.ADDI,
    BinaryInt.MULI,
    BinaryInt.ANDI,
    BinaryInt.ORI,
    BinaryInt.XORI,
    BinaryInt.MAXSI,
    BinaryInt.MINSI,
    BinaryInt.MAXUI,
    BinaryInt.MINUI,
]
SHAPES = [
    (1, 1, 1),
    (3, 1, 4),
    (2, 2, 1),
    (1, 3, 1),
    (5, 37, 1),
    (2, 64, 3),
    (3, 100, 8),
    (1, 1024, 1),
]


def fold(x, row, scalar):
    """The definition, on an (outer, reduced, inner) array."""
    padded = 1
    while padded < x.shape[1]:
        padded *= 2
    identity = identity_of(row.sub, scalar)
    tail = np.full((x.shape[0], padded - x.shape[1], x.shape[2]), identity, x.dtype)
    x = np.concatenate([x, tail], axis=1)
    while x.shape[1] > 1:
        half = x.shape[1] // 2
        x = row.reference([x[:, :half], x[:, half:]], scalar, [scalar] * 2, {})
    return x[:, 0]


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("scalar", [F32, F16, BF16], ids=str)
@pytest.mark.parametrize("sub", FLOAT_COMBINERS, ids=lambda sub: sub.name)
def test_float_reductions(sub, scalar, shape):
    x = float_values(scalar, int(np.prod(shape)), seed=sum(shape))
    expected = fold(x.reshape(shape), TABLE[f"arith.{sub.name.lower()}"], scalar)
    scratch = np.empty(scratch_size(*shape[1:]), np.float32)
    out = np.empty(shape[0] * shape[2], np.float32)
    reduce_float(int(sub), rounding(scalar), x, *shape, scratch, out)
    assert_same_bits(out, expected.ravel())


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("scalar", [I1, I8, I64], ids=str)
@pytest.mark.parametrize("sub", INT_COMBINERS, ids=lambda sub: sub.name)
def test_integer_reductions(sub, scalar, shape):
    x = integer_values(scalar, int(np.prod(shape)), seed=sum(shape))
    expected = fold(x.reshape(shape), TABLE[f"arith.{sub.name.lower()}"], scalar)
    scratch = np.empty(scratch_size(*shape[1:]), np.int64)
    out = np.empty(shape[0] * shape[2], np.int64)
    reduce_int(int(sub), scalar.bits, x, *shape, scratch, out)
    np.testing.assert_array_equal(out, expected.ravel())


def test_nothing_reduced_gives_the_identity():
    out = np.empty(3, np.float32)
    empty = np.empty(0, np.float32)
    reduce_float(int(BinaryFloat.MAXIMUMF), 1, empty, 1, 0, 3, np.empty(2, np.float32), out)
    assert (out == -np.inf).all()
