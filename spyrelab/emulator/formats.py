"""Number formats of the card: the value of a bit pattern, and the nearest bit pattern of a value.

Values live as float32 arrays (floats) or int64 arrays (integers) that already hold the
nearest value of their type; memory holds bits. Every format is exact in float32.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from spyrelab.ktir.types import ScalarType

Values = NDArray[np.float32]
Bits = NDArray[np.unsignedinteger]

CANONICAL_NAN = {
    "f32": 0x7FC00000,
    "f16": 0x7E00,
    "bf16": 0x7FC0,
    "df16": 0x7FFF,
    "e4m3": 0x7F,
    "e5m2": 0x7E,
}
"""The one NaN that is ever written, by format."""

FORMAT_CODES = {"f32": 0, "f16": 1, "bf16": 2, "df16": 3, "e4m3": 4, "e5m2": 5}

_OVERFLOW_TO_NAN = ("df16", "e4m3")
_FORMAT_OF = {
    "f32": "f32",
    "f16": "f16",
    "bf16": "bf16",
    "!spyreop.df16": "df16",
    "f8E4M3FN": "e4m3",
    "f8E5M2": "e5m2",
    "!spyreop.df16_fused": "df16",
    "!spyreop.fp16_fused": "f16",
    "!spyreop.fp32_fused": "f32",
}

ROUNDING = {name: FORMAT_CODES[kind] for name, kind in _FORMAT_OF.items()}
"""Rounding code of each float type, by textual name; 0 means no rounding."""


def storage_dtype(scalar: ScalarType) -> np.dtype:
    """The NumPy type of one element in memory: unsigned bits for floats and ``i1``."""
    if scalar.is_float:
        return np.dtype(f"u{scalar.itemsize}")
    return np.dtype(np.uint8) if scalar.bits == 1 else np.dtype(f"i{scalar.itemsize}")


def decode(bits: ArrayLike, scalar: ScalarType) -> Values:
    """The float32 values of an array of bit patterns of float type ``scalar``."""
    return _DECODERS[_FORMAT_OF[scalar.name]](np.asarray(bits))


def encode(values: ArrayLike, scalar: ScalarType) -> Bits:
    """The bit patterns nearest to float32 ``values``; every NaN becomes the canonical one."""
    kind = _FORMAT_OF[scalar.name]
    array = np.asarray(values, np.float32)
    with np.errstate(all="ignore"):
        bits = _ENCODERS[kind](array)
    canonical = bits.dtype.type(CANONICAL_NAN[kind])
    is_nan = np.isnan(array)
    if kind in _OVERFLOW_TO_NAN:
        is_nan |= (bits & canonical) == canonical
    return np.where(is_nan, canonical, bits)


def round_to(values: ArrayLike, scalar: ScalarType) -> Values:
    """The values of type ``scalar`` nearest to float32 ``values``."""
    if ROUNDING[scalar.name] == 0:
        return np.asarray(values, np.float32)
    return decode(encode(values, scalar), scalar)


def wrap(values: ArrayLike, scalar: ScalarType) -> NDArray[np.int64]:
    """Integers reduced modulo 2^bits and read as signed; ``i1`` keeps its lowest bit, 0 or 1."""
    array = np.asarray(values, np.int64)
    if scalar.bits == 64:
        return array
    if scalar.bits == 1:
        return array & 1
    shift = 64 - scalar.bits
    return (array << shift) >> shift


def _pattern(values: Values) -> NDArray[np.uint32]:
    return values.view(np.uint32)


def _decode_bf16(bits: Bits) -> Values:
    return (bits.astype(np.uint32) << np.uint32(16)).view(np.float32)


def _encode_bf16(values: Values) -> Bits:
    pattern = _pattern(values)
    odd = (pattern >> np.uint32(16)) & np.uint32(1)
    return ((pattern + np.uint32(0x7FFF) + odd) >> np.uint32(16)).astype(np.uint16)


def _decode_df16(bits: Bits) -> Values:
    wide = bits.astype(np.uint32)
    magnitude = wide & np.uint32(0x7FFF)
    pattern = (magnitude + np.uint32(96 << 9)) << np.uint32(14)
    pattern = np.where(magnitude == 0, np.uint32(0), pattern)
    pattern = np.where(magnitude == 0x7FFF, np.uint32(0x7FC00000), pattern)
    return (pattern | ((wide & np.uint32(0x8000)) << np.uint32(16))).view(np.float32)


def _encode_df16(values: Values) -> Bits:
    pattern = _pattern(values)
    magnitude = (pattern & np.uint32(0x7FFFFFFF)).astype(np.int32)
    # Half an ulp added before the cut rounds ties away from zero; 96 = 127 - 31 rebiases.
    code = ((magnitude + (1 << 13)) >> 14) - (96 << 9)
    code = np.clip(code, 1, 0x7FFF)
    # 2^-32 * 513/512 is half of the least normal: e = 0, m = 0 stands for zero, not for 2^-31.
    code = np.where(magnitude < ((95 << 23) | (1 << 14)), 0, code)
    return (code.astype(np.uint32) | ((pattern >> np.uint32(16)) & 0x8000)).astype(np.uint16)


def _decode_e4m3(bits: Bits) -> Values:
    wide = bits.astype(np.uint32)
    # Fields moved to float32's places are off by the difference of the biases, subnormals too.
    magnitude = ((wide & np.uint32(0x7F)) << np.uint32(20)).view(np.float32) * np.float32(2.0**120)
    magnitude = np.where((wide & 0x7F) == 0x7F, np.float32(np.nan), magnitude)
    return np.where(wide & 0x80, -magnitude, magnitude)


def _encode_eight(values: Values, mantissa: int, bias: int, overflow: int, limit: int) -> Bits:
    pattern = _pattern(values)
    magnitude = pattern & np.uint32(0x7FFFFFFF)
    cut = 23 - mantissa
    rebias = np.uint32((127 - bias) << 23)
    half = np.uint32((1 << (cut - 1)) - 1)
    odd = (magnitude >> np.uint32(cut)) & np.uint32(1)
    normal = (magnitude - rebias + half + odd) >> np.uint32(cut)
    # Adding a power of two whose ulp is the least subnormal makes the adder round to even.
    anchor = np.float32(2.0 ** (23 + 1 - bias - mantissa))
    subnormal = (magnitude.view(np.float32) + anchor).view(np.uint32) - anchor.view(np.uint32)
    code = np.where(magnitude < np.uint32((128 - bias) << 23), subnormal, normal)
    code = np.where(magnitude >= np.uint32(limit), np.uint32(overflow), code)
    return (code | ((pattern >> np.uint32(24)) & np.uint32(0x80))).astype(np.uint8)


_DECODERS: dict[str, Callable[[Bits], Values]] = {
    "f32": lambda bits: bits.astype(np.uint32).view(np.float32),
    "f16": lambda bits: bits.astype(np.uint16).view(np.float16).astype(np.float32),
    "bf16": _decode_bf16,
    "df16": _decode_df16,
    "e4m3": _decode_e4m3,
    "e5m2": lambda bits: (bits.astype(np.uint16) << 8).view(np.float16).astype(np.float32),
}
_ENCODERS: dict[str, Callable[[Values], Bits]] = {
    "f32": lambda values: values.view(np.uint32),
    "f16": lambda values: values.astype(np.float16).view(np.uint16),
    "bf16": _encode_bf16,
    "df16": _encode_df16,
    # 480 = 0x43F00000 and 65536 = 0x47800000: all that is not below them overflows.
    "e4m3": lambda values: _encode_eight(values, 3, 7, 0x7F, 0x43F00000),
    "e5m2": lambda values: _encode_eight(values, 2, 15, 0x7C, 0x47800000),
}
