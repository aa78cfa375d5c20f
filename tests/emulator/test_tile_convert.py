"""Compiled conversions against the NumPy reference, and memory conversions against `formats`."""

from __future__ import annotations

import numpy as np
import pytest

from spyrelab.emulator import formats, tile_convert
from spyrelab.emulator.elementwise import TABLE
from spyrelab.emulator.tile_float import round_tile
from spyrelab.ktir.types import BF16, DF16, F8E4M3, F8E5M2, F16, F32, I8, I16, I32, INDEX
from tests.emulator.numeric_cases import (
    FLOATS,
    INTEGERS,
    assert_same_bits,
    float_values,
    integer_values,
    rounding,
)

COUNT = 4000
SMALL = (F16, BF16, DF16, F8E4M3, F8E5M2)


def probing_values(scalar):
    bits = np.arange(1 << scalar.bits).astype(f"u{scalar.itemsize}")
    own = np.unique(formats.decode(bits, scalar))
    own = own[np.isfinite(own)]
    halfway = ((own[1:].astype(np.float64) + own[:-1]) / 2).astype(np.float32)
    edges = [np.nextafter(halfway, np.float32(side)) for side in (-np.inf, np.inf)]
    return np.concatenate([float_values(F32, 100_000), own, halfway, *edges])


@pytest.mark.parametrize("scalar", SMALL, ids=str)
def test_every_pattern_decodes_as_the_format_says(scalar):
    bits = np.arange(1 << scalar.bits).astype(f"u{scalar.itemsize}")
    out = np.empty(bits.size, np.float32)
    decode = tile_convert.decode_16 if scalar.bits == 16 else tile_convert.decode_8
    decode(rounding(scalar), bits, out)
    assert_same_bits(out, formats.decode(bits, scalar))


@pytest.mark.parametrize("scalar", SMALL, ids=str)
def test_values_encode_as_the_format_says(scalar):
    values = probing_values(scalar)
    out = np.empty(values.size, f"u{scalar.itemsize}")
    encode = tile_convert.encode_16 if scalar.bits == 16 else tile_convert.encode_8
    encode(rounding(scalar), values, out)
    np.testing.assert_array_equal(out, formats.encode(values, scalar))


def test_float32_copies_with_one_nan():
    values = float_values(F32, COUNT)
    out = np.empty(COUNT, np.float32)
    tile_convert.encode_32(values, out)
    np.testing.assert_array_equal(out.view(np.uint32), formats.encode(values, F32))


@pytest.mark.parametrize("scalar", SMALL, ids=str)
def test_rounding_in_place(scalar):
    values = probing_values(scalar)
    out = values.copy()
    round_tile(rounding(scalar), out)
    assert_same_bits(out, formats.round_to(values, scalar))


@pytest.mark.parametrize("result", [*INTEGERS, INDEX], ids=str)
@pytest.mark.parametrize("name", ["arith.fptosi", "arith.fptoui"])
def test_float_to_integer_saturates(name, result):
    edge = np.exp2(np.arange(-2, 66, dtype=np.float32))
    x = np.concatenate([float_values(F32, COUNT), edge, -edge, edge - 1, 1 - edge])
    x = x.astype(np.float32)
    out = np.empty(x.size, np.int64)
    tile_convert.float_to_int(result.bits, name == "arith.fptoui", x, out)
    np.testing.assert_array_equal(out, TABLE[name].reference([x], result, [F32], {}))


def test_float_to_integer_examples():
    x = np.float32([1.9, -1.9, 200.0, -200.0, np.nan, np.inf, -np.inf])
    convert = TABLE["arith.fptosi"].reference
    assert convert([x], I8, [F32], {}).tolist() == [1, -1, 127, -128, 0, 127, -128]
    convert = TABLE["arith.fptoui"].reference
    assert convert([x], I8, [F32], {}).tolist() == [1, 0, -56, 0, 0, -1, 0]
    assert convert([np.float32([2.0**63])], INDEX, [F32], {}).tolist() == [-(2**63)]


@pytest.mark.parametrize("result", FLOATS, ids=str)
@pytest.mark.parametrize("operand", INTEGERS, ids=str)
@pytest.mark.parametrize("name", ["arith.sitofp", "arith.uitofp"])
def test_integer_to_float(name, operand, result):
    x = integer_values(operand, COUNT)
    out = np.empty(COUNT, np.float32)
    is_unsigned = name == "arith.uitofp"
    tile_convert.int_to_float(operand.bits, is_unsigned, rounding(result), x, out)
    assert_same_bits(out, TABLE[name].reference([x], result, [operand], {}))


def test_integer_to_float_rounds_once():
    x = np.array([2**53 + 1, 2**24 + 1, 2**62 + 2**38 + 1, -(2**24) - 3])
    expected = [float(np.float32(v)) for v in (2**53, 2**24, 2**62 + 2**39, -(2**24) - 4)]
    assert TABLE["arith.sitofp"].reference([x], F32, [INDEX], {}).tolist() == expected


@pytest.mark.parametrize("operand", INTEGERS, ids=str)
@pytest.mark.parametrize("result", INTEGERS, ids=str)
def test_integer_widths(operand, result):
    x, out = integer_values(operand, COUNT), np.empty(COUNT, np.int64)
    for name, run in (
        ("arith.index_cast", tile_convert.wrap_int),
        ("arith.extui", tile_convert.zero_extend),
    ):
        run(operand.bits, result.bits, x, out)
        np.testing.assert_array_equal(out, TABLE[name].reference([x], result, [operand], {}))


@pytest.mark.parametrize(
    ("real", "integer"),
    [(F32, I32), (F16, I16), (BF16, I16), (DF16, I16), (F8E4M3, I8), (F8E5M2, I8)],
    ids=str,
)
def test_bitcasts(real, integer):
    x, bits = float_values(real, COUNT), integer_values(integer, COUNT)
    reference = TABLE["arith.bitcast"].reference
    patterns, values = np.empty(COUNT, np.int64), np.empty(COUNT, np.float32)
    tile_convert.bitcast_float_to_int(rounding(real), integer.bits, x, patterns)
    np.testing.assert_array_equal(patterns, reference([x], integer, [real], {}))
    tile_convert.bitcast_int_to_float(rounding(real), bits, values)
    assert_same_bits(values, reference([bits], real, [integer], {}))


def test_bitcast_between_floats():
    x, out = float_values(F16, COUNT), np.empty(COUNT, np.float32)
    tile_convert.bitcast_float(rounding(F16), rounding(DF16), x, out)
    assert_same_bits(out, TABLE["arith.bitcast"].reference([x], DF16, [F16], {}))


@pytest.mark.parametrize("scalar", INTEGERS[1:], ids=str)
def test_integer_runs(scalar):
    values = integer_values(scalar, COUNT)
    memory, back = np.empty(COUNT, formats.storage_dtype(scalar)), np.empty(COUNT, np.int64)
    tile_convert.store_int(values, memory)
    tile_convert.load_int(memory, back)
    np.testing.assert_array_equal(back, values)
