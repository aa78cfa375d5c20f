"""Recorded programs, ready to be launched again and again on tensors of one kind."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import torch

from spyrelab.device import clock
from spyrelab.device.allocations import Entry, entry_of
from spyrelab.device.eager.launch import operand_in, runner_of
from spyrelab.device.eager.recording import CHECK
from spyrelab.device.forms import Form
from spyrelab.device.memory import MEMORY
from spyrelab.device.transfer import alias
from spyrelab.emulator import Program, lower
from spyrelab.emulator.quick_launch import QuickLaunch
from spyrelab.errors import SpyreLabError
from spyrelab.inductor.observing import watchers
from spyrelab.inductor.recorded import Recorded, Step, View
from spyrelab.opspec import compile, element_type
from spyrelab.opspec.spec import OpSpec, TensorArg, operand_of
from spyrelab.tiling import Bundle, Plan, lower_bundle
from spyrelab.tiling.fetching import computing
from spyrelab.tiling.hazards import OF_PLANS
from spyrelab.tiling.requests import operands_of

__all__ = ["Launching"]

_log = logging.getLogger("spyrelab.inductor")

_NOT_OF_OPERATIONS = ("numbers", *OF_PLANS)
"""Numbers are operands."""

Slot = tuple[int, int]
"""An address: the number of a storage, and bytes from its beginning."""


class _Launch(NamedTuple):
    """A program: what runs it, its arguments in order, and what it touches."""

    runner: Callable[[Sequence[Any], Sequence[Any]], None]
    inputs: list[Any]
    outputs: list[Slot]

    @property
    def storages(self) -> set[int]:
        """Numbers of the storages that it touches."""
        return {slot[0] for slot in (*self.inputs, *self.outputs) if isinstance(slot, tuple)}


class Launching:
    """The programs of a bundle.

    What lives only inside takes device memory from its first use to its last.
    """

    def __init__(self, recorded: Recorded) -> None:
        self.natives = recorded.natives
        given = [view.name for view in recorded.inputs]
        kept = dict.fromkeys(view.name for view in recorded.results if view.name not in given)
        inner = [name for name in recorded.storages if name not in given and name not in kept]
        order = [*given, *kept, *inner]
        self._given, self._count = len(given), len(order)
        self._kept = [recorded.storages[name].form for name in kept]
        self._number = {name: number for number, name in enumerate(order)}
        self._forms = {name: storage.form for name, storage in recorded.storages.items()}
        self._results = [self._result(view, recorded) for view in recorded.results]
        self._launches: list[_Launch] = []
        for part in recorded.parts:
            self._launches += [self._step(part)] if isinstance(part, Step) else self._plan(part)
        self._lives = self._lifetimes(inner)

    def __call__(self, tensors: Sequence[torch.Tensor]) -> tuple[torch.Tensor, ...]:
        """Run everything."""
        made = [MEMORY.tensor(form) for form in self._kept]
        addresses = [entry_of(tensor).address for tensor in (*tensors, *made)]
        addresses += [0] * (self._count - len(addresses))
        live: set[int] = set()
        try:
            for (runner, inputs, outputs), (begin, end) in zip(
                self._launches, self._lives, strict=True
            ):
                for number, nbytes in begin:
                    addresses[number] = MEMORY.block(nbytes)
                    live.add(number)
                runner(
                    [addresses[v[0]] + v[1] if type(v) is tuple else v for v in inputs],
                    [addresses[number] + start for number, start in outputs],
                )
                for number in end:
                    MEMORY.device.free(addresses[number])
                    live.discard(number)
        finally:
            for number in live:
                MEMORY.device.free(addresses[number])
        known = (*tensors, *made)
        return tuple(
            known[number] if view is None else _as_view(known[number], view)
            for number, view in self._results
        )

    def _plan(self, plan: Plan) -> list[_Launch]:
        made: list[_Launch] = []
        for bundle in plan.bundles:
            try:
                program, names = _program(bundle)
                made.append(_Launch(_runner(program), [(self._number[n], 0) for n in names], []))
            except SpyreLabError as error:
                count = len(bundle.specs)
                _log.warning("%d planned operations are launched one by one: %s", count, error)
                made += map(self._spec, computing(bundle.specs))
        return made

    def _spec(self, spec: OpSpec) -> _Launch:
        """A planned operation as eager launches it, all its operands in device memory."""
        operands, results = operands_of(spec)
        numbers = spec.op_info.get("numbers", {})
        info = {key: value for key, value in spec.op_info.items() if key not in _NOT_OF_OPERATIONS}
        compiled = compile(spec.op, operands, results, **info)
        slots = iter([self._place(spec, arg) for arg in spec.inputs])
        inputs = [numbers[at] if at in numbers else next(slots) for at in range(len(operands))]
        outputs = [self._place(spec, arg) for arg in spec.outputs]
        return _Launch(runner_of(spec.op, compiled), inputs, outputs)

    def _place(self, spec: OpSpec, arg: TensorArg) -> Slot:
        start = operand_of(arg, spec.iteration_space).start
        return self._number[arg.name], start * element_type(arg.dtype).itemsize

    def _slot(self, view: View) -> tuple[Any, Slot]:
        form = self._forms[view.name]
        operand, start = operand_in(form, view.dtype, view.size, view.stride, view.offset)
        return operand, (self._number[view.name], start)

    def _step(self, step: Step) -> _Launch:
        if step.op == CHECK:
            return self._check(step)
        operands: list[Any] = []
        inputs: list[Any] = []
        for value in step.inputs:
            if isinstance(value, View):
                operand, slot = self._slot(value)
                operands.append(operand)
                inputs.append(slot)
            else:
                operands.append("f32" if isinstance(value, float) else "i64")
                inputs.append(value)
        outputs = [self._slot(view) for view in step.outputs]
        compiled = compile(step.op, operands, [o for o, _ in outputs], **step.attributes)
        return _Launch(runner_of(step.op, compiled), inputs, [slot for _, slot in outputs])

    def _check(self, step: Step) -> _Launch:
        (view,) = step.inputs
        assert isinstance(view, View)
        check = _Check(self._forms[view.name], view, **step.attributes)
        return _Launch(check, [(self._number[view.name], 0)], [])

    def _lifetimes(self, inner: Sequence[str]) -> list[tuple[list[tuple[int, int]], list[int]]]:
        """For each launch: what to allocate before it, and what to free after it."""
        lives: list[tuple[list[tuple[int, int]], list[int]]] = [([], []) for _ in self._launches]
        for name in inner:
            number = self._number[name]
            uses = [at for at, launch in enumerate(self._launches) if number in launch.storages]
            if uses:
                lives[uses[0]][0].append((number, self._forms[name].device_bytes))
                lives[uses[-1]][1].append(number)
        return lives

    def _result(self, view: View, recorded: Recorded) -> tuple[int, View | None]:
        number, form = self._number[view.name], self._forms[view.name]
        whole = (form.size, form.stride, 0, form.dtype)
        if number < self._given:
            seen = recorded.inputs[number]
            whole = (seen.size, seen.stride, seen.offset, seen.dtype)
        is_whole = (view.size, view.stride, view.offset, view.dtype) == whole
        return number, None if is_whole else view


@dataclass(frozen=True)
class _Check:
    """The host looks at indices before programs use them."""

    form: Form
    view: View
    low: int
    high: int
    ignored: int | None

    def __call__(self, inputs: Sequence[Any], outputs: Sequence[Any]) -> None:
        """Raise IndexError for one that is out of range."""
        view = self.view
        place = self.form.place(view.dtype, view.size, view.stride, view.offset)
        index = alias(Entry(self.form, int(inputs[0])), place, view.dtype)
        wrong = (index < self.low) | (index >= self.high)
        if self.ignored is not None:
            wrong &= index != self.ignored
        if bool(wrong.any()):
            found = int(index[wrong][0]) if index.dim() else int(index)
            raise IndexError(
                f"index {found} is out of range: at least {self.low}, less than {self.high}"
            )


def _program(bundle: Bundle) -> tuple[Program, tuple[str, ...]]:
    """The program of a planned bundle, and the tensors whose addresses it takes."""
    made = lower_bundle(bundle.items)
    program = lower(made.module)
    for seen in watchers:
        seen.programs.append(program)
    return program, made.tensors


def _runner(program: Program) -> Callable[[Sequence[Any], Sequence[Any]], None]:
    launch = QuickLaunch(program, MEMORY.device)

    def run(inputs: Sequence[Any], outputs: Sequence[Any]) -> None:
        launch(inputs)
        clock.launched(program, None, "bundle")

    return run


def _as_view(tensor: torch.Tensor, view: View) -> torch.Tensor:
    if tensor.dtype != view.dtype:
        tensor = tensor.view(view.dtype)
    return torch.as_strided(tensor, view.size, view.stride, view.offset)
