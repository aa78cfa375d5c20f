"""ktdp: views of memory, access tiles, loads and stores."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from spyrelab.ktir.affine import AffineMap, AffineSet, Dim, Expr, Symbol, expression_text
from spyrelab.ktir.dialects import ktdp_rules as rules
from spyrelab.ktir.dialects.form import Form, generic_flags, table
from spyrelab.ktir.dialects.lists import read_mixed
from spyrelab.ktir.ir import Operation, Subscript, Value
from spyrelab.ktir.parse_operations import OperationParser, Parts
from spyrelab.ktir.types import MemorySpace, Type
from spyrelab.ktir.writer import Writer

_VIEW = {"coordinate_set": AffineSet, "memory_space": MemorySpace}
_TILE = {"access_tile_set": AffineSet, "access_tile_order": AffineMap}
_INDIRECT = {"variables_space_set": AffineSet, "variables_space_order": AffineMap}
_NOUNS = {AffineSet: "an affine set", AffineMap: "an affine map", MemorySpace: "a memory space"}


def _attributes(parser: OperationParser, what: str, known: Mapping[str, type]) -> dict[str, Any]:
    at = parser.start
    found = parser.dictionary(known, what)
    for key, value in found.items():
        wanted = known.get(key, object)
        if not isinstance(value, wanted):
            parser.fail(f"{key} is not {_NOUNS[wanted]}", at=at)
    return found


def _entries(writer: Writer, operation: Operation, known: Mapping[str, type]) -> list[str]:
    shown = {k: operation.attributes[k] for k in known if k in operation.attributes}
    other = sorted(k for k in operation.attributes if "." in k)
    return list(writer.entries(shown | {k: operation.attributes[k] for k in other}))


def _read_tile_id(parser: OperationParser) -> Parts:
    attributes = parser.dictionary((), "ktdp.get_compute_tile_id")
    parser.expect(":")
    return Parts((), parser.types(), attributes)


def _write_tile_id(writer: Writer, operation: Operation) -> str:
    kinds = writer.types(value.type for value in operation.results)
    return f"{writer.extras(operation, ())} : {kinds}"


def _read_view(parser: OperationParser) -> Parts:
    address = parser.value("the address")
    values: list[Value] = []
    lists: dict[str, Any] = {}
    for key in ("sizes", "strides"):
        parser.expect(",")
        parser.expect(key, "write sizes: [..], strides: [..]")
        parser.expect(":")
        lists[key] = read_mixed(parser, values)
    attributes = _attributes(parser, "ktdp.construct_memory_view", _VIEW)
    parser.expect(":")
    kind = parser.type()
    if parser.accept("->"):
        kind = parser.type()
    return Parts([address, *values], [kind], lists | attributes)


def _write_view(writer: Writer, operation: Operation) -> str:
    address, *values = operation.operands
    rest = iter(values)
    sizes = writer.mixed(operation.attributes["sizes"], rest)
    strides = writer.mixed(operation.attributes["strides"], rest)
    head = f" {writer.value(address)}, sizes: {sizes}, strides: {strides}"
    tail = f" : {writer.type(operation.result.type)}"
    return writer.fitted(head, _entries(writer, operation, _VIEW), tail)


def _read_distributed(parser: OperationParser) -> Parts:
    parser.expect("(")
    views = parser.typed_values()
    parser.expect(")")
    attributes = parser.dictionary((), "ktdp.construct_distributed_memory_view")
    parser.expect(":")
    return Parts(views, [parser.type()], attributes)


def _write_distributed(writer: Writer, operation: Operation) -> str:
    kind = writer.type(operation.result.type)
    return f" ({writer.typed(operation.operands)}){writer.extras(operation, ())} : {kind}"


def _captured(
    parser: OperationParser,
    captures: list[Value],
    make: Callable[[int], Expr],
    variables: Mapping[str, Expr],
) -> Callable[[str], Expr | None]:
    """Explains ``%name`` in a subscript: a variable of the tile or a captured value."""

    def atom(token: str) -> Expr | None:
        if token in variables or token[0] != "%":
            return variables.get(token)
        value = parser.lookup(token)
        if value not in captures:
            captures.append(value)
        return make(captures.index(value))

    return atom


def _subscripts(parser: OperationParser, atom: Callable[[str], Expr | None]) -> tuple[Expr, ...]:
    """``[e, ..]``."""
    parser.expect("[")
    found: list[Expr] = []
    while parser.token != "]":
        found.append(parser.expression(atom))
        if not parser.accept(","):
            break
    parser.expect("]")
    return tuple(found)


def _symbols(parser: OperationParser) -> list[Value]:
    if not parser.accept("symbols"):
        return []
    parser.expect("(")
    values = parser.values(")")
    parser.expect(")")
    return values


def _write_symbols(writer: Writer, operation: Operation) -> str:
    count = operation.attributes.get("symbol_operands", 0)
    return f" symbols({writer.values(operation.operands[-count:])})" if count else ""


def _read_tile(parser: OperationParser) -> Parts:
    base = parser.value("the view")
    captures: list[Value] = []
    subscripts = _subscripts(parser, _captured(parser, captures, Dim, {}))
    symbols = _symbols(parser)
    attributes = _attributes(parser, "ktdp.construct_access_tile", _TILE)
    parser.expect(":")
    parser.written_type(base)
    parser.expect("->")
    shown = {
        "base_map": AffineMap(len(captures), 0, subscripts),
        "symbol_operands": len(symbols),
    }
    return Parts([base, *captures, *symbols], [parser.type()], shown | attributes)


def _write_tile(writer: Writer, operation: Operation) -> str:
    base, *captures = operation.operands
    names = [writer.value(value) for value in captures]
    subscripts = (expression_text(e, names) for e in operation.attributes["base_map"].results)
    head = f" {writer.value(base)}[{', '.join(subscripts)}]{_write_symbols(writer, operation)}"
    tail = f" : {writer.type(base.type)} -> {writer.type(operation.result.type)}"
    return writer.fitted(head, _entries(writer, operation, _TILE), tail)


def _read_indirect(parser: OperationParser) -> Parts:
    parser.expect("intermediate_variables", "write intermediate_variables(%i, ..) first")
    variables: dict[str, Expr] = {}
    parser.expect("(")
    while parser.token != ")":
        if parser.token in variables:
            parser.fail(f"{parser.token} is named twice")
        name = parser.expect_kind("value", "a variable such as %i")
        variables[name] = Dim(len(variables))
        if not parser.accept(","):
            break
    parser.expect(")")
    base = parser.value("the view")
    captures: list[Value] = []
    views: list[Value] = []
    atom = _captured(parser, captures, Symbol, variables)
    raw: list[tuple[int | None, tuple[Expr, ...]]] = []
    parser.expect("[")
    while parser.token != "]":
        raw.append(_indirect_subscript(parser, atom, views, variables))
        if not parser.accept(","):
            break
    parser.expect("]")
    symbols = _symbols(parser)
    attributes = _attributes(parser, "ktdp.construct_indirect_access_tile", _INDIRECT)
    result = _indirect_types(parser, base, views)
    shape = len(variables), len(captures)
    shown: dict[str, Any] = {
        "intermediate_variables": len(variables),
        "index_views": len(views),
        "subscripts": tuple(Subscript(view, AffineMap(*shape, exprs)) for view, exprs in raw),
        "symbol_operands": len(symbols),
    }
    return Parts([base, *views, *captures, *symbols], [result], shown | attributes)


def _indirect_types(parser: OperationParser, base: Value, views: list[Value]) -> Type:
    parser.expect(":")
    parser.written_type(base)
    for view in views:
        parser.expect(",", f"write the types of the base and of {len(views)} index views")
        parser.written_type(view)
    if not parser.accept("->"):
        parser.expect(",")
    return parser.type()


def _indirect_subscript(
    parser: OperationParser,
    atom: Callable[[str], Expr | None],
    views: list[Value],
    variables: Mapping[str, Expr],
) -> tuple[int | None, tuple[Expr, ...]]:
    indirect = parser.accept("ind")
    if indirect:
        parser.expect("(")
    elif parser.kind == "value" and parser.token not in variables:
        # RFC 0682 writes %table[%i] without ind( ).
        at = parser.start
        parser.advance()
        indirect = parser.token == "["
        parser.resume(at)
        if indirect:
            return _index_view(parser, atom, views)
    if not indirect:
        return None, (parser.expression(atom),)
    found = _index_view(parser, atom, views)
    parser.expect(")", "an index read through ind(..) is the whole subscript")
    if parser.token not in (",", "]"):
        parser.fail(
            f"nothing may be added to ind(..), found {parser.found()}",
            "store the sum in the index view, or move the base of the view",
        )
    return found


def _index_view(
    parser: OperationParser, atom: Callable[[str], Expr | None], views: list[Value]
) -> tuple[int, tuple[Expr, ...]]:
    views.append(parser.value("an index view"))
    return len(views) - 1, _subscripts(parser, atom)


def _write_indirect(writer: Writer, operation: Operation) -> str:
    attributes = operation.attributes
    base, *rest = operation.operands
    views = rest[: attributes["index_views"]]
    captures = [writer.value(v) for v in rest[len(views) :]]
    variables: list[str] = []
    for index in range(attributes["intermediate_variables"]):
        name = writer.unused(f"d{index}")
        variables.append(f"%{name}")
    parts: list[str] = []
    for subscript in attributes["subscripts"]:
        inner = ", ".join(expression_text(e, variables, captures) for e in subscript.map.results)
        view = None if subscript.view is None else writer.value(views[subscript.view])
        parts.append(f"({inner})" if view is None else f"ind({view}[{inner}])")
    head = f" intermediate_variables({', '.join(variables)}) {writer.value(base)}"
    head += f"[{', '.join(parts)}]{_write_symbols(writer, operation)}"
    kinds = writer.types(value.type for value in (base, *views))
    tail = f" : {kinds} -> {writer.type(operation.result.type)}"
    return writer.fitted(head, _entries(writer, operation, _INDIRECT), tail)


def _read_load(parser: OperationParser) -> Parts:
    tile = parser.value("an access tile")
    attributes = parser.dictionary((), "ktdp.load")
    parser.expect(":")
    parser.written_type(tile)
    parser.expect("->", "write the type of the loaded tensor")
    return Parts([tile], [parser.type()], attributes)


def _write_load(writer: Writer, operation: Operation) -> str:
    (tile,) = operation.operands
    kinds = f"{writer.type(tile.type)} -> {writer.type(operation.result.type)}"
    return f" {writer.value(tile)}{writer.extras(operation, ())} : {kinds}"


def _read_store(parser: OperationParser) -> Parts:
    operands = parser.values()
    attributes = parser.dictionary((), "ktdp.store")
    parser.expect(":")
    parser.written_types(operands)
    return Parts(operands, (), attributes)


def _write_store(writer: Writer, operation: Operation) -> str:
    kinds = writer.types(value.type for value in operation.operands)
    values = writer.values(operation.operands)
    return f" {values}{writer.extras(operation, ())} : {kinds}"


def _read_extract(parser: OperationParser) -> Parts:
    field = parser.token
    if field not in rules.RUNTIME_FIELDS:
        parser.fail(
            f"expected value, granularity or upperbound, found {parser.found()}",
            "write ktdp.runtime_arg_extract value from %arg : ..",
        )
    parser.advance()
    parser.expect("from")
    argument = parser.value()
    parser.expect(":")
    parser.written_type(argument)
    attributes = parser.dictionary((), "ktdp.runtime_arg_extract")
    parser.expect("->")
    return Parts([argument], [parser.type()], {"field": field, **attributes})


def _write_extract(writer: Writer, operation: Operation) -> str:
    (argument,) = operation.operands
    kinds = f"{writer.type(argument.type)}{writer.extras(operation, ('field',))}"
    head = f" {operation.attributes['field']} from {writer.value(argument)}"
    return f"{head} : {kinds} -> {writer.type(operation.result.type)}"


FORMS = table(
    [
        Form(
            "ktdp.get_compute_tile_id",
            _read_tile_id,
            _write_tile_id,
            rules.tile_id,
            0,
            results=None,
            generic=generic_flags,
        ),
        Form(
            "ktdp.construct_memory_view",
            _read_view,
            _write_view,
            rules.memory_view,
            needs=("sizes", "strides"),
        ),
        Form(
            "ktdp.construct_distributed_memory_view",
            _read_distributed,
            _write_distributed,
            rules.distributed_view,
        ),
        Form(
            "ktdp.construct_access_tile",
            _read_tile,
            _write_tile,
            rules.access_tile,
            needs=("base_map",),
        ),
        Form(
            "ktdp.construct_indirect_access_tile",
            _read_indirect,
            _write_indirect,
            rules.indirect_tile,
            needs=("intermediate_variables", "index_views", "subscripts"),
        ),
        Form("ktdp.load", _read_load, _write_load, rules.load, 1, generic=generic_flags),
        Form("ktdp.store", _read_store, _write_store, rules.store, 2, 0, generic=generic_flags),
        Form("ktdp.runtime_arg_extract", _read_extract, _write_extract, rules.runtime_extract, 1),
    ]
)
"""Every operation of the dialect but the collectives, by name."""
