"""Whether times can be meant in microseconds: far from what the card can do, they are not."""

from __future__ import annotations

import math
from collections.abc import Sequence

from spyrelab.machine import SPYRE
from spyrelab.timing.errors import MeasurementError
from spyrelab.timing.measurements import Row

__all__ = ["least_microseconds", "require_microseconds"]

TOO_FAST = 1 / 20
"""No published time is below 0.94 of the bound; a smaller element type gains 2 to 4."""

TOO_SLOW = 300.0
"""Published times are up to 22 times the bound, on a core without help or with a bad split."""

_CLOCK_US = {"profiled": 20.0, "kernel_wall": 100.0, "host_wall": 10_000.0}
"""What a clock may add to the time of a small kernel."""


def least_microseconds(row: Row) -> float:
    """Time at the peak of the row's cores and the nameplate of the memory, every byte once."""
    if row.is_matmul:
        b, m, n, k = row.extents
        flops, elements = 2.0 * b * m * n * k, b * (m * k + k * n + m * n)
    else:
        arrays = 3 if row.op == "pointwise_add" else 2
        flops, elements = 0.0, arrays * math.prod(row.extents)
    peak = SPYRE.peak_flops("f16") * min(row.cores, SPYRE.cores) / SPYRE.cores
    return max(flops / peak, 2 * elements / SPYRE.ddr_peak_bytes_per_second) * 1e6


def require_microseconds(rows: Sequence[Row]) -> None:
    """Refuse times that are off by orders of magnitude.

    A single slow row may be a device that hung; a file in which most are slow is in
    another unit.

    Raises
    ------
    MeasurementError
        With the first such row, and the unit that it seems to be in.
    """
    slow = []
    for row in rows:
        least = least_microseconds(row)
        if row.measured_us < TOO_FAST * least:
            raise _wrong(row, f"the card cannot do it below {least:.3g} us; is it in ms?")
        if row.measured_us > TOO_SLOW * (least + _CLOCK_US[row.kind]):
            slow.append((row, least))
    if 2 * len(slow) > len(rows):
        row, least = slow[0]
        raise _wrong(row, f"the card's bound is {least:.3g} us; is it in ns?")


def _wrong(row: Row, reason: str) -> MeasurementError:
    return MeasurementError(
        f"row {row.line} ({row.id}): value_us = {row.measured_us:g} is no time in microseconds:"
        f" {reason}"
    )
