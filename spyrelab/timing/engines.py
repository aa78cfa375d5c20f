"""Arithmetic and exchanges as steps."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from spyrelab.emulator.groups import Exchange
from spyrelab.ktir import Operation, TensorType, Value
from spyrelab.ktir.types import element_of
from spyrelab.timing.nodes import Engine, Step
from spyrelab.timing.shapes import Extent, Shapes, shape_of
from spyrelab.timing.transfers import Card
from spyrelab.timing.work import PRODUCTS, Extents, elements, product_extents, tile_work, unit_work

__all__ = ["arithmetic_steps", "barrier_step", "exchange_step", "product_of"]

SIMPLE_LANES = 64
"""Elements per cycle and core of simple vector operations: one stick of f16. No source times
the vector unit alone; every measured stream is bound by memory."""

SPECIAL_FACTOR = 2.0
"""The published vector rate was fitted to silu, which has two slow operations per element."""

START_CYCLES = 32
"""Cycles between issuing a tile operation and its first result: PT rows and columns, twice."""

_UNITS = {"sfp": Engine.SFP, "special": Engine.SFP, "move": Engine.MOVE}


def product_of(operation: Operation, shapes: Shapes) -> Extents | None:
    """Extents of a member of the matmul family, None for anything else."""
    name = operation.name.removeprefix("linalg.")
    if not operation.name.startswith("linalg.") or name not in PRODUCTS:
        return None
    left, right = (shape_of(value, shapes) for value in operation.operands[:2])
    return product_extents(name, left, right)


def arithmetic_steps(
    card: Card, operation: Operation, active: np.ndarray, shapes: Shapes
) -> list[Step]:
    """The steps of an operation on tiles; none where it costs nothing."""
    tensors = tuple(v for v in operation.operands if isinstance(v.type, TensorType))
    extents = product_of(operation, shapes)
    if extents is not None:
        return [_product(card, operation, extents, active, tensors)]
    work = {unit: n for unit, n in unit_work(operation, shapes).items() if np.any(n)}
    steps = []
    for unit, count in work.items():
        seconds = _vector_seconds(card, unit, count, _itemsize(operation))
        steps.append(
            Step(
                _UNITS[unit],
                operation.name,
                operation,
                np.where(active, seconds, -1.0),
                reads=tensors,
                writes=operation.results,
                counts={f"ops_{unit}": np.where(active, count, 0)},
            )
        )
    return steps


def barrier_step(operation: Operation, active: np.ndarray) -> Step:
    """All cores that take part wait for each other, with all that their engines do."""
    return Step(
        Engine.RING,
        "barrier",
        operation,
        np.where(active, 0.0, -1.0),
        meets=(np.flatnonzero(active),),
        fence=True,
    )


def _itemsize(operation: Operation) -> int:
    return element_of(operation.results[0].type).itemsize if operation.results else 2


def _vector_seconds(card: Card, unit: str, count: Extent, itemsize: int) -> Extent:
    machine = card.machine
    start = START_CYCLES / machine.clock_hz
    if unit == "special":
        return start + count / (SPECIAL_FACTOR * machine.sfp_elements_per_second)
    if unit == "move":
        return start + 2 * count * itemsize / machine.lx_port_bytes_per_second
    lanes = max(1, SIMPLE_LANES * 2 // max(itemsize, 2))
    return start + -(-count // lanes) / machine.clock_hz


def _product(
    card: Card,
    operation: Operation,
    extents: Extents,
    active: np.ndarray,
    tensors: tuple[Value, ...],
) -> Step:
    machine, (batch, rows, columns, depth) = card.machine, extents
    element = element_of(operation.operands[0].type)
    rate = machine.macs_per_cycle.get(element.name, machine.macs_per_cycle["f16"] // 4)
    stick = machine.stick_elements(min(element.itemsize, 2))
    padded = batch * _up(rows, machine.pt_rows) * _up(columns, stick) * _up(depth, stick)
    cycles = padded / rate / card.constants.pt_efficiency + START_CYCLES
    macs = batch * rows * columns * depth
    return Step(
        Engine.PT,
        operation.name,
        operation,
        np.where(active, cycles / machine.clock_hz, -1.0),
        reads=tensors,
        writes=operation.results,
        counts={"ops_pt": np.where(active, macs, 0)},
    )


def _up(value: Extent, multiple: int) -> Extent:
    return -(-value // multiple) * multiple


def exchange_step(
    card: Card,
    operation: Operation,
    exchange: Exchange,
    partials: Sequence[Value],
    active: np.ndarray,
    shapes: Shapes,
) -> Step:
    """A collective: everybody meets, then consumers take in what others made."""
    ring = np.zeros(card.cores, np.int64)
    folds: dict[str, np.ndarray] = {}
    whole = sum(elements(p, shapes) * element_of(p.type).itemsize for p in partials)
    given = sum(elements(r, shapes) * element_of(r.type).itemsize for r in operation.results)
    concatenates = any(word in operation.name for word in ("gather", "all_to_all"))
    for tile, delivery in exchange.consumers.items():
        others = sum(producer != tile for producer in delivery.producers)
        piece = (
            given / max(1, len(delivery.producers)) if concatenates else np.minimum(whole, given)
        )
        ring[tile] = round(float(np.broadcast_to(others * piece, (card.cores,))[tile]))
        for unit, count in (
            tile_work(operation.regions[0], shapes) if operation.regions else {}
        ).items():
            made = folds.setdefault(f"ops_{unit}", np.zeros(card.cores, np.int64))
            made[tile] = np.broadcast_to(count, (card.cores,))[tile] * len(delivery.producers)
    machine = card.machine
    summed = "reduce" in operation.name
    rate = machine.partial_ring_bytes_per_second * machine.partial_ring_count
    rate = rate if summed else machine.data_ring_bytes_per_second
    folded = sum(folds.values(), np.zeros(card.cores, np.int64))
    seconds = ring / rate + folded / (SIMPLE_LANES / 2 * machine.clock_hz)
    groups: dict[int, set[int]] = {}
    for tile, delivery in exchange.consumers.items():
        groups.setdefault(delivery.group, set()).update((tile, *delivery.producers))
    meets = tuple(np.array(sorted(members)) for members in groups.values())
    return Step(
        Engine.SUMS if summed else Engine.RING,
        operation.name.removeprefix("ktdp."),
        operation,
        np.where(active, seconds, -1.0),
        reads=tuple(partials),
        writes=operation.results,
        meets=meets,
        counts={name: np.where(active, n, 0) for name, n in {"ring": ring, **folds}.items()},
    )
