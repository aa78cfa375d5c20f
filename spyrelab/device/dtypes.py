"""Element types: what torch, DLPack and the device call them."""

from __future__ import annotations

import numpy as np
import torch

__all__ = ["BITS", "DLPACK_CODES", "KTIR_NAMES", "TILED", "bits_of"]

# DLPack type codes: int 0, uint 1, float 2, bfloat 4, complex 5, bool 6, float8 7 and up.
_CODES = {
    torch.uint8: (1, 8),
    torch.uint16: (1, 16),
    torch.uint32: (1, 32),
    torch.uint64: (1, 64),
    torch.int8: (0, 8),
    torch.int16: (0, 16),
    torch.int32: (0, 32),
    torch.int64: (0, 64),
    torch.float16: (2, 16),
    torch.float32: (2, 32),
    torch.float64: (2, 64),
    torch.bfloat16: (4, 16),
    torch.complex32: (5, 32),
    torch.complex64: (5, 64),
    torch.complex128: (5, 128),
    torch.bool: (6, 8),
    torch.float8_e4m3fn: (10, 8),
    torch.float8_e4m3fnuz: (11, 8),
    torch.float8_e5m2: (12, 8),
    torch.float8_e5m2fnuz: (13, 8),
}

DLPACK_CODES = {dtype: code | bits << 8 | 1 << 16 for dtype, (code, bits) in _CODES.items()}
"""torch dtype: the DLDataType (code, bits, one lane) as one integer."""

KTIR_NAMES = {
    torch.float16: "f16",
    torch.bfloat16: "bf16",
    torch.float32: "f32",
    torch.float8_e4m3fn: "f8E4M3FN",
    torch.float8_e5m2: "f8E5M2",
    torch.bool: "i1",
    torch.uint8: "i8",
    torch.int8: "i8",
    torch.int16: "i16",
    torch.int32: "i32",
    torch.int64: "i64",
}
"""torch dtypes that device programs know, by their KTIR names."""

TILED = frozenset(
    {torch.float16, torch.bfloat16, torch.float32, torch.float8_e4m3fn, torch.float8_e5m2}
)
"""dtypes that lie in sticks unless a layout says otherwise."""

BITS: dict[int, np.dtype] = {
    1: np.dtype(np.uint8),
    2: np.dtype(np.uint16),
    4: np.dtype(np.uint32),
    8: np.dtype(np.uint64),
    16: np.dtype(np.complex128),
}
"""Item size: a NumPy type that moves bits untouched."""

_SAME_SIZE = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}


def bits_of(tensor: torch.Tensor) -> np.ndarray:
    """The elements of a CPU tensor as an array of bit patterns that shares its memory."""
    itemsize = tensor.element_size()
    if itemsize == 16:
        return tensor.numpy()
    return tensor.view(_SAME_SIZE[itemsize]).numpy().view(BITS[itemsize])
