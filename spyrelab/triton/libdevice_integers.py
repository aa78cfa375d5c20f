"""Libdevice functions of whole numbers, and the casts that keep bits."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from spyrelab.ktir import F32, I32, I64
from spyrelab.triton.libdevice_values import Words

__all__ = ["INTEGERS", "WIDE"]

Recipe = Callable[..., Any]


def _high(extend: str) -> Recipe:
    """Upper half of a product; ``extend`` says whether numbers have a sign."""
    shift = "shrsi" if extend == "extsi" else "shrui"

    def recipe(w: Words, x: Any, y: Any) -> Any:
        if x.dtype == I64:
            return _high_of_64(w, x, y, shift)
        product = w.cast(extend, x, I64) * w.cast(extend, y, I64)
        return w.cast("trunci", w.arith("shrui", product, 32), I32)

    return recipe


def _high_of_64(w: Words, x: Any, y: Any, shift: str) -> Any:
    low = (1 << 32) - 1
    x0, y0 = w.arith("andi", x, low), w.arith("andi", y, low)
    x1, y1 = w.arith(shift, x, 32), w.arith(shift, y, 32)
    carried = x1 * y0 + w.arith("shrui", x0 * y0, 32)
    rest = w.arith("andi", carried, low) + x0 * y1
    return x1 * y1 + w.arith(shift, carried, 32) + w.arith(shift, rest, 32)


def _low_24(shift: str) -> Recipe:
    """The lower half of a product of 24-bit numbers."""

    def recipe(w: Words, x: Any, y: Any) -> Any:
        parts = [w.arith(shift, w.arith("shli", part, 8), 8) for part in (x, y)]
        return parts[0] * parts[1]

    return recipe


def _reversed(w: Words, x: Any) -> Any:
    """Bits in the opposite order: halves are swapped, then quarters, and so on."""
    bits = x.dtype.bits
    step = bits // 2
    while step:
        mask = sum(((1 << step) - 1) << at for at in range(0, bits, 2 * step))
        upper = w.arith("andi", w.arith("shrui", x, step), mask)
        lower = w.arith("shli", w.arith("andi", x, mask), step)
        x = w.arith("ori", upper, lower)
        step //= 2
    return x


def _distance(most: str, least: str) -> Recipe:
    def recipe(w: Words, x: Any, y: Any, z: Any) -> Any:
        return w.arith(most, x, y) - w.arith(least, x, y) + z

    return recipe


def _mean(shift: str, rounded: bool) -> Recipe:
    """``(x + y) / 2`` without overflow, down or up."""

    def recipe(w: Words, x: Any, y: Any) -> Any:
        half = w.arith(shift, w.arith("xori", x, y), 1)
        if rounded:
            return w.arith("ori", x, y) - half
        return w.arith("andi", x, y) + half

    return recipe


def _first_set(w: Words, x: Any) -> Any:
    """The place of the lowest bit that is set, from 1; 0 where none is."""
    found = _count("cttz")(w, x) + 1
    return w.choose(x.equals(0), 0, found)


def _count(name: str) -> Recipe:
    def recipe(w: Words, x: Any) -> Any:
        return w.cast("trunci", w.math(name, x), I32) if x.dtype == I64 else w.math(name, x)

    return recipe


def _permuted(w: Words, x: Any, y: Any, selector: Any) -> Any:
    """Four bytes of the eight in ``y:x``, or their signs, as nibbles of ``selector`` say."""
    both = w.arith("ori", w.arith("shli", w.cast("extui", y, I64), 32), w.cast("extui", x, I64))
    result = w.number(0, x)
    for at in range(4):
        nibble = w.arith("andi", w.arith("shrui", selector, 4 * at), 15)
        place = w.cast("extui", w.arith("andi", nibble, 7), I64) * 8
        byte = w.cast("trunci", w.arith("andi", w.arith("shrui", both, place), 255), I32)
        sign = w.choose(byte > 127, 255, w.number(0, byte))
        chosen = w.choose(nibble > 7, sign, byte)
        result = w.arith("ori", result, w.arith("shli", chosen, 8 * at))
    return result


def _cast(name: str, dtype: Any) -> Recipe:
    return lambda w, x: w.cast(name, x, dtype)


INTEGERS: dict[str, tuple[int, str, Recipe, Recipe]] = {
    "clz": (1, "int32", _count("ctlz"), _count("ctlz")),
    "popc": (1, "int32", _count("ctpop"), _count("ctpop")),
    "ffs": (1, "int32", _first_set, _first_set),
    "brev": (1, "same", _reversed, _reversed),
    "byte_perm": (3, "same", _permuted, _permuted),
    "mulhi": (2, "same", _high("extsi"), _high("extui")),
    "mul24": (2, "same", _low_24("shrsi"), _low_24("shrui")),
    "sad": (3, "same", _distance("maxsi", "minsi"), _distance("maxui", "minui")),
    "hadd": (2, "same", _mean("shrsi", False), _mean("shrui", False)),
    "rhadd": (2, "same", _mean("shrsi", True), _mean("shrui", True)),
}
"""Name: number of operands, type of the result, recipe for signed and for unsigned numbers."""

WIDE: dict[str, tuple[str, str, Recipe]] = {
    "int_as_float": ("int32", "fp32", _cast("bitcast", F32)),
    "uint_as_float": ("uint32", "fp32", _cast("bitcast", F32)),
    "float_as_int": ("fp32", "int32", _cast("bitcast", I32)),
    "float_as_uint": ("fp32", "uint32", _cast("bitcast", I32)),
    "int2float_rn": ("int32", "fp32", _cast("sitofp", F32)),
    "uint2float_rn": ("uint32", "fp32", _cast("uitofp", F32)),
    "ll2float_rn": ("int64", "fp32", _cast("sitofp", F32)),
    "ull2float_rn": ("uint64", "fp32", _cast("uitofp", F32)),
}
"""Casts: type of the operand, type of the result, recipe."""
