"""Which recorded steps are planned together, and which are launched as eager launches them."""

from __future__ import annotations

from spyrelab.inductor.observing import watchers
from spyrelab.inductor.passes import run_all
from spyrelab.inductor.recorded import Recorded

__all__ = ["planned"]


def planned(recorded: Recorded, planner: str) -> Recorded:
    """The same results, as many steps as possible in plans.

    Parameters
    ----------
    planner
        As `spyrelab.tiling.plan` takes it; ``"none"`` launches every step by itself.
    """
    found, outcomes = (recorded, []) if planner == "none" else run_all(recorded, planner)
    for seen in watchers:
        seen.bundles.append((recorded, found))
        seen.passes.append([(name, outcome.changed) for name, outcome in outcomes])
    return found
