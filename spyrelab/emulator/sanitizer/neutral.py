"""Where zeros in place of masked elements are not neutral: read off the text of a function.

Every value is in one of four states.  A masked load holds zeros among its elements; an operation
that keeps zero keeps them, another one turns them into numbers that stand for nothing; sums
drop zeros, but carry such numbers, and largest and smallest values carry both, into elements
that stand for something.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from enum import IntEnum

from spyrelab.emulator.addresses import control_edges
from spyrelab.ktir.element_access import ATOMICS
from spyrelab.ktir.ir import Function, Operation, Value, walk
from spyrelab.ktir.types import TensorType


class State(IntEnum):
    """What a tensor may hold because of masked elements."""

    CLEAN = 0
    ZEROS = 1
    NOISE = 2
    """Numbers other than zero where elements were masked."""
    TAINTED = 3
    """Other elements were computed from such places, and not by adding zeros."""


_C, _Z, _N, _T = State
_KEEP_ZERO = frozenset(re.findall(r"\w+", """
    negf absf abs sqrt square tanh erf sin tan atan ceil floor round roundeven trunc truncf extf
    bitcast copy transpose broadcast expand_shape collapse_shape reshape cast extract_slice
    insert_slice concat extract insert splat take maximumf minimumf maxnumf minnumf max min select
    expm1 log1p sinh asin
"""))  # fmt: skip
_STORES = ("ktdp.store", "spyrelab.scatter", "spyrelab.atomic_rmw")
_SUMS, _PRODUCTS, _QUOTIENTS = {"addf", "subf", "add", "sub"}, {"mulf", "mul"}, {"divf", "div"}
_CONTRACTION = re.compile(r"(batch_)?(matmul|matvec)(_transpose_[ab])?|vecmat|dot")


def tainted_stores(function: Function) -> set[Operation]:
    """The operations that store a value which may be tainted."""
    operations = list(walk(function.body.operations))
    states: dict[Value, State] = {}
    changed = True
    while changed:
        changed = False
        for operation in operations:
            for value, state in _effects(operation, states):
                if state > states.get(value, _C):
                    states[value], changed = state, True
    return {
        operation
        for operation in operations
        if operation.name in _STORES and states.get(operation.operands[0], _C) is _T
    }


def _effects(operation: Operation, states: dict[Value, State]) -> Iterable[tuple[Value, State]]:
    edges = control_edges(operation)
    if edges:
        for origins, targets in edges:
            for origin, target in zip(origins, targets, strict=False):
                yield target, states.get(origin, _C)
        return
    inputs = [states.get(value, _C) for value in operation.operands]
    if operation.name == "ktdp.inter_tile_produce":
        yield operation.result, max((states.get(v, _C) for v in _last(operation)), default=_C)
        return
    rule = _rule(operation)
    state = rule(inputs) if rule else max(inputs, default=_C)
    for result in operation.results:
        yield result, state
    for region in operation.regions:
        for argument in region.arguments:
            yield argument, max(inputs, default=_C)


def _last(operation: Operation) -> Sequence[Value]:
    return operation.regions[0].operations[-1].operands


def _rule(operation: Operation) -> Callable[[list[State]], State] | None:
    dialect, _, name = operation.name.partition(".")
    if operation.name in ("ktdp.load", "spyrelab.gather"):
        return lambda _: _Z if _is_float(operation.result) else _C
    if dialect == "ktdp" or dialect == "scf" or name in _KEEP_ZERO:
        return None
    if name in _SUMS:
        return _sum
    if name in _PRODUCTS:
        return _product
    if name in _QUOTIENTS:
        return lambda inputs: _product(inputs) if inputs[0] in (_C, _Z) else _noisy(inputs)
    if _CONTRACTION.fullmatch(name):
        return _contraction
    if operation.name in ATOMICS:
        return lambda _: _C
    if name == "scan":
        return _scanned if _adds(operation) else _chosen
    if name == "reduce":
        return _summed if _adds(operation) else _chosen
    if name in ("generic", "map"):
        return lambda inputs: _body(operation, inputs)
    return _noisy


def _is_float(value: Value) -> bool:
    return isinstance(value.type, TensorType) and value.type.element.is_float


def _sum(inputs: list[State]) -> State:
    """Zeros plus zeros are zeros; zeros plus anything else are not."""
    worst = max(inputs)
    return _N if worst is _Z and min(inputs) is _C else worst


def _product(inputs: list[State]) -> State:
    if _T in inputs:
        return _T
    return _Z if _Z in inputs else max(inputs)


def _noisy(inputs: list[State]) -> State:
    worst = max(inputs, default=_C)
    return _N if worst is _Z else worst


def _contraction(inputs: list[State]) -> State:
    left, right = inputs[:2]
    if _T in inputs or (_N in (left, right) and _Z not in (left, right)):
        return _T
    return max(inputs)


def _summed(inputs: list[State]) -> State:
    return _T if max(inputs) >= _N else _C


def _scanned(inputs: list[State]) -> State:
    """Sums that go on behind a masked element stand for nothing there."""
    return _T if max(inputs) >= _N else _noisy(inputs)


def _chosen(inputs: list[State]) -> State:
    return _T if max(inputs) >= _Z else _C


def _adds(operation: Operation) -> bool:
    """Whether the body of a reduction does nothing but add."""
    body = operation.regions[0].operations[:-1]
    return all(inner.name.partition(".")[2] in _SUMS | {"extf", "truncf"} for inner in body)


def _body(operation: Operation, inputs: list[State]) -> State:
    """A body over points: its operations, and if it reduces, a sum over what they make."""
    states = dict(zip(operation.regions[0].arguments, inputs, strict=False))
    for inner in operation.regions[0].operations[:-1]:
        rule, given = _rule(inner), [states.get(value, _C) for value in inner.operands]
        for result in inner.results:
            states[result] = rule(given) if rule else max(given, default=_C)
    worst = max((states.get(value, _C) for value in _last(operation)), default=_C)
    reduces = "reduction" in operation.attributes.get("iterator_types", ())
    if not reduces:
        return worst
    adds = any(o.name.partition(".")[2] in _SUMS for o in operation.regions[0].operations)
    return _summed([worst]) if adds else _chosen([worst])
