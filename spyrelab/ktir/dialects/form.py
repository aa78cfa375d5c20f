"""How one operation is read, written and checked, and the syntaxes that several share."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from spyrelab.ktir.check import Check
from spyrelab.ktir.ir import EnumAttribute, Operation
from spyrelab.ktir.parse_operations import OperationParser, Parts
from spyrelab.ktir.types import I1, ScalarType, TensorType, Type
from spyrelab.ktir.writer import Writer

Read = Callable[[OperationParser], Parts]
Write = Callable[[Writer, Operation], str]
Rule = Callable[[Check, Operation], None]
Convert = Callable[[OperationParser, dict[str, Any]], dict[str, Any]]


@dataclass(frozen=True)
class Form:
    """One row of a dialect's table.

    Parameters
    ----------
    name
        The operation's full name.
    reader, writer
        What stands behind the name in the text.
    rule
        Checks one operation; operand, result and region counts are checked before.
    operands, results, regions
        How many there must be; None where the rule says.
    ends
        For a terminator: the operations whose regions it may end.
    needs
        Attributes that there must be.
    generic
        Converts the attributes of the generic form; None where that is not read.
    """

    name: str
    reader: Read
    writer: Write
    rule: Rule
    operands: int | None = None
    results: int | None = 1
    regions: int | None = 0
    ends: tuple[str, ...] = ()
    needs: tuple[str, ...] = ()
    generic: Convert | None = None

    def read(self, parser: OperationParser) -> Parts:
        """Read what stands behind the operation's name."""
        return self.reader(parser)

    def read_generic(self, parser: OperationParser, parts: Parts) -> Parts:
        """Turn the generic form's attributes into ours."""
        if self.generic is not None:
            parts.attributes = self.generic(parser, parts.attributes)
        return parts

    @property
    def reads_generic(self) -> bool:
        """Whether the generic form is read."""
        return self.generic is not None

    def write(self, writer: Writer, operation: Operation) -> str:
        """What stands behind the operation's name."""
        return self.writer(writer, operation)

    @property
    def is_terminator(self) -> bool:
        """Whether the operation ends a region."""
        return bool(self.ends)


def table(forms: Iterable[Form]) -> Mapping[str, Form]:
    """Forms by name."""
    return {form.name: form for form in forms}


def nothing(check: Check, operation: Operation) -> None:
    """The rule of an operation about which there is nothing more to say."""


_FLAGS = {"fastmath": "fastmath", "overflow": "overflowFlags"}


def flags(parser: OperationParser) -> dict[str, Any]:
    """``fastmath<..>`` or ``overflow<..>`` and a dictionary, all optional."""
    found: dict[str, Any] = {}
    while parser.token in _FLAGS:
        key = parser.token
        parser.advance()
        words: list[str] = []
        parser.expect("<")
        while parser.token != ">":
            words.append(parser.expect_kind("word", "a flag"))
            if not parser.accept(","):
                break
        parser.expect(">")
        found[key] = ",".join(words)
    return found | parser.dictionary() if parser.token == "{" else found


def write_flags(writer: Writer, operation: Operation, known: tuple[str, ...] = ()) -> str:
    """What `flags` reads."""
    if not operation.attributes:
        return ""
    text = "".join(
        f" {key}<{operation.attributes[key]}>" for key in _FLAGS if key in operation.attributes
    )
    return text + writer.extras(operation, (*_FLAGS, *known))


def generic_flags(parser: OperationParser, attributes: dict[str, Any]) -> dict[str, Any]:
    """Flags of the generic form, ``fastmath = #arith.fastmath<..>``."""
    found: dict[str, Any] = {}
    for key, value in attributes.items():
        ours = "overflow" if key == "overflowFlags" else key
        if isinstance(value, EnumAttribute):
            if value.value == "none":
                continue
            value = value.value
        found[ours] = value
    return found


def read_same(parser: OperationParser) -> Parts:
    """``%a, %b [flags] : T``, with one type for operands and result."""
    operands = parser.values()
    attributes = flags(parser) if parser.token != ":" else {}
    parser.expect(":", "give the type behind the operands")
    kind = parser.written_type(*operands)
    return Parts(operands, (kind,), attributes)


def write_same(writer: Writer, operation: Operation) -> str:
    """What `read_same` reads."""
    text = f" {writer.values(operation.operands)}{write_flags(writer, operation)}"
    return f"{text} : {writer.type(operation.operands[0].type)}"


def read_cast(parser: OperationParser) -> Parts:
    """``%a [flags] : T to U``."""
    operand = parser.value()
    attributes = flags(parser)
    parser.expect(":")
    parser.written_type(operand)
    parser.expect("to", "write the type of the result behind 'to'")
    return Parts([operand], [parser.type()], attributes)


def write_cast(writer: Writer, operation: Operation) -> str:
    """What `read_cast` reads."""
    (operand,) = operation.operands
    kinds = f"{writer.type(operand.type)} to {writer.type(operation.result.type)}"
    return f" {writer.value(operand)}{write_flags(writer, operation)} : {kinds}"


def read_values(parser: OperationParser) -> Parts:
    """``[%a, %b : T, U]`` of a terminator."""
    if parser.kind != "value":
        return Parts()
    values = parser.values()
    parser.expect(":", "give the types behind the values")
    parser.written_types(values)
    return Parts(values)


def write_values(writer: Writer, operation: Operation) -> str:
    """What `read_values` reads."""
    return " " + writer.typed(operation.operands) if operation.operands else ""


def elements_of(kind: Type) -> ScalarType | None:
    """Element type of a scalar or tensor; None for other types."""
    if isinstance(kind, ScalarType):
        return kind
    return kind.element if isinstance(kind, TensorType) else None


def like(kind: Type, element: ScalarType) -> Type:
    """The same shape with other elements."""
    return TensorType(kind.shape, element) if isinstance(kind, TensorType) else element


def truth(kind: Type) -> Type:
    """The type of comparing two values of a type."""
    return like(kind, I1)
