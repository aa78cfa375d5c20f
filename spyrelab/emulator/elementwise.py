"""The table of elementwise operations: one row each, and everything else derives from it.

A row says which family of the tile VM runs the operation, which unit it costs, and what it
means: its ``reference`` on NumPy arrays, rounding and wrapping included.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from spyrelab.emulator import float_semantics, functions_wide, integer_semantics
from spyrelab.emulator.conversions import CAST_NAMES, conversion_of, convert
from spyrelab.emulator.families import (
    BinaryFloat,
    BinaryInt,
    CompareFloat,
    CompareInt,
    CostClass,
    Family,
    SubOperation,
    TernaryFloat,
    TernaryInt,
    UnaryFloat,
    UnaryInt,
)
from spyrelab.emulator.formats import ROUNDING, round_to, wrap
from spyrelab.ktir.types import ScalarType

Arrays = Sequence[np.ndarray]
Attributes = Mapping[str, Any]
Operands = Sequence[ScalarType]
Reference = Callable[[Arrays, ScalarType, Operands, Attributes], np.ndarray]
Literals = tuple[tuple[str, float], ...]
SOFTPLUS_LITERALS: Literals = (("beta", 1.0), ("threshold", 20.0))
ADDRESS_LITERALS: Literals = (("base", 0), ("stride", 1))


@dataclass(frozen=True)
class Elementwise:
    """An elementwise operation.

    Attributes
    ----------
    sub : the code within the family; None where the predicate (`predicate_of`) or the types
        (`spyrelab.emulator.conversions.conversion_of`) decide.
    reference : ``(arrays, result type, operand types, attributes) -> array``; arrays broadcast.
    literals : trailing operands that may be attributes instead (``beta`` of softplus), in
        operand order, each with its value where the text has neither.
    """

    name: str
    family: Family
    sub: SubOperation | None
    cost: CostClass
    reference: Reference
    literals: Literals = ()


TABLE: dict[str, Elementwise] = {}
"""Every elementwise operation, by full name."""


def predicate_of(name: str, attributes: Attributes) -> CompareFloat | CompareInt:
    """The comparison that ``arith.cmpf`` or ``arith.cmpi`` asks for."""
    kind = CompareFloat if name == "arith.cmpf" else CompareInt
    return kind[attributes["predicate"].upper()]


def named_row(name: str, element: ScalarType) -> Elementwise:
    """The row of a named elementwise linalg operation (without its prefix) on an element type."""
    is_float, is_integer = _LINALG[name]
    row = is_float if element.is_float else is_integer
    if row is None:
        raise KeyError(f"linalg.{name} is not defined on {element}")
    return TABLE[row]


def _add(
    name: str,
    family: Family,
    sub: SubOperation | None,
    cost: CostClass,
    reference: Reference,
    literals: Literals = (),
) -> None:
    def silent(
        arrays: Arrays, result: ScalarType, operands: Operands, attributes: Attributes
    ) -> np.ndarray:
        with np.errstate(all="ignore"):
            return reference([np.asarray(array) for array in arrays], result, operands, attributes)

    TABLE[name] = Elementwise(name, family, sub, cost, silent, literals)


def _rounded(function: Callable[..., np.ndarray]) -> Reference:
    return lambda arrays, result, operands, attributes: round_to(function(*arrays), result)


def _wrapped(function: Callable[..., np.ndarray]) -> Reference:
    return lambda arrays, result, operands, attributes: wrap(
        function(*arrays, operands[0].bits), result
    )


def _complete(arrays: Arrays, attributes: Attributes, literals: Literals) -> list[np.ndarray]:
    rest = iter(arrays[1:])
    operands = [arrays[0]]
    for name, default in literals:
        value = attributes[name] if name in attributes else next(rest, default)
        operands.append(np.asarray(value, arrays[0].dtype))
    return operands


def _fma(
    arrays: Arrays, result: ScalarType, operands: Operands, attributes: Attributes
) -> np.ndarray:
    return round_to(float_semantics.fma(ROUNDING[result.name] == 0, *arrays), result)


def _softplus(
    arrays: Arrays, result: ScalarType, operands: Operands, attributes: Attributes
) -> np.ndarray:
    function = float_semantics.TERNARY[TernaryFloat.SOFTPLUS]
    return round_to(function(*_complete(arrays, attributes, SOFTPLUS_LITERALS)), result)


def _address(
    arrays: Arrays, result: ScalarType, operands: Operands, attributes: Attributes
) -> np.ndarray:
    function = integer_semantics.TERNARY[TernaryInt.ADDRESS]
    return wrap(function(*_complete(arrays, attributes, ADDRESS_LITERALS)), result)


def _power(
    arrays: Arrays, result: ScalarType, operands: Operands, attributes: Attributes
) -> np.ndarray:
    return round_to(functions_wide.fpowi(*arrays), result)


def _cmpf(
    arrays: Arrays, result: ScalarType, operands: Operands, attributes: Attributes
) -> np.ndarray:
    return float_semantics.compare(CompareFloat[attributes["predicate"].upper()], *arrays)


def _cmpi(
    arrays: Arrays, result: ScalarType, operands: Operands, attributes: Attributes
) -> np.ndarray:
    predicate = CompareInt[attributes["predicate"].upper()]
    return integer_semantics.compare(predicate, operands[0].bits, *arrays)


def _select(
    arrays: Arrays, result: ScalarType, operands: Operands, attributes: Attributes
) -> np.ndarray:
    condition, chosen, other = arrays
    return np.where(condition != 0, chosen, other)


def _cast(name: str) -> Reference:
    def reference(
        arrays: Arrays, result: ScalarType, operands: Operands, attributes: Attributes
    ) -> np.ndarray:
        conversion = conversion_of(name, operands[0], result)
        return convert(conversion, arrays[0], operands[0], result)

    return reference


_SLOW_FLOAT = {BinaryFloat.DIVF, BinaryFloat.REMF, BinaryFloat.POWF, BinaryFloat.ATAN2}
_SLOW_INT = {
    BinaryInt.DIVSI, BinaryInt.DIVUI, BinaryInt.REMSI, BinaryInt.REMUI, BinaryInt.FLOORDIVSI,
    BinaryInt.CEILDIVSI, BinaryInt.CEILDIVUI, BinaryInt.IPOWI,
}  # fmt: skip
_FAST_UNARY = {
    UnaryFloat.COPY, UnaryFloat.NEGF, UnaryFloat.ABSF, UnaryFloat.SQUARE, UnaryFloat.FLOOR,
    UnaryFloat.CEIL, UnaryFloat.TRUNC, UnaryFloat.ROUND, UnaryFloat.ROUNDEVEN,
}  # fmt: skip
_IN_ARITH = {UnaryFloat.NEGF}
_FLOAT_IN_LINALG = {UnaryFloat.COPY, UnaryFloat.SQUARE}
_INT_IN_LINALG = {UnaryInt.COPY, UnaryInt.SQUARE}
_IN_SPYREOP = (
    UnaryFloat.EXP, UnaryFloat.SQRT, UnaryFloat.RSQRT, UnaryFloat.GELU, UnaryFloat.SILU,
    UnaryFloat.SIGMOID, UnaryFloat.RECIPROCAL,
)  # fmt: skip
_IN_SPYREOP_ONLY = {UnaryFloat.GELU, UnaryFloat.SILU, UnaryFloat.SIGMOID, UnaryFloat.RECIPROCAL}


def _cost(slow: bool) -> CostClass:
    return CostClass.SPECIAL if slow else CostClass.SFP


def _add_float_rows() -> None:
    for unary, function in float_semantics.UNARY.items():
        dialects = ["math"]
        if unary in _IN_ARITH:
            dialects = ["arith"]
        elif unary in _FLOAT_IN_LINALG:
            dialects = ["linalg"]
        elif unary in _IN_SPYREOP:
            dialects = ["spyreop"] if unary in _IN_SPYREOP_ONLY else ["math", "spyreop"]
        cost = _cost(unary not in _FAST_UNARY)
        for dialect in dialects:
            name = f"{dialect}.{unary.name.lower()}"
            _add(name, Family.UNARY_FLOAT, unary, cost, _rounded(function))
    in_math = {BinaryFloat.POWF, BinaryFloat.ATAN2, BinaryFloat.COPYSIGN}
    for binary, combine in float_semantics.BINARY.items():
        name = f"{'math' if binary in in_math else 'arith'}.{binary.name.lower()}"
        cost = _cost(binary in _SLOW_FLOAT)
        _add(name, Family.BINARY_FLOAT, binary, cost, _rounded(combine))
    divide = TABLE["arith.divf"]
    _add("spyreop.realdiv", divide.family, divide.sub, divide.cost, divide.reference)
    for question, answer in float_semantics.CLASSIFY.items():
        name = f"math.{question.name.lower()}"
        _add(name, Family.CLASSIFY_FLOAT, question, CostClass.SFP, _classified(answer))


def _classified(function: Callable[[np.ndarray], np.ndarray]) -> Reference:
    return lambda arrays, result, operands, attributes: function(arrays[0]).astype(np.int64)


def _add_ternary_rows() -> None:
    clamp = float_semantics.TERNARY[TernaryFloat.CLAMPF]
    family = Family.TERNARY_FLOAT
    _add("math.fma", family, TernaryFloat.FMA, CostClass.SFP, _fma)
    _add("math.clampf", family, TernaryFloat.CLAMPF, CostClass.SFP, _rounded(clamp))
    _add(
        "spyreop.softplus",
        family,
        TernaryFloat.SOFTPLUS,
        CostClass.SPECIAL,
        _softplus,
        SOFTPLUS_LITERALS,
    )
    _add("math.fpowi", Family.POWER_FLOAT_INT, None, CostClass.SPECIAL, _power)
    _add(
        "spyreop.idx32toaddr",
        Family.TERNARY_INT,
        TernaryInt.ADDRESS,
        CostClass.SFP,
        _address,
        ADDRESS_LITERALS,
    )
    _add("arith.select", Family.SELECT, None, CostClass.SFP, _select)


def _add_integer_rows() -> None:
    for unary, function in integer_semantics.UNARY.items():
        dialect, suffix = ("linalg", "_int") if unary in _INT_IN_LINALG else ("math", "")
        name = f"{dialect}.{unary.name.lower()}{suffix}"
        _add(name, Family.UNARY_INT, unary, CostClass.SFP, _wrapped(function))
    for binary, combine in integer_semantics.BINARY.items():
        name = f"{'math' if binary is BinaryInt.IPOWI else 'arith'}.{binary.name.lower()}"
        _add(name, Family.BINARY_INT, binary, _cost(binary in _SLOW_INT), _wrapped(combine))
    for name, same in (("addi32toi32", "addi"), ("muli32toi32", "muli"), ("addi64toi64", "addi")):
        row = TABLE[f"arith.{same}"]
        _add(f"spyreop.{name}", row.family, row.sub, row.cost, row.reference)


def _add_comparisons_and_casts() -> None:
    _add("arith.cmpf", Family.COMPARE_FLOAT, None, CostClass.SFP, _cmpf)
    _add("arith.cmpi", Family.COMPARE_INT, None, CostClass.SFP, _cmpi)
    for name in CAST_NAMES:
        _add(name, Family.CONVERT, None, CostClass.SFP, _cast(name))


_add_float_rows()
_add_ternary_rows()
_add_integer_rows()
_add_comparisons_and_casts()

_LINALG: dict[str, tuple[str | None, str | None]] = {
    "add": ("arith.addf", "arith.addi"),
    "sub": ("arith.subf", "arith.subi"),
    "mul": ("arith.mulf", "arith.muli"),
    "div": ("arith.divf", "arith.divsi"),
    "div_unsigned": (None, "arith.divui"),
    "max": ("arith.maximumf", "arith.maxsi"),
    "min": ("arith.minimumf", "arith.minsi"),
    "powf": ("math.powf", None),
    "abs": ("math.absf", "math.absi"),
    "negf": ("arith.negf", None),
    "square": ("linalg.square", "linalg.square_int"),
    "copy": ("linalg.copy", "linalg.copy_int"),
    "reciprocal": ("spyreop.reciprocal", None),
    "select": ("arith.select", "arith.select"),
    **{
        name: (f"math.{name}", None)
        for name in ("exp", "log", "ceil", "floor", "tanh", "sqrt", "rsqrt", "erf", "round")
    },
}
LINALG_NAMES = frozenset(_LINALG)
"""Names of the elementwise linalg operations."""
