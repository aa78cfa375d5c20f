"""Element types, arrays and constants of random programs; all that hurts occurs often."""

from __future__ import annotations

import random

import numpy as np

BITS = {
    "f16": 16,
    "bf16": 16,
    "f32": 32,
    "!spyreop.df16": 16,
    "f8E4M3FN": 8,
    "f8E5M2": 8,
    "i1": 1,
    "i8": 8,
    "i16": 16,
    "i32": 32,
    "i64": 64,
    "index": 64,
}
"""Bits of every element type."""

_DTYPES = {
    "f16": "float16", "bf16": "uint16", "f32": "float32", "!spyreop.df16": "uint16",
    "f8E4M3FN": "uint8", "f8E5M2": "uint8", "i1": "bool", "i8": "int8", "i16": "int16",
    "i32": "int32", "i64": "int64", "index": "int64",
}  # fmt: skip
# Bit patterns: zeros, ones, subnormals, largest, infinities, NaN, halves.
_SPECIAL = {
    "f16": (0, 0x8000, 0x3C00, 0xBC00, 1, 0x8001, 0x3FF, 0x400, 0x7BFF, 0xFBFF, 0x7C00, 0xFC00,
            0x7E00, 0xFD01, 0x3800, 0x4100),
    "bf16": (0, 0x8000, 0x3F80, 0xBF80, 1, 0x8001, 0x7F, 0x80, 0x7F7F, 0xFF7F, 0x7F80, 0xFF80,
             0x7FC0, 0xFF81, 0x3F00, 0x4020),
    "f32": (0, 1 << 31, 0x3F800000, 0xBF800000, 1, 0x80000001, 0x7FFFFF, 0x800000, 0x7F7FFFFF,
            0xFF7FFFFF, 0x7F800000, 0xFF800000, 0x7FC00000, 0xFF800001, 0x3F000000, 0x40200000),
    "!spyreop.df16": (0, 0x8000, 0x3E00, 0xBE00, 1, 0x8001, 0x1FF, 0x200, 0x7FFE, 0xFFFE, 0x7FFF,
                      0xFFFF, 0x3C00, 0x4080),
    "f8E4M3FN": (0, 0x80, 0x38, 0xB8, 1, 0x81, 7, 8, 0x7E, 0xFE, 0x7F, 0xFF, 0x30, 0x42),
    "f8E5M2": (0, 0x80, 0x3C, 0xBC, 1, 0x81, 3, 4, 0x7B, 0xFB, 0x7C, 0xFC, 0x7E, 0xFF, 0x38, 0x41),
}  # fmt: skip


def is_float(element: str) -> bool:
    return element in _SPECIAL


def is_integer(element: str) -> bool:
    return element not in _SPECIAL


def dtype_of(element: str) -> np.dtype:
    """The array type that `spyrelab.emulator.run` takes for elements of a type."""
    return np.dtype(_DTYPES[element])


def random_array(rng: np.random.Generator, element: str, length: int) -> np.ndarray:
    """Random contents: arbitrary bits, small numbers, special values, or a mixture."""
    dtype = dtype_of(element)
    mode = rng.integers(4)
    if element == "i1":
        return rng.integers(0, 2, length).astype(bool)
    if is_float(element):
        bits = _float_bits(rng, element, length, mode)
        return bits.astype(f"uint{8 * dtype.itemsize}").view(dtype)
    limits = np.iinfo(dtype)
    if mode == 0:
        return rng.integers(limits.min, limits.max, length, dtype, endpoint=True)
    if mode == 1:
        edges = [0, 1, -1, 2, limits.min, limits.max, limits.min + 1, 7]
        return rng.choice(edges, length).astype(dtype)
    return rng.integers(-9, 10, length).astype(dtype)


def _float_bits(rng: np.random.Generator, element: str, length: int, mode: int) -> np.ndarray:
    every = rng.integers(0, 1 << BITS[element], length, np.uint64)
    special = rng.choice(np.array(_SPECIAL[element], np.uint64), length)
    # Near one in magnitude: the exponent of one, any sign and mantissa, plus or minus some.
    one = np.uint64(_SPECIAL[element][2])
    mantissa = {"f16": 10, "bf16": 7, "f32": 23, "!spyreop.df16": 9, "f8E4M3FN": 3, "f8E5M2": 2}
    spread = rng.integers(-3 << mantissa[element], 4 << mantissa[element], length)
    sign = rng.integers(0, 2, length).astype(np.uint64) << np.uint64(BITS[element] - 1)
    tame = (one.astype(np.int64) + spread).astype(np.uint64) | sign
    if mode == 0:
        return every
    if mode == 1:
        return np.where(rng.random(length) < 0.2, special, tame)
    return special if mode == 2 and length < 40 else tame


def constant_text(rng: random.Random, element: str) -> str:
    """A literal with its type, such as ``0x7C00 : f16``."""
    if element == "i1":
        return rng.choice(("true", "false"))
    return f"{literal(rng, element)} : {element}"


def literal(rng: random.Random, element: str) -> str:
    """A literal of a type, without it."""
    if element == "i1":
        return rng.choice(("true", "false"))
    if is_float(element):
        if rng.random() < 0.5:
            return rng.choice(("0.0", "1.0", "-2.5", "0.1", "3.0"))
        digits = BITS[element] // 4
        return f"0x{rng.choice(_SPECIAL[element]):0{digits}X}"
    limit = 1 << (BITS[element] - 1)
    return str(rng.choice((0, 1, 2, 3, -1, -2, 7, limit - 1, -limit)))
