"""Elementwise float families of the tile VM, on one-dimensional contiguous float32 slices.

Each family picks its loop once per call. An operand of one element broadcasts, ``out`` never
overlaps an operand, and results are rounded to the format of the rounding code.
"""

from __future__ import annotations

from spyrelab.emulator import native_float as scalar
from spyrelab.emulator.families import BinaryFloat, ClassifyFloat, TernaryFloat, UnaryFloat
from spyrelab.emulator.linkage import FLOATS, INT, INTS, Floats, Integers, tile_function
from spyrelab.emulator.native_formats import r16, round_bf16, round_df16, round_e4m3, round_e5m2
from spyrelab.emulator.native_functions import SINGLE, WIDE
from spyrelab.emulator.native_primitives import (
    absolute,
    ceil,
    floor,
    remainder,
    rint,
    sqrt,
    trunc,
)
from spyrelab.emulator.tile_maps import (
    compiled,
    map_in_place,
    map_long,
    map_long_one,
    map_one,
    map_symmetric,
    map_three,
    map_two,
    spread,
)

_r16 = map_in_place(r16)
_round_bf16 = map_in_place(round_bf16)
_round_df16 = map_in_place(round_df16)
_round_e4m3 = map_in_place(round_e4m3)
_round_e5m2 = map_in_place(round_e5m2)
_exp_f16 = map_one(scalar.exp_f16)
_negate = map_one(scalar.negate)
_absolute = map_one(absolute)
_square = map_one(scalar.square)
_sqrt = map_one(sqrt)
_rsqrt = map_one(SINGLE["rsqrt"])
_reciprocal = map_one(SINGLE["reciprocal"])
_floor = map_one(floor)
_ceil = map_one(ceil)
_trunc = map_one(trunc)
_round = map_one(SINGLE["round_half_away"])
_rint = map_one(rint)
_exp_f32 = map_one(scalar.exp_f32)
_exp2 = map_long_one(SINGLE["exp2"])
_expm1 = map_long_one(WIDE["expm1"])
_log = map_long_one(SINGLE["log"])
_log2 = map_long_one(WIDE["log2"])
_log10 = map_long_one(WIDE["log10"])
_log1p = map_long_one(WIDE["log1p"])
_sin = map_long_one(WIDE["sin"])
_cos = map_long_one(WIDE["cos"])
_tan = map_long_one(WIDE["tan"])
_asin = map_long_one(WIDE["asin"])
_acos = map_long_one(WIDE["acos"])
_atan = map_long_one(WIDE["atan"])
_sinh = map_long_one(WIDE["sinh"])
_cosh = map_long_one(WIDE["cosh"])
_tanh = map_long_one(SINGLE["tanh"])
_asinh = map_long_one(WIDE["asinh"])
_acosh = map_long_one(WIDE["acosh"])
_atanh = map_long_one(WIDE["atanh"])
_erf = map_long_one(SINGLE["erf"])
_erfc = map_long_one(SINGLE["erfc"])
_cbrt = map_long_one(WIDE["cbrt"])
_sigmoid = map_long_one(SINGLE["sigmoid"])
_silu = map_long_one(SINGLE["silu"])
_gelu = map_long_one(SINGLE["gelu"])
_add_f16 = map_symmetric(scalar.add_f16)
_subtract_f16 = map_two(scalar.subtract_f16)
_multiply_f16 = map_symmetric(scalar.multiply_f16)
_divide_f16 = map_two(scalar.divide_f16)
_add = map_symmetric(scalar.add)
_subtract = map_two(scalar.subtract)
_multiply = map_symmetric(scalar.multiply)
_divide = map_two(scalar.divide)
_maximum = map_symmetric(scalar.maximum)
_minimum = map_symmetric(scalar.minimum)
_maximum_number = map_symmetric(scalar.maximum_number)
_minimum_number = map_symmetric(scalar.minimum_number)
_remainder = map_long(remainder)
_powf = map_long(WIDE["powf"])
_atan2 = map_long(WIDE["atan2"])
_copysign = map_long(SINGLE["copysign"])
_fma = map_three(WIDE["fma"])
_fma_odd = map_three(WIDE["fma_odd"])
_clamp = map_three(scalar.clamp)
_softplus = map_three(WIDE["softplus"])
_is_nan = map_one(scalar.is_nan)
_is_infinite = map_one(scalar.is_infinite)
_is_finite = map_one(scalar.is_finite)
_ordering = map_two(scalar.ordering)
_fpowi = WIDE["fpowi"]


@tile_function(INT, FLOATS)
def round_tile(rounding: int, out: Floats) -> None:
    """Round a tile in place to the format of a rounding code; 0 leaves it as it is."""
    if rounding == 1:
        _r16(out)
    elif rounding == 2:
        _round_bf16(out)
    elif rounding == 3:
        _round_df16(out)
    elif rounding == 4:
        _round_e4m3(out)
    elif rounding == 5:
        _round_e5m2(out)


@tile_function(INT, INT, FLOATS, FLOATS)
def unary_float(sub: int, rounding: int, x: Floats, out: Floats) -> None:
    """out = rounded operation(x), for a `UnaryFloat` code."""
    if sub == UnaryFloat.EXP and rounding == 1:
        _exp_f16(x, out)
        return
    if sub <= UnaryFloat.ROUNDEVEN:
        _unary_short(sub, x, out)
    elif sub <= UnaryFloat.ATAN:
        _unary_wide(sub, x, out)
    else:
        _unary_late(sub, x, out)
    round_tile(rounding, out)


@compiled
def _unary_short(sub: int, x: Floats, out: Floats) -> None:
    if sub == UnaryFloat.COPY:
        spread(x, out)
    elif sub == UnaryFloat.NEGF:
        _negate(x, out)
    elif sub == UnaryFloat.ABSF:
        _absolute(x, out)
    elif sub == UnaryFloat.SQUARE:
        _square(x, out)
    elif sub == UnaryFloat.SQRT:
        _sqrt(x, out)
    elif sub == UnaryFloat.RSQRT:
        _rsqrt(x, out)
    elif sub == UnaryFloat.RECIPROCAL:
        _reciprocal(x, out)
    elif sub == UnaryFloat.FLOOR:
        _floor(x, out)
    elif sub == UnaryFloat.CEIL:
        _ceil(x, out)
    elif sub == UnaryFloat.TRUNC:
        _trunc(x, out)
    elif sub == UnaryFloat.ROUND:
        _round(x, out)
    elif sub == UnaryFloat.ROUNDEVEN:
        _rint(x, out)


@compiled
def _unary_wide(sub: int, x: Floats, out: Floats) -> None:
    if sub == UnaryFloat.EXP:
        _exp_f32(x, out)
    elif sub == UnaryFloat.EXP2:
        _exp2(x, out)
    elif sub == UnaryFloat.EXPM1:
        _expm1(x, out)
    elif sub == UnaryFloat.LOG:
        _log(x, out)
    elif sub == UnaryFloat.LOG2:
        _log2(x, out)
    elif sub == UnaryFloat.LOG10:
        _log10(x, out)
    elif sub == UnaryFloat.LOG1P:
        _log1p(x, out)
    elif sub == UnaryFloat.SIN:
        _sin(x, out)
    elif sub == UnaryFloat.COS:
        _cos(x, out)
    elif sub == UnaryFloat.TAN:
        _tan(x, out)
    elif sub == UnaryFloat.ASIN:
        _asin(x, out)
    elif sub == UnaryFloat.ACOS:
        _acos(x, out)
    elif sub == UnaryFloat.ATAN:
        _atan(x, out)


@compiled
def _unary_late(sub: int, x: Floats, out: Floats) -> None:
    if sub == UnaryFloat.SINH:
        _sinh(x, out)
    elif sub == UnaryFloat.COSH:
        _cosh(x, out)
    elif sub == UnaryFloat.TANH:
        _tanh(x, out)
    elif sub == UnaryFloat.ASINH:
        _asinh(x, out)
    elif sub == UnaryFloat.ACOSH:
        _acosh(x, out)
    elif sub == UnaryFloat.ATANH:
        _atanh(x, out)
    elif sub == UnaryFloat.ERF:
        _erf(x, out)
    elif sub == UnaryFloat.ERFC:
        _erfc(x, out)
    elif sub == UnaryFloat.CBRT:
        _cbrt(x, out)
    elif sub == UnaryFloat.SIGMOID:
        _sigmoid(x, out)
    elif sub == UnaryFloat.SILU:
        _silu(x, out)
    elif sub == UnaryFloat.GELU:
        _gelu(x, out)


@tile_function(INT, INT, FLOATS, FLOATS, FLOATS)
def binary_float(sub: int, rounding: int, x: Floats, y: Floats, out: Floats) -> None:
    """out = rounded operation(x, y), for a `BinaryFloat` code."""
    if rounding == 1 and sub <= BinaryFloat.DIVF:
        if sub == BinaryFloat.ADDF:
            _add_f16(x, y, out)
        elif sub == BinaryFloat.SUBF:
            _subtract_f16(x, y, out)
        elif sub == BinaryFloat.MULF:
            _multiply_f16(x, y, out)
        else:
            _divide_f16(x, y, out)
        return
    if sub == BinaryFloat.ADDF:
        _add(x, y, out)
    elif sub == BinaryFloat.SUBF:
        _subtract(x, y, out)
    elif sub == BinaryFloat.MULF:
        _multiply(x, y, out)
    elif sub == BinaryFloat.DIVF:
        _divide(x, y, out)
    else:
        _binary_other(sub, x, y, out)
    if sub <= BinaryFloat.REMF or sub >= BinaryFloat.POWF:
        round_tile(rounding, out)


@compiled
def _binary_other(sub: int, x: Floats, y: Floats, out: Floats) -> None:
    if sub == BinaryFloat.MAXIMUMF:
        _maximum(x, y, out)
    elif sub == BinaryFloat.MINIMUMF:
        _minimum(x, y, out)
    elif sub == BinaryFloat.MAXNUMF:
        _maximum_number(x, y, out)
    elif sub == BinaryFloat.MINNUMF:
        _minimum_number(x, y, out)
    elif sub == BinaryFloat.REMF:
        _remainder(x, y, out)
    elif sub == BinaryFloat.POWF:
        _powf(x, y, out)
    elif sub == BinaryFloat.ATAN2:
        _atan2(x, y, out)
    elif sub == BinaryFloat.COPYSIGN:
        _copysign(x, y, out)


@tile_function(INT, INT, FLOATS, FLOATS, FLOATS, FLOATS)
def ternary_float(sub: int, rounding: int, x: Floats, y: Floats, z: Floats, out: Floats) -> None:
    """out = rounded operation(x, y, z), for a `TernaryFloat` code."""
    if sub == TernaryFloat.FMA:
        if rounding == 0:
            _fma(x, y, z, out)
        else:
            _fma_odd(x, y, z, out)
    elif sub == TernaryFloat.CLAMPF:
        _clamp(x, y, z, out)
    elif sub == TernaryFloat.SOFTPLUS:
        _softplus(x, y, z, out)
    round_tile(rounding, out)


@tile_function(INT, FLOATS, INTS, FLOATS)
def power_float_int(rounding: int, x: Floats, n: Integers, out: Floats) -> None:
    """out = rounded x to the integer power n (int64)."""
    step_x, step_n = 0 if x.size == 1 else 1, 0 if n.size == 1 else 1
    for i in range(out.size):
        out[i] = _fpowi(x[i * step_x], n[i * step_n])
    round_tile(rounding, out)


@tile_function(INT, FLOATS, INTS)
def classify_float(sub: int, x: Floats, out: Integers) -> None:
    """out (int64) = 0 or 1, for a `ClassifyFloat` code."""
    if sub == ClassifyFloat.ISNAN:
        _is_nan(x, out)
    elif sub == ClassifyFloat.ISINF:
        _is_infinite(x, out)
    else:
        _is_finite(x, out)


@tile_function(INT, FLOATS, FLOATS, INTS)
def compare_float(predicate: int, x: Floats, y: Floats, out: Integers) -> None:
    """out (int64) = 0 or 1, for a `CompareFloat` predicate, whose bits say which orders hold."""
    _ordering(x, y, out)
    for i in range(out.size):
        out[i] = (out[i] & predicate) != 0
