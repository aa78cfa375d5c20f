"""Runs of steps become plans: bundles with splits, loops and scratchpad addresses."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from spyrelab.inductor.passes.interface import Outcome
from spyrelab.inductor.passes.storages import reads
from spyrelab.inductor.reach import see
from spyrelab.inductor.recorded import Part, Recorded, Step
from spyrelab.inductor.runs import plan_run
from spyrelab.inductor.specs import alone_in, problem_of, spec_of_step
from spyrelab.opspec.spec import OpSpec
from spyrelab.tiling import Plan

__all__ = ["Fusion", "Run", "runs_of"]


@dataclass(frozen=True)
class Fusion:
    """Maximal runs of steps that can be cut are planned together, everything else is kept."""

    name: str = "fusion"

    def run(self, recorded: Recorded, planner: str = "joint") -> Outcome:
        """Plans in place of steps.

        Raises
        ------
        CompileError
            A wish of the user reaches no operation.
        TilingError
            A wish of the user cannot be met.
        """
        parts: list[Part] = []
        for run in runs_of(recorded):
            can = run.pairs[0][1] is not None
            steps = [step for step, _ in run.pairs]
            parts += plan_run(run.pairs, run.wanted, planner) if can else steps
        return Outcome(replace(recorded, parts=tuple(parts)), tuple(_words(parts)))


class Run(NamedTuple):
    """Steps that follow each other, all of which can be cut or none, and names wanted later."""

    pairs: list[tuple[Step, OpSpec | None]]
    wanted: set[str]


def runs_of(recorded: Recorded) -> list[Run]:
    """All steps, in order."""
    alone = alone_in(recorded)
    pairs: list[tuple[Step, OpSpec | None]] = []
    for step in recorded.steps:
        spec = spec_of_step(step, recorded.storages, alone)
        pairs.append((step, None if problem_of(spec) else spec))
    see(pairs)
    wanted = {view.name for view in recorded.results}
    runs: list[Run] = []
    at = 0
    for _, group in itertools.groupby(pairs, lambda pair: pair[1] is not None):
        run = list(group)
        at += len(run)
        later = {view.name for step, _ in pairs[at:] for view in reads(step)}
        runs.append(Run(run, wanted | later))
    return runs


def _words(parts: Sequence[Part]) -> list[str]:
    lines = []
    for part in parts:
        if isinstance(part, Plan):
            for bundle in part.bundles:
                ops = ", ".join(spec.op for spec in bundle.specs)
                lines.append(f"one launch of {len(bundle.specs)}: {ops}")
        else:
            lines.append(f"{part.op} stays by itself")
    return lines
