"""Random KTIR programs: every operation of the language, on shapes and numbers that hurt.

`random_program` grows one from a seed.  Programs are text, so a failing one is its own repro;
`shrunk` drops steps while a test still fails.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from tests.emulator import random_programs_control as control
from tests.emulator import random_programs_exchange as collectives
from tests.emulator import random_programs_linalg as linalg
from tests.emulator import random_programs_memory as memory
from tests.emulator import random_programs_shapes as shapes
from tests.emulator import random_programs_tiles as tiles
from tests.emulator.random_programs_state import (
    NAME,
    Growing,
    Scalar,
    SkipStepError,
    Step,
    Tensor,
    static,
)

GRIDS = ((1,), (1,), (2,), (3,), (2, 2), (4,), (5,), (2, 1, 3), (8,))

PLAIN: dict[Callable[[Growing], Any], int] = {
    memory.load: 8, memory.store: 4, memory.reload: 1,
    tiles.elementwise: 12, tiles.any_cast: 3, tiles.scalar_operation: 3, tiles.scalar_cast: 1,
    tiles.select_by_scalar: 1, shapes.reshape: 3, shapes.transpose: 2, shapes.extract_slice: 3,
    shapes.insert_slice: 2, shapes.concat: 2, shapes.pad: 2, shapes.generate: 2, shapes.extract: 2,
    shapes.insert: 1, shapes.from_elements: 1, shapes.dimension: 1, shapes.forget_size: 1,
    shapes.recall_size: 1,
    linalg.named: 4, linalg.contraction: 4, linalg.reduce: 6, linalg.map_elements: 3,
    linalg.generic: 8,
}  # fmt: skip
NESTED: dict[Callable[[Growing, Callable[[Growing, int], None]], None], int] = {
    control.loop: 5, control.branch: 4, control.while_loop: 2, collectives.exchange: 8,
}  # fmt: skip


@dataclass(frozen=True)
class RandomProgram:
    """A program with what it runs on."""

    seed: int
    grid: tuple[int, ...]
    steps: tuple[Step, ...]
    types: dict[str, str]
    values: dict[str, Any]
    memory: dict[Any, np.ndarray]
    rereads: bool = False
    """It loads what it stored: the null engine, which writes nothing, may take other branches."""

    @property
    def text(self) -> str:
        body = "\n".join(step.text() for step in self.steps)
        used = set(NAME.findall(body))
        arguments = ", ".join(f"{n}: {t}" for n, t in self.types.items() if n in used)
        grid = ", ".join(map(str, self.grid))
        return f"func.func @f({arguments}) attributes {{grid = [{grid}]}} {{\n{body}\nreturn\n}}\n"

    @property
    def arguments(self) -> dict[str, Any]:
        """Values of the arguments that the text has."""
        used = set(NAME.findall(self.text))
        return {name[1:]: value for name, value in self.values.items() if name in used}


def random_program(seed: int) -> RandomProgram:
    """The program of a seed."""
    rng = random.Random(seed)
    g = Growing(rng, rng.choice(GRIDS))
    _tile_number(g)
    while not g.tensors:
        _step(g, memory.load)
    _fill(g, rng.randint(3, 11))
    chosen = [t for t in g.tensors if rng.random() < 0.4] + g.tensors[-2:]
    for tensor in dict.fromkeys(chosen[-9:]):
        _step(g, lambda g, t=tensor: memory.store(g, t, simple=True))
    for scalar in [s for s in g.scalars if s.known is None][-3:]:
        _step(g, lambda g, s=scalar: _store_scalar(g, s))
    return RandomProgram(seed, g.grid, tuple(g.steps), g.types, g.values, g.memory, g.rereads)


def _tile_number(g: Growing) -> None:
    names = [f"%tile{d}" for d in range(len(g.grid))]
    g.emit(f"{', '.join(names)} = ktdp.get_compute_tile_id : {', '.join(['index'] * len(names))}")
    number = names[-1]
    for d in reversed(range(len(names) - 1)):
        scaled = g.define_scalar(f"arith.muli {number}, {g.constant(g.grid[d]).name} : index",
                                 "index")  # fmt: skip
        number = g.define_scalar(f"arith.addi {scaled.name}, {names[d]} : index", "index").name
    zero = g.constant(0)
    g.emit(f"%core = arith.addi {number}, {zero.name} : index")


def _store_scalar(g: Growing, scalar: Scalar) -> None:
    kind = f"tensor<1x{scalar.element}>"
    tensor = g.define(f"tensor.from_elements {scalar.name} : {kind}", static(1),
                      scalar.element)  # fmt: skip
    memory.store(g, tensor, simple=True)


def _fill(g: Growing, number: int) -> None:
    """Random steps, plain ones and those with regions."""
    for _ in range(number):
        if g.chance(0.2 if g.depth == 0 else 0.1):
            make = g.rng.choices(list(NESTED), list(NESTED.values()))[0]
            _step(g, lambda g, make=make: make(g, _fill))
        else:
            _step(g, g.rng.choices(list(PLAIN), list(PLAIN.values()))[0])


def _step(g: Growing, make: Callable[[Growing], Any]) -> None:
    """Run a step; take back what it emitted if it does not fit."""
    before = len(g.steps), len(g.tensors), len(g.scalars)
    try:
        make(g)
    except SkipStepError:
        del g.steps[before[0] :], g.tensors[before[1] :], g.scalars[before[2] :]


# -- shrinking -------------------------------------------------------------------------------


def shrunk(program: RandomProgram, fails: Callable[[RandomProgram], bool]) -> RandomProgram:
    """Drop steps (with all that need them) as long as the program still fails."""
    while True:
        for smaller in _smaller(program):
            if fails(smaller):
                program = smaller
                break
        else:
            return program


def _smaller(program: RandomProgram) -> Iterator[RandomProgram]:
    for path in reversed(list(_paths(program.steps))):
        for inline in (True, False):
            steps = _without(program.steps, path, inline)
            if steps is not None:
                yield replace(program, steps=tuple(steps))


def _paths(steps: Sequence[Step], prefix: tuple[int, ...] = ()) -> Iterator[tuple[int, ...]]:
    """Positions of all steps: (step, part, step, ...)."""
    for number, step in enumerate(steps):
        yield (*prefix, number)
        for part, inner in enumerate(step.parts):
            if isinstance(inner, list):
                yield from _paths(inner, (*prefix, number, part))


def _without(steps: Sequence[Step], path: tuple[int, ...], inline: bool) -> list[Step] | None:
    """The steps without one (``inline``: replaced by what is inside), and without its users."""
    first, *rest = path
    gone: set[str] = set()
    kept: list[Step] = []
    for number, step in enumerate(steps):
        if number == first and rest:
            part, *inner = rest
            parts = list(step.parts)
            nested = _without(parts[part], tuple(inner), inline)
            if nested is None:
                return None
            lost = _names(parts[part]) - _names(nested)
            if any(lost & set(NAME.findall(p)) for p in parts if isinstance(p, str)):
                return None
            parts[part] = nested
            kept.append(Step(parts))
        elif number == first:
            gone |= step.defined()
            inside = [s for p in step.parts if isinstance(p, list) for s in p]
            if inline and not inside:
                return None
            kept += inside if inline else []
        else:
            kept.append(step)
    return _consistent(kept, gone)


def _names(steps: Sequence[Step]) -> set[str]:
    found: set[str] = set()
    for step in steps:
        found |= step.defined()
        for part in step.parts:
            if isinstance(part, list):
                found |= _names(part)
    return found


def _consistent(steps: Sequence[Step], gone: set[str]) -> list[Step]:
    kept: list[Step] = []
    for step in steps:
        if set(NAME.findall(step.own_text())) & gone:
            gone |= step.defined()
            continue
        parts = [_consistent(p, gone) if isinstance(p, list) else p for p in step.parts]
        if any(set(NAME.findall(p)) & gone for p in parts if isinstance(p, str)):
            gone |= step.defined()
            continue
        kept.append(Step(parts))
    return kept


__all__ = ["RandomProgram", "Tensor", "random_program", "shrunk"]
