"""The one argument of a compiled launch: numbers and addresses of arrays in an int64 vector.

Arrays that are rebuilt from an address own nothing, so compiled code spends no time on
reference counts; with ordinary array arguments those cost more than the tile operations.
The caller keeps the arrays alive.
"""

from __future__ import annotations

from enum import IntEnum, auto

import numpy as np
from numba import carray, types  # type: ignore[attr-defined]
from numba.extending import intrinsic

from spyrelab.emulator.native import machine_code


class Field(IntEnum):
    """Entries of a frame; ``*_AT`` are addresses."""

    CORES = 0
    GRID_0 = auto()
    GRID_1 = auto()
    CODE_AT = auto()
    ROWS = auto()
    POOL_AT = auto()
    POOL_SIZE = auto()
    INTEGERS_AT = auto()
    INTEGERS_SIZE = auto()
    FLOATS_AT = auto()
    FLOATS_SIZE = auto()
    MEMORY_AT = auto()
    MEMORY_SIZE = auto()
    F_AT = auto()
    F_SIZE = auto()
    I_AT = auto()
    I_SIZE = auto()
    ARENAS = auto()
    """Number of arenas; core c uses arena ``c % ARENAS``."""
    DDR_BYTES = auto()
    LX_BYTES = auto()
    WATCH_AT = auto()
    """State of the sanitizer, read by WATCH instructions only."""
    EXACT = auto()
    COMPUTE = auto()
    PEAKS_AT = auto()
    EXCHANGES = auto()
    PUBLISHED_AT = auto()
    COLLECTED_AT = auto()
    SEEN_PUBLISHED_AT = auto()
    SEEN_COLLECTED_AT = auto()
    PCS_AT = auto()
    COUNTERS_AT = auto()
    COUNTER_COLUMNS = auto()
    ERRORS_AT = auto()


@intrinsic
def _pointer(typing_context, address):
    def generate(context, builder, signature, arguments):
        return builder.inttoptr(arguments[0], context.get_value_type(types.voidptr))

    return types.voidptr(address), generate


@machine_code(makes_arrays=True)
def integers_at(address, count):
    """int64 vector at an address."""
    return carray(_pointer(address), (count,), np.int64)


@machine_code(makes_arrays=True)
def table_at(address, rows, columns):
    """int64 matrix at an address."""
    return carray(_pointer(address), (rows, columns), np.int64)


@machine_code(makes_arrays=True)
def floats_at(address, rows, columns):
    """float32 matrix at an address."""
    return carray(_pointer(address), (rows, columns), np.float32)


@machine_code(makes_arrays=True)
def memory_at(address, size):
    """The typed views of a byte reserve that transfers expect."""
    return (
        carray(_pointer(address), (size,), np.uint8),
        carray(_pointer(address), (size,), np.int8),
        carray(_pointer(address), (size >> 1,), np.uint16),
        carray(_pointer(address), (size >> 1,), np.int16),
        carray(_pointer(address), (size >> 2,), np.float32),
        carray(_pointer(address), (size >> 2,), np.int32),
        carray(_pointer(address), (size >> 3,), np.int64),
    )


def address_of(array: np.ndarray) -> int:
    """Address of an array's first byte."""
    return array.__array_interface__["data"][0]


def set_vector(frame: np.ndarray, address: Field, array: np.ndarray) -> None:
    """Enter a contiguous array and, in the next field, its size."""
    frame[address] = address_of(array)
    frame[address + 1] = array.size
