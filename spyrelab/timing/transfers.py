"""Loads and stores as steps: bytes per core, and what crosses the shared port."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from spyrelab.ktir import Operation, Value
from spyrelab.machine import Machine
from spyrelab.timing.constants import Constants
from spyrelab.timing.contraction import read_rate
from spyrelab.timing.motion import Course, Moving, plain
from spyrelab.timing.nodes import Access, Engine, Step
from spyrelab.timing.places import Tile, View
from spyrelab.timing.runs import run_elements
from spyrelab.timing.scalars import Unknown
from spyrelab.timing.touched import Touched

__all__ = ["Card", "distinct_boxes", "scratchpad_step", "transfer_steps"]


@dataclass(frozen=True)
class Card:
    """What steps are priced with."""

    machine: Machine
    constants: Constants
    cores: int
    fraction: float
    rates: dict[int, float] = field(default_factory=dict, compare=False, repr=False)

    def unicast_rate(self, active: int) -> float:
        """Bytes per second of the port when as many cores read what nobody else does."""
        if active not in self.rates:
            self.rates[active] = float(read_rate(1, active, self.constants, self.machine))
        return self.rates[active]

    @property
    def core_rate(self) -> float:
        """Bytes per second that one core takes in."""
        k = self.constants
        return k.core_load_bytes_per_second * self.fraction**k.share_exponent


def transfer_steps(
    card: Card,
    course: Course,
    operation: Operation,
    tile: Tile,
    value: Value,
    found: Touched,
) -> list[Step]:
    """The steps of ``ktdp.load`` or ``ktdp.store``, one per view that holds the tile."""
    store = operation.name == "ktdp.store"
    reads, writes = ((value,), ()) if store else ((), (value,))
    steps = []
    for part, elements, low, high in zip(
        tile.parts, found.counts, found.low, found.high, strict=True
    ):
        count = elements * part.itemsize
        if not count.any():
            continue
        if part.space is None:
            access = _access(course, part, low, high, count > 0, found)
            made = _memory(card, operation, tile, part, access, count, store)
            if not store:
                _share_alike(course, access, (*low, *high))
            course.touch(operation, _copied(access), low, high)
            steps.append(replace(made, reads=reads, writes=writes))
        else:
            steps.append(scratchpad_step(card, operation, part, count, store, reads, writes))
    return steps + _index_steps(card, operation, found)


def _access(
    course: Course,
    part: View,
    low: Sequence[Any],
    high: Sequence[Any],
    busy: np.ndarray,
    found: Touched,
) -> Access:
    shape = (course.cores, len(low))
    lows, highs = np.zeros(shape, np.int64), np.zeros(shape, np.int64)
    for axis, (first, last) in enumerate(zip(low, high, strict=True)):
        lows[:, axis], highs[:, axis] = plain(first), plain(last)
    highs[~busy] = lows[~busy]
    origins = _origins(course, part)
    return Access(part.base, lows, highs, part.itemsize, found.placed, origins, found.alike)


def _origins(course: Course, part: View) -> np.ndarray | None:
    """Where a view begins on each core; None for the same address everywhere."""
    address = part.address
    if isinstance(address, Unknown):
        return None
    found = np.broadcast_to(np.asarray(plain(address)), (course.cores,))
    return None if (found == found[0]).all() else found.astype(np.int64)


def _copied(access: Access) -> Access:
    return replace(access, lows=access.lows.copy(), highs=access.highs.copy())


def _share_alike(course: Course, access: Access, places: Sequence[Any]) -> None:
    """End a look where cores share what they will not share when they have moved on."""
    busy = (access.highs > access.lows).all(axis=1)
    moving = [v for v in places if isinstance(v, Moving)]
    slopes = [s for v in moving for s in v.slopes.values() if np.any(s[busy] != s[busy][:1])]
    if not slopes or not access.exact:
        return
    boxes = access.boxes[busy]
    paths = np.concatenate([boxes, np.stack(slopes, axis=1)[busy]], axis=1)
    if len(set(_rows(boxes))) < len(set(_rows(paths))):
        course.pin(t for v in moving for t in v.turns)


def _index_steps(card: Card, operation: Operation, found: Touched) -> list[Step]:
    """What is read to find places, as counts of a step that takes no time of its own."""
    steps = []
    for view, elements in found.indices:
        count = elements * view.itemsize
        idle = np.full(card.cores, -2.0)
        if count.any() and view.space is None:
            steps.append(Step(Engine.NONE, "", operation, idle, counts={"ddr_read": count}))
        elif count.any():
            step = scratchpad_step(card, operation, view, count, False, (), ())
            steps.append(replace(step, engine=Engine.NONE, seconds=idle))
    return steps


def _memory(
    card: Card,
    operation: Operation,
    tile: Tile,
    part: View,
    access: Access,
    count: np.ndarray,
    store: bool,
) -> Step:
    run = run_elements(tile, part) * part.itemsize

    stick = card.machine.stick_bytes
    padded = np.ceil(count / max(run, 1)) * (np.ceil(run / stick) * stick)
    padded = np.where(count > 0, padded, 0.0)
    burst = max(1.0, card.constants.burst_sticks * stick / max(run, stick))
    key = "ddr_write" if store else "ddr_read"

    def port(access: Access, padded: np.ndarray) -> tuple[float, float]:
        if store:
            crossing = float(padded.sum())
            return crossing, crossing * burst / card.constants.ddr_write_bytes_per_second
        crossing, seconds = _multicast(card, access, padded)
        return crossing, seconds * burst

    def narrow(mask: np.ndarray, step: Step) -> Step | None:
        fewer = np.where(mask, count, 0)
        if not fewer.any():
            return None
        highs = np.where(mask[:, None], access.highs, access.lows)
        kept = replace(access, highs=highs)
        crossing, seconds = port(kept, np.where(mask, padded, 0.0))
        return step.changed(
            seconds=np.where(mask, own, -1.0),
            port_seconds=seconds,
            counts={key: fewer},
            port_bytes=crossing,
            access=kept,
            narrow=None,
        )

    crossing, seconds = port(access, padded)
    own = np.where(count > 0, padded / card.core_rate, -1.0)
    label = f"{'store' if store else 'load'} {access.base}"
    return Step(
        Engine.STORE if store else Engine.LOAD,
        label,
        operation,
        own,
        seconds,
        counts={key: count},
        port_bytes=crossing,
        access=access,
        narrow=narrow,
    )


def _multicast(card: Card, access: Access, padded: np.ndarray) -> tuple[float, float]:
    """Bytes over the port, each range once, and the seconds that they take."""
    busy = padded > 0
    active = int(busy.sum())
    rows = access.boxes if access.exact else access.alike
    if rows is None:
        rate = card.unicast_rate(active)
        return float(padded.sum()), float(padded.sum()) / rate
    first, sharers = distinct_boxes(rows[busy])
    nbytes = padded[busy][first]
    rates = read_rate(sharers, active, card.constants, card.machine)
    return float(nbytes.sum()), float((nbytes / rates).sum())


def distinct_boxes(boxes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Index of the first core of every different box, and how many cores have it."""
    counts = Counter(rows := _rows(boxes))
    first = {row: index for index, row in reversed(list(enumerate(rows)))}
    return np.array([first[row] for row in counts]), np.array(list(counts.values()))


def _rows(array: np.ndarray) -> list[bytes]:
    """Rows that can be compared: for few rows faster than ``numpy.unique``."""
    return [row.tobytes() for row in array]


def scratchpad_step(
    card: Card,
    operation: Operation,
    part: View,
    count: np.ndarray,
    store: bool,
    reads: tuple[Value, ...],
    writes: tuple[Value, ...],
) -> Step:
    """A transfer of ``count`` bytes per core from or to a scratchpad."""
    own = np.arange(len(count)) == part.space if part.space != -1 else np.ones(len(count), bool)
    here, there = np.where(own, count, 0), np.where(own, 0, count)
    machine = card.machine
    seconds = here / machine.lx_port_bytes_per_second + there / machine.data_ring_bytes_per_second
    key = "lx_write" if store else "lx_read"
    engine = Engine.RING if there.any() else Engine.MOVE
    label = f"{'store' if store else 'load'} scratchpad"
    counts = {key: here, "ring": there}
    seconds = np.where(count > 0, seconds, -1.0)
    return Step(engine, label, operation, seconds, 0.0, reads, writes, (), counts)
