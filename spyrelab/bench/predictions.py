"""Predicted and published times as implementations: rows about time, with nothing computed.

A prediction is `correct` when the kernel that it is about computes the right result on the
emulator: for a split product the same split at a small shape, else the case itself.  A published
time is only quoted.  Host time is that of one estimate.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np

from spyrelab.bench.case import Case
from spyrelab.bench.implementations import Implementation, Prediction, Ready, Workload
from spyrelab.bench.published import Measured, measured_splits
from spyrelab.emulator import run
from spyrelab.errors import UsageError
from spyrelab.kernels import CATALOGUE
from spyrelab.kernels.arrays import Array
from spyrelab.ktir import Module
from spyrelab.machine import SPYRE
from spyrelab.timing import estimate, roofline, split_times
from spyrelab.timing.result import UNITS
from spyrelab.timing.splits import Split
from spyrelab.timing.validation import spearman

__all__ = ["BEST_SPLIT", "PREDICTIONS", "WITHOUT_PROGRAM", "prediction_of", "traced"]

BEST_SPLIT = "best_split"
"""Label of the cases that sum a shape up over its splits."""

_MODELS: dict[str, Callable[[Module], float]] = {
    "schedule": lambda module: estimate(module).seconds,
    "roofline": lambda module: roofline(module).seconds,
}


def predict(model: str) -> Implementation:
    """The timing model, or the roofline that it has to beat."""

    @contextmanager
    def ready(workload: Workload) -> Iterator[Ready]:
        case, predictor = workload.case, _MODELS[model]
        split: Split | None = case.parameters.get("split")
        if case.label == BEST_SPLIT:
            extents = _extents(case.parameters)
            prediction, split = _over_splits(model, extents)
            if model == "schedule":
                prediction = prediction_of(_chosen(case, split), prediction.extra)
            call = _chooser(model, extents, split)
        else:
            module = workload.module
            prediction = _one(model, workload)

            def call() -> object:
                return predictor(module)

        if split is None:
            yield Ready(call, lambda: _computed(workload), prediction=prediction)
        else:
            result, expected = _reduced(split)
            yield Ready(call, lambda: result, expected=expected, prediction=prediction)

    return ready


def _chooser(model: str, extents: Split, split: Split) -> Callable[[], object]:
    """What it takes to choose a split, without the memory of an earlier choice."""
    if model == "schedule":
        return lambda: split_times.__wrapped__(*extents)
    module = _product(extents, split)
    return lambda: roofline(module)


@contextmanager
def quote(workload: Workload) -> Iterator[Ready]:
    """What was published; nothing is run."""
    parameters = workload.case.parameters
    splits = measured_splits()[_extents(parameters)]
    split = parameters.get("split") or min(splits, key=lambda s: splits[s].microseconds)
    found = splits[split]
    extra = {"id": found.id, "source": found.source, "best_split": list(split)}
    extra["checked"] = "published, quoted: there is no result to check"
    prediction = Prediction(found.microseconds, extra=extra)
    nothing = np.zeros(1, np.float32)
    yield Ready(lambda: None, lambda: nothing, expected=nothing, prediction=prediction, timed=False)


def _one(model: str, workload: Workload) -> Prediction:
    extra: dict[str, Any] = {}
    parameters = workload.case.parameters
    if "split" in parameters:
        measured = measured_splits()[_extents(parameters)][parameters["split"]]
        extra = {"measured_us": measured.microseconds, "measurement": measured.id}
        extra["checked"] = "this split of a small product, run on the emulator"
    if model == "roofline":
        return _priced(roofline(workload.module).seconds, None, extra)
    return prediction_of(workload, extra)


def prediction_of(workload: Workload, extra: Mapping[str, Any] | None = None) -> Prediction:
    """What the timing model and the program itself say of a case; nothing is run.

    Raises
    ------
    TimingError
        The program cannot be timed.
    """
    made = workload.estimate
    moved = (made.counts.get(name) for name in ("ddr_read", "ddr_write"))
    found = _priced(made.seconds, max(made.busy(unit) for unit in UNITS), dict(extra or {}))
    return replace(
        found,
        cycles=made.cycles,
        ddr_bytes=sum(int(counts.sum()) for counts in moved if counts is not None),
        lx_peak=int(workload.program.lx_peaks.max(initial=0)),
        extra={**found.extra, "bottleneck": made.bottleneck, "port_bytes": made.port_bytes},
    )


def traced(case: Case) -> Workload:
    """The program that a case is about: of a shape over its splits, the split that is chosen."""
    if case.label == BEST_SPLIT:
        _, split = _over_splits("schedule", _extents(case.parameters))
        return _chosen(case, split)
    return Workload(case, threads=1)


def _chosen(case: Case, split: Split) -> Workload:
    return Workload(replace(case, parameters={**case.parameters, "split": split}), threads=1)


def _priced(seconds: float, utilization: float | None, extra: dict[str, Any]) -> Prediction:
    microseconds = round(seconds * 1e6, 6)
    if "measured_us" in extra:
        extra["log_ratio"] = math.log(microseconds / extra["measured_us"])
    cycles = round(seconds * SPYRE.clock_hz)
    return Prediction(microseconds, cycles, utilization, extra=extra)


def _over_splits(model: str, extents: Split) -> tuple[Prediction, Split]:
    """How a model ranks the measured splits; the split that it would choose."""
    measured = measured_splits()[extents]
    times = np.array([_MODELS[model](_product(extents, split)) for split in measured])
    splits = list(measured)
    chosen, extra = _ranks(splits, times * 1e6, measured)
    return _priced(float(times.min()), None, extra), chosen


def _ranks(
    splits: list[Split], predicted: np.ndarray, measured: Mapping[Split, Measured]
) -> tuple[Split, dict[str, Any]]:
    published = np.array([measured[split].microseconds for split in splits])
    chosen = int(predicted.argmin())
    # A model that cannot tell splits apart chooses blindly: its regret is what that gives.
    ties = np.isclose(predicted, predicted.min(), rtol=1e-9)
    rank = spearman(predicted, published)
    return splits[chosen], {
        "splits": len(splits),
        "predicted_best": list(splits[chosen]) if ties.sum() == 1 else None,
        "measured_best": list(splits[int(published.argmin())]),
        "regret": float(np.median(published[ties]) / published.min()),
        "spearman": None if math.isnan(rank) else rank,
        "median_log_error": float(np.median(np.abs(np.log(predicted / published)))),
        "checked": "the chosen split of a small product, run on the emulator",
    }


def _extents(parameters: Mapping[str, Any]) -> Split:
    b, m, n, k = (int(parameters[axis]) for axis in "bmnk")
    extents = (b, m, n, k)
    if extents not in measured_splits():
        raise UsageError(f"no published time for a product of sizes {extents}")
    return extents


@cache
def _product(extents: Split, split: Split) -> Module:
    b, m, n, k = extents
    return CATALOGUE["matmul"].build(b=b, m=m, n=n, k=k, split=split)


@cache
def _reduced(split: Split) -> tuple[Array, Array]:
    """Result and specification of a product with 2 rows, a stick and 64 of depth a core."""
    kernel = CATALOGUE["matmul"]
    b, m, n, k = (part * size for part, size in zip(split, (1, 2, 64, 64), strict=True))
    sizes: dict[str, Any] = {"b": b, "m": m, "n": n, "k": k, "split": split}
    arrays = kernel.arguments(**sizes)
    outputs = run(kernel.build(**sizes), arrays).outputs
    return kernel.result(outputs, **sizes), kernel.expected(arrays, **sizes)


def _computed(workload: Workload) -> Array:
    outputs = run(workload.module, workload.arguments).outputs
    return workload.case.kernel.result(outputs, **workload.case.parameters)


PREDICTIONS: dict[str, Implementation] = {
    "roofline": predict("roofline"),
    "schedule": predict("schedule"),
    "measured": quote,
}
"""Implementations that say how long a kernel takes on the card."""

WITHOUT_PROGRAM = frozenset(
    {"torch", "measured", "cpu", "spyre", "copy", "pack", "unpack", "eager", "greedy", "exact"}
    | {"per-op", "joint", "as-loaded", "laid-out", "compiled"}
)
"""Implementations whose rows are about no program for the card."""
