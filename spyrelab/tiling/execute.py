"""Running a plan on arrays, for whoever has no device at hand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from spyrelab import emulator
from spyrelab.emulator import Counters
from spyrelab.layout import SpyreTensorLayout, pack, unpack
from spyrelab.tiling.errors import TilingError
from spyrelab.tiling.lower import WORK_BYTES, lower_bundle
from spyrelab.tiling.planning import Plan
from spyrelab.tiling.signature import signature_of

__all__ = ["Outcome", "run"]

_NUMPY = {"f16": np.float16, "f32": np.float32, "bf16": np.uint16, "i64": np.int64, "i1": np.bool_}
_NUMPY |= {"i32": np.int32, "i16": np.int16, "i8": np.int8}


@dataclass(frozen=True)
class Outcome:
    """What a plan made of its inputs.

    Attributes
    ----------
    outputs : dict
        Tensors that outlive the plan, by name, in their logical shape.
    counters : tuple of Counters
        Of every bundle.
    """

    outputs: Mapping[str, NDArray[Any]]
    counters: tuple[Counters, ...]

    def total(self, name: str) -> int:
        """A counter over all cores and bundles, such as ``ddr_read``."""
        return sum(int(getattr(found, name).sum()) for found in self.counters)


def run(
    plan: Plan,
    arrays: Mapping[str, NDArray[Any]],
    work_bytes: int = WORK_BYTES,
    shapes: Mapping[str, Sequence[int]] | None = None,
    **options: Any,
) -> Outcome:
    """Run every bundle on the emulator.

    Parameters
    ----------
    arrays
        The inputs by name, in their logical shape; 16-bit floats that NumPy lacks as uint16.
    shapes
        Of outputs whose tensor has another shape than the view that an operation wrote.
    **options
        For `spyrelab.emulator.run`: ``engine``, ``sanitize``, ``exact``, ...

    Raises
    ------
    TilingError
        An input is missing.
    """
    layouts, found = _tensors(plan)
    seen = {**found, **(shapes or {})}
    memory: dict[str, NDArray[Any]] = {}
    for name, layout in layouts.items():
        if name in arrays:
            memory[name] = pack(np.ascontiguousarray(arrays[name]), layout)
        else:
            memory[name] = np.zeros(layout.numel, _NUMPY[layout.dtype])
    missing = [name for name in _inputs(plan) if name not in arrays]
    if missing:
        raise TilingError(f"no array for {', '.join(missing)}: give one for every input")
    counters = []
    for bundle in plan.bundles:
        launch = lower_bundle(bundle.items, work_bytes=work_bytes)
        taken = dict(zip(launch.arguments, launch.tensors, strict=True))
        made = emulator.run(launch.module, {a: memory[n] for a, n in taken.items()}, **options)
        for argument, name in taken.items():
            memory[name] = made.outputs.get(argument, memory[name])
        counters.append(made.counters)
    outputs = {n: unpack(memory[n], layouts[n], seen[n]) for n in sorted(plan.live_out)}
    return Outcome(outputs, tuple(counters))


def _inputs(plan: Plan) -> list[str]:
    made: set[str] = set()
    found: list[str] = []
    for bundle in plan.bundles:
        for spec in bundle.specs:
            found += [a.name for a in spec.inputs if a.name not in made]
            made |= {a.name for a in spec.outputs}
    return list(dict.fromkeys(found))


def _tensors(plan: Plan) -> tuple[dict[str, SpyreTensorLayout], dict[str, tuple[int, ...]]]:
    layouts: dict[str, SpyreTensorLayout] = {}
    shapes: dict[str, tuple[int, ...]] = {}
    for bundle in plan.bundles:
        for spec in bundle.specs:
            found = signature_of(spec)
            assert found is not None
            for arg, symbols in zip(spec.args, found.operands, strict=True):
                if arg.lx_address is None:
                    layouts[arg.name] = arg.layout
                if not arg.is_input:
                    shapes[arg.name] = tuple(spec.iteration_space[s][0] for s in symbols)
    return layouts, shapes
