"""scf: loops and branches."""

from __future__ import annotations

from spyrelab.ktir.dialects import scf_rules as rules
from spyrelab.ktir.dialects.form import (
    Form,
    generic_flags,
    read_values,
    table,
    write_values,
)
from spyrelab.ktir.ir import Operation, Value
from spyrelab.ktir.parse_operations import OperationParser, Parts
from spyrelab.ktir.types import INDEX
from spyrelab.ktir.writer import Writer

_LOOPS = ("scf.for", "scf.if", "scf.while")


def _assignments(parser: OperationParser) -> tuple[list[tuple[str, int]], list[Value]]:
    """``(%a = %x, ..)``: the new names, which nothing defines yet, and the values."""
    names: list[tuple[str, int]] = []
    values: list[Value] = []
    parser.expect("(")
    while parser.token != ")":
        names.append(parser.fresh_name())
        parser.expect("=")
        values.append(parser.value())
        if not parser.accept(","):
            break
    parser.expect(")")
    return names, values


def _write_assignments(writer: Writer, names: list[Value], values: list[Value]) -> str:
    pairs = zip([writer.value(v) for v in values], names, strict=True)
    return ", ".join(f"{writer.bind(name)} = {value}" for value, name in pairs)


def _read_for(parser: OperationParser) -> Parts:
    name, at = parser.fresh_name()
    parser.expect("=")
    lower = parser.value("the lower bound")
    parser.expect("to")
    upper = parser.value("the upper bound")
    parser.expect("step")
    step = parser.value("the step")
    names: list[tuple[str, int]] = []
    inits: list[Value] = []
    types = []
    if parser.accept("iter_args"):
        names, inits = _assignments(parser)
        parser.expect("->", "write the types of the carried values")
        types_at = parser.start
        types = parser.result_types()
        if len(types) != len(inits):
            parser.fail(f"{len(inits)} carried values, but {len(types)} types", at=types_at)
    kind = lower.type
    if parser.accept(":"):
        kind = parser.written_type(lower, upper, step)
    outer = parser.open_scope()
    induction = parser.define(name, kind, at)
    carried = [parser.define(n, t, a) for (n, a), t in zip(names, types, strict=True)]
    region = parser.region([induction, *carried], "scf.yield", labelled=False)
    parser.close_scope(outer)
    attributes = parser.dictionary((), "scf.for")
    return Parts([lower, upper, step, *inits], types, attributes, (region,))


def _write_for(writer: Writer, operation: Operation) -> str:
    lower, upper, step, *inits = operation.operands
    (region,) = operation.regions
    induction, *carried = region.arguments
    bounds = f"{writer.value(lower)} to {writer.value(upper)} step {writer.value(step)}"
    outer = writer.scoped()
    text = f" {writer.bind(induction)} = {bounds}"
    if inits:
        kinds = writer.types(value.type for value in carried)
        text += f" iter_args({_write_assignments(writer, carried, inits)}) -> ({kinds})"
    if induction.type != INDEX:
        text += f" : {induction.type}"
    text += f" {writer.region(region, label=False, bound=True, implicit='scf.yield')}"
    writer.restore(outer)
    return text + writer.extras(operation, ())


def _read_if(parser: OperationParser) -> Parts:
    condition = parser.value("the condition")
    types = parser.result_types() if parser.accept("->") else []
    regions = [parser.scoped_region("scf.yield", labelled=False)]
    if parser.accept("else"):
        regions.append(parser.scoped_region("scf.yield", labelled=False))
    attributes = parser.dictionary((), "scf.if")
    return Parts([condition], types, attributes, tuple(regions))


def _write_if(writer: Writer, operation: Operation) -> str:
    text = f" {writer.value(operation.operands[0])}"
    if operation.results:
        text += f" -> ({writer.types(value.type for value in operation.results)})"
    regions = [writer.region(region, implicit="scf.yield") for region in operation.regions]
    return f"{text} {' else '.join(regions)}{writer.extras(operation, ())}"


def _read_while(parser: OperationParser) -> Parts:
    names: list[tuple[str, int]] = []
    inits: list[Value] = []
    if parser.token == "(":
        names, inits = _assignments(parser)
    parser.expect(":")
    at = parser.start
    before_types = parser.result_types()
    if len(before_types) != len(inits):
        parser.fail(f"{len(inits)} carried values, but {len(before_types)} types", at=at)
    parser.expect("->")
    types = parser.result_types()
    outer = parser.open_scope()
    carried = [parser.define(n, t, a) for (n, a), t in zip(names, before_types, strict=True)]
    before = parser.region(carried, labelled=False)
    parser.close_scope(outer)
    parser.expect("do")
    after = parser.scoped_region("scf.yield")
    attributes = {}
    if parser.accept("attributes"):
        attributes = parser.dictionary((), "scf.while")
    return Parts(inits, types, attributes, (before, after))


def _write_while(writer: Writer, operation: Operation) -> str:
    before, after = operation.regions
    inits = list(operation.operands)
    outer = writer.scoped()
    assigned = _write_assignments(writer, list(before.arguments), inits)
    text = f" ({assigned})" if inits else ""
    kinds = writer.types(value.type for value in operation.operands)
    text += f" : ({kinds}) -> ({writer.types(value.type for value in operation.results)})"
    text += f" {writer.region(before, label=False, bound=True)} do "
    writer.restore(outer)
    text += writer.region(after, implicit="scf.yield")
    extras = writer.extras(operation, ())
    return text + (f" attributes{extras}" if extras else "")


def _read_condition(parser: OperationParser) -> Parts:
    parser.expect("(")
    condition = parser.value("the condition")
    parser.expect(")")
    rest = read_values(parser)
    return Parts([condition, *rest.operands])


def _write_condition(writer: Writer, operation: Operation) -> str:
    condition, *values = operation.operands
    tail = f" {writer.typed(values)}" if values else ""
    return f"({writer.value(condition)}){tail}"


FORMS = table(
    [
        Form("scf.for", _read_for, _write_for, rules.for_loop, None, None, 1),
        Form("scf.if", _read_if, _write_if, rules.branch, 1, None, None),
        Form("scf.while", _read_while, _write_while, rules.while_loop, None, None, 2),
        Form(
            "scf.yield",
            read_values,
            write_values,
            rules.nothing,
            results=0,
            ends=_LOOPS,
            generic=generic_flags,
        ),
        Form(
            "scf.condition",
            _read_condition,
            _write_condition,
            rules.nothing,
            results=0,
            ends=("scf.while",),
            generic=generic_flags,
        ),
    ]
)
"""Loops and branches of the dialect, by name; parallel loops are in `scf_parallel`."""
