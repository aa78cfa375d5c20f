"""tensor operations that give the same elements another shape."""

from __future__ import annotations

from typing import Any

from spyrelab.ktir.dialects import tensor_shape_rules as rules
from spyrelab.ktir.dialects.form import Form, generic_flags
from spyrelab.ktir.dialects.lists import read_groups, read_mixed, write_groups
from spyrelab.ktir.ir import Operation, Value
from spyrelab.ktir.parse_operations import OperationParser, Parts
from spyrelab.ktir.writer import Writer


def _read_expand(parser: OperationParser) -> Parts:
    source = parser.value()
    attributes: dict[str, Any] = {"reassociation": read_groups(parser)}
    values: list[Value] = []
    if parser.accept("output_shape"):
        attributes["output_shape"] = read_mixed(parser, values)
    return _read_into(parser, source, values, attributes)


def _read_into(
    parser: OperationParser, source: Value, values: list[Value], attributes: dict[str, Any]
) -> Parts:
    parser.expect(":")
    parser.written_type(source)
    parser.expect("into")
    return Parts([source, *values], [parser.type()], attributes)


def _write_expand(writer: Writer, operation: Operation) -> str:
    source, *values = operation.operands
    text = f" {writer.value(source)} {write_groups(operation.attributes['reassociation'])}"
    if "output_shape" in operation.attributes:
        shape = writer.mixed(operation.attributes["output_shape"], iter(values))
        text += f" output_shape {shape}"
    return f"{text} : {writer.type(source.type)} into {writer.type(operation.result.type)}"


def _read_collapse(parser: OperationParser) -> Parts:
    source = parser.value()
    attributes = {"reassociation": read_groups(parser)}
    return _read_into(parser, source, [], attributes)


def _read_reshape(parser: OperationParser) -> Parts:
    source = parser.value()
    parser.expect("(")
    shape = parser.value("a tensor that holds the shape")
    parser.expect(")")
    parser.expect(":")
    parser.expect("(")
    parser.written_types([source, shape])
    parser.expect(")")
    parser.expect("->")
    return Parts([source, shape], [parser.type()])


def _write_reshape(writer: Writer, operation: Operation) -> str:
    source, shape = operation.operands
    kinds = writer.types(value.type for value in operation.operands)
    head = f" {writer.value(source)}({writer.value(shape)})"
    return f"{head} : ({kinds}) -> {writer.type(operation.result.type)}"


SHAPE_FORMS = (
    Form(
        "tensor.expand_shape", _read_expand, _write_expand, rules.expand, needs=("reassociation",)
    ),
    Form(
        "tensor.collapse_shape",
        _read_collapse,
        _write_expand,
        rules.collapse,
        1,
        needs=("reassociation",),
    ),
    Form("tensor.reshape", _read_reshape, _write_reshape, rules.reshape, 2, generic=generic_flags),
)
"""Rows of the tensor dialect's table."""
