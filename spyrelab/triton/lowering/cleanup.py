"""Operations whose results nobody uses are dropped."""

from __future__ import annotations

from collections import Counter

from spyrelab.ktir.ir import Function, Module, Operation, Region, Value, walk

__all__ = ["drop_unused"]

_EFFECTS = {
    *("ktdp.store", "spyrelab.scatter", "spyrelab.atomic_rmw", "spyrelab.atomic_cas"),
    *("spyrelab.turn", "spyrelab.turn_done", "spyrelab.barrier", "spyrelab.print"),
    "spyrelab.assert",
}
_TERMINATORS = ("func.return", "scf.yield", "scf.condition", "linalg.yield", "tensor.yield")


def drop_unused(module: Module) -> None:
    """Remove what computes or loads values that are not used, in place."""
    for function in module.functions:
        _clean(function)


def _clean(function: Function) -> None:
    uses = Counter(v for o in walk(function.body.operations) for v in o.operands)
    _clean_region(function.body, uses)


def _clean_region(region: Region, uses: Counter[Value]) -> None:
    """From the last operation to the first, so that one pass is enough."""
    kept: list[Operation] = []
    for operation in reversed(region.operations):
        if _is_needed(operation, uses):
            for inner in operation.regions:
                _clean_region(inner, uses)
            kept.append(operation)
            continue
        for used in _operands(operation):
            uses[used] -= 1
    region.operations[:] = reversed(kept)


def _operands(operation: Operation) -> list[Value]:
    return [value for o in walk([operation]) for value in o.operands]


def _is_needed(operation: Operation, uses: Counter[Value]) -> bool:
    if any(uses[result] for result in operation.results):
        return True
    inside = walk([operation])
    if any(o.name in _EFFECTS for o in inside):
        return True
    return operation.name in _TERMINATORS or operation.name == "scf.while"
