"""Every row of the elementwise table: the compiled families against the NumPy reference."""

from __future__ import annotations

import numpy as np
import pytest

from spyrelab.emulator import tile_float, tile_integer
from spyrelab.emulator.elementwise import TABLE, predicate_of
from spyrelab.emulator.families import CompareFloat, CompareInt, Family
from spyrelab.ktir.types import I1, I32, I64
from tests.emulator.numeric_cases import (
    FLOATS,
    INTEGERS,
    assert_same_bits,
    float_values,
    integer_values,
    rounding,
)

COUNT = 3000


def rows(*families):
    return [row for row in TABLE.values() if row.family in families]


def name_of(value):
    return getattr(value, "name", str(value))


def broadcasts(arrays):
    """The operands as they are, and with each of them, then all of them, reduced to one value."""
    yield arrays
    for position in range(len(arrays)):
        yield [array[:1] if i == position else array for i, array in enumerate(arrays)]
    yield [array[:1] for array in arrays]


def compare_with_reference(row, scalar, arrays, result_type, run, types, attributes=None):
    for operands in broadcasts(arrays):
        expected = row.reference(operands, result_type, types, attributes or {})
        out = np.empty(COUNT, np.float32 if result_type.is_float else np.int64)
        run(*operands, out)
        assert_same_bits(out, np.ascontiguousarray(np.broadcast_to(expected, COUNT)))


@pytest.mark.parametrize("scalar", FLOATS, ids=str)
@pytest.mark.parametrize("row", rows(Family.UNARY_FLOAT, Family.BINARY_FLOAT), ids=name_of)
def test_float_rows(row, scalar):
    family = tile_float.unary_float if row.family is Family.UNARY_FLOAT else tile_float.binary_float
    arity = 1 if row.family is Family.UNARY_FLOAT else 2
    arrays = [float_values(scalar, COUNT, seed) for seed in range(arity)]
    compare_with_reference(
        row,
        scalar,
        arrays,
        scalar,
        lambda *values: family(int(row.sub), rounding(scalar), *values),
        [scalar] * arity,
    )


@pytest.mark.parametrize("scalar", FLOATS, ids=str)
@pytest.mark.parametrize("row", rows(Family.TERNARY_FLOAT), ids=name_of)
def test_ternary_float_rows(row, scalar):
    arrays = [float_values(scalar, COUNT, seed) for seed in range(3)]
    compare_with_reference(
        row,
        scalar,
        arrays,
        scalar,
        lambda *values: tile_float.ternary_float(int(row.sub), rounding(scalar), *values),
        [scalar] * 3,
    )


@pytest.mark.parametrize("scalar", FLOATS, ids=str)
def test_float_to_an_integer_power(scalar):
    row = TABLE["math.fpowi"]
    arrays = [float_values(scalar, COUNT), integer_values(I32, COUNT) % 40 - 20]
    compare_with_reference(
        row,
        scalar,
        arrays,
        scalar,
        lambda *values: tile_float.power_float_int(rounding(scalar), *values),
        [scalar, I32],
    )


@pytest.mark.parametrize("scalar", FLOATS, ids=str)
@pytest.mark.parametrize("row", rows(Family.CLASSIFY_FLOAT), ids=name_of)
def test_classification(row, scalar):
    compare_with_reference(
        row,
        scalar,
        [float_values(scalar, COUNT)],
        I1,
        lambda *values: tile_float.classify_float(int(row.sub), *values),
        [scalar],
    )


@pytest.mark.parametrize("predicate", CompareFloat, ids=name_of)
def test_float_comparison(predicate):
    scalar = FLOATS[1]
    arrays = [float_values(scalar, COUNT), float_values(scalar, COUNT, 1)]
    arrays[1][::3] = arrays[0][::3]
    row, attributes = TABLE["arith.cmpf"], {"predicate": predicate.name.lower()}
    assert predicate_of(row.name, attributes) is predicate
    compare_with_reference(
        row,
        scalar,
        arrays,
        I1,
        lambda *values: tile_float.compare_float(int(predicate), *values),
        [scalar] * 2,
        attributes,
    )


@pytest.mark.parametrize("scalar", INTEGERS, ids=str)
@pytest.mark.parametrize("row", rows(Family.UNARY_INT, Family.BINARY_INT), ids=name_of)
def test_integer_rows(row, scalar):
    family = tile_integer.unary_int if row.family is Family.UNARY_INT else tile_integer.binary_int
    arity = 1 if row.family is Family.UNARY_INT else 2
    compare_with_reference(
        row,
        scalar,
        [integer_values(scalar, COUNT, seed) for seed in range(arity)],
        scalar,
        lambda *values: family(int(row.sub), scalar.bits, *values),
        [scalar] * arity,
    )


@pytest.mark.parametrize("scalar", INTEGERS, ids=str)
@pytest.mark.parametrize("predicate", CompareInt, ids=name_of)
def test_integer_comparison(predicate, scalar):
    arrays = [integer_values(scalar, COUNT), integer_values(scalar, COUNT, 1)]
    arrays[1][::3] = arrays[0][::3]
    compare_with_reference(
        TABLE["arith.cmpi"],
        scalar,
        arrays,
        I1,
        lambda *values: tile_integer.compare_int(int(predicate), scalar.bits, *values),
        [scalar] * 2,
        {"predicate": predicate.name.lower()},
    )


def test_selection_of_floats_and_integers():
    condition = integer_values(I1, COUNT)
    for scalar, run in ((FLOATS[0], tile_integer.select_float), (I64, tile_integer.select_int)):
        values = float_values if scalar.is_float else integer_values
        arrays = [condition, values(scalar, COUNT, 1), values(scalar, COUNT, 2)]
        compare_with_reference(
            TABLE["arith.select"], scalar, arrays, scalar, run, [I1, scalar, scalar]
        )


def test_addresses_take_literal_or_given_operands():
    x, base, stride = (integer_values(I32, COUNT, seed) for seed in range(3))
    out = np.empty(COUNT, np.int64)
    tile_integer.address_int(64, x, base[:1], stride[:1], out)
    row = TABLE["spyreop.idx32toaddr"]
    literals = {"base": int(base[0]), "stride": int(stride[0])}
    np.testing.assert_array_equal(out, row.reference([x], I64, [I32], literals))
    np.testing.assert_array_equal(
        out, row.reference([x, stride[:1]], I64, [I32] * 2, {"base": int(base[0])})
    )
    np.testing.assert_array_equal(out, row.reference([x, base[:1], stride[:1]], I64, [I32] * 3, {}))


def test_softplus_takes_its_attributes_as_operands():
    x, out = float_values(FLOATS[1], COUNT), np.empty(COUNT, np.float32)
    beta, threshold = np.float32([2.0]), np.float32([15.0])
    row = TABLE["spyreop.softplus"]
    tile_float.ternary_float(int(row.sub), 1, x, beta, threshold, out)
    attributes = {"beta": 2.0, "threshold": 15.0}
    assert_same_bits(out, row.reference([x], FLOATS[1], [FLOATS[1]], attributes))
