"""Structured control flow."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np

from spyrelab.emulator.errors import LoweringError, place
from spyrelab.emulator.reference.core import Core, Steps, scalar
from spyrelab.emulator.reference.registry import reference
from spyrelab.emulator.reference.views import fill_dynamic
from spyrelab.ktir.ir import Operation


def _range(operation: Operation, lower: Any, upper: Any, step: Any) -> range:
    if scalar(step) <= 0:
        raise LoweringError(f"{place(operation)}: the step is {scalar(step)}, not positive")
    return range(scalar(lower), scalar(upper), scalar(step))


@reference("scf.for")
def for_loop(core: Core, operation: Operation, *operands: Any) -> Steps:
    carried = operands[3:]
    for index in _range(operation, *operands[:3]):
        carried = yield from core.run(operation.regions[0], [np.asarray(index), *carried])
    return carried


@reference("scf.if")
def if_else(core: Core, operation: Operation, condition: Any) -> Steps:
    if scalar(condition):
        return (yield from core.run(operation.regions[0]))
    if len(operation.regions) > 1:
        return (yield from core.run(operation.regions[1]))
    return ()


@reference("scf.while")
def while_loop(core: Core, operation: Operation, *carried: Any) -> Steps:
    before, after = operation.regions
    while True:
        condition, *passed = yield from core.run(before, carried)
        if not scalar(condition):
            return tuple(passed)
        carried = yield from core.run(after, passed)


@reference("scf.parallel")
def parallel(core: Core, operation: Operation, *operands: Any) -> Steps:
    """Points run in row-major order; each reduction folds in that order."""
    rank = operation.attributes["rank"]
    bounds = [operands[i * rank : (i + 1) * rank] for i in range(3)]
    carried = list(operands[3 * rank :])
    (body,) = operation.regions
    ranges = (_range(operation, *axis) for axis in zip(*bounds, strict=True))
    for point in product(*ranges):
        values = yield from core.run(body, [np.asarray(index) for index in point])
        combiners = body.operations[-1].regions if body.operations else ()
        for number, (value, combiner) in enumerate(zip(values, combiners, strict=True)):
            (carried[number],) = yield from core.run(combiner, [carried[number], value])
    return tuple(carried)


@reference("scf.forall")
def forall(core: Core, operation: Operation, *dynamic: Any) -> Steps:
    """Points run in row-major order."""
    bounds = fill_dynamic(operation, ("lower", "upper", "step"), dynamic)
    ranges = (_range(operation, *axis) for axis in zip(*bounds, strict=True))
    for point in product(*ranges):
        yield from core.run(operation.regions[0], [np.asarray(index) for index in point])
    return ()
