"""A small host: places arrays in device memory in any layout, runs compiled operations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from spyrelab.emulator.formats import decode, encode, storage_dtype
from spyrelab.layout import SpyreTensorLayout, contiguous_strides
from spyrelab.machine import DeviceMemory
from spyrelab.opspec import Compiled, Operand, Role, Slot, compile, default_layout, place
from spyrelab.opspec.operand import element_type
from spyrelab.opspec.views import offsets_of

Array = np.ndarray
MEMORY_BYTES = 1 << 32


@dataclass(frozen=True)
class Tensor:
    """A view of an allocation, as a device would describe it."""

    address: int
    layout: SpyreTensorLayout
    dtype: str
    size: tuple[int, ...]
    stride: tuple[int, ...]
    offset: int = 0

    @property
    def operand(self) -> Operand:
        return Operand(self.dtype, self._placed.access)

    @property
    def start(self) -> int:
        """Byte address that a launch is given."""
        return self.address + self._placed.start * self.layout.itemsize

    @property
    def elements(self) -> Array:
        """Device element of each element of the view."""
        placed = self._placed
        return offsets_of(placed.access) + placed.start

    @property
    def _placed(self) -> Any:
        return place(self.layout, self.size, self.stride, self.offset)

    def view(self, size: Sequence[int], stride: Sequence[int], offset: int = 0) -> Tensor:
        return Tensor(self.address, self.layout, self.dtype, tuple(size), tuple(stride), offset)

    def __getitem__(self, index: Any) -> Tensor:
        """Basic slicing, as of a host array."""
        if not self.size:
            return self
        numbers = np.lib.stride_tricks.as_strided(
            np.zeros(1, np.int8), self.size, self.stride, writeable=False
        )
        part = numbers[index]
        offset = part.__array_interface__["data"][0] - numbers.__array_interface__["data"][0]
        return self.view(part.shape, part.strides, self.offset + offset)

    def transpose(self, *axes: int) -> Tensor:
        order = axes or tuple(reversed(range(len(self.size))))
        return self.view(
            [self.size[a] for a in order], [self.stride[a] for a in order], self.offset
        )

    def expand(self, *size: int) -> Tensor:
        missing = len(size) - len(self.size)
        own = (1,) * missing + self.size
        stride = (0,) * missing + self.stride
        steps = [s if n == m else 0 for n, m, s in zip(own, size, stride, strict=True)]
        return self.view(size, steps, self.offset)


class Host:
    """Device memory, and what puts arrays there and gets them back."""

    def __init__(self) -> None:
        self.memory = DeviceMemory(MEMORY_BYTES)
        self.launches = 0

    def clear(self) -> None:
        """Free every tensor."""
        for allocation in self.memory.allocations:
            self.memory.free(allocation.address)

    def close(self) -> None:
        self.memory.close()

    def _raw(self, tensor: Tensor) -> Array:
        own = self.memory.bytes[tensor.address :][: tensor.layout.nbytes]
        return own.view(storage_dtype(element_type(tensor.dtype)))

    def put(self, array: Array, dtype: str, layout: SpyreTensorLayout | None = None) -> Tensor:
        """A fresh tensor; padding holds NaN (or a large number), which nobody may take as data."""
        size = array.shape
        layout = layout or default_layout(size, dtype)
        address = self.memory.allocate(max(layout.nbytes, 1))
        tensor = Tensor(address, layout, dtype, size, contiguous_strides(size))
        raw = self._raw(tensor)
        raw[:] = _bits(np.full(1, np.nan if _is_float(dtype) else 113), dtype)
        if dtype == "i1":
            raw[:] = True
        raw[tensor.elements] = _bits(array, dtype)
        self.memory.mark_written(address, layout.nbytes)
        return tensor

    def empty(
        self, size: Sequence[int], dtype: str, layout: SpyreTensorLayout | None = None
    ) -> Tensor:
        return self.put(np.zeros(tuple(size)), dtype, layout)

    def get(self, tensor: Tensor) -> Array:
        """Values of a view."""
        kind = element_type(tensor.dtype)
        bits = self._raw(tensor)[tensor.elements]
        if tensor.dtype == "u8":
            return bits.view(np.uint8)
        return decode(bits, kind) if kind.is_float else bits

    def rest(self, tensor: Tensor) -> Array:
        """Bits of everything in the allocation that the view does not hold."""
        raw = self._raw(tensor).copy()
        raw[tensor.elements] = 0
        return raw

    def run(
        self,
        op: str,
        inputs: Sequence[Tensor | float],
        outputs: Sequence[Tensor],
        sanitize: bool | str = False,
        **attributes: Any,
    ) -> Compiled:
        """Compile, launch, and check that nothing beside the outputs was written."""
        asked = [_asked(value) for value in inputs]
        found = compile(op, asked, [out.operand for out in outputs], **attributes)
        before = [self.rest(out) for out in outputs]
        self.launch(found, inputs, outputs, sanitize)
        for out, rest in zip(outputs, before, strict=True):
            np.testing.assert_array_equal(self.rest(out), rest, "written beside an output")
        return found

    def launch(
        self,
        compiled: Compiled,
        inputs: Sequence[Tensor | float],
        outputs: Sequence[Tensor],
        sanitize: bool | str = False,
    ) -> None:
        given: dict[Slot, int | float] = {}
        for number, value in enumerate(inputs):
            given[Slot(Role.INPUT, number)] = value.start if isinstance(value, Tensor) else value
        for number, out in enumerate(outputs):
            given[Slot(Role.OUTPUT, number)] = out.start
        own = []
        for number, layout in enumerate(compiled.temporaries):
            own.append(self.memory.allocate(layout.nbytes))
            given[Slot(Role.TEMPORARY, number)] = own[-1]
        for number, table in enumerate(compiled.tables):
            own.append(self.memory.allocate(table.nbytes))
            self.memory.i32[own[-1] // 4 :][: table.size] = table
            self.memory.mark_written(own[-1], table.nbytes)
            given[Slot(Role.TABLE, number)] = own[-1]
        for step in compiled.steps:
            names = [argument.name for argument in step.program.arguments]
            values = [given[slot] for slot in step.slots]
            step.program.launch(
                dict(zip(names, values, strict=True)), self.memory, sanitize=sanitize, threads=1
            )
            self.launches += 1
        for address in own:
            self.memory.free(address)


def _asked(value: Tensor | float) -> Operand | str:
    if isinstance(value, Tensor):
        return value.operand
    return "f32" if isinstance(value, float) else "i64"


def _is_float(dtype: str) -> bool:
    return element_type(dtype).is_float


def _bits(array: Array, dtype: str) -> Array:
    kind = element_type(dtype)
    if kind.is_float:
        return encode(np.asarray(array, np.float32), kind)
    return np.asarray(array).astype(storage_dtype(kind))
