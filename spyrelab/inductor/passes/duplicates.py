"""Common subexpressions: the same operation on the same operands is done once."""

from __future__ import annotations

from dataclasses import dataclass

from spyrelab.inductor.passes.interface import Outcome
from spyrelab.inductor.passes.sharing import share
from spyrelab.inductor.recorded import Recorded

__all__ = ["Duplicates"]


@dataclass(frozen=True)
class Duplicates:
    """Looks up each step among those before, in time proportional to their number.

    AOTAutograd has done so with whole operations; these are steps that operations have in common,
    such as an up-cast of the same tensor.
    """

    name: str = "duplicates"

    def run(self, recorded: Recorded, planner: str = "joint") -> Outcome:
        """Without the second of two equal steps."""
        return Outcome(*share(recorded, lambda step: True))
