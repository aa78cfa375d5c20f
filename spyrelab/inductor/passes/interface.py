"""What a pass is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from spyrelab.inductor.recorded import Recorded

__all__ = ["Outcome", "Pass"]


@dataclass(frozen=True)
class Outcome:
    """What a pass made of a recorded run, and in words what it changed.

    Attributes
    ----------
    recorded : Recorded
    changed : tuple of str
        One line each; none if it left everything as it was.
    """

    recorded: Recorded
    changed: tuple[str, ...] = ()


class Pass(Protocol):
    """A transformation of a recorded run that keeps what it computes."""

    @property
    def name(self) -> str:
        """One word."""

    def run(self, recorded: Recorded, planner: str = "joint") -> Outcome:
        """The new run; ``planner`` as `spyrelab.tiling.plan` takes it."""
