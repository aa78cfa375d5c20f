"""The split of a matrix product that the model would choose."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from spyrelab.ktir.types import SCALARS
from spyrelab.machine import SPYRE, Machine
from spyrelab.timing.constants import CONSTANTS, Constants, for_machine
from spyrelab.timing.contraction import Contraction, combine, price, seconds
from spyrelab.timing.errors import TimingError, share, whole

__all__ = ["Split", "SplitChoice", "best_split", "scheduled_seconds", "split_times"]

Split = tuple[int, int, int, int]
"""Parts of (b, m, n, k)."""


@dataclass(frozen=True)
class SplitChoice:
    """A split and its predicted profiled seconds."""

    split: Split
    seconds: float


def best_split(
    b: int,
    m: int,
    n: int,
    k: int,
    dtype: str = "f16",
    lx_backend_fraction: float = 0.2,
    cores: int | None = None,
    machine: Machine = SPYRE,
    constants: Constants = CONSTANTS,
) -> SplitChoice:
    """The fastest split of ``b`` products ``[m, k] @ [k, n]`` over ``cores`` (default all).

    Raises
    ------
    TimingError
        Sizes that are no whole numbers above zero, cores that the machine does not have, a share
        that is none, or a product too small to be cut into ``cores`` parts.
    """
    return split_times(b, m, n, k, dtype, lx_backend_fraction, cores, machine, constants)[0]


@lru_cache(maxsize=4096)
def split_times(
    b: int,
    m: int,
    n: int,
    k: int,
    dtype: str = "f16",
    lx_backend_fraction: float = 0.2,
    cores: int | None = None,
    machine: Machine = SPYRE,
    constants: Constants = CONSTANTS,
) -> tuple[SplitChoice, ...]:
    """Every split that cuts no stick, fastest first; ties go to fewer parts of k, then of b.

    Depth is cut between neighbours.  An fp8 product is not cut along k.
    """
    b, m, n, k = (whole("a size of a product", size) for size in (b, m, n, k))
    used = whole("cores", machine.cores if cores is None else cores, machine.cores)
    fraction = share(lx_backend_fraction)
    return _split_times(b, m, n, k, dtype, fraction, used, machine, constants)


def _split_times(
    b: int,
    m: int,
    n: int,
    k: int,
    dtype: str,
    lx_backend_fraction: float,
    cores: int,
    machine: Machine,
    constants: Constants,
) -> tuple[SplitChoice, ...]:
    if dtype not in machine.macs_per_cycle or dtype not in SCALARS:
        known = ", ".join(name for name in machine.macs_per_cycle if name in SCALARS)
        raise TimingError(f"no matrix rate is known for {dtype!r}; known types: {known}")
    itemsize = SCALARS[dtype].itemsize
    splits = _splits((b, m, n, k), cores, machine, itemsize)
    if not splits:
        raise TimingError(f"{(b, m, n, k)} cannot be cut into {cores} parts")
    table = np.array(splits, float)
    work = _work((b, m, n, k), table, itemsize, machine, dtype, lx_backend_fraction)
    times = np.atleast_1d(scheduled_seconds(work, machine, constants))
    order = sorted(range(len(splits)), key=lambda i: (float(times[i]), splits[i][3], splits[i][0]))
    return tuple(SplitChoice(splits[i], float(times[i])) for i in order)


def scheduled_seconds(work: Contraction, machine: Machine, constants: Constants) -> Any:
    """`contraction.seconds` as the schedule has it, to which the fit need not be exact.

    Where the port is the busiest, the store of the last step but one goes by while the matrix
    unit works on the last.
    """
    k = for_machine(machine, constants)
    busy = price(work, machine, constants)
    early = np.where(np.asarray(work.partners) > 1, 0.0, busy.port_write)
    port = busy.port_read + busy.port_spill + early
    others = [busy.load, busy.pt, busy.store]
    together = combine([busy.load, port, busy.pt], k.overlap_exponent)
    largest = np.maximum.reduce([np.asarray(e, float) for e in (port, busy.load, busy.pt)])
    hidden = np.minimum(busy.pt, early) * together / largest / busy.steps
    bound = (port >= np.maximum.reduce([np.asarray(e, float) for e in others])) & (busy.steps > 1)
    return seconds(work, machine, constants) - np.where(bound, hidden, 0.0)


def _splits(
    extents: tuple[int, int, int, int], cores: int, machine: Machine, itemsize: int
) -> list[Split]:
    stick = machine.stick_elements(itemsize)
    b, m, n, k = extents
    most = (b, m, -(-n // stick), -(-k // stick))
    if itemsize == 1 and not machine.fp8_k_split:
        most = (*most[:3], 1)
    divisors = [d for d in range(1, cores + 1) if cores % d == 0]
    found = []
    for pb in divisors:
        for pm in divisors:
            for pn in divisors:
                if cores % (pb * pm * pn):
                    continue
                split = (pb, pm, pn, cores // (pb * pm * pn))
                if all(part <= limit for part, limit in zip(split, most, strict=True)):
                    found.append(split)
    return found


def _work(
    extents: tuple[int, int, int, int],
    table: np.ndarray,
    itemsize: int,
    machine: Machine,
    dtype: str,
    fraction: float,
) -> Contraction:
    b, m, n, k = extents
    bs, ms, ns, ks = table.T
    batch, rows, columns, depth = (
        np.ceil(extent / parts) for extent, parts in zip(extents, (bs, ms, ns, ks), strict=True)
    )
    ones = np.ones(len(table))
    return Contraction(
        batch=batch,
        rows=rows,
        columns=columns,
        depth=depth,
        left_bytes=itemsize * b * m * k * ones,
        right_bytes=itemsize * b * k * n * ones,
        out_bytes=itemsize * b * m * n * ones,
        core_left_bytes=itemsize * batch * rows * depth,
        core_right_bytes=itemsize * batch * depth * columns,
        left_sharers=ns,
        right_sharers=ms,
        partners=ks,
        distant=ones < 0,
        batched=ones * (b > 1) > 0,
        cores=table.prod(axis=1),
        fraction=max(fraction, 0.01) * ones,
        itemsize=min(itemsize, 2),
        macs_per_cycle=machine.macs_per_cycle[dtype],
    )
