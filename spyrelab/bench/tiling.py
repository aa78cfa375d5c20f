"""Plans as benches: blocks of models under each planner, run on the emulator and checked.

Predicted numbers are those of the plan; host time is that of finding it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from spyrelab.bench.implementations import Implementation, Prediction, Ready, Workload
from spyrelab.errors import UsageError
from spyrelab.kernels import Kernel
from spyrelab.kernels.arrays import Array
from spyrelab.ktir import Module
from spyrelab.machine import SPYRE
from spyrelab.tiling import plan, run
from spyrelab.tiling.blocks import Block, Step, View, block
from spyrelab.timing import CONSTANTS

if TYPE_CHECKING:
    import torch

__all__ = ["BLOCK", "TILING", "ceiling", "expected_of"]


def _no_single_program(**parameters: Any) -> Module:
    raise UsageError("this bench case is about no single program of the card")


def _no_arguments(**parameters: Any) -> dict[str, Array]:
    raise UsageError("this bench case takes no arrays")


def _no_meaning(**parameters: Any) -> Array:
    raise UsageError("this bench case is checked by its implementations")


BLOCK = Kernel("block", _no_single_program, _no_meaning, _no_arguments)


def ceiling(made: Block) -> float:
    """Seconds that a block takes at least: its tensors once through the memory port, or its
    products on all matrix units, whichever is longer."""
    rate = SPYRE.macs_per_cycle["f16"] * SPYRE.cores * SPYRE.clock_hz
    return max(made.least_bytes / CONSTANTS.ddr_bytes_per_second, made.macs / rate)


# -- what blocks compute, by PyTorch on the CPU --------------------------------------------------


def _norm(name: str) -> Callable[..., torch.Tensor]:
    def normalise(step: Step, x: torch.Tensor, *rest: torch.Tensor) -> torch.Tensor:
        from torch.nn import functional

        found = getattr(functional, name)
        result: torch.Tensor = found(x, x.shape[-1:], *rest, eps=step.attributes["eps"])
        return result

    return normalise


def _plain(step: Step, *operands: Any) -> torch.Tensor:
    import torch

    found = getattr(torch, step.op, None) or getattr(torch.nn.functional, step.op)
    result: torch.Tensor = found(*operands)
    return result


def _softmax(step: Step, x: torch.Tensor) -> torch.Tensor:
    return x.softmax(step.attributes["dim"])


_MEANINGS: dict[str, Callable[..., torch.Tensor]] = {
    "softmax": _softmax,
    "rms_norm": _norm("rms_norm"),
    "layer_norm": _norm("layer_norm"),
}


def expected_of(made: Block, arrays: Mapping[str, Array]) -> dict[str, Array]:
    """What a block gives: every operation in f32, its result rounded to f16."""
    import torch

    storages = {n: torch.from_numpy(np.ascontiguousarray(a)).reshape(-1) for n, a in arrays.items()}

    def seen(view: View) -> torch.Tensor:
        if view.name not in storages:
            storages[view.name] = torch.zeros(view.numel, dtype=torch.float16)
        return storages[view.name].as_strided(view.size, view.stride, view.offset)

    for step in made.steps:
        given = [seen(o).float() if isinstance(o, View) else o for o in step.operands]
        meaning: Callable[..., torch.Tensor] = _MEANINGS.get(step.op, _plain)
        seen(step.result).copy_(meaning(step, *given))
    return {view.name: seen(view).numpy() for view in made.outputs}


# -- implementations -----------------------------------------------------------------------------


@cache
def _checked(name: str, rows: int, hidden: int, planner: str) -> tuple[Array, Array]:
    """What a plan computes on the emulator, and what is right."""
    made = block(name, rows, hidden)
    arrays = made.arrays()
    shapes = {view.name: view.size for view in made.outputs}
    done = run(plan(made.ops, planner), arrays, shapes=shapes)
    expected = expected_of(made, arrays)
    parts = [(done.outputs[n].ravel(), expected[n].ravel()) for n in expected]
    found, right = (np.concatenate(side).astype(np.float32) for side in zip(*parts, strict=True))
    return found, right


def _planning(planner: str) -> Implementation:
    @contextmanager
    def ready(workload: Workload) -> Iterator[Ready]:
        parameters = workload.case.parameters
        name, rows, hidden = (parameters[key] for key in ("block", "rows", "hidden"))
        made = block(name, rows, hidden)
        found = plan(made.ops, planner)
        least = ceiling(made)
        prediction = Prediction(
            round(found.seconds * 1e6, 6),
            ddr_bytes=found.port_bytes,
            utilization=round(least / found.seconds, 6),
            extra={
                "ceiling_us": round(least * 1e6, 6),
                "least_bytes": made.least_bytes,
                "launches": len(found.bundles),
                "resident": list(found.resident),
            },
        )
        computed, right = _checked(name, rows, hidden, planner)
        yield Ready(lambda: plan(made.ops, planner), lambda: computed, right, prediction)

    return ready


TILING: dict[str, Implementation] = {
    "per-op": _planning("per-op"),
    "joint": _planning("joint"),
}
"""Implementations by name."""
