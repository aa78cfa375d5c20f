"""Loads and stores as steps: bytes per core, and what crosses the shared port."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from spyrelab.ktir import Operation, Value
from spyrelab.machine import Machine
from spyrelab.timing.constants import Constants
from spyrelab.timing.contraction import read_rate
from spyrelab.timing.nodes import Access, Engine, Step
from spyrelab.timing.places import Tile, View, boxes, clipped, run_elements

__all__ = ["Card", "distinct_boxes", "transfer_steps"]


@dataclass(frozen=True)
class Card:
    """What steps are priced with."""

    machine: Machine
    constants: Constants
    cores: int
    fraction: float

    @property
    def core_rate(self) -> float:
        """Bytes per second that one core takes in."""
        k = self.constants
        return k.core_load_bytes_per_second * self.fraction**k.share_exponent


def transfer_steps(
    card: Card, operation: Operation, tile: Tile, value: Value, active: np.ndarray
) -> list[Step]:
    """The steps of ``ktdp.load`` or ``ktdp.store``, one per view that holds the tile."""
    store = operation.name == "ktdp.store"
    steps = []
    for part in tile.parts:
        lows, highs, exact = boxes(tile, part, active)
        count = clipped(lows, highs) * part.itemsize
        if not count.any():
            continue
        reads, writes = ((value,), ()) if store else ((), (value,))
        if part.space is None:
            access = Access(part.base, lows, highs, part.itemsize, exact)
            made = _memory(card, operation, tile, part, access, count, store)
            steps.append(replace(made, reads=reads, writes=writes))
        else:
            steps.append(_scratchpad(card, operation, part, count, store, reads, writes))
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
    stick = card.machine.stick_bytes
    run = run_elements(tile, part) * part.itemsize
    padded = np.ceil(count / max(run, 1)) * (np.ceil(run / stick) * stick)
    padded = np.where(count > 0, padded, 0.0)
    burst = max(1.0, card.constants.burst_sticks * stick / max(run, stick))
    key = "ddr_write" if store else "ddr_read"
    indices = np.where(count > 0, tile.index_bytes, 0)
    counts = {key: count}
    counts["ddr_read"] = counts.get("ddr_read", 0) + indices
    if store:
        rate = card.constants.ddr_write_bytes_per_second
        crossing = float(padded.sum())
        seconds = crossing * burst / rate
    else:
        crossing, seconds = _multicast(card, access, padded)
        seconds *= burst
    own = np.where(count > 0, padded / card.core_rate, -1.0)
    label = f"{'store' if store else 'load'} {access.base}"
    return Step(
        Engine.STORE if store else Engine.LOAD,
        label,
        operation,
        own,
        seconds,
        counts=counts,
        port_bytes=crossing,
        access=access,
    )


def _multicast(card: Card, access: Access, padded: np.ndarray) -> tuple[float, float]:
    """Bytes over the port, each range once, and the seconds that they take."""
    busy = padded > 0
    active = int(busy.sum())
    if not access.exact:
        rate = float(read_rate(1, active, card.constants, card.machine))
        return float(padded.sum()), float(padded.sum()) / rate
    first, sharers = distinct_boxes(access.lows[busy], access.highs[busy])
    nbytes = padded[busy][first]
    rates = read_rate(sharers, active, card.constants, card.machine)
    return float(nbytes.sum()), float((nbytes / rates).sum())


def distinct_boxes(lows: np.ndarray, highs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Index of the first core of every different box, and how many cores have it."""
    keys = np.concatenate([lows, highs], axis=1)
    _, first, counts = np.unique(keys, axis=0, return_index=True, return_counts=True)
    return first, counts


def _scratchpad(
    card: Card,
    operation: Operation,
    part: View,
    count: np.ndarray,
    store: bool,
    reads: tuple[Value, ...],
    writes: tuple[Value, ...],
) -> Step:
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
