"""ktdp.inter_tile_*: values that cores hand to each other.

Gather, scatter, reduce_scatter and all_to_all have no public syntax; they are spelled
like consume and reduce with ``*_dimensions`` lists.
"""

from __future__ import annotations

from typing import Any

from spyrelab.ktir.dialects import collectives_rules as rules
from spyrelab.ktir.dialects.form import Form, generic_flags, read_values, table, write_values
from spyrelab.ktir.dialects.lists import read_integers, write_integers
from spyrelab.ktir.errors import did_you_mean
from spyrelab.ktir.ir import Operation, Value
from spyrelab.ktir.parse_operations import OperationParser, Parts
from spyrelab.ktir.writer import Writer

_PRODUCERS = "producer_tiles_per_group"
_SETS = ("consumer_tiles_per_group", "producer_dependency_per_consumer")


def _read_produce(parser: OperationParser) -> Parts:
    parser.expect(_PRODUCERS)
    parser.expect("=")
    producers = parser.affine_set()
    attributes = parser.dictionary((), "ktdp.inter_tile_produce")
    if parser.accept(":"):
        parser.types()
    parser.expect("->")
    future = parser.type()
    region = parser.scoped_region()
    return Parts((), [future], {_PRODUCERS: producers, **attributes}, (region,))


def _write_produce(writer: Writer, operation: Operation) -> str:
    producers = writer.affine(operation.attributes[_PRODUCERS])
    extras = writer.extras(operation, (_PRODUCERS,))
    head = f" {_PRODUCERS} = {producers}{extras} -> {writer.type(operation.result.type)}"
    return f"{head} {writer.region(operation.regions[0])}"


def _clauses(
    parser: OperationParser, name: str, lists: tuple[str, ...], identities: list[Value] | None
) -> dict[str, Any]:
    """``key = .., identity(..)`` in any order."""
    found: dict[str, Any] = {}
    known = (*_SETS, *lists, *(() if identities is None else ("identity",)))
    while parser.kind == "word":
        key = parser.token
        if key not in known:
            hint = did_you_mean(key, known) or f"it takes {', '.join(known)}"
            parser.fail(f"{name} has no {key}", hint)
        if key in found:
            parser.fail(f"{key} is given twice")
        parser.advance()
        if key == "identity" and identities is not None:
            parser.expect("(")
            identities += parser.typed_values()
            parser.expect(")")
        else:
            parser.expect("=")
            found[key] = parser.affine_set() if key in _SETS else read_integers(parser)
        if not parser.accept(","):
            break
    return found


def _delivery(operation: str, lists: tuple[str, ...] = (), folds: bool = False) -> Form:
    name = f"ktdp.inter_tile_{operation}"
    region_count = int(folds)

    def read(parser: OperationParser) -> Parts:
        parser.expect("(")
        future = parser.value("a future")
        parser.expect(")")
        identities: list[Value] = []
        attributes = _clauses(parser, name, lists, identities if folds else None)
        attributes |= parser.dictionary((), name)
        parser.expect(":")
        parser.written_type(future)
        parser.expect("->")
        types = parser.result_types() if parser.token == "(" else parser.types()
        regions = (parser.scoped_region(),) if folds else ()
        return Parts([future, *identities], types, attributes, regions)

    def write(writer: Writer, op: Operation) -> str:
        future, *identities = op.operands
        clauses = [
            f"{key} = {writer.affine(op.attributes[key])}" for key in _SETS if key in op.attributes
        ]
        clauses += [
            f"{key} = {write_integers(op.attributes[key])}" for key in lists if key in op.attributes
        ]
        if identities:
            clauses.append(f"identity({writer.typed(identities)})")
        kinds = writer.types(value.type for value in op.results)
        extras = writer.extras(op, (*_SETS, *lists))
        head = f"({writer.value(future)}) {', '.join(clauses)}{extras}"
        text = f"{head} : {writer.type(future.type)} -> {kinds}"
        return text + (f" {writer.region(op.regions[0])}" if folds else "")

    rule = rules.delivery(lists, folds)
    return Form(name, read, write, rule, None, None, region_count)


def _terminator(name: str, *ends: str) -> Form:
    full = tuple(f"ktdp.inter_tile_{end}" for end in ends)
    return Form(
        name,
        read_values,
        write_values,
        rules.values_of_tensors,
        results=0,
        ends=full,
        generic=generic_flags,
    )


FORMS = table(
    [
        Form("ktdp.inter_tile_produce", _read_produce, _write_produce, rules.produce, 0, regions=1),
        _delivery("consume"),
        _delivery("reduce", folds=True),
        _delivery("gather", ("concat_dimensions",)),
        _delivery("scatter", ("scatter_dimensions",)),
        _delivery("reduce_scatter", ("scatter_dimensions",), folds=True),
        _delivery("all_to_all", ("split_dimensions", "concat_dimensions")),
        _terminator("ktdp.yield_partial", "produce"),
        _terminator("ktdp.yield_reduced", "reduce", "reduce_scatter"),
    ]
)
"""Every collective and its terminators, by name."""
