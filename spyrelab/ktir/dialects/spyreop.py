"""spyreop: the card's own operations, on scalars (slice_reduction: on tensors)."""

from __future__ import annotations

from typing import Any

from spyrelab.ktir.dialects import spyreop_rules as rules
from spyrelab.ktir.dialects.form import Form, generic_flags, read_same, table, write_same
from spyrelab.ktir.floats import float_text
from spyrelab.ktir.ir import Operation, Value
from spyrelab.ktir.parse_operations import OperationParser, Parts
from spyrelab.ktir.types import F32, I32, I64, ScalarType
from spyrelab.ktir.writer import Writer


def _plain(name: str, operands: int) -> Form:
    return Form(
        f"spyreop.{name}", read_same, write_same, rules.scalars, operands, generic=generic_flags
    )


def _integers(name: str, kind: ScalarType) -> Form:
    """An operation whose text has no type."""

    def read(parser: OperationParser) -> Parts:
        operands = parser.values()
        return Parts(operands, [kind], parser.dictionary((), f"spyreop.{name}"))

    def write(writer: Writer, operation: Operation) -> str:
        return f" {writer.values(operation.operands)}{writer.extras(operation, ())}"

    return Form(f"spyreop.{name}", read, write, rules.integers(kind), 2, generic=generic_flags)


def _read_address(parser: OperationParser) -> Parts:
    operands = [parser.value()]
    attributes: dict[str, Any] = {}
    for word in ("base", "stride"):
        parser.expect(word, "write %x base B stride S")
        if parser.kind == "value":
            operands.append(parser.value())
        else:
            attributes[word] = parser.integer("a number or a value")
    attributes |= parser.dictionary((), "spyreop.idx32toaddr")
    return Parts(operands, [I32], attributes)


def _write_address(writer: Writer, operation: Operation) -> str:
    first, *rest = operation.operands
    values = iter(rest)
    text = f" {writer.value(first)}"
    for word in ("base", "stride"):
        literal = operation.attributes.get(word)
        text += f" {word} {writer.value(next(values)) if literal is None else literal}"
    return text + writer.extras(operation, ("base", "stride"))


def _read_softplus(parser: OperationParser) -> Parts:
    operands = [parser.value()]
    attributes: dict[str, Any] = {}
    for word in ("beta", "threshold"):
        parser.expect(word, "write %x beta B threshold T")
        attributes[word] = parser.number(parser.literal(), F32)
    attributes |= parser.dictionary((), "spyreop.softplus")
    parser.expect(":")
    return Parts(operands, [parser.written_type(*operands)], attributes)


def _write_softplus(writer: Writer, operation: Operation) -> str:
    (value,) = operation.operands
    numbers = " ".join(
        f"{word} {float_text(operation.attributes[word], F32)}" for word in ("beta", "threshold")
    )
    extras = writer.extras(operation, ("beta", "threshold"))
    return f" {writer.value(value)} {numbers}{extras} : {writer.type(value.type)}"


def _worded(name: str, words: tuple[str, ...], results: int = 1) -> Form:
    """``%x word %y .. : s``; a word and its operand may be left out at the end."""

    def read(parser: OperationParser) -> Parts:
        operands: list[Value] = [parser.value()]
        for word in words:
            if not parser.accept(word):
                break
            operands.append(parser.value())
        parser.expect(":", f"write %x {' '.join(f'{w} %{w}' for w in words)} : f16")
        kind = parser.written_type(*operands)
        return Parts(operands, [kind] * results)

    def write(writer: Writer, operation: Operation) -> str:
        first, *rest = operation.operands
        named = "".join(f" {w} {writer.value(v)}" for w, v in zip(words, rest, strict=False))
        return f" {writer.value(first)}{named} : {writer.type(first.type)}"

    counts = {"layernormscale": (1, 2), "layernormnorm": (5, 5), "exx2": (1, 1)}[name]
    return Form(
        f"spyreop.{name}",
        read,
        write,
        rules.layer_norm(*counts),
        None,
        results,
        generic=generic_flags,
    )


def _read_arrow(parser: OperationParser) -> Parts:
    operand = parser.value()
    attributes = parser.dictionary(("reduction_kind", "reduction_scope"), "spyreop.slice_reduction")
    parser.expect(":")
    parser.written_type(operand)
    parser.expect("->")
    return Parts([operand], [parser.type()], attributes)


def _write_arrow(writer: Writer, operation: Operation) -> str:
    (value,) = operation.operands
    kinds = f"{writer.type(value.type)} -> {writer.type(operation.result.type)}"
    return f" {writer.value(value)}{writer.extras(operation, ())} : {kinds}"


FORMS = table(
    [
        *(
            _plain(name, 1)
            for name in ("exp", "gelu", "silu", "sigmoid", "sqrt", "rsqrt", "reciprocal")
        ),
        _plain("realdiv", 2),
        _integers("addi32toi32", I32),
        _integers("muli32toi32", I32),
        _integers("addi64toi64", I64),
        Form("spyreop.idx32toaddr", _read_address, _write_address, rules.address),
        Form("spyreop.softplus", _read_softplus, _write_softplus, rules.softplus, 1),
        _worded("exx2", (), 2),
        _worded("layernormscale", ("squares",)),
        _worded("layernormnorm", ("squares", "scale", "weight", "bias")),
        Form("spyreop.exx2_fused", _read_arrow, _write_arrow, rules.fused, 1),
        Form("spyreop.layernormscale_fused", _read_arrow, _write_arrow, rules.fused, 1),
        Form("spyreop.slice_reduction", _read_arrow, _write_arrow, rules.slice_reduction, 1),
    ]
)
"""Every operation of the dialect, by name."""
