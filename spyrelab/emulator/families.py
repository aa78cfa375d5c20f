"""Names of everything that an elementwise operation can do to a tile, family by family.

Members are the sub-operation codes of the tile VM: a family is one compiled function that
chooses its loop once per call.
"""

from __future__ import annotations

from enum import Enum, IntEnum, auto


class CostClass(Enum):
    """The unit that an operation occupies."""

    PT = "pt"
    SFP = "sfp"
    SPECIAL = "special"
    """The vector unit's slow operations: transcendentals and division."""
    MOVE = "move"


class Family(Enum):
    """Operand and result kinds of an elementwise operation."""

    UNARY_FLOAT = auto()
    BINARY_FLOAT = auto()
    TERNARY_FLOAT = auto()
    POWER_FLOAT_INT = auto()
    """A float and an integer operand, a float result."""
    CLASSIFY_FLOAT = auto()
    """A float operand, an i1 result."""
    COMPARE_FLOAT = auto()
    UNARY_INT = auto()
    BINARY_INT = auto()
    TERNARY_INT = auto()
    COMPARE_INT = auto()
    SELECT = auto()
    CONVERT = auto()


class UnaryFloat(IntEnum):
    """One float operand."""

    COPY = 0
    NEGF = auto()
    ABSF = auto()
    SQUARE = auto()
    SQRT = auto()
    RSQRT = auto()
    RECIPROCAL = auto()
    FLOOR = auto()
    CEIL = auto()
    TRUNC = auto()
    ROUND = auto()
    ROUNDEVEN = auto()
    EXP = auto()
    EXP2 = auto()
    EXPM1 = auto()
    LOG = auto()
    LOG2 = auto()
    LOG10 = auto()
    LOG1P = auto()
    SIN = auto()
    COS = auto()
    TAN = auto()
    ASIN = auto()
    ACOS = auto()
    ATAN = auto()
    SINH = auto()
    COSH = auto()
    TANH = auto()
    ASINH = auto()
    ACOSH = auto()
    ATANH = auto()
    ERF = auto()
    ERFC = auto()
    CBRT = auto()
    SIGMOID = auto()
    SILU = auto()
    GELU = auto()


class BinaryFloat(IntEnum):
    """Two float operands."""

    ADDF = 0
    SUBF = auto()
    MULF = auto()
    DIVF = auto()
    REMF = auto()
    MAXIMUMF = auto()
    MINIMUMF = auto()
    MAXNUMF = auto()
    MINNUMF = auto()
    POWF = auto()
    ATAN2 = auto()
    COPYSIGN = auto()


class TernaryFloat(IntEnum):
    """Three float operands."""

    FMA = 0
    CLAMPF = auto()
    SOFTPLUS = auto()


class ClassifyFloat(IntEnum):
    """A question about one float."""

    ISNAN = 0
    ISINF = auto()
    ISFINITE = auto()


class CompareFloat(IntEnum):
    """``arith.cmpf`` predicates; bits: unordered, less, greater, equal."""

    FALSE = 0
    OEQ = 1
    OGT = 2
    OGE = 3
    OLT = 4
    OLE = 5
    ONE = 6
    ORD = 7
    UNO = 8
    UEQ = 9
    UGT = 10
    UGE = 11
    ULT = 12
    ULE = 13
    UNE = 14
    TRUE = 15


class UnaryInt(IntEnum):
    """One integer operand."""

    COPY = 0
    ABSI = auto()
    SQUARE = auto()
    CTLZ = auto()
    CTTZ = auto()
    CTPOP = auto()


class BinaryInt(IntEnum):
    """Two integer operands."""

    ADDI = 0
    SUBI = auto()
    MULI = auto()
    DIVSI = auto()
    DIVUI = auto()
    REMSI = auto()
    REMUI = auto()
    FLOORDIVSI = auto()
    CEILDIVSI = auto()
    CEILDIVUI = auto()
    ANDI = auto()
    ORI = auto()
    XORI = auto()
    SHLI = auto()
    SHRSI = auto()
    SHRUI = auto()
    MAXSI = auto()
    MINSI = auto()
    MAXUI = auto()
    MINUI = auto()
    IPOWI = auto()


class TernaryInt(IntEnum):
    """Three integer operands."""

    ADDRESS = 0
    """base + x * stride, operands in the order x, base, stride."""


class CompareInt(IntEnum):
    """``arith.cmpi`` predicates."""

    EQ = 0
    NE = auto()
    SLT = auto()
    SLE = auto()
    SGT = auto()
    SGE = auto()
    ULT = auto()
    ULE = auto()
    UGT = auto()
    UGE = auto()


class Conversion(IntEnum):
    """From one element type to another."""

    ROUND = 0
    FLOAT_TO_INT = auto()
    FLOAT_TO_UNSIGNED = auto()
    INT_TO_FLOAT = auto()
    UNSIGNED_TO_FLOAT = auto()
    SIGN_EXTEND = auto()
    """To the result's width: extends the sign, or cuts."""
    ZERO_EXTEND = auto()
    FLOAT_TO_BITS = auto()
    BITS_TO_FLOAT = auto()
    FLOAT_BITS_TO_FLOAT = auto()
    """Between two float types of one width."""


SubOperation = (
    UnaryFloat | BinaryFloat | TernaryFloat | ClassifyFloat | UnaryInt | BinaryInt | TernaryInt
)
