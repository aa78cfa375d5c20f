"""Values that numeric tests share: special, random and exhaustive ones, by element type."""

from __future__ import annotations

import numpy as np

from spyrelab.emulator.formats import ROUNDING, decode, round_to, wrap
from spyrelab.ktir.types import BF16, DF16, F8E4M3, F8E5M2, F16, F32, I1, I8, I16, I32, I64

FLOATS = (F32, F16, BF16, DF16, F8E4M3, F8E5M2)
INTEGERS = (I1, I8, I16, I32, I64)
SPECIAL = np.float32(
    [0.0, 1.0, 0.5, 2.0, 3.0, 1e-45, 1.17549435e-38, 3.4e38, 65504.0, 0.1, 88.7, 104.0, np.inf]
)
SPECIAL = np.concatenate([SPECIAL, -SPECIAL, [np.float32(np.nan)]])


def rounding(scalar):
    return ROUNDING[scalar.name]


def float_values(scalar, count, seed=0):
    """Every pattern of small types or random ones, then special and ordinary values."""
    random = np.random.default_rng(seed)
    patterns = random.integers(0, 1 << scalar.bits, count, dtype=np.uint64)
    values = decode(patterns.astype(f"u{scalar.itemsize}"), scalar)
    ordinary = random.normal(0, 3, count).astype(np.float32)
    everything = np.concatenate([values, SPECIAL, ordinary])
    with np.errstate(all="ignore"):
        return np.ascontiguousarray(random.permutation(round_to(everything, scalar))[:count])


def integer_values(scalar, count, seed=0):
    random = np.random.default_rng(seed)
    wide = random.integers(-(2**63), 2**63 - 1, count, dtype=np.int64, endpoint=True)
    small = random.integers(-9, 10, count)
    edge = np.array([0, 1, -1, (1 << (scalar.bits - 1)) - 1, -(1 << (scalar.bits - 1))])
    chosen = random.permutation(np.concatenate([wide, small, np.repeat(edge, count // 8)]))
    return wrap(chosen[:count], scalar)


def assert_same_bits(got, expected):
    """Equal, the sign of zero included; any NaN equals any NaN."""
    got, expected = np.asarray(got), np.asarray(expected)
    assert got.shape == expected.shape
    if got.dtype != np.float32:
        np.testing.assert_array_equal(got, expected)
        return
    assert expected.dtype == np.float32
    both_nan = np.isnan(got) & np.isnan(expected)
    same = (got.view(np.uint32) == expected.view(np.uint32)) | both_nan
    where = np.flatnonzero(~same)[:5]
    assert same.all(), f"at {where}: {got[where]} instead of {expected[where]}"
