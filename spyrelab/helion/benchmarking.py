"""Helion's benchmarks on the card: predicted time, one call each."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Any

from spyrelab.helion.backend import predict_all
from spyrelab.helion.devices import answer
from spyrelab.triton.benchmarking import predict

__all__ = ["patch_benchmarks"]

_HOME = "helion.autotuner.benchmarking"


def _do_bench(
    function: Callable[[], Any],
    warmup: int = 25,
    rep: int = 100,
    grad_to_none: Any = None,
    quantiles: Sequence[float] | None = None,
    return_mode: str = "mean",
    *ignored: Any,
    **settings: Any,
) -> Any:
    """Predicted milliseconds: without noise, every quantile and every mean is the same."""
    spent = predict(function)
    if quantiles is not None:
        return spent if len(quantiles) == 1 else [spent] * len(quantiles)
    return [spent] if return_mode == "all" else spent


def patch_benchmarks() -> None:
    """Predict where Helion would run a kernel a thousand times to see how long it takes."""
    ours: dict[str, Callable[..., Any]] = {
        "do_bench": _do_bench,
        "interleaved_bench": predict_all,
        "compute_repeat": lambda *args, **kwargs: 1,
    }
    # Helpers for tests may have been imported before, and then have the functions by name.
    for module in (_HOME, *({"helion._testing"} & sys.modules.keys())):
        for name, function in ours.items():
            answer(module, name, function, lambda args, kwargs: None)
