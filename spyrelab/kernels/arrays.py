"""Element types by their short names, and the arrays that carry them in and out of kernels."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from spyrelab.emulator.formats import decode, encode, storage_dtype
from spyrelab.errors import SpyreLabError
from spyrelab.ktir.types import BF16, DF16, F16, F32, I32, I64, ScalarType

Array = NDArray
DTYPES = {"f16": F16, "bf16": BF16, "f32": F32, "df16": DF16}
INDEX_DTYPES = {"i32": I32, "i64": I64}


class KernelError(SpyreLabError, ValueError):
    """Parameters that a kernel cannot be built for; the message says which and why."""


def element_type(name: str) -> ScalarType:
    """The float type called ``name``: f16, bf16, f32 or df16."""
    if name not in DTYPES:
        raise KernelError(f"dtype '{name}' is none of {', '.join(DTYPES)}")
    return DTYPES[name]


def index_type(name: str) -> ScalarType:
    """The integer type called ``name``: i32 or i64."""
    if name not in INDEX_DTYPES:
        raise KernelError(f"index dtype '{name}' is none of {', '.join(INDEX_DTYPES)}")
    return INDEX_DTYPES[name]


def to_memory(values: Array, dtype: str) -> Array:
    """Float values as a kernel argument: float16 or float32, else bits in uint16."""
    bits = np.ascontiguousarray(encode(np.asarray(values, np.float32), element_type(dtype)))
    native = {"f16": np.float16, "f32": np.float32}.get(dtype)
    return bits if native is None else bits.view(native)


def from_memory(array: Array, dtype: str) -> Array:
    """The float32 values of a kernel argument of type ``dtype``."""
    scalar = element_type(dtype)
    return decode(np.ascontiguousarray(array).view(storage_dtype(scalar)), scalar)


def random_array(
    generator: np.random.Generator, shape: Sequence[int], dtype: str, scale: float = 1.0
) -> Array:
    """Normally distributed values in the memory form of ``dtype``."""
    values = generator.standard_normal(tuple(shape), np.float32) * np.float32(scale)
    return to_memory(values, dtype)


def zeros(shape: Sequence[int], dtype: str) -> Array:
    """Room for a result in the memory form of ``dtype``."""
    return to_memory(np.zeros(tuple(shape), np.float32), dtype)
