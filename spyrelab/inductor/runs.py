"""Planning a run of steps; runs that differ in names alone, such as equal layers, once."""

from __future__ import annotations

import logging
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from spyrelab.errors import SpyreLabError
from spyrelab.inductor.errors import CompileError
from spyrelab.inductor.recorded import Part, Step
from spyrelab.opspec.spec import OpSpec
from spyrelab.tiling import Bundle, Hint, LoopSpec, Plan, plan
from spyrelab.tiling.cost import structure
from spyrelab.tiling.fetching import renamed
from spyrelab.tiling.loops import Item, replaced

__all__ = ["Problem", "is_known", "plan_once", "plan_run", "problem_in", "remember"]

_log = logging.getLogger("spyrelab.inductor")

_MOST = 256
_known: dict[Any, tuple[Plan, tuple[str, ...]]] = {}
"""Plans, and the names in them in order of appearance."""


def plan_run(
    run: Sequence[tuple[Step, OpSpec | None]], wanted: Collection[str], planner: str
) -> list[Part]:
    """A run as a plan; its steps, with a warning, where none is found.

    Raises
    ------
    SpyreLabError
        There is none, and the user has wishes.
    """
    try:
        return [plan_once(*problem_in(run, wanted, planner))]
    except SpyreLabError as error:
        if any(step.hint for step, _ in run):
            raise
        _log.warning("%d operations are launched one by one: %s", len(run), error)
        return [step for step, _ in run]


class Problem(NamedTuple):
    """What `spyrelab.tiling.plan` is asked."""

    specs: Sequence[OpSpec]
    planner: str
    live_out: Collection[str]
    hints: Sequence[Hint] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """Tensors in order of appearance."""
        return tuple(dict.fromkeys(arg.name for spec in self.specs for arg in spec.args))

    @property
    def key(self) -> Any:
        """What problems have in common that differ in names alone."""
        numbers: dict[str, int] = {}
        kinds = tuple(structure(spec, None, numbers) for spec in self.specs)
        out = frozenset(numbers[name] for name in self.live_out)
        return self.planner, kinds, out, repr(list(self.hints))

    def solve(self) -> Plan:
        """Ask.

        Raises
        ------
        TilingError
        """
        return plan(self.specs, self.planner, live_out=self.live_out, hints=self.hints)


def problem_in(
    run: Sequence[tuple[Step, OpSpec | None]], wanted: Collection[str], planner: str
) -> Problem:
    """How a run is planned."""
    specs = [spec for _, spec in run if spec is not None]
    made = {arg.name for spec in specs for arg in spec.outputs}
    hints = [_hint(step, spec) for step, spec in run if spec is not None]
    return Problem(specs, planner, made.intersection(wanted), hints)


def plan_once(
    specs: Sequence[OpSpec], planner: str, live_out: Collection[str], hints: Sequence[Hint] = ()
) -> Plan:
    """What `spyrelab.tiling.plan` says, or said of a run that had other names.

    Raises
    ------
    TilingError
    """
    problem = Problem(specs, planner, live_out, hints)
    key, names = problem.key, problem.names
    if key not in _known:
        remember(problem, problem.solve())
    found, before = _known[key]
    return found if names == before else _renamed(found, dict(zip(before, names, strict=True)))


def is_known(problem: Problem) -> bool:
    """Whether a problem like it was solved before."""
    return problem.key in _known


def remember(problem: Problem, found: Plan) -> None:
    """Keep a plan for runs that differ in names alone."""
    if len(_known) >= _MOST:
        _known.clear()
    _known[problem.key] = found, problem.names


def _renamed(found: Plan, names: Mapping[str, str]) -> Plan:
    def spec(old: OpSpec) -> OpSpec:
        return replaced(old, args=lambda arg: replace(arg, name=renamed(arg.name, names)))

    def item(old: Item) -> Item:
        if isinstance(old, LoopSpec):
            return replace(old, body=tuple(map(spec, old.body)))
        return spec(old)

    bundles = tuple(
        Bundle(tuple(map(item, bundle.items)), bundle.seconds, bundle.port_bytes)
        for bundle in found.bundles
    )
    out = frozenset(names[name] for name in found.live_out)
    return replace(found, bundles=bundles, live_out=out)


def _hint(step: Step, spec: OpSpec) -> Hint:
    """What of the user's wishes concerns the dimensions of an operation."""
    wishes = step.hint or {}
    parts = {s: n for s, n in wishes.get("work_div", {}).items() if s in spec.iteration_space}
    turns = {s: n for s, n in wishes.get("num_tiles", {}).items() if s in spec.iteration_space}
    if len(turns) > 1:
        raise CompileError(f"{step.op}: a loop takes one dimension in steps, not {list(turns)}")
    for symbol, count in turns.items():
        return Hint(parts, count, symbol)
    return Hint(parts)
