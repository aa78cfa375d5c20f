"""memref: a part of a view."""

from __future__ import annotations

from spyrelab.ktir.dialects import tensor_rules as rules
from spyrelab.ktir.dialects.form import Form, table
from spyrelab.ktir.dialects.slices import PARTS, read_slice, write_slice
from spyrelab.ktir.ir import Operation
from spyrelab.ktir.parse_operations import OperationParser, Parts
from spyrelab.ktir.writer import Writer


def _read_subview(parser: OperationParser) -> Parts:
    source = parser.value()
    values, attributes = read_slice(parser)
    parser.expect(":")
    parser.written_type(source)
    parser.expect("to")
    return Parts([source, *values], [parser.type()], attributes)


def _write_subview(writer: Writer, operation: Operation) -> str:
    source, *values = operation.operands
    text = f" {writer.value(source)}{write_slice(writer, operation, values)}"
    return f"{text} : {writer.type(source.type)} to {writer.type(operation.result.type)}"


FORMS = table([Form("memref.subview", _read_subview, _write_subview, rules.subview, needs=PARTS)])
"""Every operation of the dialect, by name."""
