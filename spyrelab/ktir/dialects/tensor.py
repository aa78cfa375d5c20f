"""tensor: making, slicing and reshaping tile values."""

from __future__ import annotations

from spyrelab.ktir.dialects import tensor_rules as rules
from spyrelab.ktir.dialects.form import (
    Form,
    generic_flags,
    read_cast,
    read_values,
    table,
    write_cast,
    write_values,
)
from spyrelab.ktir.dialects.lists import read_mixed
from spyrelab.ktir.dialects.slices import PARTS, read_slice, write_slice
from spyrelab.ktir.dialects.tensor_shapes import SHAPE_FORMS
from spyrelab.ktir.ir import Operation, Value
from spyrelab.ktir.parse_operations import OperationParser, Parts
from spyrelab.ktir.types import INDEX, TensorType
from spyrelab.ktir.writer import Writer


def _read_empty(parser: OperationParser) -> Parts:
    parser.expect("(")
    sizes = parser.values(")")
    parser.expect(")")
    parser.expect(":")
    return Parts(sizes, [parser.type()])


def _write_empty(writer: Writer, operation: Operation) -> str:
    return f"({writer.values(operation.operands)}) : {writer.type(operation.result.type)}"


def _bracketed(parser: OperationParser) -> list[Value]:
    parser.expect("[")
    values = parser.values("]")
    parser.expect("]")
    return values


def _read_splat(parser: OperationParser) -> Parts:
    operands = [parser.value()]
    if parser.token == "[":
        operands += _bracketed(parser)
    parser.expect(":")
    return Parts(operands, [parser.type()])


def _write_splat(writer: Writer, operation: Operation) -> str:
    value, *sizes = operation.operands
    extent = f"[{writer.values(sizes)}]" if sizes else ""
    return f" {writer.value(value)}{extent} : {writer.type(operation.result.type)}"


def _read_extract(parser: OperationParser) -> Parts:
    source = parser.value()
    indices = _bracketed(parser)
    parser.expect(":")
    at = parser.start
    kind = parser.written_type(source)
    if not isinstance(kind, TensorType):
        parser.fail(f"a {kind} has no elements to extract", at=at)
    return Parts([source, *indices], [kind.element])


def _write_extract(writer: Writer, operation: Operation) -> str:
    source, *indices = operation.operands
    return f" {writer.value(source)}[{writer.values(indices)}] : {writer.type(source.type)}"


def _read_insert(parser: OperationParser) -> Parts:
    scalar = parser.value()
    parser.expect("into")
    target = parser.value()
    indices = _bracketed(parser)
    parser.expect(":")
    return Parts([scalar, target, *indices], [parser.written_type(target)])


def _write_insert(writer: Writer, operation: Operation) -> str:
    scalar, target, *indices = operation.operands
    place = f"{writer.value(target)}[{writer.values(indices)}]"
    return f" {writer.value(scalar)} into {place} : {writer.type(target.type)}"


def _read_from_elements(parser: OperationParser) -> Parts:
    operands = parser.values(":")
    parser.expect(":")
    return Parts(operands, [parser.type()])


def _write_from_elements(writer: Writer, operation: Operation) -> str:
    return f" {writer.values(operation.operands)} : {writer.type(operation.result.type)}"


def _read_generate(parser: OperationParser) -> Parts:
    sizes = parser.values("{")
    region = parser.scoped_region()
    parser.expect(":")
    return Parts(sizes, [parser.type()], {}, (region,))


def _write_generate(writer: Writer, operation: Operation) -> str:
    sizes = f" {writer.values(operation.operands)}" if operation.operands else ""
    region = writer.region(operation.regions[0])
    return f"{sizes} {region} : {writer.type(operation.result.type)}"


def _read_extract_slice(parser: OperationParser) -> Parts:
    source = parser.value()
    values, attributes = read_slice(parser)
    parser.expect(":")
    parser.written_type(source)
    parser.expect("to")
    return Parts([source, *values], [parser.type()], attributes)


def _write_extract_slice(writer: Writer, operation: Operation) -> str:
    source, *values = operation.operands
    text = f" {writer.value(source)}{write_slice(writer, operation, values)}"
    return f"{text} : {writer.type(source.type)} to {writer.type(operation.result.type)}"


def _read_insert_slice(parser: OperationParser) -> Parts:
    source = parser.value()
    parser.expect("into")
    target = parser.value()
    values, attributes = read_slice(parser)
    parser.expect(":")
    parser.written_type(source)
    parser.expect("into")
    return Parts([source, target, *values], [parser.written_type(target)], attributes)


def _write_insert_slice(writer: Writer, operation: Operation) -> str:
    source, target, *values = operation.operands
    place = f"{writer.value(target)}{write_slice(writer, operation, values)}"
    kinds = f"{writer.type(source.type)} into {writer.type(target.type)}"
    return f" {writer.value(source)} into {place} : {kinds}"


def _read_dim(parser: OperationParser) -> Parts:
    source = parser.value()
    parser.expect(",")
    index = parser.value()
    parser.expect(":")
    parser.written_type(source)
    return Parts([source, index], [INDEX])


def _write_dim(writer: Writer, operation: Operation) -> str:
    return f" {writer.values(operation.operands)} : {writer.type(operation.operands[0].type)}"


def _read_concat(parser: OperationParser) -> Parts:
    parser.expect("dim")
    parser.expect("(")
    dimension = parser.integer("a dimension")
    parser.expect(")")
    operands = parser.values()
    parser.expect(":")
    parser.expect("(")
    parser.written_types(operands)
    parser.expect(")")
    parser.expect("->")
    return Parts(operands, [parser.type()], {"dim": dimension})


def _write_concat(writer: Writer, operation: Operation) -> str:
    kinds = writer.types(value.type for value in operation.operands)
    head = f" dim({operation.attributes['dim']}) {writer.values(operation.operands)}"
    return f"{head} : ({kinds}) -> {writer.type(operation.result.type)}"


def _read_pad(parser: OperationParser) -> Parts:
    source = parser.value()
    parser.accept("nofold")
    values: list[Value] = []
    parser.expect("low")
    low = read_mixed(parser, values)
    parser.expect("high")
    high = read_mixed(parser, values)
    region = parser.scoped_region()
    parser.expect(":")
    parser.written_type(source)
    parser.expect("to")
    attributes = {"low": low, "high": high}
    return Parts([source, *values], [parser.type()], attributes, (region,))


def _write_pad(writer: Writer, operation: Operation) -> str:
    source, *values = operation.operands
    rest = iter(values)
    low = writer.mixed(operation.attributes["low"], rest)
    high = writer.mixed(operation.attributes["high"], rest)
    region = writer.region(operation.regions[0])
    kinds = f"{writer.type(source.type)} to {writer.type(operation.result.type)}"
    return f" {writer.value(source)} low{low} high{high} {region} : {kinds}"


FORMS = table(
    [
        Form("tensor.empty", _read_empty, _write_empty, rules.empty, generic=generic_flags),
        Form("tensor.splat", _read_splat, _write_splat, rules.splat, generic=generic_flags),
        Form("tensor.extract", _read_extract, _write_extract, rules.extract, generic=generic_flags),
        Form("tensor.insert", _read_insert, _write_insert, rules.insert, generic=generic_flags),
        Form(
            "tensor.from_elements",
            _read_from_elements,
            _write_from_elements,
            rules.from_elements,
            generic=generic_flags,
        ),
        Form(
            "tensor.generate",
            _read_generate,
            _write_generate,
            rules.generate,
            regions=1,
            generic=generic_flags,
        ),
        Form(
            "tensor.extract_slice",
            _read_extract_slice,
            _write_extract_slice,
            rules.extract_slice,
            needs=PARTS,
        ),
        Form(
            "tensor.insert_slice",
            _read_insert_slice,
            _write_insert_slice,
            rules.insert_slice,
            needs=PARTS,
        ),
        Form("tensor.cast", read_cast, write_cast, rules.cast, 1, generic=generic_flags),
        Form("tensor.dim", _read_dim, _write_dim, rules.dim, 2, generic=generic_flags),
        Form(
            "tensor.concat",
            _read_concat,
            _write_concat,
            rules.concat,
            needs=("dim",),
            generic=generic_flags,
        ),
        Form("tensor.pad", _read_pad, _write_pad, rules.pad, regions=1, needs=("low", "high")),
        Form(
            "tensor.yield",
            read_values,
            write_values,
            rules.nothing,
            1,
            0,
            ends=("tensor.generate", "tensor.pad"),
            generic=generic_flags,
        ),
        *SHAPE_FORMS,
    ]
)
"""Every operation of the dialect, by name."""
