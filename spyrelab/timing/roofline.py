"""The baseline: work over the larger of two rates, each byte once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from spyrelab.ktir import Module
from spyrelab.machine import SPYRE, Machine

__all__ = ["Roofline", "roofline"]


@dataclass(frozen=True)
class Roofline:
    """Operations and bytes of a program against the card's ceilings.

    Attributes
    ----------
    flops, nbytes : float
        Operations of the matrix unit (two per multiply-accumulate), and distinct bytes.
    peak_flops, bandwidth : float
        Ceilings, per second: the matrix unit's peak in f16, and sustained reads.
    """

    flops: float
    nbytes: float
    peak_flops: float
    bandwidth: float

    @property
    def intensity(self) -> float:
        """Operations per byte."""
        return self.flops / self.nbytes if self.nbytes else 0.0

    @property
    def seconds(self) -> float:
        """The least time that the two ceilings allow."""
        return max(self.flops / self.peak_flops, self.nbytes / self.bandwidth)

    @property
    def bound(self) -> str:
        """``compute`` or ``memory``."""
        compute = self.flops / self.peak_flops > self.nbytes / self.bandwidth
        return "compute" if compute else "memory"


def roofline(
    module: Module,
    args: Mapping[str, Any] | None = None,
    function: str | None = None,
    machine: Machine = SPYRE,
) -> Roofline:
    """Peak compute and sustained reads, every range of memory once: no split, no overlap.

    Raises
    ------
    UnknownValueError, TimingError
        As for `estimate`.
    """
    from spyrelab.timing.estimate import estimate

    found = estimate(module, args, function, machine)
    flops = 2.0 * float(found.counts["ops_pt"].sum()) if "ops_pt" in found.counts else 0.0
    if found.plan is not None:
        work = found.plan.contraction
        nbytes = float(work.left_bytes + work.right_bytes + work.out_bytes)
    else:
        nbytes = found.port_bytes
    bandwidth = machine.ddr_read_bytes_per_second
    return Roofline(flops, nbytes, machine.peak_flops("f16"), bandwidth)
