"""Programs made of one core's code on slices, and what the operation's own program gives."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from spyrelab.emulator import Program, lower
from spyrelab.ktir.builder import Builder, Scalar, TileGroups
from spyrelab.ktir.types import F32, I64, MemorySpace
from spyrelab.layout import contiguous_strides
from spyrelab.opspec import Operand, compile, default_layout, place
from spyrelab.opspec.emit import Given, Partners, emit
from tests.opspec.host import Host, Tensor

LX = MemorySpace(core_local=True)


@dataclass(frozen=True)
class Part:
    """A tensor of a program: the dimension that cores cut (None: all of it), and where it lies.

    ``lx``: it is copied to the scratchpad first, or from there in the end.
    """

    tensor: Tensor
    cut: int | None = None
    lx: bool = False
    sparse: bool = False

    def slice(self, core: int, cores: int) -> Tensor:
        if self.cut is None:
            return self.tensor
        extent = self.tensor.size[self.cut] // cores
        index = [slice(None)] * len(self.tensor.size)
        index[self.cut] = slice(core * extent, (core + 1) * extent)
        return self.tensor[tuple(index)]

    def given(self, pointer: Scalar, core: Scalar, cores: int) -> Given:
        first, itemsize = self.slice(0, cores), self.tensor.layout.itemsize
        if self.cut is not None and cores > 1:
            steps = [self.slice(n, cores).start - first.start for n in range(cores)]
            assert all(step == n * steps[1] for n, step in enumerate(steps)), "not linear"
            pointer = pointer + core * (steps[1] // itemsize)
        return Given(pointer, first.operand, sparse=self.sparse)


def compact(b: Builder, operand: Operand, address: int) -> tuple[Given, int]:
    """A slice's own room in the scratchpad, and where the next one begins."""
    layout = default_layout(operand.size, operand.dtype)
    placed = place(layout, operand.size, contiguous_strides(operand.size), 0)
    pointer = b.constant(address // layout.itemsize)
    end = address + -(-layout.nbytes // 128) * 128
    return Given(pointer, Operand(operand.dtype, placed.access), LX), end


def program(
    op: str,
    inputs: Sequence[Part | float | int],
    outputs: Sequence[Part],
    cores: int = 1,
    lx_bytes: int = 1 << 18,
    shared: bool | str = False,
    attributes: Mapping[str, Any] | None = None,
) -> Program:
    """The program; arguments are ``t0``, ``t1``, ... in the order of tensors."""
    parts = [entry for entry in (*inputs, *outputs) if isinstance(entry, Part)]
    b = Builder(op, (cores,))
    pointers = b.pointers(*(f"t{number}" for number in range(len(parts))))
    core = b.compute_tile_id() if cores > 1 else b.constant(0)
    given = [p.given(at, core, cores) for p, at in zip(parts, pointers, strict=True)]
    local, top = list(given), 128
    for number, part in enumerate(parts):
        if part.lx:
            local[number], top = compact(b, given[number].operand, top)
            if number < len(parts) - len(outputs):
                emit(b, "copy", [given[number]], [local[number]], lx_bytes=lx_bytes)
    ready = iter(local)
    operands: list[Given | Scalar] = []
    for entry in inputs:
        operands.append(next(ready) if isinstance(entry, Part) else _number(b, entry))
    partners = None
    if shared:
        partners = Partners(TileGroups.adjacent(1, cores), core, cores, shared == "everyone")
    results = list(ready)
    emit(b, op, operands, results, lx_bytes=lx_bytes, partners=partners, **(attributes or {}))
    for part, target, source in zip(outputs, given[-len(outputs) :], results, strict=True):
        if part.lx:
            emit(b, "copy", [source], [target], lx_bytes=lx_bytes)
    made = lower(b.build())
    assert made.lx.peak <= lx_bytes, f"{op}: {made.lx.peak} bytes alive of {lx_bytes}"
    return made


def _number(b: Builder, value: float | int) -> Scalar:
    return b.constant(value, F32 if isinstance(value, float) else I64)


def launch(host: Host, made: Program, tensors: Sequence[Tensor], sanitize: bool = True) -> None:
    given = {f"t{n}": tensor.address + _start(tensor) for n, tensor in enumerate(tensors)}
    made.launch(given, host.memory, sanitize=sanitize, threads=1, exact=True)


def _start(tensor: Tensor) -> int:
    return tensor.start - tensor.address


def check(
    host: Host,
    op: str,
    inputs: Sequence[Part | float | int],
    outputs: Sequence[Part],
    tolerance: float = 0.0,
    **options: Any,
) -> Program:
    """Both programs give the same bits (or nearly), and nothing is written beside."""
    attributes = options.pop("attributes", {})
    parts = [entry for entry in (*inputs, *outputs) if isinstance(entry, Part)]
    made = program(op, inputs, outputs, attributes=attributes, **options)
    for part in outputs:
        host._raw(part.tensor)[:] = 0
    beside = [host.rest(part.tensor) for part in outputs]
    launch(host, made, [part.tensor for part in parts])
    found = [host.get(part.tensor).copy() for part in outputs]
    for part, rest in zip(outputs, beside, strict=True):
        if not part.sparse:
            np.testing.assert_array_equal(host.rest(part.tensor), rest, "written beside")
    given = [entry.tensor if isinstance(entry, Part) else entry for entry in inputs]
    described = [g.operand if isinstance(g, Tensor) else _kind(g) for g in given]
    whole = compile(op, described, [p.tensor.operand for p in outputs], **attributes)
    _launch_exactly(host, whole, given, [p.tensor for p in outputs])
    for number, part in enumerate(outputs):
        wanted = host.get(part.tensor)
        if tolerance:
            np.testing.assert_allclose(found[number], wanted, rtol=tolerance, atol=tolerance)
        else:
            np.testing.assert_array_equal(found[number], wanted)
    return made


def _kind(value: float | int) -> str:
    return "f32" if isinstance(value, float) else "i64"


def _launch_exactly(host: Host, whole: Any, inputs: Sequence[Any], outputs: Sequence[Any]) -> None:
    class Exact:
        def __init__(self, program: Any) -> None:
            self.program = program
            self.arguments = program.arguments

        def launch(self, *given: Any, **options: Any) -> Any:
            return self.program.launch(*given, **{**options, "exact": True})

    steps = tuple(type(step)(Exact(step.program), step.slots) for step in whole.steps)
    host.launch(type(whole)(steps, whole.temporaries, whole.tables), inputs, outputs)
