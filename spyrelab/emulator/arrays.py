"""Arrays on their way into and out of device memory."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from spyrelab.emulator.errors import ArgumentError
from spyrelab.machine import AllocationError, DeviceMemory

if TYPE_CHECKING:
    from spyrelab.emulator.program import Program


@dataclass(frozen=True)
class Placed:
    """An array in device memory: byte address, and what it looked like outside."""

    address: int
    shape: tuple[int, ...]
    dtype: np.dtype

    def write(self, device: DeviceMemory, array: np.ndarray) -> None:
        target = device.bytes[self.address : self.address + array.nbytes]
        target.view(self.dtype)[:] = array.reshape(-1)
        device.mark_written(self.address, array.nbytes)

    def read(self, device: DeviceMemory) -> np.ndarray:
        """A copy of what lies there now."""
        size = int(np.prod(self.shape, dtype=np.int64)) * self.dtype.itemsize
        raw = device.bytes[self.address : self.address + size]
        return raw.view(self.dtype).reshape(self.shape).copy()


def as_array(name: Any, value: Any) -> np.ndarray:
    """A contiguous NumPy array of an argument (0-d for numbers).

    Torch CPU tensors are accepted; bfloat16 and the 8-bit float types are read as their bits.
    """
    if hasattr(value, "detach") and hasattr(value, "numpy"):
        value = _from_torch(name, value)
    if isinstance(value, (bool, int, float)):
        return np.asarray(value)
    if not isinstance(value, (np.ndarray, np.generic)):
        raise ArgumentError(
            f"argument {name!r}: expected a number, a NumPy array or a torch CPU tensor, "
            f"got {type(value).__name__}"
        )
    array = np.asarray(value)
    if array.dtype.kind not in "biuf" or array.dtype.itemsize > 8:
        raise ArgumentError(f"argument {name!r}: arrays of {array.dtype} cannot be placed")
    array = array.astype(array.dtype.newbyteorder("="), copy=False)
    return np.ascontiguousarray(array) if array.ndim else array


def _from_torch(name: Any, tensor: Any) -> np.ndarray:
    if tensor.device.type != "cpu":
        raise ArgumentError(f"argument {name!r}: a tensor on {tensor.device}; pass a CPU tensor")
    import torch

    if tensor.layout != torch.strided or tensor.is_quantized or tensor.dtype.is_complex:
        raise ArgumentError(
            f"argument {name!r}: a tensor of {tensor.dtype} in layout {tensor.layout} cannot be "
            "placed; pass a dense one of real numbers"
        )
    tensor = tensor.detach().resolve_neg().contiguous()
    if tensor.dtype == torch.bfloat16:
        return tensor.view(torch.uint16).numpy()
    if tensor.dtype.is_floating_point and tensor.dtype.itemsize == 1:
        return tensor.view(torch.uint8).numpy()
    return tensor.numpy()


def matching(program: Program, arrays: Mapping[str, np.ndarray]) -> None:
    """Check names, element and array sizes behind pointers, and that scalars got numbers."""
    wanted = {argument.name: argument for argument in program.arguments}
    unknown = [name for name in arrays if name not in wanted]
    missing = [name for name in wanted if name not in arrays]
    if unknown or missing:
        raise ArgumentError(_name_report(program, unknown, missing))
    for name, argument in wanted.items():
        array = arrays[name]
        if argument.itemsize is None:
            _check_scalar(name, str(argument.kind), array)
        elif array.ndim == 0 and array.dtype.kind != "f":
            raise ArgumentError(
                f"argument {name!r} is the address of an array of {argument.itemsize}-byte "
                f"elements; got the number {array.item()}"
            )
        elif array.dtype.itemsize != argument.itemsize:
            raise ArgumentError(
                f"argument {name!r}: the function reads {argument.itemsize}-byte elements, the "
                f"array has {array.dtype} of shape {array.shape} ({array.dtype.itemsize} bytes)"
            )
        elif array.size < argument.elements:
            raise ArgumentError(
                f"argument {name!r}: the function's memory views reach {argument.elements:,} "
                f"elements, the array of shape {array.shape} has {array.size:,}"
            )


def _check_scalar(name: str, kind: str, array: np.ndarray) -> None:
    if array.size != 1:
        raise ArgumentError(
            f"argument {name!r} is a scalar of type {kind}; got an array of shape {array.shape}"
        )
    is_float = kind.startswith(("f", "bf", "!"))
    if array.dtype.kind == "f" and not is_float:
        raise ArgumentError(f"argument {name!r} is a scalar of type {kind}; got {array.item()!r}")


def _name_report(program: Program, unknown: list[str], missing: list[str]) -> str:
    names = [argument.name for argument in program.arguments]
    parts = [f"@{program.function.name} takes ({', '.join(names)})"]
    if missing:
        parts.append(f"missing: {', '.join(missing)}")
    for name in unknown:
        close = difflib.get_close_matches(str(name), names, 1)
        parts.append(f"unknown: {name}" + (f" (did you mean {close[0]}?)" if close else ""))
    return "; ".join(parts)


def place_memory(device: DeviceMemory, memory: Mapping[Any, Any]) -> dict[Any, Placed]:
    """Reserve and fill the arrays at literal addresses."""
    placed: dict[Any, Placed] = {}
    for key, value in memory.items():
        array = as_array(key, value)
        if isinstance(key, tuple):
            address = _scratchpad_address(device, key, array)
            _check_apart(key, address, array, placed)
        elif isinstance(key, (int, np.integer)) and not isinstance(key, bool):
            address = _reserve(device, int(key), array)
        else:
            raise ArgumentError(
                f'memory key {key!r}: use an element address or ("LX", core, element address)'
            )
        placed[key] = Placed(address, array.shape, array.dtype)
        placed[key].write(device, array)
    return placed


def _check_apart(
    key: tuple[Any, ...], address: int, array: np.ndarray, placed: Mapping[Any, Placed]
) -> None:
    for other, entry in placed.items():
        size = int(np.prod(entry.shape, dtype=np.int64)) * entry.dtype.itemsize
        if (
            isinstance(other, tuple)
            and address < entry.address + size
            and (entry.address < address + array.nbytes)
        ):
            raise ArgumentError(f"memory keys {other!r} and {key!r} overlap")


def _reserve(device: DeviceMemory, key: int, array: np.ndarray) -> int:
    try:
        return device.reserve(int(key) * array.dtype.itemsize, array.nbytes, f"memory[{key}]")
    except AllocationError as error:
        raise ArgumentError(f"memory[{key}] of {array.nbytes} bytes: {error}") from error


def _scratchpad_address(device: DeviceMemory, key: tuple[Any, ...], array: np.ndarray) -> int:
    if (
        len(key) != 3
        or key[0] != "LX"
        or not all(isinstance(k, (int, np.integer)) for k in key[1:])
    ):
        raise ArgumentError(f'memory key {key!r}: a scratchpad key is ("LX", core, address)')
    core, offset = int(key[1]), int(key[2]) * array.dtype.itemsize
    if not 0 <= core < device.cores or not 0 <= offset <= device.lx_bytes - array.nbytes:
        raise ArgumentError(
            f"memory key {key!r}: {array.nbytes} bytes do not lie inside a scratchpad of "
            f"{device.lx_bytes} bytes on cores 0 to {device.cores - 1}"
        )
    return device.lx_base(core) + offset


def place_arguments(
    device: DeviceMemory, program: Program, arrays: Mapping[str, np.ndarray]
) -> dict[str, Placed]:
    """Allocate and fill the array arguments, clear of literal addresses."""
    placed: dict[str, Placed] = {}
    for argument in program.arguments:
        if argument.itemsize is not None:
            array = arrays[argument.name]
            address = device.allocate(array.nbytes, argument.name)
            placed[argument.name] = Placed(address, array.shape, array.dtype)
            placed[argument.name].write(device, array)
    return placed
