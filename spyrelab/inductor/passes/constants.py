"""Constants come first, and equal ones once: they cut no run of operations in two."""

from __future__ import annotations

from dataclasses import dataclass, replace

from spyrelab.inductor.passes.interface import Outcome
from spyrelab.inductor.passes.sharing import share
from spyrelab.inductor.passes.storages import is_whole, reads
from spyrelab.inductor.recorded import Recorded, Step

__all__ = ["Constants"]

_MADE_OF_NUMBERS = ("fill", "arange")


@dataclass(frozen=True)
class Constants:
    """Moves and shares steps that make a whole tensor of numbers alone.

    A tensor of zeros that sums are added to later is moved as well, but is nobody else's.
    """

    name: str = "constants"

    def run(self, recorded: Recorded, planner: str = "joint") -> Outcome:
        """Constants, then everything else in its order."""
        given = {view.name for view in recorded.inputs}
        touched: set[str] = set()
        first: list[Step] = []
        rest: list[Step] = []
        crossed: list[str] = []
        for step in recorded.steps:
            names = {view.name for view in step.outputs}
            whole = all(is_whole(view, recorded.storages) for view in step.outputs)
            if _is_constant(step) and whole and not names & (touched | given):
                first.append(step)
                crossed += names if rest else ()
            else:
                rest.append(step)
            touched |= names | {view.name for view in reads(step)}
        if crossed:
            recorded = replace(recorded, parts=(*first, *rest))
        moved = tuple(f"{name} is made first" for name in crossed)
        made, shared = share(recorded, _is_constant)
        return Outcome(made, (*moved, *shared))


def _is_constant(step: Step) -> bool:
    return step.op in _MADE_OF_NUMBERS and not reads(step) and not step.hint
