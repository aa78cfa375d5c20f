"""What an atomic operation leaves in an element: one table for every engine."""

from __future__ import annotations

from collections.abc import Callable
from enum import IntEnum

import numpy as np

from spyrelab.emulator.formats import round_to, wrap
from spyrelab.ktir.ir import Operation
from spyrelab.ktir.types import ScalarType


class Atomic(IntEnum):
    """Codes of the kinds of ``spyrelab.atomic_rmw``, and of ``spyrelab.atomic_cas``."""

    ADD = 0
    FADD = 1
    AND = 2
    OR = 3
    XOR = 4
    MAX = 5
    MIN = 6
    UMAX = 7
    UMIN = 8
    XCHG = 9
    CAS = 10


def atomic_of(operation: Operation) -> Atomic:
    """The code of an atomic operation."""
    kind = operation.attributes.get("kind")
    return Atomic.CAS if kind is None else Atomic[kind.upper()]


def _unsigned(value: int) -> int:
    # Of two numbers extended from the same width this keeps the unsigned order.
    return value & (1 << 64) - 1


_WHOLE: dict[Atomic, Callable[[int, int], int]] = {
    Atomic.ADD: lambda old, new: old + new,
    Atomic.AND: lambda old, new: old & new,
    Atomic.OR: lambda old, new: old | new,
    Atomic.XOR: lambda old, new: old ^ new,
    Atomic.MAX: max,
    Atomic.MIN: min,
    Atomic.UMAX: lambda old, new: max(old, new, key=_unsigned),
    Atomic.UMIN: lambda old, new: min(old, new, key=_unsigned),
}


def combined(kind: Atomic, old: float, new: float, element: ScalarType) -> float:
    """What `kind` (but `Atomic.CAS`) makes of an old and a given value; rounded or wrapped."""
    if kind is Atomic.XCHG:
        return new
    if kind is Atomic.FADD:
        with np.errstate(over="ignore", invalid="ignore"):
            total = np.float32(old) + np.float32(new)
            return float(round_to(np.asarray(total, np.float32), element))
    value = _WHOLE[kind](int(old), int(new))
    signed = (value + (1 << 63)) % (1 << 64) - (1 << 63)
    return int(wrap(np.asarray(signed, np.int64), element))
