"""Modules of torch.nn on the card, eager and compiled: predicted device time, and bytes.

Host time of a row is that of one call on the emulator, with everything compiled before.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from spyrelab.bench.compiled_modules import made_module
from spyrelab.bench.implementations import Implementation, Prediction, Ready, Workload
from spyrelab.errors import UsageError
from spyrelab.kernels import Kernel
from spyrelab.kernels.arrays import Array
from spyrelab.ktir import Module
from spyrelab.machine import SPYRE
from spyrelab.timing import CONSTANTS

__all__ = ["COMPILED", "INDUCTOR", "ceiling_seconds"]


def _no_single_program(**parameters: Any) -> Module:
    raise UsageError("this bench case is about no single program of the card")


def _no_arguments(**parameters: Any) -> dict[str, Array]:
    raise UsageError("this bench case takes no arrays")


def _no_meaning(**parameters: Any) -> Array:
    raise UsageError("this bench case is checked by its implementations")


COMPILED = Kernel("compiled", _no_single_program, _no_meaning, _no_arguments)
"""Forward of a module for inference."""


def ceiling_seconds(least_bytes: int, macs: int) -> float:
    """Seconds that a module takes at least: inputs, outputs and weights once through the memory
    port, or its products on all matrix units, whichever is longer."""
    rate = SPYRE.macs_per_cycle["f16"] * SPYRE.cores * SPYRE.clock_hz
    return max(least_bytes / CONSTANTS.ddr_bytes_per_second, macs / rate)


def _macs(module: Any, given: Any) -> int:
    from torch.utils.flop_counter import FlopCounterMode

    counter = FlopCounterMode(display=False)
    with counter:
        module(given)
    return counter.get_total_flops() // 2


def _least_bytes(module: Any, given: Any, output: Any) -> int:
    from spyrelab.device.allocations import entry_of

    tensors = [*module.parameters(), *module.buffers(), given, output]
    held = (entry_of(tensor).form for tensor in tensors if tensor.is_floating_point())
    return sum(form.device_bytes for form in held)


@contextmanager
def _inference() -> Iterator[None]:
    """No gradients, and no fused encoder layer: the card has no kernel for it."""
    import torch

    before = torch.backends.mha.get_fastpath_enabled()
    torch.backends.mha.set_fastpath_enabled(False)
    try:
        with torch.no_grad():
            yield
    finally:
        torch.backends.mha.set_fastpath_enabled(before)


def _mode(compiled: bool, laid_out: bool) -> Implementation:
    @contextmanager
    def ready(workload: Workload) -> Iterator[Ready]:
        import torch

        import spyrelab.device  # noqa: F401  # registers the device

        parameters = workload.case.parameters
        with _inference():
            module, given = made_module(parameters["module"], parameters["rows"])
            expected, macs = module(given), _macs(module, given)
            module, given = module.half().to("spyre"), given.half().to("spyre")
            call: Callable[[], Any] = lambda: module(given)  # noqa: E731
            if compiled or laid_out:
                torch.compiler.reset()
                fast: Any = torch.compile(module)
                fast(given)  # lays the weights out
                call = (lambda: fast(given)) if compiled else call
            prediction = _watched(call, module, given, macs)
            wanted = np.asarray(expected.numpy())
            yield Ready(call, lambda: np.asarray(call().float().cpu().numpy()), wanted, prediction)

    return ready


def _watched(call: Callable[[], Any], module: Any, given: Any, macs: int) -> Prediction:
    """Device time and bytes of one call, beside what they are at least."""
    import torch

    from spyrelab.device.timeline import record

    spyre: Any = torch.spyre  # type: ignore[attr-defined]
    spyre.reset_op_counts()
    with record() as recorded:
        output = call()
    left = {n: c["fallback"] for n, c in spyre.op_counts().items() if c["fallback"]}
    least = _least_bytes(module, given, output)
    moved = round(sum(kernel.estimate.port_bytes for kernel in recorded.kernels))
    ceiling = ceiling_seconds(least, macs)
    extra = {
        "ceiling_us": round(ceiling * 1e6, 6),
        "least_bytes": least,
        "bytes_over_least": round(moved / least, 4),
        "macs": macs,
        "launches": len(recorded.kernels),
        "fallbacks_inside": left,
    }
    share = round(ceiling / recorded.seconds, 6)
    microseconds = round(recorded.seconds * 1e6, 6)
    return Prediction(microseconds, ddr_bytes=moved, utilization=share, extra=extra)


INDUCTOR: dict[str, Implementation] = {
    "as-loaded": _mode(compiled=False, laid_out=False),
    "laid-out": _mode(compiled=False, laid_out=True),
    "compiled": _mode(compiled=True, laid_out=True),
}
"""Implementations by name; the first two are eager, with the weights as they came and as the
compiler laid them."""
