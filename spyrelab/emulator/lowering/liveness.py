"""Where values die, and which values steer the program."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from spyrelab.emulator.addresses import control_edges
from spyrelab.ktir import Function, Operation, Region, TensorType, Value, walk
from spyrelab.ktir.element_access import STORED


def deaths(region: Region) -> list[list[Value]]:
    """For every operation of a region, the region's own values that are last used there.

    A use inside a nested region counts as a use by the operation that holds it; a value that
    is never used dies where it is defined.
    """
    last: dict[Value, int] = dict.fromkeys(region.arguments, 0)
    for number, operation in enumerate(region.operations):
        for result in operation.results:
            last[result] = number
        for value in _uses(operation):
            if value in last:
                last[value] = number
    dead: list[list[Value]] = [[] for _ in region.operations]
    for value, number in last.items():
        dead[number].append(value)
    return dead


def _uses(operation: Operation) -> Iterator[Value]:
    yield from operation.operands
    for region in operation.regions:
        for inner in region.operations:
            yield from _uses(inner)


_STEERING = {
    "ktdp.construct_memory_view",
    "ktdp.construct_access_tile",
    "ktdp.construct_indirect_access_tile",
    "scf.condition",
    "spyrelab.turn",
    "tensor.empty",
}


def steering_values(function: Function) -> set[Value]:
    """Values that bounds, branches, addresses and sizes depend on.

    The null engine computes only these.
    """
    operations = list(walk(function.body.operations))
    origins = _origins(operations)
    todo = [value for operation in operations for value in _seeds(operation)]
    found: set[Value] = set()
    while todo:
        value = todo.pop()
        if value not in found:
            found.add(value)
            todo.extend(origins.get(value, ()))
    return found


def _seeds(operation: Operation) -> Iterable[Value]:
    if operation.name in _STEERING:
        return operation.operands
    if operation.name == "scf.for":
        return operation.operands[:3]
    if operation.name == "scf.if":
        return operation.operands[:1]
    if operation.name in STORED:
        return operation.operands[STORED[operation.name] + 1 :]
    skip = {"tensor.extract_slice": 1, "tensor.insert_slice": 2, "tensor.extract": 1}
    if operation.name in skip:
        return operation.operands[skip[operation.name] :]
    return ()


def _origins(operations: list[Operation]) -> dict[Value, list[Value]]:
    origins: dict[Value, list[Value]] = {}
    for operation in operations:
        edges = control_edges(operation)
        if edges:
            for sources, targets in edges:
                for source, target in zip(sources, targets, strict=False):
                    origins.setdefault(target, []).append(source)
            continue
        inner = [a for region in operation.regions for a in region.arguments]
        yielded = [v for o in walk([operation]) for v in o.operands]
        for target in (*operation.results, *inner):
            origins.setdefault(target, []).extend(yielded)
    return origins


def tensor_operands(operation: Operation) -> list[Value]:
    """Operands that are tensors, each once."""
    return [v for v in dict.fromkeys(operation.operands) if isinstance(v.type, TensorType)]
