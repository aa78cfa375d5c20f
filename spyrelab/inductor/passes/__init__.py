"""Passes over a recorded run of operations, each of which can be run and printed alone.

>>> from spyrelab.inductor.passes import ORDER, run_all
>>> [each.name for each in ORDER]
['dead', 'checks', 'constants', 'duplicates', 'layouts', 'padding', 'fusion']
"""

from __future__ import annotations

from spyrelab.inductor.passes.checks import Checks
from spyrelab.inductor.passes.constants import Constants
from spyrelab.inductor.passes.dead import Dead
from spyrelab.inductor.passes.duplicates import Duplicates
from spyrelab.inductor.passes.fusion import Fusion
from spyrelab.inductor.passes.interface import Outcome, Pass
from spyrelab.inductor.passes.layouts import Layouts
from spyrelab.inductor.passes.padding import Padding
from spyrelab.inductor.recorded import Recorded

__all__ = ["ORDER", "Outcome", "Pass", "run_all"]

ORDER: tuple[Pass, ...] = (
    Dead(),
    Checks(),
    Constants(),
    Duplicates(),
    Layouts(),
    Padding(),
    Fusion(),
)
"""What is dead is not copied, copies are there before anything is planned, plans come last."""


def run_all(recorded: Recorded, planner: str) -> tuple[Recorded, list[tuple[str, Outcome]]]:
    """Run the passes in order; the result, and what each gave."""
    outcomes = []
    for each in ORDER:
        outcome = each.run(recorded, planner)
        outcomes.append((each.name, outcome))
        recorded = outcome.recorded
    return recorded, outcomes
