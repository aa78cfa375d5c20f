"""Element types of device tensors, by the names that KTIR gives them."""

from __future__ import annotations

from spyrelab.ktir.types import DF16, SCALARS, ScalarType
from spyrelab.layout.errors import LayoutError
from spyrelab.machine import SPYRE

__all__ = ["element_type", "elements_per_stick"]

_FROM_TORCH = {
    "float16": "f16",
    "bfloat16": "bf16",
    "float32": "f32",
    "float8_e4m3fn": "f8E4M3FN",
    "float8_e5m2": "f8E5M2",
    "bool": "i1",
    "uint8": "i8",
    "int8": "i8",
    "int16": "i16",
    "int32": "i32",
    "int64": "i64",
    "df16": DF16.name,
}


def element_type(name: object) -> ScalarType:
    """The type called ``name``: a KTIR name ("f16", "df16", "i64", ...) or a torch dtype.

    Raises
    ------
    LayoutError
        The device holds no such elements.
    """
    text = str(name).removeprefix("torch.")
    text = _FROM_TORCH.get(text, text)
    found = SCALARS.get(text)
    if found is None or not found.bits:
        known = ", ".join([*SCALARS][:5])
        raise LayoutError(f"{name} is no element type of a device layout: {known}, ... are")
    return found


def elements_per_stick(dtype: str) -> int:
    """How many elements of a type one stick holds."""
    return SPYRE.stick_bytes // element_type(dtype).itemsize
