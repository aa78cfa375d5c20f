"""Turns, barriers, scans, takes, histograms, prints and assertions."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from spyrelab.emulator.counters import Column
from spyrelab.emulator.errors import AssertionFailedError
from spyrelab.emulator.reference.core import Array, Core, Steps, scalar, tensor_type
from spyrelab.emulator.reference.registry import reference
from spyrelab.emulator.reference.scalars import typed
from spyrelab.emulator.reference.tensors import check_indices
from spyrelab.ktir.ir import Operation


@reference("spyrelab.turn")
def turn(core: Core, operation: Operation, number: Any) -> Steps:
    """Wait until so many turns are done."""
    while core.rendezvous.turns != scalar(number):
        yield core.waiting(operation, ())
    return ()


@reference("spyrelab.turn_done")
def turn_done(core: Core, operation: Operation) -> None:
    core.rendezvous.end_turn()


@reference("spyrelab.barrier")
def barrier(core: Core, operation: Operation) -> Steps:
    """Wait until every core of the launch has come as often as this one."""
    times = core.rendezvous.arrive(operation, core.number)
    while absent := core.rendezvous.absent(operation, times):
        yield core.waiting(operation, absent)
    return ()


@reference("spyrelab.scan")
def scan(core: Core, operation: Operation, *sources: Array) -> tuple[Array, ...]:
    """Distances 1, 2, 4, ..: every element is combined with the one so far before it."""
    axis, (body,) = operation.attributes["axis"], operation.regions
    reverse = bool(operation.attributes.get("reverse"))
    arrays = [np.moveaxis(source, axis, 0) for source in sources]
    arrays = [np.array(array[::-1] if reverse else array) for array in arrays]
    length, rest = arrays[0].shape[0], math.prod(arrays[0].shape[1:])
    distance = 1
    while distance < length:
        earlier = [array[:-distance] for array in arrays]
        later = [array[distance:] for array in arrays]
        with core.over([], points=(length - distance) * rest):
            results = core.call(body, *earlier, *later)
        arrays = [
            np.concatenate([array[:distance], np.broadcast_to(result, array[distance:].shape)])
            for array, result in zip(arrays, results, strict=True)
        ]
        distance *= 2
    return tuple(np.moveaxis(array[::-1] if reverse else array, 0, axis) for array in arrays)


@reference("spyrelab.take")
def take(core: Core, operation: Operation, source: Array, indices: Array) -> Array:
    axis = operation.attributes["axis"]
    check_indices(operation, source.shape[axis : axis + 1], [indices])
    core.count(Column.OPS_SFP, indices.size)
    return np.take_along_axis(source, indices.astype(np.int64), axis)


@reference("spyrelab.histogram")
def histogram(core: Core, operation: Operation, values: Array, *masks: Array) -> Array:
    """Counted as a comparison and an addition for every bin and value, as it is computed."""
    kind = tensor_type(operation.result)
    bins = kind.shape[0] or 0
    inside = (values >= 0) & (values < bins)
    for mask in masks:
        inside &= mask != 0
    core.count(Column.OPS_SFP, (2 * bins + len(masks)) * values.size)
    return typed(np.bincount(values[inside].ravel(), minlength=bins), kind.element)


@reference("spyrelab.print")
def print_values(core: Core, operation: Operation, *values: Array) -> None:
    core.rendezvous.printout.add(core.number, operation, [np.asarray(v) for v in values])


@reference("spyrelab.assert")
def assertion(core: Core, operation: Operation, condition: Array) -> None:
    if not np.all(condition):
        raise AssertionFailedError(core.number, operation)
