"""linalg: named operations on whole tiles, and the operations with a region."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from spyrelab.ktir.affine import AffineMap
from spyrelab.ktir.dialects import linalg_rules as rules
from spyrelab.ktir.dialects.combiners import read_shorthand, write_shorthand
from spyrelab.ktir.dialects.form import Form, generic_flags, read_values, table, write_values
from spyrelab.ktir.dialects.lists import read_integers, write_integers
from spyrelab.ktir.ir import Operation, Region, Value
from spyrelab.ktir.parse_operations import OperationParser, Parts
from spyrelab.ktir.types import INDEX, Type
from spyrelab.ktir.writer import Writer

GENERIC = ("indexing_maps", "iterator_types")


def _read_groups(parser: OperationParser) -> tuple[list[Value], list[Value]]:
    """``ins(..) outs(..)``; either may be missing or empty."""
    groups: list[list[Value]] = []
    for word in ("ins", "outs"):
        values: list[Value] = []
        if parser.accept(word):
            parser.expect("(")
            values = parser.typed_values()
            parser.expect(")")
        groups.append(values)
    return groups[0], groups[1]


def _write_groups(writer: Writer, operation: Operation) -> str:
    count = operation.attributes["inputs"]
    ins, outs = operation.operands[:count], operation.operands[count:]
    text = f" ins({writer.typed(ins)})" if ins else ""
    return f"{text} outs({writer.typed(outs)})"


def _results(parser: OperationParser, outs: list[Value]) -> list[Type]:
    """Written result types, or those of the outputs."""
    if parser.accept("->"):
        return parser.result_types()
    return [value.type for value in outs]


def _named(name: str, rule: Callable[..., None]) -> Form:
    full = f"linalg.{name}"

    def read(parser: OperationParser) -> Parts:
        attributes = parser.dictionary((), full)
        ins, outs = _read_groups(parser)
        types = _results(parser, outs)
        return Parts([*ins, *outs], types, {"inputs": len(ins), **attributes})

    def write(writer: Writer, operation: Operation) -> str:
        extras = writer.extras(operation, ("inputs",))
        kinds = writer.result_types([value.type for value in operation.results])
        return f"{extras}{_write_groups(writer, operation)} -> {kinds}"

    return Form(full, read, write, rule, None, 1, needs=("inputs",))


def _read_list(parser: OperationParser, word: str) -> tuple[int, ...]:
    parser.expect(word)
    parser.expect("=")
    return read_integers(parser)


def _arranged(name: str, word: str, rule: Callable[..., None]) -> Form:
    """broadcast and transpose: one list of dimensions behind the operands."""
    full = f"linalg.{name}"

    def read(parser: OperationParser) -> Parts:
        ins, outs = _read_groups(parser)
        attributes: dict[str, Any] = {"inputs": len(ins), word: _read_list(parser, word)}
        attributes |= parser.dictionary((), full)
        return Parts([*ins, *outs], _results(parser, outs), attributes)

    def write(writer: Writer, operation: Operation) -> str:
        listed = f" {word} = {write_integers(operation.attributes[word])}"
        return (
            _write_groups(writer, operation) + listed + writer.extras(operation, ("inputs", word))
        )

    return Form(full, read, write, rule, 2, 1, needs=("inputs", word))


def _argument_region(parser: OperationParser) -> Region:
    """``(%in: s, %acc: s) { .. }``."""
    outer = parser.open_scope()
    arguments = parser.arguments()
    region = parser.region(arguments, labelled=False)
    parser.close_scope(outer)
    return region


def _write_argument_region(writer: Writer, region: Region) -> str:
    outer = writer.scoped()
    text = f" ({writer.arguments(region.arguments)}) "
    text += writer.region(region, label=False, bound=True)
    writer.restore(outer)
    return text


def _read_reduce(parser: OperationParser) -> Parts:
    combiner = read_shorthand(parser)
    ins, outs = _read_groups(parser)
    dimensions = _read_list(parser, "dimensions")
    attributes = {"inputs": len(ins), "dimensions": dimensions}
    if combiner is None:
        region = _argument_region(parser)
    else:
        region = combiner.region(parser, ins, outs, accumulate=True)
    return Parts([*ins, *outs], _results(parser, outs), attributes, (region,))


def _write_reduce(writer: Writer, operation: Operation) -> str:
    (region,) = operation.regions
    shorthand = write_shorthand(writer, operation, accumulate=True)
    dimensions = f" dimensions = {write_integers(operation.attributes['dimensions'])}"
    text = f"{shorthand or ''}{_write_groups(writer, operation)}{dimensions}"
    return text + ("" if shorthand else _write_argument_region(writer, region))


def _read_map(parser: OperationParser) -> Parts:
    combiner = read_shorthand(parser)
    ins, outs = _read_groups(parser)
    if combiner is None:
        region = _argument_region(parser)
    else:
        region = combiner.region(parser, ins, outs, accumulate=False)
    types = _results(parser, outs)
    return Parts([*ins, *outs], types, {"inputs": len(ins)}, (region,))


def _write_map(writer: Writer, operation: Operation) -> str:
    (region,) = operation.regions
    shorthand = write_shorthand(writer, operation, accumulate=False)
    text = f"{shorthand or ''}{_write_groups(writer, operation)}"
    return text + ("" if shorthand else _write_argument_region(writer, region))


def _read_generic(parser: OperationParser) -> Parts:
    at = parser.start
    attributes = parser.dictionary((*GENERIC, "doc", "library_call"), "linalg.generic")
    for key in GENERIC:
        if not isinstance(attributes.get(key), tuple):
            parser.fail(f"linalg.generic needs a list {key}", f"write {key} = [..]", at)
    if not all(isinstance(m, AffineMap) for m in attributes["indexing_maps"]):
        parser.fail("indexing_maps must hold affine maps", at=at)
    iterators = attributes["iterator_types"]
    attributes["iterator_types"] = tuple(getattr(i, "value", i) for i in iterators)
    ins, outs = _read_groups(parser)
    attributes["inputs"] = len(ins)
    if parser.accept("attrs"):
        parser.expect("=")
        attributes["attrs"] = parser.dictionary()
    region = parser.scoped_region()
    types = parser.result_types() if parser.accept("->") else []
    return Parts([*ins, *outs], types, attributes, (region,))


def _write_generic(writer: Writer, operation: Operation) -> str:
    attributes = operation.attributes
    shown = {key: attributes[key] for key in (*GENERIC, "doc", "library_call") if key in attributes}
    text = writer.fitted("", list(writer.entries(shown)), "") + _write_groups(writer, operation)
    if attributes.get("attrs"):
        text += f" attrs = {writer.attribute(attributes['attrs'])}"
    kinds = writer.result_types([value.type for value in operation.results])
    return f"{text} {writer.region(operation.regions[0])} -> {kinds}"


def _read_index(parser: OperationParser) -> Parts:
    dimension = parser.integer("a loop number")
    parser.expect(":")
    parser.expect("index")
    return Parts((), (INDEX,), {"dim": dimension})


def _write_index(writer: Writer, operation: Operation) -> str:
    return f" {operation.attributes['dim']} : index"


FORMS = table(
    [
        *(_named(name, rules.contraction(spec)) for name, spec in rules.CONTRACTIONS.items()),
        *(
            _named(name, rules.elementwise(operands))
            for name, operands in rules.ELEMENTWISE.items()
        ),
        _named("fill", rules.fill),
        _arranged("broadcast", "dimensions", rules.broadcast),
        _arranged("transpose", "permutation", rules.transpose),
        Form(
            "linalg.reduce",
            _read_reduce,
            _write_reduce,
            rules.reduce,
            None,
            None,
            1,
            needs=("inputs", "dimensions"),
        ),
        Form(
            "linalg.map", _read_map, _write_map, rules.pointwise_map, None, 1, 1, needs=("inputs",)
        ),
        Form(
            "linalg.generic",
            _read_generic,
            _write_generic,
            rules.generic,
            None,
            None,
            1,
            needs=("inputs", *GENERIC),
        ),
        Form("linalg.index", _read_index, _write_index, rules.index, 0, needs=("dim",)),
        Form(
            "linalg.yield",
            read_values,
            write_values,
            rules.nothing,
            results=0,
            ends=("linalg.generic", "linalg.reduce", "linalg.map", "spyrelab.scan"),
            generic=generic_flags,
        ),
    ]
)
"""Every operation of the dialect, by name."""
