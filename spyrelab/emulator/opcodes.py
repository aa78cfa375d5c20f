"""The instruction set of the tile VM.

A program is a table of int64 rows.  Every operand is a place in one of two arenas of a core:
``I`` (int64: indices, integers, booleans and addresses) or ``F`` (float32: every float type,
already rounded).  A scalar is a tile of one element.  Sizes are always read from ``I``, so the
same code runs for sizes known when lowering and for sizes known only at launch.
"""

from __future__ import annotations

from enum import IntEnum, auto


class Column(IntEnum):
    """Columns of an instruction row."""

    OP = 0
    SUB = 1
    """Sub-operation, or the integer width's companion; see `Op`."""
    DST = 2
    A = 3
    B = 4
    C = 5
    SIZE = 6
    """Place in I of the inner size."""
    OUTER = 7
    """Place in I of the number of rows (elementwise), or an operand."""
    MODE = 8
    """How operands broadcast (`Broadcast`, two bits each), or an operand."""
    ROUND = 9
    """Rounding code of a float result, or the width of an integer one."""
    UNIT = 10
    """Counter column that the executed elements are added to, or -1."""
    NEEDED = 11
    """1 where the null engine must execute it as well (control, addresses, index loads)."""


WIDTH = len(Column)


MASKED = -(1 << 63)
"""Start address of a run that is not moved: no sum of a view's addresses comes to it."""


class Broadcast(IntEnum):
    """How an operand of ``outer x inner`` elements is laid out."""

    FULL = 0
    SCALAR = 1
    COLUMN = 2
    """One value per row."""
    ROW = 3
    """The same row every time."""


class Op(IntEnum):
    """What an instruction does."""

    HALT = 0
    JUMP = auto()
    BRANCH_FALSE = auto()
    FOR_ENTER = auto()
    FOR_NEXT = auto()
    SET_INT = auto()
    ADD = auto()
    SUBTRACT = auto()
    MULTIPLY = auto()
    UNARY_FLOAT = auto()
    BINARY_FLOAT = auto()
    TERNARY_FLOAT = auto()
    COMPARE_FLOAT = auto()
    SELECT_FLOAT = auto()
    UNARY_INT = auto()
    BINARY_INT = auto()
    COMPARE_INT = auto()
    SELECT_INT = auto()
    POWER = auto()
    CLASSIFY = auto()
    TERNARY_INT = auto()
    CONVERT = auto()
    FILL_FLOAT = auto()
    FILL_INT = auto()
    COPY_FLOAT = auto()
    COPY_INT = auto()
    STRIDED_FLOAT = auto()
    STRIDED_INT = auto()
    TAKE_FLOAT = auto()
    TAKE_INT = auto()
    IOTA = auto()
    LOAD_BOX = auto()
    STORE_BOX = auto()
    GATHER = auto()
    SCATTER = auto()
    REDUCE_FLOAT = auto()
    REDUCE_INT = auto()
    MATMUL_FLOAT = auto()
    MATMUL_INT = auto()
    COUNT = auto()
    CHECK_SIZE = auto()
    CHECK_RANGE = auto()
    CHECK_EQUAL = auto()
    TRACK_LX = auto()
    PRODUCE = auto()
    RECLAIM = auto()
    PUBLISH = auto()
    COLLECT = auto()
    FETCH = auto()
    DONE = auto()
    ATOMIC = auto()
    TURN = auto()
    """Waits until as many turns are done as I holds at B."""
    TURN_DONE = auto()
    PRINT = auto()
    """Stops the core until the host has printed."""
    CHECK_TRUE = auto()
    WATCH = auto()
    """A step of the sanitizer; only in the programs that it runs."""


class Place(IntEnum):
    """Fixed places at the start of a core's I arena."""

    SCRATCH = 0
    """Forty places for the transfer routines."""
    CORE = 40
    TILE_0 = 41
    TILE_1 = 42
    TILE_2 = 43
    LX_BASE = 44
    """Byte address of the running core's scratchpad."""
    DDR_BYTES = 45
    """Byte address of the first scratchpad: the end of main memory."""
    FIRST_FREE = 48


class Status(IntEnum):
    """Why a core stopped."""

    DONE = 0
    SUSPENDED = 1
    OUT_OF_MEMORY_RESERVE = 2
    STOPPED = 3
    """By the sanitizer, before a transfer that would touch what it must not."""
    OUT_OF_SCRATCHPAD = 4
    TILE_TOO_LARGE = 5
    INDEX_OUT_OF_RANGE = 6
    LX_OVERFLOW = 7
    BAD_STEP = 8
    EXTENTS_DIFFER = 9
    ASSERTION_FAILED = 10
    PRINTS = 11
    """Until the host has printed what the core wants to say."""


class BoxMode(IntEnum):
    """Whether a box is a whole transfer or one of several that make it up."""

    ALONE = 0
    """Elements outside the view's limits read as zero."""
    FIRST = 1
    FOLLOWS = 2
    """Goes on from the stick where the box before it stopped."""


class Element(IntEnum):
    """How one element lies in memory; the float codes are the rounding codes."""

    F32 = 0
    F16 = 1
    BF16 = 2
    DF16 = 3
    F8E4M3 = 4
    F8E5M2 = 5
    I1 = 6
    I8 = 7
    I16 = 8
    I32 = 9
    I64 = 10
