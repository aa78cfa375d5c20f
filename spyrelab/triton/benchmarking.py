"""What Triton's benchmarks ask of a device, answered with predicted time."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Any

import torch

from spyrelab.triton.dry_runs import Dry, arm, dry

__all__ = ["BenchmarkInterface", "device_interface", "predict"]

_FOREVER_MS = 1e12
"""What the trial runs of a benchmark seem to take, so that it does not repeat the rest."""


def predict(
    kernel_call: Callable[[], Any], quantiles: Sequence[float] | None = None, **ignored: Any
) -> Any:
    """Predicted milliseconds of a call, whose Triton launches are not run.

    Parameters
    ----------
    quantiles
        As many answers, all the same: there is no noise.

    Returns
    -------
    float, or list of float where quantiles are asked for
    """
    with dry() as asked:
        kernel_call()
    spent = asked.milliseconds
    return spent if quantiles is None else [spent] * len(quantiles)


class BenchmarkInterface:
    """The device as one call of ``triton.testing.do_bench`` sees it.

    While the call is under way, kernels are not run; events read what they would take.

    Parameters
    ----------
    asked : Dry
        Counts the time of the launches in this call.
    """

    def __init__(self, asked: Dry) -> None:
        self._asked = asked
        self._synchronized = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(torch.get_device_module("spyre"), name)

    def synchronize(self, device: Any = None) -> None:
        """Wait for nothing; after the second time, the trial runs are over."""
        self._synchronized += 1

    def Event(self, enable_timing: bool = False, **ignored: Any) -> _Event:  # noqa: N802
        """An event, as ``torch.spyre.Event``."""
        return _Event(self)

    @property
    def trying(self) -> bool:
        """Whether the benchmark still finds out how often to repeat."""
        return self._synchronized < 2

    def now(self) -> float:
        """Predicted milliseconds so far."""
        return self._asked.milliseconds


class _Event:
    def __init__(self, interface: BenchmarkInterface) -> None:
        self._interface = interface
        self._trial = False
        self._at = 0.0

    def record(self, stream: Any = None) -> None:
        """Take the present moment."""
        self._trial = self._interface.trying
        self._at = self._interface.now()

    def elapsed_time(self, end: _Event) -> float:
        """Milliseconds to another event."""
        return _FOREVER_MS if self._trial else end._at - self._at

    def synchronize(self) -> None:
        """Wait for nothing."""


def device_interface() -> Any:
    """``torch.spyre``, or what a benchmark that asks for it is to see of the device."""
    caller = sys._getframe(2)
    if caller.f_globals.get("__name__") == "triton.testing" and caller.f_code.co_name == "do_bench":
        return BenchmarkInterface(arm(caller))
    return torch.get_device_module("spyre")
