"""math: functions of floats (and a few of whole numbers), element by element."""

from __future__ import annotations

from spyrelab.ktir.check import Check
from spyrelab.ktir.dialects.form import (
    Form,
    flags,
    generic_flags,
    table,
    truth,
    write_same,
)
from spyrelab.ktir.dialects.pointwise import is_float, is_integer, require_kind, same
from spyrelab.ktir.ir import Operation
from spyrelab.ktir.parse_operations import OperationParser, Parts

_ONE_FLOAT = (
    *("exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sqrt", "rsqrt", "cbrt"),
    *("sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh"),
    *("asinh", "acosh", "atanh"),
    *("erf", "erfc", "absf", "ceil", "floor", "round", "roundeven", "trunc"),
)
_TWO_FLOATS = ("powf", "atan2", "copysign")
_ONE_INTEGER = ("absi", "ctpop", "ctlz", "cttz")
_TESTS = ("isnan", "isinf", "isfinite")


def _read_test(parser: OperationParser) -> Parts:
    operands = parser.values()
    attributes = flags(parser)
    parser.expect(":")
    return Parts(operands, (truth(parser.written_type(*operands)),), attributes)


def _test_rule(check: Check, operation: Operation) -> None:
    (value,) = operation.operands
    require_kind(check, operation, f"%{value.name}", value.type, is_float)
    check.same(operation, "the result", operation.result.type, truth(value.type))


FORMS = table(
    [
        *(same(f"math.{name}", 1, is_float) for name in _ONE_FLOAT),
        *(same(f"math.{name}", 2, is_float) for name in _TWO_FLOATS),
        same("math.fma", 3, is_float),
        same("math.ipowi", 2, is_integer),
        *(same(f"math.{name}", 1, is_integer) for name in _ONE_INTEGER),
        *(
            Form(f"math.{name}", _read_test, write_same, _test_rule, 1, generic=generic_flags)
            for name in _TESTS
        ),
    ]
)
"""Every operation of the dialect, by name."""
