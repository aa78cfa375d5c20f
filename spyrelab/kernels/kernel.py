"""A kernel as benches and tests see it: builder, specification, arguments."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from spyrelab.kernels.arrays import Array, from_memory
from spyrelab.kernels.layouts import Layouts, packed, unpacked
from spyrelab.ktir.ir import Module


@dataclass(frozen=True)
class Kernel:
    """A builder, what it has to compute, and arguments to run it on.

    All three take the same keyword parameters (sizes, dtype, ...); those that one of them
    has no use for are passed over.
    """

    name: str
    builder: Callable[..., Module]
    specification: Callable[..., Array]
    generator: Callable[..., dict[str, Array]]

    def build(self, **parameters: Any) -> Module:
        """The KTIR module."""
        known = inspect.signature(self.builder).parameters
        return self.builder(**{k: v for k, v in parameters.items() if k in known})

    def arguments(
        self, seed: int = 0, layouts: Layouts | None = None, **parameters: Any
    ) -> dict[str, Array]:
        """Arrays for every argument of the kernel; the same seed gives the same arrays.

        Those that ``layouts`` names hold device elements, packed.
        """
        return packed(self.generator(seed=seed, **parameters), layouts)

    def expected(
        self, arguments: Mapping[str, Array], layouts: Layouts | None = None, **parameters: Any
    ) -> Array:
        """``out`` in float32, from the kernel's arguments."""
        dtype = parameters.get("dtype", "f16")
        plain = self._unpacked(arguments, layouts, parameters)
        inputs = {n: _values(a, dtype) for n, a in plain.items() if n != "out"}
        options = {k: v for k, v in parameters.items() if k not in inputs}
        return np.asarray(self.specification(**{**options, **inputs}), np.float32)

    def result(
        self, outputs: Mapping[str, Array], layouts: Layouts | None = None, **parameters: Any
    ) -> Array:
        """``out`` as float32, from the outputs of a run."""
        out = self._unpacked({"out": outputs["out"]}, layouts, parameters)["out"]
        return from_memory(out, parameters.get("dtype", "f16"))

    def _unpacked(
        self,
        arrays: Mapping[str, Array],
        layouts: Layouts | None,
        parameters: Mapping[str, Any],
    ) -> Mapping[str, Array]:
        if not layouts:
            return arrays
        shapes = {name: array.shape for name, array in self.generator(**parameters).items()}
        return {n: unpacked(a, layouts.get(n), shapes[n]) for n, a in arrays.items()}


def _values(array: Array, dtype: str) -> Array:
    return array if array.dtype.kind == "i" else from_memory(array, dtype)
