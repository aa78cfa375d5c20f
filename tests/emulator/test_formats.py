"""Formats against torch's conversions, and df16 against its definition in exact arithmetic."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
import torch

from spyrelab.emulator import formats
from spyrelab.ktir.types import BF16, DF16, F8E4M3, F8E5M2, F16, F32, I1, I16, I64, SCALARS

TORCH = {
    F16: torch.float16,
    BF16: torch.bfloat16,
    F8E4M3: torch.float8_e4m3fn,
    F8E5M2: torch.float8_e5m2,
}
CARRIER = {2: (np.uint16, torch.uint16), 1: (np.uint8, torch.uint8)}


def torch_decode(bits, scalar):
    return torch.from_numpy(bits).view(TORCH[scalar]).to(torch.float32).numpy()


def torch_encode(values, scalar):
    carrier = CARRIER[scalar.itemsize][1]
    return torch.from_numpy(values).to(TORCH[scalar]).view(carrier).numpy()


def all_patterns(scalar):
    return np.arange(1 << scalar.bits, dtype=CARRIER[scalar.itemsize][0])


def probing_values(scalar):
    """Random float32 patterns, all values of the type, all halfway points and their neighbours."""
    random = np.random.default_rng(7).integers(0, 1 << 32, 300_000, dtype=np.uint64)
    own = formats.decode(all_patterns(scalar), scalar)
    own = np.unique(own[np.isfinite(own)])
    halfway = ((own[1:].astype(np.float64) + own[:-1]) / 2).astype(np.float32)
    edges = [np.nextafter(halfway, np.float32(s)) for s in (-np.inf, np.inf)]
    special = np.float32([0.0, -0.0, np.inf, -np.inf, np.nan, 464, 480, 61440, 65520, 1e-45])
    return np.concatenate(
        [random.astype(np.uint32).view(np.float32), own, halfway, *edges, special, -special]
    )


@pytest.mark.parametrize("scalar", TORCH, ids=str)
def test_decode_agrees_with_torch_on_every_pattern(scalar):
    bits = all_patterns(scalar)
    np.testing.assert_array_equal(formats.decode(bits, scalar), torch_decode(bits, scalar))


@pytest.mark.parametrize("scalar", TORCH, ids=str)
def test_encode_agrees_with_torch(scalar):
    values = probing_values(scalar)
    ours, theirs = formats.encode(values, scalar), torch_encode(values, scalar)
    number = ~np.isnan(values)
    if scalar == F8E4M3:  # torch 2.13 saturates where this format overflows to NaN
        overflow = np.abs(values) > 464
        assert np.isnan(formats.decode(ours, scalar)[overflow]).all()
        number &= ~overflow
    np.testing.assert_array_equal(ours[number], theirs[number])


@pytest.mark.parametrize("scalar", [*TORCH, DF16, F32], ids=str)
def test_encode_writes_one_nan(scalar):
    noisy = np.array([0x7FC00000, 0xFFC00000, 0x7F800001, 0xFFFFFFFF], np.uint32).view(np.float32)
    assert len(set(formats.encode(noisy, scalar).tolist())) == 1
    if scalar in (DF16, F8E4M3):
        beyond = np.float32([np.inf, -np.inf, 3e38, -3e38])
        expected = formats.encode(noisy, scalar).tolist()
        assert formats.encode(beyond, scalar).tolist() == expected


@pytest.mark.parametrize("scalar", [*TORCH, DF16], ids=str)
def test_encode_inverts_decode(scalar):
    bits = all_patterns(scalar)
    values = formats.decode(bits, scalar)
    number = ~np.isnan(values)
    np.testing.assert_array_equal(formats.encode(values, scalar)[number], bits[number])
    np.testing.assert_array_equal(formats.round_to(values, scalar), values)


def df16_value(pattern):
    exponent, mantissa = (pattern >> 9) & 63, pattern & 511
    if exponent == 0 and mantissa == 0:
        return Fraction(0)
    return Fraction(2) ** (exponent - 31) * (1 + Fraction(mantissa, 512))


def test_df16_decodes_by_its_definition():
    bits = all_patterns(DF16)
    values = formats.decode(bits, DF16)
    for pattern in range(0, 0x7FFF, 37):
        assert Fraction(float(values[pattern])) == df16_value(pattern)
        assert Fraction(float(values[pattern | 0x8000])) == -df16_value(pattern)
    assert np.isnan(values[0x7FFF]) and np.isnan(values[0xFFFF])


def test_df16_rounds_to_nearest_with_ties_away_from_zero():
    ladder = [df16_value(pattern) for pattern in range(0x7FFF)]
    for low in [*range(0, 0x7FFE, 61), 0x7FFD]:
        middle = (ladder[low] + ladder[low + 1]) / 2
        tie = np.float32(float(middle))
        assert Fraction(float(tie)) == middle
        below = np.nextafter(tie, np.float32(0))
        codes = formats.encode(np.array([tie, below, -tie, -below]), DF16)
        assert codes.tolist() == [low + 1, low, (low + 1) | 0x8000, low | 0x8000]


def test_df16_overflows_to_its_one_nan():
    largest = float(df16_value(0x7FFE))
    step = float(df16_value(0x7FFE) - df16_value(0x7FFD))
    values = np.float32([largest + step / 2, np.inf, 3e38, largest + 0.49 * step])
    assert formats.encode(values, DF16).tolist()[:3] == [0x7FFF] * 3
    assert formats.encode(values, DF16)[3] == 0x7FFE
    assert np.isnan(formats.round_to(values[:3], DF16)).all()


def test_integers_wrap_and_i1_is_a_bit():
    assert formats.wrap([32768, -32769, 65535], I16).tolist() == [-32768, 32767, -1]
    assert formats.wrap([0, 1, 2, -1], I1).tolist() == [0, 1, 0, 1]
    assert formats.wrap([-5], I64).tolist() == [-5]


def test_storage_types():
    expected = {"f16": "u2", "bf16": "u2", "f32": "u4", "f8E5M2": "u1", "i1": "u1", "i8": "i1"}
    for name, code in expected.items():
        assert formats.storage_dtype(SCALARS[name]) == np.dtype(code)
    assert formats.storage_dtype(SCALARS["index"]) == np.int64
