"""The value that leaves every other one as it is, for each combiner of a reduction."""

from __future__ import annotations

import math

from spyrelab.emulator.families import BinaryFloat, BinaryInt, SubOperation
from spyrelab.ktir.types import ScalarType

_FLOAT = {
    BinaryFloat.ADDF: 0.0,
    BinaryFloat.MULF: 1.0,
    BinaryFloat.MAXIMUMF: -math.inf,
    BinaryFloat.MAXNUMF: -math.inf,
    BinaryFloat.MINIMUMF: math.inf,
    BinaryFloat.MINNUMF: math.inf,
}
_ALWAYS = {
    BinaryInt.ADDI: 0,
    BinaryInt.MULI: 1,
    BinaryInt.ANDI: -1,
    BinaryInt.ORI: 0,
    BinaryInt.XORI: 0,
    BinaryInt.MAXUI: 0,
    BinaryInt.MINUI: -1,
}


def identity_of(sub: SubOperation | None, scalar: ScalarType) -> float | int | None:
    """The identity of a combiner on an element type, as a value; None where there is none."""
    if isinstance(sub, BinaryFloat):
        return _FLOAT.get(sub)
    if not isinstance(sub, BinaryInt):
        return None
    least = -(1 << (scalar.bits - 1))
    extremes = {BinaryInt.MAXSI: least, BinaryInt.MINSI: ~least}
    value = extremes.get(sub, _ALWAYS.get(sub))
    return value & 1 if value is not None and scalar.bits == 1 else value
