"""Closed form for a streaming kernel: what reading and writing whole arrays takes."""

from __future__ import annotations

import math

from spyrelab.machine import SPYRE
from spyrelab.timing.constants import Constants
from spyrelab.timing.contraction import read_rate
from spyrelab.timing.measurements import Row

__all__ = ["seconds"]

_READS = {"pointwise_add": 2, "pointwise_scale": 1, "softmax": 1}


def seconds(row: Row, constants: Constants) -> float:
    """Profiled seconds of an f16 stream bound by memory; every byte serves one core."""
    nbytes = 2 * math.prod(row.extents)
    read = _READS[row.op] * nbytes / float(read_rate(1, row.cores, constants, SPYRE))
    return constants.launch_seconds + read + nbytes / constants.ddr_write_bytes_per_second
