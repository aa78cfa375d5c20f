"""Gathers, scatters and atomics as steps: a stick through the port wherever the place changes.

A Spyre core moves sticks.  Elements that follow each other in one stick are moved together;
where offsets are not known before the program runs, every element (or row) is taken to lie in
sticks of its own.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from spyrelab.ktir import Operation, Value
from spyrelab.ktir.element_access import ATOMICS, ElementAccess, element_access
from spyrelab.timing.motion import Moving, plain
from spyrelab.timing.nodes import Engine, Node, Step
from spyrelab.timing.places import View, full
from spyrelab.timing.scalars import Unknown, said
from spyrelab.timing.shapes import shape_of
from spyrelab.timing.transfers import Card, scratchpad_step
from spyrelab.timing.values import Values

__all__ = ["access_elements"]


MOST_EXACT = 256
"""Iterations of a program that are looked at one by one because offsets or masks change."""


@dataclass(frozen=True)
class Walked:
    """What an operation touches, per core: bytes asked for, sticks, and jumps between them."""

    nbytes: np.ndarray
    sticks: np.ndarray
    jumps: np.ndarray


def access_elements(
    values: Values, operation: Operation, active: np.ndarray, nodes: list[Node]
) -> None:
    """Handler of the operations on single elements; atomics read and write."""
    access = element_access(operation, operation.operands)
    (view,) = values.parts(access.view)
    walked = _walk(values, operation, access, view, active)
    stores = operation.name == "spyrelab.scatter"
    kept = (*access.values, access.offsets, *(() if access.mask is None else (access.mask,)))
    for store in (False, True) if operation.name in ATOMICS else (stores,):
        reads = operation.results if store and operation.results else kept
        writes = () if store else operation.results
        if view.space is None:
            step = _step(values.card, operation, view, walked, store)
        else:
            step = scratchpad_step(values.card, operation, view, walked.nbytes, store, (), ())
        nodes.append(step.changed(reads=reads, writes=writes))
    if operation.results:
        values.values[operation.result] = Unknown(f"what {said(operation)} finds")


# -- what is touched -------------------------------------------------------------------------


def _walk(
    values: Values,
    operation: Operation,
    access: ElementAccess[Value],
    view: View,
    active: np.ndarray,
) -> Walked:
    cores = values.card.cores
    count: Any = math.prod(shape_of(access.offsets, values.shapes))
    taken = np.ones((cores, int(np.max(count))), bool)
    if not isinstance(count, int):
        taken &= np.arange(taken.shape[1]) < np.asarray(count)[:, None]
    taken &= active[:, None]
    if access.mask is not None:
        mask = _seen(values, operation, access.mask, "mask")
        taken &= True if mask is None else mask.reshape(cores, -1) != 0
    offsets = _seen(values, operation, access.offsets, "position of elements")
    extent, stride = operation.attributes.get("extent", 1), 1
    per_row = np.full(cores, extent)
    if access.stride is not None and access.limit is not None:
        course = values.course
        limit = values.known(access.limit, "the length of rows")
        limit = course.maximum(course.minimum(limit, full(extent, cores)), full(0, cores))
        per_row = course.settle(limit)
        stride = int(np.max(values.course.settle(values.known(access.stride, "their stride"))))
    taken &= (per_row > 0)[:, None]
    spread = _size(values, view.strides[0], 1)
    step = abs(stride * int(np.max(spread))) * view.itemsize
    if offsets is not None:
        first = offsets.reshape(cores, -1) - _size(values, view.lows[0], 0)[:, None]
        size = _size(values, view.sizes[0], 1 << 60)[:, None]
        last = first + ((np.maximum(per_row, 1) - 1) * stride)[:, None]
        taken &= (first >= 0) & (first < size) & (last >= 0) & (last < size)
    nbytes = taken.sum(axis=1) * per_row * view.itemsize
    stick = values.card.machine.stick_bytes
    if offsets is None:
        in_row = np.minimum(-(-per_row * max(step, view.itemsize) // stick), per_row)
        rows = taken.sum(axis=1)
        return Walked(nbytes, rows * in_row, rows)
    places = (first * spread[:, None] + plain(view.address)[:, None]) * view.itemsize
    return _sticks(places, taken, per_row, step, view.itemsize, stick, nbytes)


def _sticks(
    places: np.ndarray,
    taken: np.ndarray,
    per_row: np.ndarray,
    step: int,
    itemsize: int,
    stick: int,
    nbytes: np.ndarray,
) -> Walked:
    """Follow the rows of every core in order."""
    sticks, jumps = np.zeros(len(places), np.int64), np.zeros(len(places), np.int64)
    for core, (row, mask) in enumerate(zip(places, taken, strict=True)):
        first = row[mask] // stick
        if not first.size:
            continue
        reach = (int(per_row[core]) - 1) * step + itemsize
        last = (row[mask] + reach - 1) // stick
        fresh = np.concatenate([[True], first[1:] != last[:-1]])
        near = np.concatenate([[False], first[1:] == last[:-1] + 1])
        inner = np.minimum(last - first, int(per_row[core]) - 1)
        sticks[core] = int((inner + fresh).sum())
        jumps[core] = int((fresh & ~near).sum())
    return Walked(nbytes, sticks, jumps)


def _seen(values: Values, operation: Operation, value: Value, what: str) -> np.ndarray | None:
    """A tensor as it is now.

    It is looked at in every iteration, or after many in the first of them only: then counts
    are not exact.
    """
    found = values.scalar(value)
    if isinstance(found, Unknown):
        values.reasons.append(f"{said(operation)}: unknown {what} ({found.reason})")
        return None
    if isinstance(found, Moving) and values.looks < MOST_EXACT:
        values.course.pin(found.turns)
    elif isinstance(found, Moving):
        values.reasons.append(f"{said(operation)}: {what} that changes with the iteration")
    now: np.ndarray = np.broadcast_to(plain(found), (values.card.cores, *plain(found).shape[1:]))
    return now


def _size(values: Values, number: Any, otherwise: int) -> np.ndarray:
    if isinstance(number, Unknown):
        return np.full(values.card.cores, otherwise, np.int64)
    settled: np.ndarray = values.course.settle(number)
    return settled


# -- what it takes ---------------------------------------------------------------------------


def _step(card: Card, operation: Operation, view: View, walked: Walked, store: bool) -> Step:
    stick = card.machine.stick_bytes
    padded = walked.sticks * float(stick)
    key = "ddr_write" if store else "ddr_read"

    def port(mask: np.ndarray) -> tuple[float, float]:
        crossing = float(padded[mask].sum())
        busy = int((padded[mask] > 0).sum())
        if not busy:
            return 0.0, 0.0
        run = crossing / max(int(walked.jumps[mask].sum()), 1)
        burst = max(1.0, card.constants.burst_sticks * stick / max(run, stick))
        if store:
            return crossing, crossing * burst / card.constants.ddr_write_bytes_per_second
        return crossing, crossing * burst / card.unicast_rate(busy)

    def made(mask: np.ndarray) -> dict[str, Any]:
        mask = mask & (padded > 0)
        crossing, seconds = port(mask)
        return {
            "seconds": np.where(mask, padded / card.core_rate, -1.0),
            "port_seconds": seconds,
            "counts": {key: np.where(mask, walked.nbytes, 0)},
            "port_bytes": crossing,
        }

    def narrow(mask: np.ndarray, step: Step) -> Step | None:
        if not (mask & (padded > 0)).any():
            return None
        return step.changed(**made(mask), narrow=None)

    verb = operation.name.removeprefix("spyrelab.")
    engine = Engine.STORE if store else Engine.LOAD
    everybody = np.ones(card.cores, bool)
    return Step(engine, f"{verb} {view.base}", operation, narrow=narrow, **made(everybody))
