"""The fitted constants of the timing model, each with a reason and the rows that fixed it."""

from __future__ import annotations

import dataclasses
import tomllib
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from typing import Any

from spyrelab.machine import SPYRE, Machine

__all__ = ["CONSTANTS", "Constants", "for_machine", "load_entries"]


@dataclass(frozen=True, kw_only=True)
class Constants:
    """Numbers that measurements fixed; ``constants.toml`` says why each exists.

    Attributes
    ----------
    pt_efficiency : float
        Share of its peak that the matrix unit reaches on whole tiles.
    partial_near, partial_far : float
        Slowdown of the matrix unit when its sums come from and go to the partial-sum ring.
    partial_ring_bytes_per_second : float
        Rate at which a core's f32 sums travel down the chain once.
    ddr_bytes_per_second, ddr_write_bytes_per_second : float
        Multicast reads and writes at the shared port.
    unicast_overhead : float
        Extra port time of a read that serves one core, shared among those it serves.
    drift_overhead : float
        Extra reads of a right block by cores that share no left block and wait for partners.
    core_load_bytes_per_second : float
        Rate at which one core takes in what it loads, at a back-end share of 1.
    share_exponent, share_exponent_batched, share_exponent_steps : float
        Powers of the back-end share by which that rate falls.
    burst_sticks : float
        Sticks of a run below which a transfer takes as long as a run of that many.
    spill_base, spill_steps, spill_columns : float
        Round trips of a batched product's f32 sums at a back-end share of 0.
    overlap_exponent : float
        How well engines overlap: total = (sum of busy times ** q) ** (1 / q).
    launch_seconds : float
        Fixed time of a kernel.
    kernel_wall_seconds, host_wall_seconds : float
        What those two clocks add.
    """

    pt_efficiency: float
    partial_near: float
    partial_far: float
    partial_ring_bytes_per_second: float
    ddr_bytes_per_second: float
    ddr_write_bytes_per_second: float
    unicast_overhead: float
    drift_overhead: float
    core_load_bytes_per_second: float
    share_exponent: float
    share_exponent_batched: float
    share_exponent_steps: float
    burst_sticks: float
    spill_base: float
    spill_steps: float
    spill_columns: float
    overlap_exponent: float
    launch_seconds: float
    kernel_wall_seconds: float
    host_wall_seconds: float

    def replace(self, **changes: float) -> Constants:
        """Return constants with some numbers changed."""
        return dataclasses.replace(self, **changes)


def load_entries(text: str | None = None) -> dict[str, dict[str, Any]]:
    """Tables of ``constants.toml``: value, unit, reason and rows by name."""
    if text is None:
        text = files(__package__).joinpath("constants.toml").read_text(encoding="utf-8")
    return tomllib.loads(text)


CONSTANTS = Constants(**{name: float(entry["value"]) for name, entry in load_entries().items()})
"""The shipped fit."""


@lru_cache(maxsize=64)
def for_machine(machine: Machine, constants: Constants = CONSTANTS) -> Constants:
    """Scale the fit of the shipped card by what a variant changes."""
    if machine == SPYRE:
        return constants

    def times(value: float, name: str) -> float:
        return value * float(getattr(machine, name)) / float(getattr(SPYRE, name))

    ring = "partial_ring_bytes_per_second"
    return constants.replace(
        ddr_bytes_per_second=times(constants.ddr_bytes_per_second, "ddr_read_bytes_per_second"),
        ddr_write_bytes_per_second=times(
            constants.ddr_write_bytes_per_second, "ddr_write_bytes_per_second"
        ),
        core_load_bytes_per_second=times(
            constants.core_load_bytes_per_second, "interface_clock_hz"
        ),
        partial_ring_bytes_per_second=times(constants.partial_ring_bytes_per_second, ring),
        launch_seconds=times(constants.launch_seconds, "kernel_seconds"),
    )
