"""Floating point formats: from bit patterns to numbers and back."""

from __future__ import annotations

import math
from dataclasses import dataclass

from spyrelab.ktir.types import ScalarType


@dataclass(frozen=True)
class _Format:
    exponent: int
    mantissa: int
    bias: int
    infinity: bool
    subnormal: bool = True


_FORMATS = {
    "f16": _Format(5, 10, 15, True),
    "bf16": _Format(8, 7, 127, True),
    "f32": _Format(8, 23, 127, True),
    "!spyreop.df16": _Format(6, 9, 31, False, False),
    "f8E4M3FN": _Format(4, 3, 7, False),
    "f8E5M2": _Format(5, 2, 15, True),
}
_ALIKE = {
    "!spyreop.df16_fused": "!spyreop.df16",
    "!spyreop.fp16_fused": "f16",
    "!spyreop.fp32_fused": "f32",
}
_QUIET_NAN = {
    "f16": 0x7E00,
    "bf16": 0x7FC0,
    "f32": 0x7FC00000,
    "!spyreop.df16": 0x7FFF,
    "f8E4M3FN": 0x7F,
    "f8E5M2": 0x7E,
}


def decode_bits(bits: int, kind: ScalarType) -> float:
    """The number that a bit pattern stands for in a floating point type."""
    form = _FORMATS[_ALIKE.get(kind.name, kind.name)]
    sign = -1.0 if bits >> (form.exponent + form.mantissa) & 1 else 1.0
    exponent = bits >> form.mantissa & ((1 << form.exponent) - 1)
    fraction = bits & ((1 << form.mantissa) - 1)
    if exponent == (1 << form.exponent) - 1:
        if form.infinity:
            return math.nan if fraction else sign * math.inf
        if fraction == (1 << form.mantissa) - 1:
            return math.nan
    if exponent == 0 and form.subnormal:
        return sign * math.ldexp(fraction, 1 - form.bias - form.mantissa)
    if exponent == 0 and fraction == 0:
        return sign * 0.0
    return sign * math.ldexp((1 << form.mantissa) + fraction, exponent - form.bias - form.mantissa)


def special_bits(value: float, kind: ScalarType) -> str | None:
    """Bit pattern in hexadecimal of an infinity or NaN; None for any other number."""
    if math.isfinite(value):
        return None
    name = _ALIKE.get(kind.name, kind.name)
    form = _FORMATS[name]
    bits = _QUIET_NAN[name]
    if math.isinf(value) and form.infinity:
        bits = ((1 << form.exponent) - 1) << form.mantissa
        if value < 0:
            bits |= 1 << (form.exponent + form.mantissa)
    return f"0x{bits:0{kind.bits // 4}X}"


def float_text(value: float, kind: ScalarType) -> str:
    """A float as KTIR writes it: ``1.250000e-01``, with more digits where six do not do."""
    special = special_bits(value, kind)
    if special is not None:
        return special
    text = f"{value:.6e}"
    if float(text) == value:
        return text
    text = f"{value:.16e}"
    shortest = repr(value)
    return shortest if "." in shortest else text
