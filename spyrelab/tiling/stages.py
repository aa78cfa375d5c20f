"""Four ways to run a list of operations, each with less traffic than the one before.

>>> for stage in stages(ops, "d0"):
...     print(stage.name, stage.predicted_bytes)

Every operation is cut along one symbol only: cores share its range, and in the last stage a loop
takes it in turns.  `spyrelab.tiling.plan` decides much more; this is for looking at one thing at
a time.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cached_property
from typing import Any

from spyrelab.opspec import element_type
from spyrelab.opspec.spec import OpSpec, TensorArg
from spyrelab.tiling.buffers import holding, is_sparse
from spyrelab.tiling.cut import Slicing, cut_of, granule
from spyrelab.tiling.errors import TilingError
from spyrelab.tiling.loops import Item, LoopSpec, replaced
from spyrelab.tiling.lower import WORK_BYTES
from spyrelab.tiling.lx import Kind, Problem, Solution, Step, default_capacity, lifetimes, solve
from spyrelab.tiling.lx.problem import Buffer
from spyrelab.tiling.planning import Bundle, Plan
from spyrelab.tiling.signature import is_product, signature_of

__all__ = ["Stage", "Staged", "stages"]


class Stage(StrEnum):
    """What is allowed."""

    DDR = "all through DDR"
    PLANNED = "LX planning"
    IN_PLACE = "in-place reuse"
    TILED = "coarse tiling"


@dataclass(frozen=True)
class Staged:
    """A list of operations, settled.

    Attributes
    ----------
    stage : Stage
    plan : Plan
        One bundle, for `spyrelab.tiling.run`; nobody has predicted its time.
    solution : Solution
        What stays in the scratchpad of a core, where, and from when to when; for the tiled
        stage in one turn of the loop.
    turns : int
        Of the loop.
    """

    stage: Stage
    plan: Plan
    solution: Solution
    turns: int = 1

    @property
    def name(self) -> str:
        """What the stage is called."""
        return self.stage.value

    @property
    def items(self) -> tuple[Item, ...]:
        """The settled operations."""
        return self.plan.items

    @property
    def lx_bytes(self) -> int:
        """Bytes of a core's scratchpad that hold tensors."""
        return self.solution.peak

    @cached_property
    def kept(self) -> tuple[str, ...]:
        """Tensors that a core keeps."""
        return tuple(buffer.name for buffer in self.solution.kept)


def stages(
    ops: Sequence[OpSpec],
    along: str | Sequence[str],
    cores: int = 1,
    capacity: int | None = None,
    method: str = "exact",
) -> tuple[Staged, ...]:
    """The four stages of some operations.

    Parameters
    ----------
    along
        The symbol of every operation along which it is cut: over cores, and into turns.
    cores
        How many share it.
    capacity
        Bytes of a core's scratchpad for what stays; by default what is left beside the tiles of
        an operation at work.
    method
        Of LX planning.

    Raises
    ------
    TilingError
        The symbol of an operation cannot be cut so, or no number of turns is enough.
    """
    symbols = [along] * len(ops) if isinstance(along, str) else list(along)
    room = default_capacity() - WORK_BYTES if capacity is None else capacity
    settled = tuple(_split(spec, symbol, cores) for spec, symbol in zip(ops, symbols, strict=True))
    run = _Run(settled, tuple(symbols), room, method)
    return (
        run.stage(Stage.DDR, 0, False),
        run.stage(Stage.PLANNED, 1, False),
        run.stage(Stage.IN_PLACE, 1, True),
        run.stage(Stage.TILED, run.least_turns(), True),
    )


def _split(spec: OpSpec, symbol: str, cores: int) -> OpSpec:
    if symbol not in spec.iteration_space:
        names = ", ".join(spec.iteration_space)
        raise TilingError(f"{spec.op} has no symbol {symbol}: choose from {names}")
    space = {
        s: (extent, cores if s == symbol else 1) for s, (extent, _) in spec.iteration_space.items()
    }
    made = replaced(spec, iteration_space=space)
    if (parts := cut_of(made, symbol).parts) != cores:
        raise TilingError(f"{spec.op}: {symbol} can be cut into {parts} parts, not into {cores}")
    return made


@dataclass(frozen=True)
class _Run:
    """Operations whose splits are decided."""

    specs: tuple[OpSpec, ...]
    symbols: tuple[str, ...]
    room: int
    method: str

    def stage(self, stage: Stage, turns: int, in_place: bool) -> Staged:
        """A stage; ``turns`` 0: nothing may stay."""
        solution = self._solved(max(turns, 1), in_place, self.room if turns else 0)
        items = _Settled(self, solution, max(turns, 1)).items()
        made = Plan((Bundle(items),), stage.value, self.live_out)
        return Staged(stage, made, solution, max(turns, 1))

    @property
    def live_out(self) -> frozenset[str]:
        read = {arg.name for spec in self.specs for arg in spec.inputs}
        return frozenset(a.name for spec in self.specs for a in spec.outputs) - read

    def least_turns(self) -> int:
        """The fewest turns in which everything stays that can."""
        for turns in self._legal_turns():
            if len(found := self._solved(turns, True, self.room).kept) and not _lost(
                self._problem(turns, True, self.room), found
            ):
                return turns
        raise TilingError(f"no loop over {self.symbols[0]} makes {self.room:,} bytes enough")

    def _legal_turns(self) -> Iterator[int]:
        units = []
        for spec, symbol in zip(self.specs, self.symbols, strict=True):
            cut = cut_of(spec, symbol)
            if not cut.is_even:
                raise TilingError(f"{spec.op}: {symbol} = {cut.extent} is not shared evenly")
            units.append(cut.piece // granule(spec.args, symbol, cut.extent))
        most = math.gcd(*units)
        yield from (turns for turns in range(1, most + 1) if most % turns == 0)

    def _solved(self, turns: int, in_place: bool, room: int) -> Solution:
        return solve(self._problem(turns, in_place, room), self.method)

    def _problem(self, turns: int, in_place: bool, room: int) -> Problem:
        steps = [
            Step(
                spec.op,
                tuple(dict.fromkeys(a.name for a in spec.inputs)),
                tuple(a.name for a in spec.outputs),
                in_place and _is_pointwise(spec),
            )
            for spec in self.specs
        ]
        found = lifetimes(steps, self.sizes(turns), kinds=self._kinds())
        buffers = [b for b in found if b.clone_of is None or not self._stays_put(b.clone_of, turns)]
        buffers += self._invariant(turns)
        return Problem(tuple(buffers), room, tuple(step.name for step in steps))

    def sizes(self, turns: int) -> Mapping[str, int]:
        """Bytes of each tensor that a core needs in one turn."""
        found: dict[str, int] = {}
        for spec, symbol in zip(self.specs, self.symbols, strict=True):
            slicing = Slicing.of(spec, {symbol: turns})
            for arg in spec.args:
                size = holding(slicing, arg, whole=False).nbytes(element_type(arg.dtype).itemsize)
                found[arg.name] = max(found.get(arg.name, 0), size)
        return found

    def _kinds(self) -> Mapping[str, Kind]:
        return {
            arg.name: Kind.STATISTIC
            for spec in self.specs
            if not _is_pointwise(spec) and not is_product(spec.op)
            for arg in spec.outputs
        }

    def _stays_put(self, name: str, turns: int) -> bool:
        """Whether every turn of a loop reads the same of an input."""
        return turns > 1 and all(
            symbol not in arg.symbols
            for spec, symbol in zip(self.specs, self.symbols, strict=True)
            for arg in spec.inputs
            if arg.name == name
        )

    def _invariant(self, turns: int) -> Iterator[Buffer]:
        """Inputs that are copied before the loop, for all turns."""
        made = {arg.name for spec in self.specs for arg in spec.outputs}
        names = [a.name for spec in self.specs for a in spec.inputs if a.name not in made]
        for name in dict.fromkeys(names):
            if self._stays_put(name, turns):
                uses = names.count(name) * turns - 1
                last = len(self.specs) - 1
                yield Buffer(f"{name}@all", self.sizes(turns)[name], 0, last, uses, kind=Kind.INPUT)


def _is_pointwise(spec: OpSpec) -> bool:
    found = signature_of(spec)
    return found is not None and not found.shared


def _lost(problem: Problem, kept: Sequence[Buffer]) -> bool:
    """Whether something that could stay does not; short copies give way to long ones."""
    names = {buffer.clone_of or buffer.name for buffer in kept}
    return any((buffer.clone_of or buffer.name) not in names for buffer in problem.buffers)


@dataclass(frozen=True)
class _Settled:
    """Writes a solution into the operations."""

    run: _Run
    solution: Solution
    turns: int

    def items(self) -> tuple[Item, ...]:
        before: list[OpSpec] = []
        body: list[tuple[OpSpec, str]] = []
        for number, (spec, symbol) in enumerate(zip(self.run.specs, self.run.symbols, strict=True)):
            for buffer in self.solution.kept:
                source = buffer.clone_of or buffer.name.removesuffix("@all")
                arg = next((a for a in spec.inputs if a.name == source), None)
                if arg is None or buffer.name == source:
                    continue
                copy = _copy(spec, arg, buffer.name, self.solution.address(buffer))
                if buffer.name.endswith("@all"):
                    known = {a.name for made in before for a in made.outputs}
                    before += [copy] if buffer.name not in known else []
                elif buffer.first == number:
                    body.append((copy, symbol))
            body.append((replaced(spec, args=lambda arg, at=number: self._placed(arg, at)), symbol))
        specs, symbols = zip(*body, strict=True)
        if self.turns == 1:
            return (*before, *specs)
        return (*before, LoopSpec(self.turns, specs, symbols))

    def _placed(self, arg: TensorArg, step: int) -> TensorArg:
        for buffer in self.solution.kept:
            alive = buffer.first <= step <= buffer.last
            source = buffer.clone_of or buffer.name.removesuffix("@all")
            if alive and source == arg.name:
                address = self.solution.address(buffer)
                return replace(arg, name=buffer.name, lx_address=address)
        return arg


def _copy(spec: OpSpec, arg: TensorArg, name: str, address: int) -> OpSpec:
    """The operation that fetches what another one reads."""
    space: dict[str, Any] = {
        s: pair for s, pair in spec.iteration_space.items() if s in arg.symbols
    }
    if is_sparse(arg):
        raise TilingError(f"{arg.name}: no copy of a tensor with one element per stick")
    target = replace(arg, name=name, is_input=False, lx_address=address)
    return OpSpec("copy", space, (arg, target))
