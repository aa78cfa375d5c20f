"""Random programs for planners, what every operation gives alone, and what PyTorch gives."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from hypothesis import strategies as st
from numpy.typing import NDArray

from spyrelab.layout import contiguous_strides, pack, unpack
from spyrelab.machine import DeviceMemory
from spyrelab.opspec import compile, element_type
from spyrelab.opspec.compile import Role, Slot
from spyrelab.opspec.spec import OpSpec, TensorArg
from spyrelab.tiling import TilingError, operands_of
from spyrelab.tiling.blocks import Draft, Step, View, _whole

EXTENTS = (1, 2, 3, 5, 7, 63, 64, 65, 127, 128, 129, 131)
UNARY = ("neg", "tanh", "sigmoid", "relu", "abs", "silu")
BINARY = ("add", "sub", "mul", "maximum")
TORCH = {"f16": torch.float16, "bf16": torch.bfloat16, "f32": torch.float32}
NUMPY = {"f16": np.float16, "bf16": np.uint16, "f32": np.float32}


@dataclass
class Program:
    """A program, the whole views of its tensors, and what is wanted afterwards."""

    draft: Draft
    dtype: str
    wholes: dict[str, View] = field(default_factory=dict)
    wanted: frozenset[str] = frozenset()
    sums: bool = False

    @property
    def ops(self) -> tuple[OpSpec, ...]:
        return tuple(self.draft.ops)

    @property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        return {name: view.size for name, view in self.wholes.items()}

    def __repr__(self) -> str:
        lines = [
            f"{s.result.name}{list(s.result.size)}+{s.result.offset} = {s.op}("
            + ", ".join(
                f"{o.name}{list(o.size)}:{list(o.stride)}+{o.offset}"
                if isinstance(o, View)
                else str(o)
                for o in s.operands
            )
            + f") {dict(s.attributes)}"
            for s in self.draft.steps
        ]
        return f"\n{self.dtype}, wanted {sorted(self.wanted)}:\n" + "\n".join(lines)

    def arrays(self, seed: int = 0) -> dict[str, NDArray[Any]]:
        rng = torch.Generator().manual_seed(seed)
        made = {}
        for name, view in self.draft.inputs.items():
            scale = 1 / math.sqrt(view.size[0]) if name.startswith("w") else 1.0
            values = torch.randn(view.size, generator=rng) * scale
            made[name] = bits(values.to(TORCH[self.dtype]))
        return made


def bits(tensor: torch.Tensor) -> NDArray[Any]:
    """A tensor as NumPy can hold it."""
    if tensor.dtype == torch.bfloat16:
        return tensor.view(torch.int16).numpy().view(np.uint16)
    return tensor.numpy()


def floats(array: NDArray[Any], dtype: str) -> NDArray[np.float64]:
    """The values of an array."""
    if dtype == "bf16":
        wide = array.astype(np.uint32) << 16
        return wide.view(np.float32).astype(np.float64)
    return array.astype(np.float64)


class _Writer:
    """Writes one program, asking hypothesis at every turn."""

    def __init__(self, draw: Any, exact: bool) -> None:
        self.draw = draw
        self.dtype = draw(st.sampled_from(["f16", "f16", "f32", "bf16"]))
        self.made = Program(Draft(), self.dtype)
        self.exact = exact
        self.views: list[View] = []
        rank = draw(st.sampled_from([2, 2, 2, 3]))
        extents = [draw(st.sampled_from(EXTENTS)) for _ in range(rank)]
        if rank == 3:
            extents[0] = draw(st.sampled_from((1, 2, 3)))
        self.keep(self.given("x", *extents))

    def given(self, name: str, *size: int) -> View:
        fresh = f"{name}{len(self.made.draft.inputs)}"
        made = self.made.draft.input(fresh, *size, dtype=self.dtype)
        self.made.wholes[fresh] = made
        return made

    def keep(self, view: View) -> View:
        self.views.append(view)
        return view

    def keep_plain(self, view: View) -> None:
        """Raises TilingError for a view that is no operand."""
        assert view.tensor
        self.keep(view)

    def pick(self) -> View:
        recent = self.views[-3:]
        made: View = self.draw(st.sampled_from(recent if self.draw(st.booleans()) else self.views))
        return made

    def op(self, name: str, *operands: View | float, **options: Any) -> View:
        made = self.made.draft.op(name, *operands, dtype=self.dtype, **options)
        self.made.wholes.setdefault(made.name, made)
        return self.keep(made)

    def write(self) -> Program:
        plain = ["unary", "binary", "binary", "row", "number", "turn", "slice", "inplace", "cat"]
        heavy = ["sum", "softmax", "norm", "mm", "mm", "addmm", "bmm", "amax"]
        for _ in range(self.draw(st.integers(2, 8))):
            kinds = plain if self.exact else plain + heavy + heavy
            kind = self.draw(st.sampled_from(kinds))
            # Some views have no plain access, and are no operands of an OpSpec.
            with suppress(TilingError):
                getattr(self, f"_{kind}")(self.pick())
            self.made.sums |= kind in heavy
        draft = self.made.draft
        if not draft.ops:
            self._unary(self.pick())
        written = list(dict.fromkeys(a.name for spec in draft.ops for a in spec.outputs))
        read = {a.name for spec in draft.ops for a in spec.inputs}
        extra = self.draw(st.sets(st.sampled_from(written), max_size=2))
        mutated = {name for name in written if name in draft.inputs}
        self.made.wanted = frozenset({n for n in written if n not in read} | extra | mutated)
        if not self.made.wanted:
            self.made.wanted = frozenset(written[-1:])
        return self.made

    def _unary(self, x: View) -> None:
        self.op(self.draw(st.sampled_from(UNARY)), x)

    def _other(self, x: View) -> View:
        alike = [v for v in self.views if v.size == x.size]
        if self.draw(st.booleans()):
            made: View = self.draw(st.sampled_from(alike))
            return made
        return self.given("x", *x.size)

    def _binary(self, x: View) -> None:
        pair = [x, self._other(x)]
        self.op(self.draw(st.sampled_from(BINARY)), *pair)

    def _row(self, x: View) -> None:
        own = x.size[-1:] if self.draw(st.booleans()) else (*x.size[:-1], 1)
        self.op(self.draw(st.sampled_from(BINARY)), x, self.given("x", *own))

    def _number(self, x: View) -> None:
        self.op("mul", x, self.draw(st.sampled_from([0.5, -1.5])))

    def _turn(self, x: View) -> None:
        if len(x.size) > 1:
            self.op("copy", x.turned())

    def _slice(self, x: View) -> None:
        if x.size[-1] > 1:
            first = self.draw(st.sampled_from([0, x.size[-1] // 2]))
            self.keep_plain(
                x.columns(first, first + (x.size[-1] + 1) // 2 - (first and x.size[-1] % 2))
            )

    def _inplace(self, x: View) -> None:
        self.op(self.draw(st.sampled_from(BINARY)), x, self._other(x), into=x)

    def _cat(self, x: View) -> None:
        other = self._other(x)
        width = x.size[-1]
        size = (*x.size[:-1], 2 * width)
        whole = _whole(f"cat{len(self.made.draft.ops)}", size, self.dtype)
        self.made.wholes[whole.name] = whole
        draft = self.made.draft
        draft.op("copy", x, into=whole.columns(0, width))
        draft.op("neg", other, into=whole.columns(width, 2 * width))
        self.keep(whole)

    def _sum(self, x: View, op: str = "sum") -> None:
        axis = self.draw(st.integers(0, len(x.size) - 1))
        size = tuple(n for a, n in enumerate(x.size) if a != axis)
        if not size:
            return
        sparse = axis == len(x.size) - 1 and self.draw(st.booleans())
        total = self.op(op, x, size=size, dims=(axis,), sparse=sparse)
        if sparse:
            strides = (*contiguous_strides(size), 0)
            self.op("sub", x, total._as((*size, 1), strides), size=x.size)

    def _amax(self, x: View) -> None:
        self._sum(x, "amax")

    def _softmax(self, x: View) -> None:
        self.op("softmax", x, dim=self.draw(st.sampled_from([-1, 0])))

    def _norm(self, x: View) -> None:
        weight = self.given("x", x.size[-1])
        self.op("rms_norm", x, weight, normalized_dims=1, eps=1e-2, weight=True)

    def _dense(self, x: View) -> View:
        """A product takes no operand whose elements stand alone in sticks."""
        return self.op("copy", x) if x.layout.stride_map[-1] == -1 else x

    def _mm(self, x: View) -> None:
        x = self._dense(x)
        if len(x.size) != 2:
            return self._bmm(x)
        if x.size[1] == 1:
            return self._number(x)
        columns = self.draw(st.sampled_from(EXTENTS[1:]))
        w = self.given("w", x.size[1], columns)
        self.op("mm", x, w, size=(x.size[0], columns))
        return None

    def _addmm(self, x: View) -> None:
        x = self._dense(x)
        if len(x.size) == 2 and x.size[1] > 1:
            columns = self.draw(st.sampled_from(EXTENTS[1:]))
            w = self.given("w", x.size[1], columns)
            self.op("addmm", self.given("x", columns), x, w, size=(x.size[0], columns))

    def _bmm(self, x: View) -> None:
        x = self._dense(x)
        if len(x.size) == 3 and min(x.size[1:]) > 1:
            # A factor on the right needs its sticks along its columns.
            other = self.op("copy", self._other(x).turned())
            self.op("bmm", x, other, size=(*x.size[:2], x.size[1]))
            self.op("mul", self.views[-1], 1 / math.sqrt(x.size[2]))


@st.composite
def programs(draw: Any, exact: bool = False) -> Program:
    """Programs; ``exact``: without sums."""
    return _Writer(draw, exact).write()


def alone(
    ops: Sequence[OpSpec], arrays: Mapping[str, NDArray[Any]], dtype: str
) -> dict[str, NDArray[Any]]:
    """All tensors in device order after every operation ran as a program of its own."""
    layouts = {arg.name: arg.layout for spec in ops for arg in spec.args}
    with DeviceMemory(1 << 28) as memory:
        at: dict[str, int] = {}
        for name, layout in layouts.items():
            at[name] = memory.allocate(layout.nbytes)
            held = np.zeros(layout.numel, NUMPY[dtype])
            if name in arrays:
                held = pack(np.ascontiguousarray(arrays[name]), layout)
            memory.bytes[at[name] : at[name] + layout.nbytes] = held.view(np.uint8)
            memory.mark_written(at[name], layout.nbytes)
        for spec in ops:
            _launch(memory, spec, at)
        return {
            name: memory.bytes[at[name] : at[name] + layout.nbytes].copy().view(NUMPY[dtype])
            for name, layout in layouts.items()
        }


def _launch(memory: DeviceMemory, spec: OpSpec, at: Mapping[str, int]) -> None:
    inputs, outputs = operands_of(spec)
    info = dict(spec.op_info)
    numbers = info.pop("numbers", {})
    compiled = compile(spec.op, inputs, outputs, **info)
    given: dict[Slot, Any] = {}
    tensors = iter(spec.inputs)
    for position in range(len(inputs)):
        value = numbers[position] if position in numbers else _address(next(tensors), at)
        given[Slot(Role.INPUT, position)] = value
    for position, arg in enumerate(spec.outputs):
        given[Slot(Role.OUTPUT, position)] = _address(arg, at)
    for number, layout in enumerate(compiled.temporaries):
        given[Slot(Role.TEMPORARY, number)] = memory.allocate(layout.nbytes)
    for number, table in enumerate(compiled.tables):
        address = memory.allocate(table.nbytes)
        memory.bytes[address : address + table.nbytes] = table.view(np.uint8).reshape(-1)
        memory.mark_written(address, table.nbytes)
        given[Slot(Role.TABLE, number)] = address
    for step in compiled.steps:
        names = [argument.name for argument in step.program.arguments]
        arguments = {n: given[slot] for n, slot in zip(names, step.slots, strict=True)}
        step.program.launch(arguments, memory, exact=True, threads=1)


def _address(arg: TensorArg, at: Mapping[str, int]) -> int:
    strides = contiguous_strides(arg.device_size)
    start = sum(c.constant * s for c, s in zip(arg.coordinates, strides, strict=True))
    return at[arg.name] + start * element_type(arg.dtype).itemsize


def logical(
    program: Program, found: Mapping[str, NDArray[Any]], names: Sequence[str]
) -> dict[str, NDArray[Any]]:
    """Tensors in device order as they are seen."""
    layouts = {arg.name: arg.layout for spec in program.ops for arg in spec.args}
    return {n: unpack(found[n], layouts[n], program.shapes[n]) for n in names}


_MEANINGS: dict[str, Callable[..., torch.Tensor]] = {
    "softmax": lambda step, x: x.softmax(step.attributes["dim"]),
    "sum": lambda step, x: x.sum(step.attributes["dims"]),
    "amax": lambda step, x: x.amax(step.attributes["dims"]),
    "copy": lambda step, x: x,
    "rms_norm": lambda step, x, w: torch.nn.functional.rms_norm(
        x, x.shape[-1:], w, step.attributes["eps"]
    ),
}


def by_torch(program: Program, arrays: Mapping[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
    """Every operation in f64, its result rounded to the program's type."""
    kind = TORCH[program.dtype]
    storages = {}
    for name, view in program.wholes.items():
        if name in arrays:
            given = torch.from_numpy(floats(arrays[name], program.dtype)).to(kind)
            storages[name] = given.reshape(-1)
        else:
            storages[name] = torch.zeros(math.prod(view.size), dtype=kind)

    def seen(view: View) -> torch.Tensor:
        return storages[view.name].as_strided(view.size, view.stride, view.offset)

    for step in program.draft.steps:
        operands = [seen(o).double() if isinstance(o, View) else o for o in step.operands]
        seen(step.result).copy_(_meaning(step, *operands))
    return {n: bits(storages[n]).reshape(program.wholes[n].size) for n in program.wanted}


def _meaning(step: Step, *given: Any) -> torch.Tensor:
    if step.op in _MEANINGS:
        return _MEANINGS[step.op](step, *given)
    found = getattr(torch, step.op, None) or getattr(torch.nn.functional, step.op)
    made: torch.Tensor = found(*given)
    return made
