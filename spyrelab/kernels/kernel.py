"""A kernel as benches and tests see it: builder, specification, arguments."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from spyrelab.kernels.arrays import Array, from_memory
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

    def arguments(self, seed: int = 0, **parameters: Any) -> dict[str, Array]:
        """Arrays for every argument of the kernel; the same seed gives the same arrays."""
        return self.generator(seed=seed, **parameters)

    def expected(self, arguments: Mapping[str, Array], **parameters: Any) -> Array:
        """``out`` in float32, from the kernel's arguments."""
        dtype = parameters.get("dtype", "f16")
        inputs = {n: _values(a, dtype) for n, a in arguments.items() if n != "out"}
        options = {k: v for k, v in parameters.items() if k not in inputs}
        return np.asarray(self.specification(**{**options, **inputs}), np.float32)

    def result(self, outputs: Mapping[str, Array], **parameters: Any) -> Array:
        """``out`` as float32, from the outputs of a run."""
        return from_memory(outputs["out"], parameters.get("dtype", "f16"))


def _values(array: Array, dtype: str) -> Array:
    return array if array.dtype.kind == "i" else from_memory(array, dtype)
