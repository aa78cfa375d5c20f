"""The ways to run a case: PyTorch, and the engines of the emulator."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from spyrelab.bench.case import Case
from spyrelab.emulator import Counters, Program, lower
from spyrelab.emulator.arrays import place_arguments
from spyrelab.kernels.arrays import Array, from_memory
from spyrelab.ktir import Module, TensorType, walk
from spyrelab.machine import DeviceMemory
from spyrelab.timing import Estimate, estimate

if TYPE_CHECKING:
    import torch

__all__ = ["IMPLEMENTATIONS", "Implementation", "Prediction", "Ready", "Workload"]


@dataclass(frozen=True)
class Workload:
    """A case with its arguments; what several implementations need is made once."""

    case: Case
    threads: int
    seed: int = 0

    @cached_property
    def arguments(self) -> dict[str, Array]:
        return self.case.kernel.arguments(seed=self.seed, **self.case.parameters)

    @cached_property
    def module(self) -> Module:
        return self.case.kernel.build(**self.case.parameters)

    @cached_property
    def program(self) -> Program:
        return lower(self.module)

    @cached_property
    def indices(self) -> dict[str, Array]:
        """Arrays of whole numbers that the program reads: trip counts may depend on them."""
        loads = (o for o in walk(self.module.function().body.operations) if o.name == "ktdp.load")
        kinds = [load.result.type for load in loads]
        if not any(isinstance(kind, TensorType) and kind.element.is_integer for kind in kinds):
            return {}  # making the arrays of a large product takes longer than timing it
        return {name: array for name, array in self.arguments.items() if array.dtype.kind == "i"}

    @cached_property
    def estimate(self) -> Estimate:
        """Predicted time of the program; TimingError where there is none."""
        return estimate(self.module, self.indices)

    @cached_property
    def expected(self) -> Array:
        """``out`` by the kernel's specification, float32."""
        return self.case.kernel.expected(self.arguments, **self.case.parameters)


@dataclass(frozen=True)
class Prediction:
    """What is known of a case's time on the card, for the columns of a row."""

    device_us: float
    cycles: int | None = None
    utilization: float | None = None
    ddr_bytes: int | None = None
    lx_peak: int | None = None
    extra: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Ready:
    """An implementation with everything in place: ``call`` computes, ``result`` reads ``out``.

    Attributes
    ----------
    expected : array, optional
        What ``result`` has to agree with where that is not the case's own specification.
    prediction : Prediction, optional
        Time on the card.
    timed : bool
        Whether ``call`` does anything.
    """

    call: Callable[[], object]
    result: Callable[[], Array]
    expected: Array | None = None
    prediction: Prediction | None = None
    timed: bool = True


Implementation = Callable[[Workload], AbstractContextManager[Ready]]
"""Sets a workload up, for as long as the context is open."""


@contextmanager
def run_torch(workload: Workload) -> Iterator[Ready]:
    """Native PyTorch on the CPU in float32, into preallocated tensors."""
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(workload.threads)
    try:
        with torch.inference_mode():
            tensors = _tensors(workload)
            call = workload.case.torch_program(tensors, workload.case.parameters)
            yield Ready(torch.inference_mode()(call), lambda: tensors["out"].numpy())
    finally:
        torch.set_num_threads(before)


def _tensors(workload: Workload) -> dict[str, torch.Tensor]:
    import torch

    dtype = workload.case.parameters.get("dtype", "f16")
    return {
        name: torch.from_numpy(
            array.copy() if array.dtype.kind == "i" else from_memory(array, dtype)
        )
        for name, array in workload.arguments.items()
    }


def run_engine(engine: str) -> Implementation:
    """An engine of the emulator: the launch alone, on arguments placed beforehand."""

    @contextmanager
    def ready(workload: Workload) -> Iterator[Ready]:
        program, case = workload.program, workload.case
        with DeviceMemory(machine=program.machine) as memory:
            placed = place_arguments(memory, program, workload.arguments)
            addresses = {name: where.address for name, where in placed.items()}

            def call() -> Counters:
                return program.launch(addresses, memory, engine, workload.threads)

            def result() -> Array:
                outputs: Mapping[str, Any] = {"out": placed["out"].read(memory)}
                return case.kernel.result(outputs, **case.parameters)

            yield Ready(call, result)

    return ready


def agrees(result: Array, expected: Array, tolerance: float) -> bool:
    """Whether every error is within ``tolerance`` of its value and of the mean magnitude."""
    if result.shape != expected.shape:
        return False
    magnitude = float(np.sqrt(np.mean(np.square(expected, dtype=np.float64))))
    allowed = tolerance * (np.abs(expected) + magnitude)
    return bool(np.all(np.abs(result - expected) <= allowed))


IMPLEMENTATIONS: dict[str, Implementation] = {
    "torch": run_torch,
    "vm": run_engine("vm"),
    "reference": run_engine("reference"),
}
"""Every implementation by name; a later chapter adds its own."""
