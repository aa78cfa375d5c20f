"""Operations and modules of torch on a device: the same call on the CPU and on the card.

Host time is that of one eager call, dispatch included. Device time is the emulated clock's.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from spyrelab.bench.implementations import Implementation, Prediction, Ready, Workload
from spyrelab.bench.torch_modules import MODULES, Trained
from spyrelab.errors import UsageError
from spyrelab.kernels import Kernel
from spyrelab.kernels.arrays import Array
from spyrelab.ktir import Module

if TYPE_CHECKING:
    import torch

__all__ = ["COPY", "DEVICES", "DISPATCH", "MODULE", "OPERATIONS"]


def _no_single_program(**parameters: Any) -> Module:
    raise UsageError("this bench case is about no single program of the card")


def _no_arguments(**parameters: Any) -> dict[str, Array]:
    raise UsageError("this bench case takes no arrays")


def _no_meaning(**parameters: Any) -> Array:
    raise UsageError("this bench case is checked by its implementations")


DISPATCH = Kernel("dispatch", _no_single_program, _no_meaning, _no_arguments)
"""One small operation."""

COPY = Kernel("copy", _no_single_program, _no_meaning, _no_arguments)
"""A tensor between host and device."""

MODULE = Kernel("module", _no_single_program, _no_meaning, _no_arguments)
"""Forward and backward of a module."""

OPERATIONS: dict[str, Callable[[Any], Any]] = {
    "empty": lambda x: x.new_empty(64, 64),
    "view": lambda x: x.view(4096),
    "add": lambda x: x + x,
    "add_in_place": lambda x: x.add_(0.0),
    "mm": lambda x: x.mm(x),
    "softmax": lambda x: x.softmax(-1),
}
"""Operations on a tensor of 64 x 64 float32."""


def _on(device: str) -> Implementation:
    @contextmanager
    def ready(workload: Workload) -> Iterator[Ready]:
        import torch

        import spyrelab.device  # noqa: F401  # registers the device

        before = torch.get_num_threads(), os.environ.get("SPYRELAB_THREADS")
        torch.set_num_threads(workload.threads)
        os.environ["SPYRELAB_THREADS"] = str(workload.threads)
        try:
            call, result = _setting(workload, device)
            _, expected = _setting(workload, "cpu")
            prediction = _watched(call) if device == "spyre" else None
            yield Ready(call, result, expected(), prediction)
        finally:
            torch.set_num_threads(before[0])
            os.environ.pop("SPYRELAB_THREADS")
            if before[1] is not None:
                os.environ["SPYRELAB_THREADS"] = before[1]

    return ready


def _setting(workload: Workload, device: str) -> tuple[Callable[[], object], Callable[[], Array]]:
    """The call to be timed, and what it gives, computed afresh."""
    parameters, kernel = workload.case.parameters, workload.case.kernel
    if kernel is MODULE:
        trained = Trained(MODULES[parameters["module"]], device)
        return trained.step, trained.result
    if kernel is COPY:
        return _copy(parameters, device)
    import torch

    name, x = parameters["operation"], _random((64, 64), torch.float32).to(device)
    operation = OPERATIONS[name]
    if name == "empty":  # nobody knows what is in it
        return lambda: operation(x), lambda: np.zeros(tuple(operation(x).shape), np.float32)
    return lambda: operation(x), lambda: _values(operation(x))


def _copy(parameters: Any, device: str) -> tuple[Callable[[], object], Callable[[], Array]]:
    """A copy into an existing tensor; on the CPU both ends are there."""
    import torch

    dtype = getattr(torch, parameters["dtype"])
    host = _random(parameters["size"], dtype)
    ends = {"host": host, "device": host.to(device)}
    source = ends[parameters["source"]]
    place = ends["device" if parameters["source"] == "host" else "host"].device
    target = torch.zeros_like(source, device=place)

    def result() -> Array:
        target.copy_(source)
        return _values(target)

    return lambda: target.copy_(source), result


def _random(size: tuple[int, ...], dtype: torch.dtype) -> torch.Tensor:
    import torch

    values = torch.randn(size, generator=torch.Generator().manual_seed(0))
    return (values * 100).to(dtype)


def _values(tensor: torch.Tensor) -> Array:
    return np.asarray(tensor.detach().cpu().float().numpy())


def _watched(call: Callable[[], object]) -> Prediction:
    """Device time of one call, and which operations left the device."""
    import torch

    from spyrelab.device.timeline import record

    spyre: Any = torch.spyre  # type: ignore[attr-defined]
    call()
    spyre.reset_op_counts()
    with record() as recorded:
        call()
    counts = spyre.op_counts()
    left = {name: count["fallback"] for name, count in counts.items() if count["fallback"]}
    total = sum(sum(count.values()) for count in counts.values())
    extra = {"operations": total, "fallbacks": left, "launches": len(recorded.kernels)}
    extra["fallback_share"] = sum(left.values()) / total if total else 0.0
    return Prediction(round(recorded.seconds * 1e6, 6), extra=extra)


DEVICES: dict[str, Implementation] = {"cpu": _on("cpu"), "spyre": _on("spyre")}
"""torch's own CPU, and our device, in eager mode."""
