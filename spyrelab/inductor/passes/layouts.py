"""Operands that a program cannot use where they lie get copies, as steps of their own.

Layouts are settled in three places. Weights that are only multiplied by lie as products want them
before anything is recorded (`spyrelab.inductor.weights`); results lie as eager would lay them out
(recording); and this pass adds the copies that are left (`spyrelab.inductor.restickify`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from spyrelab.inductor.passes.interface import Outcome
from spyrelab.inductor.recorded import Recorded, Step
from spyrelab.inductor.restickify import Restickify
from spyrelab.inductor.specs import alone_in, spec_of_step

__all__ = ["Layouts"]


@dataclass(frozen=True)
class Layouts:
    """One copy serves every reader, as long as nothing writes what it was made of."""

    name: str = "layouts"

    def run(self, recorded: Recorded, planner: str = "joint") -> Outcome:
        """The steps with copies round those that need them."""
        storages = dict(recorded.storages)
        alone = alone_in(recorded)
        mover = Restickify(storages, lambda step, known: spec_of_step(step, known, alone))
        steps: list[Step] = []
        lines = []
        for step in recorded.steps:
            made = [part for part, _ in mover.around(step)]
            mover.wrote(step)
            fresh = [
                v.name for part in made for v in part.outputs if v.name not in recorded.storages
            ]
            lines += [f"{step.op} goes through {name}" for name in fresh]
            steps += made
        used = {view.name for step in steps for view in step.outputs} | set(recorded.storages)
        held = {name: storage for name, storage in storages.items() if name in used}
        return Outcome(replace(recorded, storages=held, parts=tuple(steps)), tuple(lines))
