"""scf.parallel, scf.forall and scf.reduce: loops whose iterations have no order."""

from __future__ import annotations

from spyrelab.ktir.dialects import scf_rules as rules
from spyrelab.ktir.dialects.form import Form, read_values, table, write_values
from spyrelab.ktir.dialects.lists import read_mixed
from spyrelab.ktir.ir import Operation, Region, Value
from spyrelab.ktir.parse_operations import OperationParser, Parts
from spyrelab.ktir.types import INDEX
from spyrelab.ktir.writer import Writer

_FORALL = ("lower", "upper", "step")


def _names(parser: OperationParser) -> list[tuple[str, int]]:
    parser.expect("(")
    names: list[tuple[str, int]] = []
    while parser.token != ")":
        names.append(parser.fresh_name())
        if not parser.accept(","):
            break
    parser.expect(")")
    return names


def _tuple(parser: OperationParser) -> list[Value]:
    parser.expect("(")
    values = parser.values(")")
    parser.expect(")")
    return values


def _read_parallel(parser: OperationParser) -> Parts:
    names = _names(parser)
    at = parser.start
    bounds: list[Value] = []
    for word in ("=", "to", "step"):
        parser.expect(word)
        bounds += _tuple(parser)
    if len(bounds) != 3 * len(names):
        parser.fail(f"{len(names)} variables need as many bounds and steps", at=at)
    inits = _tuple(parser) if parser.accept("init") else []
    types = parser.result_types() if parser.accept("->") else []
    outer = parser.open_scope()
    variables = [parser.define(n, INDEX, a) for n, a in names]
    region = parser.region(variables, "scf.reduce", labelled=False)
    parser.close_scope(outer)
    attributes = parser.dictionary((), "scf.parallel")
    return Parts([*bounds, *inits], types, {"rank": len(names), **attributes}, (region,))


def _write_parallel(writer: Writer, operation: Operation) -> str:
    rank, values = operation.attributes["rank"], operation.operands
    parts = [writer.values(values[i * rank : (i + 1) * rank]) for i in range(3)]
    inits = values[3 * rank :]
    (region,) = operation.regions
    outer = writer.scoped()
    names = ", ".join(map(writer.bind, region.arguments))
    text = f" ({names}) = ({parts[0]}) to ({parts[1]}) step ({parts[2]})"
    if inits:
        text += f" init ({writer.values(inits)})"
        text += f" -> {writer.result_types([value.type for value in operation.results])}"
    text += f" {writer.region(region, label=False, bound=True, implicit='scf.reduce')}"
    writer.restore(outer)
    return text + writer.extras(operation, ("rank",))


def _read_reduce(parser: OperationParser) -> Parts:
    values: list[Value] = []
    regions: list[Region] = []
    if parser.accept("("):
        values = parser.typed_values()
        parser.expect(")")
        regions.append(parser.scoped_region())
        while parser.accept(","):
            regions.append(parser.scoped_region())
    return Parts(values, (), {}, tuple(regions))


def _write_reduce(writer: Writer, operation: Operation) -> str:
    if not operation.operands:
        return ""
    regions = ", ".join(map(writer.region, operation.regions))
    return f"({writer.typed(operation.operands)}) {regions}"


def _read_forall(parser: OperationParser) -> Parts:
    names = _names(parser)
    at = parser.start
    values: list[Value] = []
    if parser.accept("in"):
        upper = read_mixed(parser, values, "(", ")")
        lower: tuple[int | None, ...] = (0,) * len(upper)
        step: tuple[int | None, ...] = (1,) * len(upper)
    else:
        parser.expect("=", "write (%i) in (%n), or (%i) = (0) to (%n) step (1)")
        lower = read_mixed(parser, values, "(", ")")
        parser.expect("to")
        upper = read_mixed(parser, values, "(", ")")
        parser.expect("step")
        step = read_mixed(parser, values, "(", ")")
    if not len(names) == len(lower) == len(upper) == len(step):
        parser.fail(f"{len(names)} variables need as many bounds and steps", at=at)
    if parser.token == "shared_outs":
        parser.fail("scf.forall with shared_outs is not supported", "store the results instead")
    outer = parser.open_scope()
    variables = [parser.define(n, INDEX, a) for n, a in names]
    region = parser.region(variables, "scf.forall.in_parallel", labelled=False)
    parser.close_scope(outer)
    bounds = {"lower": lower, "upper": upper, "step": step}
    return Parts(values, (), bounds | parser.dictionary((), "scf.forall"), (region,))


def _write_forall(writer: Writer, operation: Operation) -> str:
    lower, upper, step = (operation.attributes[key] for key in _FORALL)
    values = iter(operation.operands)
    texts = [writer.mixed(part, values)[1:-1] for part in (lower, upper, step)]
    (region,) = operation.regions
    outer = writer.scoped()
    names = ", ".join(map(writer.bind, region.arguments))
    text = f" ({names}) = ({texts[0]}) to ({texts[1]}) step ({texts[2]})"
    if all(n == 0 for n in lower) and all(n == 1 for n in step):
        text = f" ({names}) in ({texts[1]})"
    text += f" {writer.region(region, label=False, bound=True, implicit='scf.forall.in_parallel')}"
    writer.restore(outer)
    return text + writer.extras(operation, _FORALL)


def _read_in_parallel(parser: OperationParser) -> Parts:
    if parser.accept("{"):
        parser.expect("}", "scf.forall.in_parallel must be empty: results are stored")
    return Parts()


def _write_in_parallel(writer: Writer, operation: Operation) -> str:
    return " {}"


FORMS = table(
    [
        Form(
            "scf.parallel",
            _read_parallel,
            _write_parallel,
            rules.parallel,
            None,
            None,
            1,
            needs=("rank",),
        ),
        Form("scf.forall", _read_forall, _write_forall, rules.forall, None, 0, 1, needs=_FORALL),
        Form(
            "scf.reduce",
            _read_reduce,
            _write_reduce,
            rules.reduce,
            None,
            0,
            None,
            ends=("scf.parallel",),
        ),
        Form(
            "scf.reduce.return",
            read_values,
            write_values,
            rules.nothing,
            1,
            0,
            ends=("scf.reduce",),
        ),
        Form(
            "scf.forall.in_parallel",
            _read_in_parallel,
            _write_in_parallel,
            rules.nothing,
            0,
            0,
            ends=("scf.forall",),
        ),
    ]
)
"""Parallel loops and their terminators, by name."""
