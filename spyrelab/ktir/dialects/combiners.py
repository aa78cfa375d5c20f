"""The short form ``linalg.reduce { arith.addf }`` of a region with one operation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from spyrelab.ktir.dialects.form import elements_of
from spyrelab.ktir.ir import Operation, Position, Region, Value
from spyrelab.ktir.parse_operations import OperationParser
from spyrelab.ktir.types import Type
from spyrelab.ktir.writer import Writer


@dataclass(frozen=True)
class Combiner:
    """A named operation that stands for a whole region."""

    name: str
    attributes: dict[str, Any]
    at: int

    def region(
        self, parser: OperationParser, ins: list[Value], outs: list[Value], accumulate: bool
    ) -> Region:
        """The region: ``op(acc, in)`` of a reduction, ``op(in, ..)`` of a map."""
        if not ins or (accumulate and len(ins) + len(outs) != 2):
            parser.fail(
                f"{{ {self.name} }} stands for one input and one output",
                "write the region out",
                self.at,
            )
        names = ["in"] if accumulate else [f"in_{i}" if i else "in" for i in range(len(ins))]
        arguments = [
            Value(name, self._element(parser, value.type))
            for name, value in zip(names, ins, strict=True)
        ]
        if accumulate:
            arguments.append(Value("acc", self._element(parser, outs[0].type)))
        position = parser.position(self.at)
        result = Value("result", arguments[-1].type)
        operands = tuple(reversed(arguments)) if accumulate else tuple(arguments)
        body = Operation(self.name, operands, (result,), dict(self.attributes), position=position)
        return Region(tuple(arguments), [body, _yield(result, position)])

    def _element(self, parser: OperationParser, kind: Type) -> Type:
        element = elements_of(kind)
        if element is None:
            parser.fail(f"a {kind} has no elements to combine", at=self.at)
        return element


def _yield(value: Value, position: Position) -> Operation:
    return Operation("linalg.yield", (value,), position=position)


def read_shorthand(parser: OperationParser) -> Combiner | None:
    """``{ op }`` if it stands here."""
    if parser.token != "{":
        return None
    parser.advance()
    at = parser.start
    name = parser.expect_kind("word", "the name of an operation")
    parser.form(name, at)
    attributes = parser.dictionary()
    parser.expect("}")
    return Combiner(name, attributes, at)


def write_shorthand(writer: Writer, operation: Operation, accumulate: bool) -> str | None:
    """`` { op }`` if the region is exactly what the short form means."""
    (region,) = operation.regions
    arguments = region.arguments
    if len(region.operations) != 2 or (accumulate and len(arguments) != 2) or not arguments:
        return None
    body, last = region.operations
    wanted = tuple(reversed(arguments)) if accumulate else arguments
    plain = (
        body.operands == wanted
        and last.name == "linalg.yield"
        and len(body.results) == 1
        and last.operands == body.results
        and not body.regions
        and body.result.type == arguments[-1].type
        and len({a.type for a in arguments}) == 1
    )
    if not plain or body.name.partition(".")[0] not in ("arith", "math"):
        return None
    if "predicate" in body.attributes:
        return None
    return f" {{ {body.name}{writer.extras(body, ())} }}"
