"""Running an operation on the card: operands, temporaries, constants, one launch after another."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
import torch
from numpy.typing import NDArray

from spyrelab.device import clock
from spyrelab.device.allocations import entry_of
from spyrelab.device.dtypes import KTIR_NAMES
from spyrelab.device.eager.recording import active
from spyrelab.device.forms import Form, require_distinct
from spyrelab.device.memory import MEMORY
from spyrelab.device.overlap import set_apart
from spyrelab.emulator.quick_launch import QuickLaunch
from spyrelab.layout import SpyreTensorLayout
from spyrelab.opspec import Compiled, Operand, Placed, Role, Unsupported, compile, place

__all__ = [
    "Number",
    "Runner",
    "free_tables",
    "layout_in",
    "operand_in",
    "operand_of",
    "run",
    "runner_of",
]

Number = float | int | bool
Argument = torch.Tensor | Number

_TABLE_BYTES = 256 << 20
"""Most device bytes that tables of element offsets may keep."""


def operand_of(tensor: torch.Tensor) -> tuple[Operand, int]:
    """What programs see of a tensor, and the device byte address to launch them with.

    Raises
    ------
    Unsupported
        Programs have no such element type, or cannot see the view (a lazy negation).
    """
    entry = entry_of(tensor)
    if tensor.is_neg():
        raise Unsupported("a view that is negated when read")
    key: Any = tensor.dtype, tensor.shape, tensor.stride(), tensor.storage_offset()
    known = entry.form.operands
    found = known.get(key)
    if found is None:
        found = operand_in(entry.form, *key)
        known[(key[0], tuple(key[1]), *key[2:])] = found
    return found[0], entry.address + found[1]


def layout_in(form: Form, dtype: torch.dtype) -> SpyreTensorLayout:
    """How programs see an allocation whose elements they read as ``dtype``.

    Raises
    ------
    Unsupported
        Programs have no such element type.
    """
    name = KTIR_NAMES.get(dtype)
    if name is None or dtype is torch.uint8:
        raise Unsupported(f"{dtype} elements")
    layout = form.layout if form.tiled else None
    if layout is None:
        return SpyreTensorLayout.linear((max(form.host_bytes // dtype.itemsize, 1),), name)
    if layout.dtype == "df16":
        raise Unsupported("elements in the 1-6-9 format")
    return layout


def operand_in(
    form: Form,
    dtype: torch.dtype,
    size: Sequence[int],
    stride: Sequence[int],
    offset: int,
) -> tuple[Operand, int]:
    """What programs see of a view of an allocation, and where it begins there in bytes.

    Raises
    ------
    Unsupported
        Programs have no such element type.
    """
    layout = layout_in(form, dtype)
    placed: Placed = place(layout, tuple(size), tuple(stride), offset)
    return Operand(KTIR_NAMES[dtype], placed.access), placed.start * dtype.itemsize


def run(
    op: str, inputs: Sequence[Argument], outputs: Sequence[torch.Tensor], **attributes: Any
) -> Compiled:
    """Compute ``op`` on the card, and return how.

    Parameters
    ----------
    inputs
        Tensors of the device, none of them empty, and numbers.

    Raises
    ------
    Unsupported
        There is no program; nothing has been written.
    torch.OutOfMemoryError
        No room for a temporary; nothing has been written.
    """
    operands: list[Operand | str] = []
    values: list[float] = []
    apart = set_apart(op, inputs, outputs)
    for given in apart:
        if isinstance(given, torch.Tensor):
            operand, address = operand_of(given)
            operands.append(operand)
            values.append(address)
        else:
            operands.append("f32" if isinstance(given, float) else "i64")
            values.append(given)
    for tensor in outputs:
        require_distinct(tensor)
    found = [operand_of(tensor) for tensor in outputs]
    compiled = compile(op, operands, [operand for operand, _ in found], **attributes)
    recorder = active()
    if recorder is None:
        runner_of(op, compiled)(values, [address for _, address in found])
    else:
        recorder.note(op, apart, outputs, attributes)
    return compiled


class Runner:
    """A compiled operation, its programs ready to be launched on the card."""

    def __init__(self, op: str, compiled: Compiled) -> None:
        self.op, self.compiled = op, compiled
        self.steps = [(QuickLaunch(s.program, MEMORY.device), s.slots) for s in compiled.steps]
        alone = len(self.steps) == 1 and not compiled.temporaries and not compiled.tables
        self._order = self._plain_order() if alone else None

    def _plain_order(self) -> list[tuple[bool, int]]:
        """For a single program: whether each argument is an input, and which."""
        _, slots = self.steps[0]
        return [(slot.role is Role.INPUT, slot.index) for slot in slots]

    def __call__(self, inputs: Sequence[float], outputs: Sequence[float]) -> None:
        """Run all steps on given addresses and numbers."""
        # The card runs one program at a time, whichever thread launches it.
        with MEMORY.lock:
            if self._order is not None:
                launch = self.steps[0][0]
                launch([inputs[at] if reads else outputs[at] for reads, at in self._order])
                clock.launched(launch.program, None, self.op)
            else:
                self._all_steps(inputs, outputs)

    def _all_steps(self, inputs: Sequence[float], outputs: Sequence[float]) -> None:
        compiled, memory = self.compiled, MEMORY.device
        temporaries: list[int] = []
        addresses: dict[Role, Sequence[float]] = {
            Role.INPUT: inputs,
            Role.OUTPUT: outputs,
            Role.TABLE: [_table_address(table) for table in compiled.tables],
            Role.TEMPORARY: temporaries,
        }
        try:
            for layout in compiled.temporaries:
                temporaries.append(MEMORY.block(layout.nbytes))
            for launch, slots in self.steps:
                launch([addresses[slot.role][slot.index] for slot in slots])
                clock.launched(launch.program, None, self.op)
        finally:
            for address in temporaries:
                memory.free(address)


_runners: WeakKeyDictionary[Compiled, Runner] = WeakKeyDictionary()


def runner_of(op: str, compiled: Compiled) -> Runner:
    """The runner of a compiled operation: the same one each time."""
    found = _runners.get(compiled)
    if found is None:
        found = _runners[compiled] = Runner(op, compiled)
    return found


_tables: OrderedDict[int, tuple[NDArray[np.int32], int]] = OrderedDict()
_table_bytes = 0


def _table_address(table: NDArray[np.int32]) -> int:
    """Where a table lies in device memory: it is copied there once and kept."""
    global _table_bytes
    known = _tables.get(id(table))
    if known is not None and known[0] is table:
        _tables.move_to_end(id(table))
        return known[1]
    while _tables and _table_bytes + table.nbytes > _TABLE_BYTES:
        _, (old, address) = _tables.popitem(last=False)
        MEMORY.device.free(address)
        _table_bytes -= old.nbytes
    memory = MEMORY.device
    address = MEMORY.block(table.nbytes)
    memory.bytes[address : address + table.nbytes] = table.reshape(-1).view(np.uint8)
    memory.mark_written(address, table.nbytes)
    _tables[id(table)] = table, address
    _table_bytes += table.nbytes
    return address


def free_tables() -> None:
    """Give back the memory of every table; they are copied again when needed."""
    global _table_bytes
    while _tables:
        _, (_, address) = _tables.popitem()
        MEMORY.device.free(address)
    _table_bytes = 0


def table_bytes() -> int:
    """Device bytes that tables take now."""
    return _table_bytes
