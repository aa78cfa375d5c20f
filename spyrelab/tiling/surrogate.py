"""A quick guess of an operation's time, to choose which splits the timing model is asked about."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from spyrelab.machine import SPYRE, Machine
from spyrelab.opspec import element_type
from spyrelab.opspec.attention_plan import SCORE_SECONDS
from spyrelab.opspec.spec import TensorArg
from spyrelab.tiling.buffers import holding
from spyrelab.tiling.cut import Slicing
from spyrelab.tiling.signature import ATTENTION, is_product, signature_of
from spyrelab.timing import CONSTANTS, Contraction
from spyrelab.timing.contraction import read_rate, seconds

__all__ = ["guess"]


class _Traffic(NamedTuple):
    """Bytes of an operand: one core's own, all different ones, and cores per block."""

    own: int
    distinct: int
    sharers: float


def _traffic(slicing: Slicing, arg: TensorArg) -> _Traffic:
    boxes = holding(slicing, arg).boxes
    sizes = np.prod(boxes[:, :, 1] - boxes[:, :, 0], axis=1) * element_type(arg.dtype).itemsize
    if arg.lx_address is not None:
        return _Traffic(int(sizes.max()), 0, 1.0)
    starts = np.ascontiguousarray(boxes[:, :, 0])
    cores = reversed(range(len(starts)))
    first = list({starts[core].tobytes(): core for core in cores}.values())
    return _Traffic(int(sizes.max()), int(sizes[first].sum()), len(boxes) / len(first))


def guess(slicing: Slicing, machine: Machine = SPYRE) -> float:
    """Seconds, without what an operation's neighbours change."""
    if is_product(slicing.spec.op):
        return _product(slicing, machine)
    port = core = 0.0
    for arg in slicing.spec.args:
        own, distinct, sharers = _traffic(slicing, arg)
        if not distinct:
            continue
        core += own / CONSTANTS.core_load_bytes_per_second
        rate = CONSTANTS.ddr_write_bytes_per_second
        if arg.is_input:
            rate = float(read_rate(sharers, slicing.cores, CONSTANTS, machine))
        port += distinct / rate
    if slicing.spec.op == ATTENTION:
        core = max(core, _scores_seconds(slicing, machine))
    return max(port, core) + _partners(slicing) * 1e-7


def _scores_seconds(slicing: Slicing, machine: Machine) -> float:
    """Seconds of one core's scores: elementwise work and two products."""
    lengths = {symbol: cut.step * cut.turns for symbol, cut in slicing.cuts.items()}
    wide = lengths.pop("D") + lengths.pop("E")
    macs = machine.macs_per_cycle["f16"] * machine.clock_hz
    return math.prod(lengths.values()) * (SCORE_SECONDS + wide / macs)


def _product(slicing: Slicing, machine: Machine) -> float:
    spec, cuts = slicing.spec, slicing.cuts
    found = signature_of(spec)
    assert found is not None
    factors = [
        (arg, symbols)
        for arg, symbols in zip(spec.args, found.operands, strict=True)
        if arg.is_input and "K" in symbols
    ]
    left, right = (_traffic(slicing, arg) for arg, _ in factors)
    out = sum(_traffic(slicing, arg).distinct for arg in spec.args if not arg.is_input)
    lengths = {symbol: cut.step * cut.turns for symbol, cut in cuts.items()}
    batch = math.prod(n for symbol, n in lengths.items() if symbol not in ("M", "N", "K"))
    whole = math.prod(c.extent for symbol, c in cuts.items() if symbol not in ("M", "N", "K"))
    kind = element_type(spec.args[0].dtype)
    work = Contraction(
        batch=batch,
        rows=lengths["M"],
        columns=lengths["N"],
        depth=lengths["K"],
        left_bytes=left.distinct,
        right_bytes=right.distinct,
        out_bytes=out,
        core_left_bytes=left.own if left.distinct else 0,
        core_right_bytes=right.own if right.distinct else 0,
        left_sharers=left.sharers,
        right_sharers=right.sharers,
        partners=_partners(slicing),
        distant=False,
        batched=whole > 1,
        cores=slicing.cores,
        fraction=machine.lx_back_end_fraction,
        itemsize=min(kind.itemsize, 2),
        macs_per_cycle=machine.macs_per_cycle.get(kind.name, machine.macs_per_cycle["f16"] // 4),
        right_kept=not right.distinct,
    )
    return float(seconds(work, machine))


def _partners(slicing: Slicing) -> int:
    found = signature_of(slicing.spec)
    shared = found.shared if found is not None else ()
    return math.prod(slicing.cuts[s].parts for s in shared)
