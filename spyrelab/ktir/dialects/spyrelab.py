"""spyrelab: what a Triton kernel does that KTIR has no operation for.

::

    spyrelab.turn %k : index                  // wait until k turns are done
    spyrelab.turn_done
    spyrelab.barrier                          // all cores of the launch
    %sum = spyrelab.scan ins(%x : tensor<4x64xf32>) axis = 1 reverse {
    ^bb0(%before: f32, %own: f32):
      %s = arith.addf %before, %own : f32
      linalg.yield %s : f32
    }
    %y = spyrelab.take %x[%at] axis = 0 : tensor<8x4xf16>, tensor<3x4xi32> -> tensor<3x4xf16>
    %h = spyrelab.histogram %k mask(%m) : tensor<64xi32>, tensor<64xi1> -> tensor<16xi32>
    spyrelab.print "x" %i, %x {hex, program = 1} : index, tensor<4xi32>
    spyrelab.assert %holds, "x is negative" : tensor<4xi1>

Memory at computed offsets: `spyrelab.ktir.dialects.spyrelab_memory`.
"""

from __future__ import annotations

from spyrelab.ktir.dialects import spyrelab_rules as rules
from spyrelab.ktir.dialects.form import Form, Read, Rule, Write, generic_flags, table
from spyrelab.ktir.dialects.spyrelab_memory import ELEMENT_FORMS
from spyrelab.ktir.ir import Operation, quote
from spyrelab.ktir.parse_operations import OperationParser, Parts
from spyrelab.ktir.writer import Writer

_PRINT_EXTRAS = ("hex", "program", "unsigned")


def _read_turn(parser: OperationParser) -> Parts:
    value = parser.value()
    parser.expect(":")
    parser.written_type(value)
    return Parts([value])


def _write_turn(writer: Writer, operation: Operation) -> str:
    return f" {writer.typed(operation.operands)}"


def _read_alone(parser: OperationParser) -> Parts:
    return Parts()


def _write_alone(writer: Writer, operation: Operation) -> str:
    return writer.extras(operation, ())


def _read_axis(parser: OperationParser) -> int:
    parser.expect("axis", "write axis = 0")
    parser.expect("=")
    return parser.integer("an axis")


def _read_scan(parser: OperationParser) -> Parts:
    parser.expect("ins")
    parser.expect("(")
    ins = parser.typed_values()
    parser.expect(")")
    attributes: dict[str, object] = {"axis": _read_axis(parser)}
    if parser.accept("reverse"):
        attributes["reverse"] = True
    region = parser.scoped_region()
    return Parts(ins, [value.type for value in ins], attributes, (region,))


def _write_scan(writer: Writer, operation: Operation) -> str:
    text = f" ins({writer.typed(operation.operands)}) axis = {operation.attributes['axis']}"
    text += " reverse" if operation.attributes.get("reverse") else ""
    return f"{text} {writer.region(operation.regions[0])}"


def _read_take(parser: OperationParser) -> Parts:
    source = parser.value()
    parser.expect("[")
    operands = [source, parser.value()]
    parser.expect("]")
    axis = _read_axis(parser)
    parser.expect(":")
    parser.written_types(operands)
    parser.expect("->")
    return Parts(operands, [parser.type()], {"axis": axis})


def _write_take(writer: Writer, operation: Operation) -> str:
    source, indices = operation.operands
    text = f" {writer.value(source)}[{writer.value(indices)}] axis = {operation.attributes['axis']}"
    kinds = writer.types(value.type for value in operation.operands)
    return f"{text} : {kinds} -> {writer.type(operation.result.type)}"


def _read_histogram(parser: OperationParser) -> Parts:
    operands = [parser.value()]
    if parser.accept("mask"):
        parser.expect("(")
        operands.append(parser.value())
        parser.expect(")")
    parser.expect(":")
    parser.written_types(operands)
    parser.expect("->")
    return Parts(operands, [parser.type()])


def _write_histogram(writer: Writer, operation: Operation) -> str:
    source, *masks = operation.operands
    text = f" {writer.value(source)}"
    text += "".join(f" mask({writer.value(mask)})" for mask in masks)
    kinds = writer.types(value.type for value in operation.operands)
    return f"{text} : {kinds} -> {writer.type(operation.result.type)}"


def _read_print(parser: OperationParser) -> Parts:
    text = parser.string("the text to print")
    values = parser.values() if parser.kind == "value" else []
    attributes = parser.dictionary(_PRINT_EXTRAS, "spyrelab.print")
    if values:
        parser.expect(":")
        parser.written_types(values)
    return Parts(values, (), {"text": text, **attributes})


def _write_print(writer: Writer, operation: Operation) -> str:
    text = f" {quote(operation.attributes['text'])}"
    extras = writer.extras(operation, ("text",))
    if not operation.operands:
        return text + extras
    kinds = writer.types(value.type for value in operation.operands)
    return f"{text} {writer.values(operation.operands)}{extras} : {kinds}"


def _read_assert(parser: OperationParser) -> Parts:
    condition = parser.value()
    parser.expect(",")
    message = parser.string("what is wrong otherwise")
    parser.expect(":")
    parser.written_type(condition)
    return Parts([condition], (), {"message": message})


def _write_assert(writer: Writer, operation: Operation) -> str:
    (condition,) = operation.operands
    message = quote(operation.attributes["message"])
    return f" {writer.value(condition)}, {message} : {writer.type(condition.type)}"


def _plain(
    name: str,
    reader: Read,
    writer: Write,
    rule: Rule,
    operands: int | None,
    results: int | None = 0,
    regions: int = 0,
    needs: tuple[str, ...] = (),
) -> Form:
    full = f"spyrelab.{name}"
    return Form(
        full, reader, writer, rule, operands, results, regions, needs=needs, generic=generic_flags
    )


FORMS = table(
    [
        *ELEMENT_FORMS,
        _plain("turn", _read_turn, _write_turn, rules.turn, 1),
        _plain("turn_done", _read_alone, _write_alone, rules.nothing, 0),
        _plain("barrier", _read_alone, _write_alone, rules.nothing, 0),
        _plain("scan", _read_scan, _write_scan, rules.scan, None, None, 1, ("axis",)),
        _plain("take", _read_take, _write_take, rules.take, 2, 1, needs=("axis",)),
        _plain("histogram", _read_histogram, _write_histogram, rules.histogram, None, 1),
        _plain("print", _read_print, _write_print, rules.print_values, None, needs=("text",)),
        _plain("assert", _read_assert, _write_assert, rules.assertion, 1, needs=("message",)),
    ]
)
"""Every operation of the dialect, by name."""
