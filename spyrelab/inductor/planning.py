"""Which recorded steps are planned together, and which are launched as eager launches them."""

from __future__ import annotations

from spyrelab.inductor.errors import CompileError
from spyrelab.inductor.observing import watchers
from spyrelab.inductor.passes import run_all
from spyrelab.inductor.recorded import Recorded
from spyrelab.tiling import PLANNERS

__all__ = ["planned"]


def planned(recorded: Recorded, planner: str) -> Recorded:
    """The same results, as many steps as possible in plans.

    Parameters
    ----------
    planner
        As `spyrelab.tiling.plan` takes it; ``"none"`` launches every step by itself.

    Raises
    ------
    CompileError
        There is no such planner, or a wish of the user reaches no operation.
    TilingError
        A wish of the user cannot be met.
    """
    if planner not in (*PLANNERS, "none"):
        raise CompileError(f"planner = {planner!r}: choose one of {', '.join((*PLANNERS, 'none'))}")
    found, outcomes = (recorded, []) if planner == "none" else run_all(recorded, planner)
    for seen in watchers:
        seen.bundles.append((recorded, found))
        seen.passes.append([(name, outcome.changed) for name, outcome in outcomes])
    return found
