"""arith: numbers, on scalars and element by element on tensors."""

from __future__ import annotations

from typing import Any

from spyrelab.ktir.check import Check
from spyrelab.ktir.dialects.form import (
    Form,
    elements_of,
    flags,
    generic_flags,
    read_cast,
    table,
    truth,
    write_cast,
    write_flags,
)
from spyrelab.ktir.dialects.pointwise import (
    Kind,
    bitcast_rule,
    cast,
    is_fixed_integer,
    is_float,
    is_integer,
    require_kind,
    same,
)
from spyrelab.ktir.errors import did_you_mean
from spyrelab.ktir.ir import DenseElements, Operation
from spyrelab.ktir.matching import element_count
from spyrelab.ktir.parse_operations import OperationParser, Parts
from spyrelab.ktir.types import I1, ScalarType, TensorType
from spyrelab.ktir.writer import Writer

INTEGER_PREDICATES = ("eq", "ne", "slt", "sle", "sgt", "sge", "ult", "ule", "ugt", "uge")
FLOAT_PREDICATES = (
    *("false", "oeq", "ogt", "oge", "olt", "ole", "one", "ord"),
    *("ueq", "ugt", "uge", "ult", "ule", "une", "uno", "true"),
)


def _read_constant(parser: OperationParser) -> Parts:
    attributes = flags(parser)
    if "value" in attributes:  # {dense<..> : T} is read below, {value = ..} never occurs
        parser.fail("arith.constant takes its value without a name")
    if parser.token == "dense":
        value = parser.dense()
        return Parts((), (value.type,), {"value": value, **attributes})
    literal = parser.literal()
    kind: ScalarType = I1
    if parser.token == ":" or literal[0] not in ("true", "false"):
        parser.expect(":", "give the constant's type, as in 4 : index")
        at = parser.start
        written = parser.type()
        if not isinstance(written, ScalarType):
            parser.fail(f"a number cannot be a {written}", "write dense<..> for a tensor", at)
        kind = written
    return Parts((), (kind,), {"value": parser.number(literal, kind), **attributes})


def _read_constant_or_braces(parser: OperationParser) -> Parts:
    """Also the older ``{dense<..> : T} : T``."""
    at = parser.start
    if not parser.accept("{"):
        return _read_constant(parser)
    if parser.token == "dense":
        value = parser.dense()
        parser.expect("}")
        parser.expect(":")
        parser.type()
        return Parts((), (value.type,), {"value": value})
    parser.resume(at)
    return _read_constant(parser)


def _write_constant(writer: Writer, operation: Operation) -> str:
    value = operation.attributes["value"]
    extras = writer.extras(operation, ("value",))
    if isinstance(value, DenseElements):
        return f"{extras} {writer.dense(value)}"
    kind = operation.result.type
    if not isinstance(kind, ScalarType):
        raise TypeError(f"a number cannot be a {kind}")
    text = writer.number(value, kind)
    return f"{extras} {text}" + ("" if kind == I1 else f" : {kind}")


def _constant_rule(check: Check, operation: Operation) -> None:
    value, kind = operation.attributes.get("value"), operation.result.type
    if isinstance(value, DenseElements):
        check.same(operation, "its value", value.type, kind)
        if None in value.type.shape:
            check.fail(operation, "a constant needs static extents")
        if len(value.values) not in (1, element_count(value.type.shape)):
            check.fail(operation, f"{len(value.values)} numbers cannot fill a {value.type}")
        values, element = value.values, value.type.element
    elif isinstance(value, int | float) and isinstance(kind, ScalarType):
        values, element = (value,), kind
    else:
        check.fail(operation, f"{value!r} is not a value of type {kind}")
    if element.is_integer:
        _fits(check, operation, values, element)


def _fits(check: Check, operation: Operation, values: tuple[Any, ...], kind: ScalarType) -> None:
    half = 1 << (kind.bits - 1)
    for value in values:
        if isinstance(value, float):
            check.fail(operation, f"{value} is not a whole number")
        if not -half <= value < 2 * half:
            hint = f"its values lie in [{-half}, {2 * half})"
            check.fail(operation, f"{value} does not fit {kind}", hint)


def _generic_constant(parser: OperationParser, attributes: dict[str, Any]) -> dict[str, Any]:
    if "value" not in attributes:
        parser.fail("arith.constant needs the attribute value")
    return attributes


def _predicate_hint(name: str, predicates: tuple[str, ...]) -> str:
    longer = [known for known in predicates if known[1:] == name]
    if longer:
        return f"did you mean {' or '.join(longer)}?"
    return did_you_mean(name, predicates) or f"it is one of {', '.join(predicates)}"


def _compare(name: str, predicates: tuple[str, ...], kind: Kind) -> Form:
    def read(parser: OperationParser) -> Parts:
        predicate = parser.token
        if parser.kind not in ("word", "string"):
            parser.fail(
                f"expected a predicate, found {parser.found()}",
                f"it is one of {', '.join(predicates)}",
            )
        if predicate.strip('"') not in predicates:
            hint = _predicate_hint(predicate, predicates)
            parser.fail(f"unknown predicate {predicate[:40]}", hint)
        parser.advance()
        parser.expect(",")
        operands = parser.values()
        attributes = flags(parser)
        parser.expect(":")
        result = truth(parser.written_type(*operands))
        return Parts(operands, (result,), {"predicate": predicate.strip('"'), **attributes})

    def write(writer: Writer, operation: Operation) -> str:
        extra = write_flags(writer, operation, ("predicate",))
        values = writer.values(operation.operands)
        kind_text = writer.type(operation.operands[0].type)
        return f" {operation.attributes['predicate']}, {values}{extra} : {kind_text}"

    def rule(check: Check, operation: Operation) -> None:
        predicate = operation.attributes.get("predicate")
        if predicate not in predicates:
            check.fail(
                operation,
                f"unknown predicate {predicate}",
                _predicate_hint(str(predicate), predicates),
            )
        first, second = operation.operands
        require_kind(check, operation, f"%{first.name}", first.type, kind)
        check.same(operation, f"%{second.name}", second.type, first.type)
        check.same(operation, "the result", operation.result.type, truth(first.type))

    def generic(parser: OperationParser, attributes: dict[str, Any]) -> dict[str, Any]:
        number = attributes.get("predicate")
        if not isinstance(number, int) or not 0 <= number < len(predicates):
            parser.fail(f"predicate must be a number below {len(predicates)}")
        return generic_flags(parser, attributes | {"predicate": predicates[number]})

    return Form(name, read, write, rule, 2, generic=generic)


def _read_select(parser: OperationParser) -> Parts:
    operands = parser.values()
    attributes = flags(parser)
    parser.expect(":")
    at = parser.start
    if len(operands) != 3:
        parser.fail("arith.select takes a condition and two values", at=at)
    first = parser.type()
    if parser.accept(","):
        second = parser.written_type(*operands[1:])
        return Parts(operands, (second,), attributes)
    parser.resume(at)
    parser.written_type(*operands[1:])
    return Parts(operands, (first,), attributes)


def _write_select(writer: Writer, operation: Operation) -> str:
    condition, value, _ = operation.operands
    kinds = writer.type(value.type)
    if condition.type != I1:
        kinds = f"{writer.type(condition.type)}, {kinds}"
    return f" {writer.values(operation.operands)}{write_flags(writer, operation)} : {kinds}"


def _select_rule(check: Check, operation: Operation) -> None:
    condition, first, second = operation.operands
    if elements_of(condition.type) != I1:
        check.fail(operation, f"the condition is a {condition.type}, not i1", "compare first")
    if isinstance(condition.type, TensorType):
        check.same(operation, "the condition", condition.type, truth(first.type))
    check.same(operation, f"%{second.name}", second.type, first.type)
    check.same(operation, "the result", operation.result.type, first.type)


_FLOAT = ("addf", "subf", "mulf", "divf", "remf", "maximumf", "minimumf", "maxnumf", "minnumf")
_INTEGER = (
    *("addi", "subi", "muli", "divsi", "divui", "ceildivsi", "ceildivui", "floordivsi"),
    *("remsi", "remui", "andi", "ori", "xori", "shli", "shrsi", "shrui"),
    *("maxsi", "maxui", "minsi", "minui"),
)

FORMS = table(
    [
        *(same(f"arith.{name}", 2, is_float) for name in _FLOAT),
        same("arith.negf", 1, is_float),
        *(same(f"arith.{name}", 2, is_integer) for name in _INTEGER),
        cast("arith.extf", is_float, is_float, 1),
        cast("arith.truncf", is_float, is_float, -1),
        cast("arith.extsi", is_fixed_integer, is_fixed_integer, 1),
        cast("arith.extui", is_fixed_integer, is_fixed_integer, 1),
        cast("arith.trunci", is_fixed_integer, is_fixed_integer, -1),
        cast("arith.sitofp", is_integer, is_float),
        cast("arith.uitofp", is_integer, is_float),
        cast("arith.fptosi", is_float, is_integer),
        cast("arith.fptoui", is_float, is_integer),
        cast("arith.index_cast", is_integer, is_integer),
        cast("arith.index_castui", is_integer, is_integer),
        Form("arith.bitcast", read_cast, write_cast, bitcast_rule, 1, generic=generic_flags),
        _compare("arith.cmpi", INTEGER_PREDICATES, is_integer),
        _compare("arith.cmpf", FLOAT_PREDICATES, is_float),
        Form(
            "arith.constant",
            _read_constant_or_braces,
            _write_constant,
            _constant_rule,
            0,
            generic=_generic_constant,
        ),
        Form("arith.select", _read_select, _write_select, _select_rule, 3, generic=generic_flags),
    ]
)
"""Every operation of the dialect, by name."""
