"""The benchmark of Helion's tuners: predicted time, and nothing is run."""

from __future__ import annotations

import math
import re
import time
from collections.abc import Callable, Sequence
from typing import Any

from helion.autotuner.benchmark_provider import BenchmarkProvider, BenchmarkResult
from triton.runtime.autotuner import OutOfResources

from spyrelab.errors import SpyreLabError
from spyrelab.helion.history import Trial, key_of
from spyrelab.helion.log import Log
from spyrelab.triton.benchmarking import predict

__all__ = ["BudgetSpentError", "PredictedProvider", "reason_of"]


class BudgetSpentError(Exception):
    """Ends a search."""


class PredictedProvider(BenchmarkProvider):  # type: ignore[misc]  # Helion's classes are untyped
    """Times configurations for a search.

    Attributes
    ----------
    log : Log
        What is known already is not compiled again.
    budget : int or None
        Different configurations that may be asked for; the next one ends the search.
    asked : list of Trial
        In the order in which the search asked.
    watch : callable
        Told of each trial.
    """

    mutated_arg_indices: Sequence[int] = ()

    def __init__(
        self,
        kernel: Any,
        settings: Any,
        config_spec: Any,
        args: Sequence[object],
        log: Any,
        autotune_metrics: Any,
    ) -> None:
        self.kernel, self.args = kernel, args
        self._metrics = autotune_metrics
        self.log = Log(None, "")
        self.budget: int | None = None
        self.asked: list[Trial] = []
        self.watch: Callable[[Trial], None] = lambda trial: None
        self._seen: set[str] = set()

    def setup(self) -> None:
        """Nothing to prepare."""

    def cleanup(self) -> None:
        """Nothing to clean up."""

    def benchmark(
        self, configs: list[Any], *, desc: str = "", raise_if_no_viable_config: bool = True
    ) -> list[Any]:
        """Predicted milliseconds of each configuration."""
        results = []
        for config in configs:
            key = key_of(config.config)
            if key not in self._seen and len(self._seen) == self.budget:
                raise BudgetSpentError
            trial, function = self._trial(config, self.log.known.get(key))
            self._note(key, trial)
            status = "error" if trial.is_skipped else "ok"
            # Searches adapt to how long compiling takes, which is not the same each time.
            results.append(BenchmarkResult(config, function, trial.milliseconds, status, None))
        return results

    def _note(self, key: str, trial: Trial) -> None:
        self._metrics.num_configs_tested += 1
        if key not in self._seen:
            self._seen.add(key)
            self.asked.append(trial)
            self.watch(trial)

    def _trial(self, config: Any, known: Trial | None) -> tuple[Trial, Callable[..., Any]]:
        if known is not None:
            return known, _not_run if known.is_skipped else self._compiled_when_called(config)
        start = time.perf_counter()
        try:
            function = self.kernel.compile_config(config, allow_print=False)
            milliseconds, reason = predict(lambda: function(*self.args)), ""
        except Exception as error:
            # Whatever a configuration raises, others may run: tuners skip it.
            function, milliseconds, reason = _not_run, math.inf, reason_of(error)
        spent = time.perf_counter() - start
        trial = Trial(dict(config.config), milliseconds, reason, round(spent, 3))
        self.log.add(trial)
        return trial, function

    def _compiled_when_called(self, config: Any) -> Callable[..., Any]:
        """Going on with a search takes as long as its own thinking does."""
        return lambda *args: self.kernel.compile_config(config, allow_print=False)(*args)


_DIRECTORIES = re.compile(r"(?<![\w.])/(?:[^/\s():]+/)+(?=[^/\s():]+\.py)")
"""Where generated code lies says nothing, and differs from machine to machine."""


def reason_of(error: BaseException) -> str:
    """What of an error is worth keeping; ours say it themselves."""
    found: BaseException | None = error
    while found is not None:
        if isinstance(found, (SpyreLabError, OutOfResources)):
            return _DIRECTORIES.sub("", str(found))
        found = found.__cause__ or found.__context__
    return f"{type(error).__name__}: {str(error).strip().splitlines()[0] if str(error) else ''}"


def _not_run(*args: Any, **kwargs: Any) -> Any:
    raise RuntimeError("this configuration was skipped")
