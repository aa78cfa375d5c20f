"""Run one operation's program on the emulated card, operands in layouts of the test's choice."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from spyrelab.emulator import Counters
from spyrelab.layout.access import Located, access
from spyrelab.layout.codec import read, write
from spyrelab.layout.tensor_layout import SpyreTensorLayout
from spyrelab.machine import DeviceMemory
from spyrelab.opspec.compile import Role, Slot, compile
from spyrelab.opspec.operand import Operand
from spyrelab.opspec.views import Placed as Place
from spyrelab.opspec.views import place

KINDS = {
    torch.float16: "f16",
    torch.bfloat16: "bf16",
    torch.float32: "f32",
    torch.int64: "i64",
    torch.int32: "i32",
    torch.bool: "i1",
}
GARBAGE = 0x7E


@dataclass
class Placed:
    """A tensor that is to lie in device memory: values, and the layout of its storage."""

    tensor: torch.Tensor
    layout: SpyreTensorLayout | None = None
    poison: bool = True

    def __post_init__(self) -> None:
        self.base = self.tensor
        while self.base._base is not None:
            self.base = self.base._base
        self.dtype = KINDS[self.tensor.dtype]
        if self.layout is None:
            tiled = self.tensor.dtype.is_floating_point
            make = SpyreTensorLayout.default if tiled else SpyreTensorLayout.linear
            self.layout = make(tuple(self.base.shape), self.dtype, host_stride=self.base.stride())

    def located(self, tensor: torch.Tensor) -> Located:
        found = access(
            self.layout, tuple(tensor.shape), tuple(tensor.stride()), tensor.storage_offset()
        )
        assert found is not None
        return found

    @property
    def operand(self) -> Operand:
        return Operand(self.dtype, self.placed.access)

    @property
    def placed(self) -> Place:
        """Where the tensor lies, whatever kind of view it is."""
        tensor = self.tensor
        return place(
            self.layout, tuple(tensor.shape), tuple(tensor.stride()), tensor.storage_offset()
        )


def bits(tensor: torch.Tensor) -> np.ndarray:
    if tensor.dtype == torch.bfloat16:
        return tensor.view(torch.int16).numpy().view(np.uint16)
    return tensor.numpy()


def run(
    op: str,
    inputs: Sequence[torch.Tensor | Placed | float | int],
    outputs: Sequence[torch.Tensor | Placed],
    sanitize: bool | str = False,
    threads: int = 1,
    **attributes: Any,
) -> Any:
    """Launch the program of an operation; the outputs' tensors are filled in place.

    Padding of every tensor holds NaN (or a large number) before the launch.
    """
    placed = [Placed(o) if isinstance(o, torch.Tensor) else o for o in (*inputs, *outputs)]
    described = [p.operand if isinstance(p, Placed) else _scalar(p) for p in placed]
    count = len(inputs)
    compiled = compile(op, described[:count], described[count:], **attributes)
    total: Counters | None = None
    with DeviceMemory(1 << 28) as memory:
        blocks = [_upload(memory, p) if isinstance(p, Placed) else None for p in placed]
        given: dict[Slot, Any] = {}
        for position, (operand, block) in enumerate(zip(placed, blocks, strict=True)):
            role, index = (
                (Role.INPUT, position) if position < count else (Role.OUTPUT, position - count)
            )
            given[Slot(role, index)] = operand if block is None else sum(block)
        for number, layout in enumerate(compiled.temporaries):
            given[Slot(Role.TEMPORARY, number)] = _fresh(memory, layout)
        for number, table in enumerate(compiled.tables):
            address = memory.allocate(table.nbytes)
            memory.bytes[address : address + table.nbytes] = table.view(np.uint8).reshape(-1)
            memory.mark_written(address, table.nbytes)
            given[Slot(Role.TABLE, number)] = address
        for step in compiled.steps:
            names = [argument.name for argument in step.program.arguments]
            arguments = {n: given[slot] for n, slot in zip(names, step.slots, strict=True)}
            made = step.program.launch(arguments, memory, sanitize=sanitize, threads=threads)
            total = made
        for operand, block in zip(placed[count:], blocks[count:], strict=True):
            _download(memory, operand, block[0])
    return total


def _fresh(memory: DeviceMemory, layout: SpyreTensorLayout) -> int:
    """A temporary, which holds garbage."""
    address = memory.allocate(layout.nbytes)
    memory.bytes[address : address + layout.nbytes] = GARBAGE
    return address


def _scalar(number: float | int) -> str:
    return "f32" if isinstance(number, float) else "i64"


def _upload(memory: DeviceMemory, operand: Placed) -> tuple[int, int]:
    layout, base = operand.layout, operand.base
    address = memory.allocate(layout.nbytes)
    elements = np.zeros(layout.numel, bits(base).dtype)
    if operand.poison:
        elements.view(np.uint8)[:] = GARBAGE
        if operand.dtype == "f32":
            elements[:] = np.nan
    write(elements, operand.located(base), bits(base))
    memory.bytes[address : address + layout.nbytes] = elements.view(np.uint8)
    memory.mark_written(address, layout.nbytes)
    return address, operand.placed.start * layout.itemsize


def _download(memory: DeviceMemory, operand: Placed, address: int) -> None:
    layout, base = operand.layout, operand.base
    raw = memory.bytes[address : address + layout.nbytes].copy()
    array = read(raw.view(bits(base).dtype), operand.located(base))
    bits(base)[...] = array
