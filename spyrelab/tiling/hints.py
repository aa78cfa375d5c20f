"""What the user asks of a plan: turns of loops and parts of splits, by the name of a dimension."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

__all__ = ["Hint"]


@dataclass(frozen=True)
class Hint:
    """Wishes for one operation.

    Attributes
    ----------
    parts : mapping of str to int
        Into how many parts cores share a symbol.
    turns : int
        Of the loop round the operation; 0: as the planner likes.
    tiled : str
        The symbol that the loop takes in steps.
    """

    parts: Mapping[str, int] = field(default_factory=dict)
    turns: int = 0
    tiled: str = ""
