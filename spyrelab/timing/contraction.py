"""Seconds that each engine works on a matrix product divided over cores.

The tiles of a program are the emulator's choice; the card's back-end compiler streams a core's
share in its own tiles.  So a product is priced from what each core has to do in all.  Every
field may be an array: then many products are priced at once.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from spyrelab.machine import SPYRE, Machine
from spyrelab.timing.constants import CONSTANTS, Constants, for_machine

__all__ = [
    "Contraction",
    "EngineSeconds",
    "combine",
    "left_passes",
    "price",
    "read_rate",
    "right_passes",
    "rows_per_pass",
    "seconds",
]

Number = Any
"""A number, or an array of them."""

ROWS_PER_PASS = 128
"""Rows of sums that stay on chip while the right operand streams by: M=512 and M=2048 rows
with whole columns read it M/128 times (KF-037, KF-078, GS-059, GS-064)."""

NARROW_COLUMNS = 128
"""Up to this many columns per core twice as many rows fit (GS-003, GS-062, KF-074)."""

COLUMNS_PER_PASS = 512
"""Columns that one reading of a left block serves when the block does not fit the back end's
share of the scratchpad (GS-038 against CP-025; KF-053, KF-060, KF-066)."""

PARTIAL_TILE_BYTES = 65536
"""f32 sums of a core up to this size never leave it between steps of depth, so distant
partners cost nothing (KF-013 to KF-016 against KF-017)."""

SPILL_EXPONENT = 1.5
"""Power of the missing share in the spill of batched sums: what is short of room grows with it,
and so does how often it goes (LX pairs, CP against GS rows)."""

SPILL_FROM = 1 / 7
"""Part of the scratchpad that a core's batched sums fill before all of them spill.  Fewer spill
in proportion: LX-007 is no slower than LX-008, with 32 KB of sums against a share of 0.2."""

MAX_STEPS = 64


@dataclass(frozen=True, kw_only=True)
class Contraction:
    """One core's share of a product, and who shares its operands.

    Attributes
    ----------
    batch, rows, columns, depth
        Extents of the busiest core's share.
    left_bytes, right_bytes, out_bytes
        Distinct bytes of all cores.
    core_left_bytes, core_right_bytes
        Bytes of the busiest core's own blocks.
    left_sharers, right_sharers
        Cores that read the same block.
    partners
        Cores that share a sum.
    distant
        Whether more than 8 chains of partners cross one segment of the ring.
    batched
        Whether the product has a batch axis.
    cores
        Active cores.
    fraction
        Share of the scratchpad that the back end may use.
    itemsize
        Bytes of an operand's element.
    macs_per_cycle
        Multiply-accumulates per cycle and core.
    right_kept
        Whether the program itself holds a core's right block in the scratchpad.
    sum_bytes
        Of the f32 sums of all cores, where the result does not go to device memory; by default
        they follow from ``out_bytes``.
    """

    batch: Number
    rows: Number
    columns: Number
    depth: Number
    left_bytes: Number
    right_bytes: Number
    out_bytes: Number
    core_left_bytes: Number
    core_right_bytes: Number
    left_sharers: Number
    right_sharers: Number
    partners: Number
    distant: Number
    batched: Number
    cores: Number
    fraction: Number
    itemsize: int = 2
    macs_per_cycle: int = 1024
    right_kept: Number = False
    sum_bytes: Number = None


@dataclass(frozen=True)
class EngineSeconds:
    """Busy seconds: the matrix unit, a core's loads and stores, the port's reads, writes and
    spills, sums on the ring; the number of steps, and the bytes that the port reads."""

    pt: Number
    load: Number
    store: Number
    port_read: Number
    port_write: Number
    port_spill: Number
    ring: Number
    steps: Number
    read_bytes: tuple[Number, Number]
    """Of the left and the right operand, reloads included."""

    @property
    def port(self) -> Number:
        """Seconds of the shared memory port."""
        return self.port_read + self.port_write + self.port_spill


def rows_per_pass(columns: Number) -> Number:
    """Rows that one reading of the right operand serves."""
    return np.where(np.asarray(columns) <= NARROW_COLUMNS, 2 * ROWS_PER_PASS, ROWS_PER_PASS)


def right_passes(work: Contraction) -> Number:
    """How often the right operand is read: once for every block of rows, if it does not stay."""
    return np.where(work.right_kept, 1.0, np.ceil(work.rows / rows_per_pass(work.columns)))


def left_passes(work: Contraction, machine: Machine = SPYRE) -> Number:
    """How often the left operand is read: a block of rows stays, unless it is too large."""
    room = np.asarray(work.fraction) * machine.lx_bytes
    large = work.core_left_bytes / work.batch > room
    alone = large & (right_passes(work) == 1)
    return np.where(alone, np.ceil(work.columns / COLUMNS_PER_PASS), 1.0)


def read_rate(sharers: Number, cores: Number, constants: Constants, machine: Machine) -> Number:
    """Bytes per second of the port when every byte serves ``sharers`` cores."""
    full = constants.ddr_bytes_per_second
    rate = full / (1 + constants.unicast_overhead / np.asarray(sharers, float))
    # Unicast reads of cores on one half of the ring go through one of the two ports.
    one_side = (np.asarray(sharers) == 1) & (np.asarray(cores) <= machine.cores // 2)
    return np.where(one_side, np.minimum(rate, full / machine.ddr_ports), rate)


def price(
    work: Contraction, machine: Machine = SPYRE, constants: Constants = CONSTANTS
) -> EngineSeconds:
    """Busy seconds of every engine, each as if it were alone."""
    k = for_machine(machine, constants)
    stick = machine.stick_bytes // work.itemsize
    passes = right_passes(work)
    # In the card's layout the batch is the innermost axis of sticks: short runs for few entries.
    burst = np.where(work.batched, np.maximum(1.0, k.burst_sticks / work.batch), 1.0)
    again = left_passes(work, machine)
    left = work.left_bytes * again / read_rate(work.left_sharers, work.cores, k, machine)
    # Cores that share no left block fall out of step after the first pass over their rows: from
    # then on each reads the right operand for itself (GS-009, GS-066, KF-055 to KF-057).
    apart = (passes > 1) & (np.asarray(work.left_sharers) == 1)
    copies = np.where(apart, work.right_sharers, 1.0)
    sharers = np.where(apart, 1.0, work.right_sharers)
    drift = _drift(work, k)
    right = work.right_bytes * copies * drift / read_rate(sharers, work.cores, k, machine)
    share = _share_exponent(work, stick, k)
    fraction = np.asarray(work.fraction, float)
    core_out = work.out_bytes * work.partners / work.cores
    taken = work.core_left_bytes * again + work.core_right_bytes * passes * drift
    load = taken / k.core_load_bytes_per_second
    steps = work.batch * np.ceil(work.rows / ROWS_PER_PASS)
    steps = steps * np.ceil(work.columns / stick) * np.ceil(work.depth / stick)
    return EngineSeconds(
        pt=_matrix_seconds(work, stick, machine, k),
        load=load * fraction**-share,
        store=core_out / (k.core_load_bytes_per_second * fraction**k.share_exponent),
        port_read=(left + right * passes) * burst,
        port_write=work.out_bytes / k.ddr_write_bytes_per_second * burst,
        port_spill=_spill_seconds(work, stick, machine, k),
        ring=_chain_seconds(work, k),
        steps=np.clip(steps, 1, MAX_STEPS),
        read_bytes=(work.left_bytes * again, work.right_bytes * copies * passes),
    )


def _drift(work: Contraction, k: Constants) -> Number:
    loose = (np.asarray(work.partners) > 1) & (np.asarray(work.left_sharers) == 1)
    loose = loose & (np.asarray(work.right_sharers) > 1) & ~np.asarray(work.batched, bool)
    return np.where(loose, 1 + k.drift_overhead, 1.0)


def _matrix_seconds(work: Contraction, stick: int, machine: Machine, k: Constants) -> Number:
    macs = work.batch * _round_up(work.rows, machine.pt_rows)
    macs = macs * _round_up(work.columns, stick) * _round_up(work.depth, stick)
    wide = work.rows * work.columns * 4 > PARTIAL_TILE_BYTES
    slow = np.where(np.asarray(work.distant, bool) & wide, k.partial_far, k.partial_near)
    slow = np.where(np.asarray(work.partners) > 1, slow, 1.0)
    return macs * slow / (work.macs_per_cycle * machine.clock_hz * k.pt_efficiency)


def _chain_seconds(work: Contraction, k: Constants) -> Number:
    sums = work.batch * work.rows * work.columns * 4
    return np.where(np.asarray(work.partners) > 1, sums / k.partial_ring_bytes_per_second, 0.0)


def _share_exponent(work: Contraction, stick: int, k: Constants) -> Number:
    batched = np.asarray(work.batched, bool)
    stepped = batched & (work.columns > stick) & (work.depth > stick)
    return k.share_exponent + k.share_exponent_batched * batched + k.share_exponent_steps * stepped


def _spill_seconds(work: Contraction, stick: int, machine: Machine, k: Constants) -> Number:
    # A partner in the middle of a chain takes sums in and sends them on: that counts as a step.
    deep = (np.asarray(work.depth) > stick) | (np.asarray(work.partners) > 2)
    trips = k.spill_base + k.spill_steps * deep
    trips = trips + k.spill_columns * (deep & (np.asarray(work.columns) > stick))
    missing = np.clip(1.0 - np.asarray(work.fraction, float), 0.0, 1.0) ** SPILL_EXPONENT
    held = work.batch * work.rows * work.columns * 4
    missing = missing * np.minimum(1.0, held / (SPILL_FROM * machine.lx_bytes))
    sums = work.out_bytes * 4 / work.itemsize if work.sum_bytes is None else work.sum_bytes
    trip = sums * (1 / k.ddr_write_bytes_per_second + 1 / k.ddr_bytes_per_second)
    return np.where(work.batched, trips * missing * trip, 0.0)


def combine(busy: list[Number], exponent: float) -> Number:
    """Time of engines that overlap imperfectly: they share the scratchpad's port."""
    largest = np.maximum.reduce([np.asarray(b, float) for b in busy])
    safe = np.where(largest > 0, largest, 1.0)
    total = sum((np.asarray(b, float) / safe) ** exponent for b in busy)
    return largest * total ** (1 / exponent)


def seconds(
    work: Contraction, machine: Machine = SPYRE, constants: Constants = CONSTANTS
) -> Number:
    """Profiled seconds of the product alone: what the schedule of its steps comes to."""
    k = for_machine(machine, constants)
    busy = price(work, machine, constants)
    # With a split of depth there is nothing to store before the partners' sums are folded.
    folded = np.asarray(work.partners) > 1
    early = np.where(folded, 0.0, busy.port_write)
    late = np.where(folded, np.maximum(busy.port_write, busy.store), 0.0)
    engines = [busy.load, busy.port_read + busy.port_spill + early, busy.pt]
    together = combine(engines, k.overlap_exponent)
    stretch = together / np.maximum.reduce([np.asarray(e, float) for e in engines])
    # The first step's load and the last step's store have nothing to hide behind.
    first = np.maximum(busy.load, busy.port_read + busy.port_spill)
    ends = (first + busy.pt + early) * stretch
    return k.launch_seconds + busy.ring + late + together + (ends - together) / busy.steps


def _round_up(value: Number, multiple: int) -> Number:
    return np.ceil(np.asarray(value, float) / multiple) * multiple
