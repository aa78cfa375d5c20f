"""Checks of inputs by the host come first, where they cut no run of operations in two."""

from __future__ import annotations

from dataclasses import dataclass, replace

from spyrelab.device.eager.recording import CHECK
from spyrelab.inductor.passes.interface import Outcome
from spyrelab.inductor.passes.storages import reads, writers
from spyrelab.inductor.recorded import Recorded

__all__ = ["Checks"]


@dataclass(frozen=True)
class Checks:
    """Moves checks of indices that are inputs, which no step writes."""

    name: str = "checks"

    def run(self, recorded: Recorded, planner: str = "joint") -> Outcome:
        """The same steps in another order."""
        fixed = {view.name for view in recorded.inputs} - set(writers(recorded))

        def is_early(at: int) -> bool:
            step = recorded.steps[at]
            return step.op == CHECK and all(view.name in fixed for view in reads(step))

        count = len(recorded.steps)
        order = sorted(range(count), key=lambda at: not is_early(at))
        if order == list(range(count)):
            return Outcome(recorded)
        moved = sum(is_early(at) for at in order)
        steps = tuple(recorded.steps[at] for at in order)
        line = f"{moved} check{'s'[: moved > 1]} of indices before everything else"
        return Outcome(replace(recorded, parts=steps), (line,))
