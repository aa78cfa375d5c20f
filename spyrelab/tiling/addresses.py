"""Scratchpad addresses for the tensors of a bundle that stay on the cores."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from spyrelab.machine import SPYRE
from spyrelab.opspec import element_type
from spyrelab.opspec.spec import OpSpec, TensorArg
from spyrelab.tiling.buffers import Held, holding
from spyrelab.tiling.cut import Slicing
from spyrelab.tiling.fetching import tensor_of
from spyrelab.tiling.loops import replaced
from spyrelab.tiling.lx import Buffer, Problem, Solution, place
from spyrelab.tiling.signature import ATTENTION, is_pointwise
from spyrelab.tiling.states import Choice

__all__ = ["addressed", "placed", "roomier"]


def placed(choices: Sequence[Choice], capacity: int) -> Solution:
    """Where the tensors that stay on the cores lie while one bundle runs.

    The result of a pointwise operation may take the place of an operand that dies there.

    Raises
    ------
    WorkingSetError
        They do not fit.
    """
    life = _Life()
    for step, choice in enumerate(choices):
        life.note(step, choice)
    buffers = [
        Buffer(
            name,
            life.nbytes(name),
            life.first[name],
            life.last[name],
            parents=tuple(p for p in life.parents.get(name, ()) if life.dies(p, name)),
        )
        for name in life.made
    ]
    steps = tuple(choice.undecided.op for choice in choices)
    return place(Problem(tuple(buffers), capacity, steps))


def addressed(choices: Sequence[Choice], capacity: int) -> tuple[OpSpec, ...]:
    """The settled operations of one bundle, with an address for every resident operand."""
    resident = any(choice.resident for choice in choices)
    places: Mapping[str, int | None] = placed(choices, capacity).addresses if resident else {}

    def settled(arg: TensorArg) -> TensorArg:
        place = places.get(arg.name)
        # Pieces of a tensor lie together where they are one.
        name = arg.name if place is not None else tensor_of(arg.name)
        return replace(arg, name=name, lx_address=place)

    return tuple(replaced(choice.spec, args=settled) for choice in choices)


def roomier(
    specs: Sequence[OpSpec], choices: Sequence[Choice], lx_bytes: int, work_bytes: int
) -> list[tuple[OpSpec, ...]]:
    """The operations of a bundle where attention takes all the scratchpad that nothing else needs.

    Parameters
    ----------
    lx_bytes
        Of the scratchpad, for everything.
    work_bytes
        What an operation gets otherwise.
    """
    if all(spec.op != ATTENTION for spec in specs):
        return []
    resident = any(choice.resident for choice in choices)
    used = placed(choices, lx_bytes - work_bytes).peak if resident else 0
    free = (lx_bytes - used) // SPYRE.stick_bytes * SPYRE.stick_bytes
    if free <= work_bytes:
        return []

    def wide(spec: OpSpec) -> OpSpec:
        if spec.op != ATTENTION:
            return spec
        return replaced(spec, op_info={**spec.op_info, "lx_bytes": free})

    return [tuple(map(wide, specs))]


class _Life:
    """When tensors live on the cores, and whose place they may take."""

    def __init__(self) -> None:
        self.made: dict[str, tuple[TensorArg, Held]] = {}
        self.first: dict[str, int] = {}
        self.last: dict[str, int] = {}
        self.parents: dict[str, list[str]] = {}

    def note(self, step: int, choice: Choice) -> None:
        """What an operation reads and writes on the cores."""
        spec = choice.spec
        slicing = Slicing.of(spec, {choice.tiled: choice.turns} if choice.turns > 1 else None)
        local = [arg for arg in spec.args if arg.name in choice.resident]
        for arg in local:
            self.last[arg.name] = step
            if arg.name not in self.made:
                self.made[arg.name] = arg, holding(slicing, arg, False)
                self.first[arg.name] = step
        if is_pointwise(spec.op):
            for out in spec.outputs:
                if out.name in choice.resident:
                    self.parents[out.name] = [
                        arg.name for arg in local if arg.is_input and self._is_alike(spec, arg, out)
                    ]

    def _is_alike(self, spec: OpSpec, arg: TensorArg, out: TensorArg) -> bool:
        """Whether every element of a result can lie where the same element of an operand did."""
        before, after = self.made[arg.name], self.made[out.name]
        form = out.dtype, out.device_size, out.stride_map, out.coordinates
        return before[1].extents == after[1].extents and all(
            (a.dtype, a.device_size, a.stride_map, a.coordinates) == form
            for a in spec.inputs
            if a.name == arg.name
        )

    def dies(self, parent: str, child: str) -> bool:
        return self.first[parent] < self.last[parent] == self.first[child]

    def nbytes(self, name: str) -> int:
        arg, held = self.made[name]
        return held.nbytes(element_type(arg.dtype).itemsize)
