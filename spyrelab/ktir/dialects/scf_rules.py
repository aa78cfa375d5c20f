"""Rules of loops and branches."""

from __future__ import annotations

from spyrelab.ktir.check import Check
from spyrelab.ktir.dialects.form import nothing
from spyrelab.ktir.dialects.lists import dynamic, resolve
from spyrelab.ktir.ir import Operation, Value
from spyrelab.ktir.types import I1, INDEX, ScalarType, Type

__all__ = ["branch", "for_loop", "forall", "nothing", "parallel", "reduce", "while_loop"]

_CARRIED = "the values at the end of the loop must match the carried ones"


def _types(values: tuple[Value, ...] | list[Value]) -> list[Type]:
    return [value.type for value in values]


def _positive_step(check: Check, operation: Operation, step: Value | int) -> None:
    known = step if isinstance(step, int) else check.constant(step)
    if known is not None and known <= 0:
        check.fail(operation, f"step {known} is not positive", "count up by 1 or more")


def for_loop(check: Check, operation: Operation) -> None:
    """Bounds of one whole type, a positive step, carried values of the same types throughout."""
    if len(operation.operands) < 3:
        check.fail(operation, "it needs a lower bound, an upper bound and a step")
    lower, upper, step, *inits = operation.operands
    check.integers(operation, "bound", lower, upper, step)
    for value in (upper, step):
        check.same(operation, f"%{value.name}", value.type, lower.type)
    _positive_step(check, operation, step)
    (region,) = operation.regions
    carried = _types(operation.results)
    check.region_arguments(operation, region, [lower.type, *carried])
    check.same_list(operation, "initial values", _types(inits), carried)
    last = check.terminator(operation, region, "scf.yield")
    check.same_list(last, "yielded values", _types(last.operands), carried, _CARRIED)


def branch(check: Check, operation: Operation) -> None:
    """An i1 condition; both branches yield the results."""
    (condition,) = operation.operands
    if condition.type != I1:
        check.fail(operation, f"the condition is a {condition.type}, not i1", "use arith.cmpi")
    if len(operation.regions) not in (1, 2):
        check.fail(operation, f"{len(operation.regions)} regions; it has a then and an else")
    if operation.results and len(operation.regions) == 1:
        check.fail(operation, "it has results but no else", "yield them in an else branch too")
    for region, name in zip(operation.regions, ("then", "else"), strict=False):
        check.region_arguments(operation, region, [])
        last = check.terminator(operation, region, "scf.yield")
        hint = f"the {name} branch must yield the results of scf.if"
        check.same_list(
            last, "yielded values", _types(last.operands), _types(operation.results), hint
        )


def while_loop(check: Check, operation: Operation) -> None:
    """``before`` hands values to ``after`` through scf.condition, and back through scf.yield."""
    before, after = operation.regions
    inits, results = _types(operation.operands), _types(operation.results)
    check.region_arguments(operation, before, inits)
    condition = check.terminator(operation, before, "scf.condition")
    if not condition.operands or condition.operands[0].type != I1:
        check.fail(condition, "the condition is not an i1", "use arith.cmpi")
    passed = _types(condition.operands[1:])
    check.same_list(condition, "passed values", passed, results, "they become the results")
    check.region_arguments(operation, after, results)
    last = check.terminator(operation, after, "scf.yield")
    check.same_list(last, "yielded values", _types(last.operands), inits, _CARRIED)


def parallel(check: Check, operation: Operation) -> None:
    """Index bounds, positive steps, one reduction per result."""
    rank = operation.attributes.get("rank", 0)
    bounds, inits = operation.operands[: 3 * rank], operation.operands[3 * rank :]
    if rank < 1 or len(bounds) != 3 * rank:
        check.fail(operation, "each variable needs a lower bound, an upper bound and a step")
    for value in bounds:
        check.same(operation, f"%{value.name}", value.type, INDEX)
    for value in bounds[2 * rank :]:
        _positive_step(check, operation, value)
    (region,) = operation.regions
    check.region_arguments(operation, region, [INDEX] * rank)
    results = _types(operation.results)
    check.same_list(operation, "initial values", _types(inits), results)
    last = check.terminator(operation, region, "scf.reduce")
    hint = "scf.reduce takes one value per result"
    check.same_list(last, "reduced values", _types(last.operands), results, hint)


def reduce(check: Check, operation: Operation) -> None:
    """One region (lhs, rhs) per value, which returns a value of the same type."""
    if len(operation.regions) != len(operation.operands):
        check.fail(operation, f"{len(operation.regions)} regions; it needs one per value")
    for value, region in zip(operation.operands, operation.regions, strict=True):
        check.region_arguments(operation, region, [value.type, value.type])
        check.yields(operation, region, "scf.reduce.return", [value.type])


def forall(check: Check, operation: Operation) -> None:
    """Index bounds, positive steps."""
    parts = [operation.attributes[key] for key in ("lower", "upper", "step")]
    rank = len(parts[0])
    if any(len(part) != rank for part in parts) or not rank:
        check.fail(operation, "each variable needs a lower bound, an upper bound and a step")
    if sum(map(dynamic, parts)) != len(operation.operands):
        check.fail(operation, "its bounds and its operands do not match")
    for value in operation.operands:
        if not (isinstance(value.type, ScalarType) and value.type == INDEX):
            check.fail(operation, f"bound %{value.name} is a {value.type}, not an index")
    values = iter(operation.operands)
    *_, steps = (resolve(part, values) for part in parts)
    for step in steps:
        _positive_step(check, operation, step)
    check.region_arguments(operation, operation.regions[0], [INDEX] * rank)
