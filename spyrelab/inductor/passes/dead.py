"""Steps whose results nobody reads are dropped."""

from __future__ import annotations

from dataclasses import dataclass, replace

from spyrelab.inductor.passes.interface import Outcome
from spyrelab.inductor.passes.storages import kept, reads, trimmed
from spyrelab.inductor.recorded import Recorded, Step

__all__ = ["Dead"]


@dataclass(frozen=True)
class Dead:
    """Inductor has dropped dead operations; what remains are dead steps inside of operations."""

    name: str = "dead"

    def run(self, recorded: Recorded, planner: str = "joint") -> Outcome:
        """Keep checks, what writes an input or a result, and whatever those read."""
        needed = kept(recorded)
        alive: list[Step] = []
        lines = []
        for step in reversed(recorded.steps):
            names = [view.name for view in step.outputs]
            if not names or needed.intersection(names):
                needed |= {view.name for view in reads(step)}
                alive.append(step)
            else:
                lines.append(f"{step.op} dropped: nobody reads {', '.join(names)}")
        if not lines:
            return Outcome(recorded)
        made = trimmed(replace(recorded, parts=tuple(reversed(alive))))
        return Outcome(made, tuple(reversed(lines)))
