"""Conversions between float32 and the 16- and 8-bit formats as compiled scalars that vectorise."""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import types

from spyrelab.emulator.native_primitives import bits32, float32_of, inlined, intrinsic, select

_HALF, _SINGLE, _WORD = ir.HalfType(), ir.FloatType(), ir.IntType(16)


@intrinsic
def h2f(typingctx: Any, pattern: Any) -> Any:
    """The float32 value of an IEEE half pattern (uint16)."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.fpext(builder.bitcast(args[0], _HALF), _SINGLE)

    return types.float32(types.uint16), codegen


@intrinsic
def f2h(typingctx: Any, value: Any) -> Any:
    """The IEEE half pattern (uint16) nearest to a float32; NaN keeps sign and payload."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.bitcast(builder.fptrunc(args[0], _HALF), _WORD)

    return types.uint16(types.float32), codegen


@intrinsic
def r16(typingctx: Any, value: Any) -> Any:
    """A float32 rounded to the nearest IEEE half value."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.fpext(builder.fptrunc(args[0], _HALF), _SINGLE)

    return types.float32(types.float32), codegen


ZERO, NAN = np.float32(0.0), np.float32(np.nan)
MAGNITUDE, SIGN = np.int32(0x7FFFFFFF), np.int32(-0x80000000)
LEAST_DF16 = np.int32((95 << 23) | (1 << 14))


@inlined
def encode_f16(value: Any) -> Any:
    """As `f2h`, with the canonical NaN."""
    return select(value == value, f2h(value), np.uint16(0x7E00))


@inlined
def round_bf16(value: Any) -> Any:
    """A float32 rounded to the nearest bfloat16 value."""
    pattern = bits32(value)
    odd = (pattern >> 16) & 1
    rounded = float32_of((pattern + np.int32(0x7FFF) + odd) & np.int32(-0x10000))
    return select(value == value, rounded, NAN)


@inlined
def encode_bf16(value: Any) -> Any:
    """The bfloat16 pattern (uint16) nearest to a float32."""
    return np.uint16((bits32(round_bf16(value)) >> 16) & np.int32(0xFFFF))


@inlined
def decode_bf16(pattern: Any) -> Any:
    """The float32 value of a bfloat16 pattern (uint16)."""
    return float32_of(np.int32(pattern) << 16)


@inlined
def round_df16(value: Any) -> Any:
    """A float32 rounded to the nearest 1-6-9 value, ties away from zero; NaN beyond the largest."""
    pattern = bits32(value)
    magnitude = pattern & MAGNITUDE
    rounded = (magnitude + np.int32(1 << 13)) & np.int32(-0x4000)
    # 2^-31 itself is not a value: its pattern means zero.
    lowest = np.int32((96 << 23) + (1 << 14))
    rounded = select(rounded < lowest, lowest, rounded)
    rounded = select(magnitude < LEAST_DF16, np.int32(0), rounded)
    result = float32_of(rounded | (pattern & SIGN))
    return select(rounded >= np.int32((160 << 23) - (1 << 14)), NAN, result)


@inlined
def encode_df16(value: Any) -> Any:
    """The 1-6-9 pattern (uint16) nearest to a float32."""
    rounded = round_df16(value)
    pattern = bits32(rounded)
    code = ((pattern & MAGNITUDE) >> 14) - np.int32(96 << 9)
    code = select(rounded == ZERO, np.int32(0), np.int32(code))
    code = np.int32(code | ((pattern >> 16) & 0x8000))
    return np.uint16(select(rounded == rounded, code, np.int32(0x7FFF)))


@inlined
def decode_df16(pattern: Any) -> Any:
    """The float32 value of a 1-6-9 pattern (uint16)."""
    wide = np.int32(pattern)
    magnitude = np.int32(wide & 0x7FFF)
    result = float32_of((magnitude + np.int32(96 << 9)) << 14)
    result = select(magnitude == np.int32(0), ZERO, result)
    signed = float32_of(bits32(result) | ((wide & 0x8000) << 16))
    return select(magnitude == np.int32(0x7FFF), NAN, signed)


@inlined
def encode_e4m3(value: Any) -> Any:
    """The e4m3 pattern (uint8) nearest to a float32; NaN beyond the largest."""
    return _encode_eight(
        value, 20, np.int32(120 << 23), np.float32(2.0**14), np.int32(121 << 23),
        np.int32(0x43F00000), np.int32(0x7F), np.int32(0x7F),
    )  # fmt: skip


@inlined
def encode_e5m2(value: Any) -> Any:
    """The e5m2 pattern (uint8) nearest to a float32."""
    return _encode_eight(
        value, 21, np.int32(112 << 23), np.float32(2.0**7), np.int32(113 << 23),
        np.int32(0x47800000), np.int32(0x7C), np.int32(0x7E),
    )  # fmt: skip


@inlined
def _encode_eight(
    value: Any,
    cut: Any,
    rebias: Any,
    anchor: Any,
    normal_from: Any,
    limit: Any,
    over: Any,
    nan: Any,
) -> Any:
    pattern = bits32(value)
    magnitude = pattern & MAGNITUDE
    odd = (magnitude >> cut) & 1
    normal = np.int32((magnitude - rebias + ((1 << (cut - 1)) - 1) + odd) >> cut)
    # Adding a power of two whose ulp is the least subnormal makes the adder round to even.
    subnormal = np.int32(bits32(float32_of(magnitude) + anchor) - bits32(anchor))
    code = select(magnitude < normal_from, subnormal, normal)
    code = select(magnitude >= limit, over, code)
    signed = np.int32(code | ((pattern >> 24) & 0x80))
    code = select(code == np.int32(0x7F), code, signed)
    return np.uint8(select(value == value, code, nan))


@inlined
def decode_e4m3(pattern: Any) -> Any:
    """The float32 value of an e4m3 pattern (uint8)."""
    wide = np.int32(pattern)
    magnitude = np.int32(wide & 0x7F)
    result = float32_of(magnitude << 20) * np.float32(2.0**120)
    signed = float32_of(bits32(result) | ((wide & 0x80) << 24))
    return select(magnitude == np.int32(0x7F), NAN, signed)


@inlined
def decode_e5m2(pattern: Any) -> Any:
    """The float32 value of an e5m2 pattern (uint8)."""
    return h2f(np.uint16(np.uint16(pattern) << 8))


@inlined
def round_e4m3(value: Any) -> Any:
    """A float32 rounded to the nearest e4m3 value."""
    return decode_e4m3(encode_e4m3(value))


@inlined
def round_e5m2(value: Any) -> Any:
    """A float32 rounded to the nearest e5m2 value."""
    return decode_e5m2(encode_e5m2(value))


@inlined
def canonical(value: Any) -> Any:
    """Float32 itself, with the canonical NaN."""
    return select(value == value, value, NAN)


@inlined
def encode_f32(value: Any) -> Any:
    """The pattern of a float32 (uint32), with the canonical NaN."""
    return np.uint32(bits32(canonical(value)))
