"""Conversions of tiles between types, and between memory's bits and the arenas' values."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from spyrelab.emulator import native_formats as formats
from spyrelab.emulator.linkage import (
    BYTES,
    FLOATS,
    INT,
    INTS,
    WORDS,
    Floats,
    Integers,
    tile_function,
)
from spyrelab.emulator.native_integer import signed, unsigned, wrapped
from spyrelab.emulator.native_primitives import float32_of, inlined, select, trunc, widen
from spyrelab.emulator.tile_float import round_tile
from spyrelab.emulator.tile_maps import Loop, compiled_loop


def _map_run(operation: Any) -> Loop:
    def loop(source: Any, target: Any) -> None:
        for i in range(target.size):
            target[i] = operation(source[i])

    return compiled_loop(loop, operation)


_from_f16, _to_f16 = _map_run(formats.h2f), _map_run(formats.encode_f16)
_from_bf16, _to_bf16 = _map_run(formats.decode_bf16), _map_run(formats.encode_bf16)
_from_df16, _to_df16 = _map_run(formats.decode_df16), _map_run(formats.encode_df16)
_from_e4m3, _to_e4m3 = _map_run(formats.decode_e4m3), _map_run(formats.encode_e4m3)
_from_e5m2, _to_e5m2 = _map_run(formats.decode_e5m2), _map_run(formats.encode_e5m2)
_to_f32 = _map_run(formats.canonical)


@tile_function(INT, WORDS, FLOATS)
def decode_16(rounding: int, source: Any, target: Any) -> None:
    """float32 values of uint16 patterns of the format of a rounding code (1, 2 or 3)."""
    if rounding == 1:
        _from_f16(source, target)
    elif rounding == 2:
        _from_bf16(source, target)
    else:
        _from_df16(source, target)


@tile_function(INT, FLOATS, WORDS)
def encode_16(rounding: int, source: Any, target: Any) -> None:
    """uint16 patterns nearest to float32 values; NaN becomes canonical."""
    if rounding == 1:
        _to_f16(source, target)
    elif rounding == 2:
        _to_bf16(source, target)
    else:
        _to_df16(source, target)


@tile_function(INT, BYTES, FLOATS)
def decode_8(rounding: int, source: Any, target: Any) -> None:
    """float32 values of uint8 patterns (rounding code 4 or 5)."""
    if rounding == 4:
        _from_e4m3(source, target)
    else:
        _from_e5m2(source, target)


@tile_function(INT, FLOATS, BYTES)
def encode_8(rounding: int, source: Any, target: Any) -> None:
    """uint8 patterns nearest to float32 values; NaN becomes canonical."""
    if rounding == 4:
        _to_e4m3(source, target)
    else:
        _to_e5m2(source, target)


@tile_function(FLOATS, FLOATS)
def encode_32(source: Any, target: Any) -> None:
    """Copy float32 values; NaN becomes canonical."""
    _to_f32(source, target)


@njit(nogil=True, error_model="numpy", cache=True)
def load_int(source: Any, target: Any) -> None:
    """int64 values of a run of integers of any width."""
    for i in range(target.size):
        target[i] = source[i]


@njit(nogil=True, error_model="numpy", cache=True)
def store_int(source: Any, target: Any) -> None:
    """The low bits of int64 values, to a run of integers of any width."""
    for i in range(target.size):
        target[i] = source[i]


@inlined
def _to_integer(x: Any, magnitude: Any, lowest: Any, top: Any) -> Any:
    whole = trunc(widen(x))
    over, under = whole >= magnitude, whole <= lowest
    inside = select(over | under | (whole != whole), 0.0, whole)
    # An unsigned 64-bit value above 2^63 is kept as the signed one with its bits.
    inside = select(inside >= 2.0**63, inside - 2.0**64, inside)
    bound = select(over, top, np.int64(lowest))
    return select(over | under, bound, np.int64(inside))


@tile_function(INT, INT, FLOATS, INTS)
def float_to_int(bits: int, is_unsigned: int, x: Floats, out: Integers) -> None:
    """Truncate to a signed or unsigned width, saturating; NaN gives 0."""
    places = bits if is_unsigned else bits - 1
    magnitude = 2.0 ** np.float64(places)
    lowest = 0.0 if is_unsigned else -magnitude
    top = np.int64(-1) if places == 64 else (np.int64(1) << places) - np.int64(1)
    if places == 63:
        top = np.int64(2**63 - 1)
    step = 0 if x.size == 1 else 1
    for i in range(out.size):
        out[i] = wrapped(_to_integer(x[i * step], magnitude, lowest, top), bits)


@tile_function(INT, INT, INT, INTS, FLOATS)
def int_to_float(bits: int, is_unsigned: int, rounding: int, x: Integers, out: Floats) -> None:
    """The float32 nearest to an integer, then rounded to the result's format."""
    step = 0 if x.size == 1 else 1
    if is_unsigned:
        for i in range(out.size):
            out[i] = np.float32(unsigned(x[i * step], bits))
    else:
        for i in range(out.size):
            out[i] = np.float32(signed(x[i * step], bits))
    round_tile(rounding, out)


@tile_function(INT, INT, INTS, INTS)
def wrap_int(source_bits: int, bits: int, x: Integers, out: Integers) -> None:
    """Extend the sign of integers of one width, or cut them, to another width."""
    step = 0 if x.size == 1 else 1
    for i in range(out.size):
        out[i] = wrapped(signed(x[i * step], source_bits), bits)


@tile_function(INT, INT, INTS, INTS)
def zero_extend(source_bits: int, bits: int, x: Integers, out: Integers) -> None:
    """Read integers of one width without sign, and wrap them to another width."""
    step = 0 if x.size == 1 else 1
    for i in range(out.size):
        out[i] = wrapped(np.int64(unsigned(x[i * step], source_bits)), bits)


@inlined
def _encode(rounding: Any, value: Any) -> Any:
    if rounding == 0:
        return np.int64(formats.encode_f32(value))
    if rounding == 1:
        return np.int64(formats.encode_f16(value))
    if rounding == 2:
        return np.int64(formats.encode_bf16(value))
    if rounding == 3:
        return np.int64(formats.encode_df16(value))
    if rounding == 4:
        return np.int64(formats.encode_e4m3(value))
    return np.int64(formats.encode_e5m2(value))


@inlined
def _decode(rounding: Any, pattern: Any) -> Any:
    if rounding == 0:
        return float32_of(pattern)
    if rounding == 1:
        return formats.h2f(np.uint16(pattern))
    if rounding == 2:
        return formats.decode_bf16(np.uint16(pattern))
    if rounding == 3:
        return formats.decode_df16(np.uint16(pattern))
    if rounding == 4:
        return formats.decode_e4m3(np.uint8(pattern))
    return formats.decode_e5m2(np.uint8(pattern))


@tile_function(INT, INT, FLOATS, INTS)
def bitcast_float_to_int(rounding: int, bits: int, x: Floats, out: Integers) -> None:
    """The patterns of float values as integers of the same width; NaN is canonical."""
    step = 0 if x.size == 1 else 1
    for i in range(out.size):
        out[i] = wrapped(_encode(rounding, x[i * step]), bits)


@tile_function(INT, INTS, FLOATS)
def bitcast_int_to_float(rounding: int, x: Integers, out: Floats) -> None:
    """The float values whose patterns are the low bits of integers."""
    step = 0 if x.size == 1 else 1
    for i in range(out.size):
        out[i] = _decode(rounding, x[i * step])


@tile_function(INT, INT, FLOATS, FLOATS)
def bitcast_float(source_rounding: int, rounding: int, x: Floats, out: Floats) -> None:
    """The values, in one float format, of patterns of another of the same width."""
    step = 0 if x.size == 1 else 1
    for i in range(out.size):
        out[i] = _decode(rounding, _encode(source_rounding, x[i * step]))
