"""What a tuner tried, and what it found: kept, shown, and taken up again."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

from spyrelab.helion.errors import TuningError

__all__ = ["Trial", "Tuning", "key_of"]


@dataclass(frozen=True)
class Trial:
    """One configuration.

    Attributes
    ----------
    config : mapping
        As ``helion.Config`` takes it.
    milliseconds : float
        Predicted device time; infinite where it cannot run.
    reason : str
        Why it cannot run; empty where it can.
    seconds : float
        What it took the host to compile and predict.
    """

    config: Mapping[str, Any]
    milliseconds: float
    reason: str = ""
    seconds: float = 0.0

    @property
    def is_skipped(self) -> bool:
        """Whether it cannot run: its tiles do not fit, or it does not compile."""
        return not math.isfinite(self.milliseconds)


def key_of(config: Mapping[str, Any]) -> str:
    """A text that two equal configurations share."""
    return json.dumps(config, sort_keys=True, default=str)


@dataclass(frozen=True)
class Tuning:
    """A finished search.

    Attributes
    ----------
    kernel : str
    config : mapping
        The winner.
    milliseconds : float
        Its predicted time.
    trials : tuple of Trial
        In the order in which they were asked for.
    """

    kernel: str
    config: Mapping[str, Any]
    milliseconds: float
    trials: tuple[Trial, ...]

    @classmethod
    def of(cls, kernel: str, trials: tuple[Trial, ...]) -> Self:
        """The outcome of some trials: of equals, the first one wins.

        Raises
        ------
        TuningError
            None of them can run.
        """
        best = min(trials, key=lambda trial: trial.milliseconds, default=None)
        if best is None or best.is_skipped:
            why = f"; the first: {trials[0].reason}" if trials else ""
            raise TuningError(f"none of {len(trials)} configurations of {kernel} can run{why}")
        return cls(kernel, best.config, best.milliseconds, trials)

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> Self:
        """A search that was written down, whatever has changed since.

        Raises
        ------
        TuningError
            There is no such file, it is no history, or nothing in it can run.
        """
        from spyrelab.helion.log import read

        subject, trials = read(path)
        return cls.of(subject.partition(" ")[0], trials)

    @property
    def skipped(self) -> tuple[Trial, ...]:
        """Configurations that cannot run."""
        return tuple(trial for trial in self.trials if trial.is_skipped)

    @property
    def best_so_far(self) -> list[float]:
        """After each trial the best predicted milliseconds until then."""
        best, course = math.inf, []
        for trial in self.trials:
            best = min(best, trial.milliseconds)
            course.append(best)
        return course

    def plot(self, ax: Any = None) -> Any:
        """Every trial, and the best so far, over the number of trials."""
        import matplotlib.pyplot as plt

        ax = plt.subplots(figsize=(7, 3.5), layout="constrained")[1] if ax is None else ax
        ran = [(n, t.milliseconds) for n, t in enumerate(self.trials, 1) if not t.is_skipped]
        ax.scatter(*zip(*ran, strict=True), s=14, color="#56B4E9", label="a configuration")
        course = self.best_so_far
        ax.step(range(1, len(course) + 1), course, where="post", color="#D55E00", label="best")
        ax.set(xlabel="configurations tried", ylabel="predicted ms", yscale="log")
        ax.set_title(f"{self.kernel}: {len(ran)} run, {len(self.skipped)} skipped", loc="left")
        ax.legend(frameon=False)
        return ax

    def __repr__(self) -> str:
        return (
            f"Tuning({self.kernel}: {self.milliseconds * 1e3:,.1f} us of {len(self.trials)}"
            f" configurations, {len(self.skipped)} skipped)"
        )
