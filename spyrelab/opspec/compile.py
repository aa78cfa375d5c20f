"""From an operation on operands to the programs that do it, and what these need."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from spyrelab.emulator import Program, lower
from spyrelab.layout.access import Access, access
from spyrelab.layout.tensor_layout import SpyreTensorLayout, contiguous_strides
from spyrelab.opspec.copies import build_table_copy, table_for
from spyrelab.opspec.errors import Unsuitable, Unsupported
from spyrelab.opspec.operand import UNSIGNED, Input, Operand
from spyrelab.opspec.registry import (
    builder_of,
    composite_of,
    takes_shifted,
    takes_unsigned,
    updates,
)
from spyrelab.opspec.views import Scattered, Shifted

__all__ = ["Compiled", "Role", "Slot", "Step", "compile", "default_layout", "temporary_of"]

_TILED = ("f16", "bf16", "df16", "f32", "f8E4M3FN", "f8E5M2")


class Role(Enum):
    """Whose address or number an argument of a program is."""

    INPUT = "input"
    OUTPUT = "output"
    TEMPORARY = "temporary"
    TABLE = "table"


class Slot(NamedTuple):
    """An argument of a program: the ``index``-th input (tensor or number), output, ..."""

    role: Role
    index: int  # type: ignore[assignment]  # hides tuple.index, which no slot needs


@dataclass(frozen=True)
class Step:
    """One launch: ``program.arguments[i]`` takes the address or number in ``slots[i]``.

    The address of an input or output is where its access starts; that of a temporary or table
    is its beginning.
    """

    program: Program
    slots: tuple[Slot, ...]


@dataclass(frozen=True, eq=False)
class Compiled:
    """Launches, one after the other.

    Attributes
    ----------
    temporaries : tuple of SpyreTensorLayout
        Device tensors to allocate for the duration; their contents may be anything at first.
    tables : tuple of int32 arrays
        Constants that have to lie in device memory; the arrays are the same objects each time.
    """

    steps: tuple[Step, ...]
    temporaries: tuple[SpyreTensorLayout, ...] = ()
    tables: tuple[NDArray[np.int32], ...] = ()


def default_layout(size: Sequence[int], dtype: str) -> SpyreTensorLayout:
    """How a fresh tensor lies: floats in sticks, everything else linear."""
    make = SpyreTensorLayout.default if dtype in _TILED else SpyreTensorLayout.linear
    return make(tuple(size), "i8" if dtype == UNSIGNED else dtype)


def temporary_of(operand: Operand) -> tuple[Operand, SpyreTensorLayout]:
    """A tensor of the same size and type in its default layout."""
    size = operand.size
    layout = default_layout(size, operand.dtype)
    located = access(layout, size, contiguous_strides(size))
    assert located is not None
    return Operand(operand.dtype, located.access), layout


def compile(
    op: str, inputs: Sequence[Input], outputs: Sequence[Operand], **attributes: Any
) -> Compiled:
    """The launches that compute ``op``; the same object for the same question.

    Operands that a builder cannot use where they lie are copied on the device: inputs into a
    temporary in the default layout, results out of one.

    Parameters
    ----------
    inputs
        Tensors, or the types of numbers ("f32", "i64").
    **attributes
        Hashable; part of the question.

    Raises
    ------
    Unsupported
        There is no program for this.
    """
    key = tuple(sorted(attributes.items()))
    return _compiled(op, tuple(inputs), tuple(outputs), key)


@lru_cache(maxsize=1 << 13)
def _compiled(
    op: str,
    inputs: tuple[Input, ...],
    outputs: tuple[Operand, ...],
    attributes: tuple[tuple[str, Any], ...],
) -> Compiled:
    if op == "copy":
        return _compiled_copy(inputs, outputs, attributes)
    unsigned = any(isinstance(o, Operand) and o.dtype == UNSIGNED for o in (*inputs, *outputs))
    if unsigned and not takes_unsigned(op):
        raise Unsupported(f"{op} of bytes without sign")
    compose = composite_of(op)
    composed = compose(op, inputs, outputs, **dict(attributes)) if compose else None
    if composed is not None:
        return composed
    return _Assembly(op, inputs, outputs, dict(attributes)).finish()


def _compiled_copy(
    inputs: tuple[Input, ...],
    outputs: tuple[Operand, ...],
    attributes: tuple[tuple[str, Any], ...],
) -> Compiled:
    """A copy in one step, else by way of linear memory, else through a table of offsets."""
    slots = (Slot(Role.INPUT, 0), Slot(Role.OUTPUT, 0))
    source, target = inputs[0], outputs[0]
    scattered = [_is_scattered(source), _is_scattered(target)]
    if not any(scattered):
        try:
            module = builder_of("copy")("copy", inputs, outputs, **dict(attributes))
            return Compiled((Step(lower(module), slots),))
        except Unsuitable as error:
            scattered = [error.position == 0, error.position == 1]
            reason = error.reason
    detour = composite_of("copy")
    found = detour("copy", inputs, outputs) if detour else None
    if found is not None:
        return found
    if not isinstance(source, Operand):
        raise Unsupported(reason if not _is_scattered(target) else "numbers in a scattered view")
    return _by_table(source, target, scatter=scattered[1])


def _is_scattered(operand: Input) -> bool:
    return isinstance(operand, Operand) and isinstance(operand.access, Scattered)


def _by_table(source: Operand, target: Operand, scatter: bool) -> Compiled:
    module = build_table_copy(source, target, scatter)
    table = table_for(source, target, scatter)
    slots = (Slot(Role.INPUT, 0), Slot(Role.TABLE, 0), Slot(Role.OUTPUT, 0))
    return Compiled((Step(lower(module), slots),), tables=(table,))


class _Assembly:
    """Steps and what they need, while operands are being replaced by temporaries."""

    def __init__(
        self,
        op: str,
        inputs: tuple[Input, ...],
        outputs: tuple[Operand, ...],
        attributes: dict[str, Any],
    ) -> None:
        self.op, self.attributes = op, attributes
        self.operands: list[Input] = [*inputs, *outputs]
        self.inputs = len(inputs)
        self.slots = [Slot(Role.INPUT, i) for i in range(len(inputs))]
        self.slots += [Slot(Role.OUTPUT, i) for i in range(len(outputs))]
        self.before: list[Step] = []
        self.behind: list[Step] = []
        self.temporaries: list[SpyreTensorLayout] = []
        self.tables: list[NDArray[np.int32]] = []

    def finish(self) -> Compiled:
        """All steps."""
        for position, operand in enumerate(self.operands):
            if isinstance(operand, Operand) and not self._is_taken(operand):
                self._replace(position, "no plain access")
        build = builder_of(self.op)
        while True:
            inputs = tuple(self.operands[: self.inputs])
            outputs = tuple(o for o in self.operands[self.inputs :] if isinstance(o, Operand))
            try:
                module = build(self.op, inputs, outputs, **self.attributes)
                break
            except Unsuitable as error:
                self._replace(error.position, error.reason)
        step = Step(lower(module), tuple(self.slots))
        return self._compiled([*self.before, step, *self.behind])

    def _compiled(self, steps: list[Step]) -> Compiled:
        return Compiled(tuple(steps), tuple(self.temporaries), tuple(self.tables))

    def _is_taken(self, operand: Operand) -> bool:
        known = (Access, Shifted) if takes_shifted(self.op) else (Access,)
        return isinstance(operand.access, known)

    def _is_given(self, position: int) -> bool:
        """Whether an operand is a tensor that still lies where the caller has it."""
        is_tensor = isinstance(self.operands[position], Operand)
        return is_tensor and self.slots[position].role is not Role.TEMPORARY

    def _temporary(self, layout: SpyreTensorLayout) -> Slot:
        self.temporaries.append(layout)
        return Slot(Role.TEMPORARY, len(self.temporaries) - 1)

    def _replace(self, position: int, reason: str) -> None:
        """Let a temporary stand for an operand, or for another if it is one already."""
        given = [p for p in reversed(range(len(self.operands))) if self._is_given(p)]
        if not given:
            raise Unsupported(f"{self.op}: {reason}, even in a default layout")
        position = position if position in given else given[0]
        operand, slot = self.operands[position], self.slots[position]
        assert isinstance(operand, Operand)
        double, layout = temporary_of(operand)
        own = self._temporary(layout)
        self.operands[position], self.slots[position] = double, own
        first, last = Slot(Role.INPUT, 0), Slot(Role.OUTPUT, 0)
        if position < self.inputs:
            copy = compile("copy", (operand,), (double,))
            self.before += self._renamed(copy, {first: slot, last: own})
        else:
            copy = compile("copy", (double,), (operand,))
            self.behind += self._renamed(copy, {first: own, last: slot})
            if updates(self.op):
                copy = compile("copy", (operand,), (double,))
                self.before += self._renamed(copy, {first: slot, last: own})

    def _renamed(self, compiled: Compiled, names: dict[Slot, Slot]) -> list[Step]:
        """Another operation's steps, in this one's slots."""
        for number, layout in enumerate(compiled.temporaries):
            names[Slot(Role.TEMPORARY, number)] = self._temporary(layout)
        for number, table in enumerate(compiled.tables):
            self.tables.append(table)
            names[Slot(Role.TABLE, number)] = Slot(Role.TABLE, len(self.tables) - 1)
        return [
            Step(step.program, tuple(names[slot] for slot in step.slots)) for step in compiled.steps
        ]
