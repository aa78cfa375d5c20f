"""spyrelab: single elements of memory at computed offsets, and what many cores may update.

::

    %x = spyrelab.gather %view[%at] mask(%m)
           : memref<?xf16>, tensor<4x8xi32>, tensor<4x8xi1> -> tensor<4x8xf16>
    %rows = spyrelab.gather %view[%first] row(%stride, 64, %limit)
           : memref<?xf16>, tensor<4xi32>, index, index -> tensor<4x64xf16>
    spyrelab.scatter %x, %view[%at] : tensor<4x8xf16>, memref<?xf16>, tensor<4x8xi32>
    %old = spyrelab.atomic_rmw fadd %x, %view[%at]
           : tensor<4xf32>, memref<?xf32>, tensor<4xi32> -> tensor<4xf32>
    %seen = spyrelab.atomic_cas %expected, %new, %view[%at]
           : tensor<1xi32>, tensor<1xi32>, memref<?xi32>, tensor<1xi32> -> tensor<1xi32>

Offsets count elements from the coordinate zero of the view.  Masked elements read as zero and
are not written; so are elements outside the view, which the sanitizer reports.
"""

from __future__ import annotations

from typing import Any

from spyrelab.ktir.dialects import spyrelab_memory_rules as rules
from spyrelab.ktir.dialects.form import Form, generic_flags
from spyrelab.ktir.element_access import STORED, element_access
from spyrelab.ktir.ir import Operation, Value
from spyrelab.ktir.parse_operations import OperationParser, Parts
from spyrelab.ktir.writer import Writer


def _form(name: str, has_result: bool) -> Form:
    full = f"spyrelab.{name}"
    stored, has_kind = STORED[full], name == "atomic_rmw"

    def read(parser: OperationParser) -> Parts:
        attributes: dict[str, Any] = {}
        if has_kind:
            attributes["kind"] = parser.expect_kind("word", "what to do, such as add or fadd")
        operands: list[Value] = []
        for _ in range(stored):
            operands.append(parser.value())
            parser.expect(",")
        operands.append(parser.value("a view"))
        parser.expect("[", "write %view[%offsets]")
        operands.append(parser.value("a tensor of offsets"))
        parser.expect("]")
        if parser.accept("row"):
            parser.expect("(", "write row(%stride, 64, %limit)")
            operands.append(parser.value())
            parser.expect(",")
            attributes["extent"] = parser.integer("the number of elements of a row")
            parser.expect(",")
            operands.append(parser.value())
            parser.expect(")")
        if parser.accept("mask"):
            parser.expect("(")
            operands.append(parser.value())
            parser.expect(")")
        attributes |= parser.dictionary((), full)
        parser.expect(":", "give the types of all operands")
        parser.written_types(operands)
        types = []
        if has_result:
            parser.expect("->")
            types.append(parser.type())
        return Parts(operands, types, attributes)

    def write(writer: Writer, operation: Operation) -> str:
        access = element_access(operation, operation.operands)
        text = f" {operation.attributes['kind']}" if has_kind else ""
        values = "".join(f"{writer.value(value)}, " for value in access.values)
        text += f" {values}{writer.value(access.view)}[{writer.value(access.offsets)}]"
        if access.stride is not None and access.limit is not None:
            extent = operation.attributes["extent"]
            text += f" row({writer.value(access.stride)}, {extent}, {writer.value(access.limit)})"
        if access.mask is not None:
            text += f" mask({writer.value(access.mask)})"
        text += writer.extras(operation, ("extent", "kind"))
        text += f" : {writer.types(value.type for value in operation.operands)}"
        return text + (f" -> {writer.type(operation.result.type)}" if has_result else "")

    rule = rules.RULES[full]
    needs = ("kind",) if has_kind else ()
    results = int(has_result)
    return Form(full, read, write, rule, None, results, needs=needs, generic=generic_flags)


ELEMENT_FORMS = (
    _form("gather", True),
    _form("scatter", False),
    _form("atomic_rmw", True),
    _form("atomic_cas", True),
)
"""Every operation on single elements."""
