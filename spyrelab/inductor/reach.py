"""Whether the wishes of a graph reach operations, found out while its bundles are written.

A wish may be met in one bundle and mean nothing in the next, so only the whole graph tells.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from spyrelab.inductor import config
from spyrelab.inductor.errors import CompileError
from spyrelab.inductor.hinting import hint_of
from spyrelab.inductor.recorded import Step
from spyrelab.opspec.spec import OpSpec

__all__ = ["Reach", "noting", "reach_of", "require_reached", "see"]

Wish = tuple[str, str, int]
"""``"num_tiles"`` or ``"work_div"``, the dimension, the number."""


@dataclass
class Reach:
    """What was seen of wishes.

    Attributes
    ----------
    met : set of Wish
        Those about a dimension of an operation that can be planned.
    dimensions : dict
        Wish: the dimensions of such operations inside its context.
    """

    met: set[Wish] = field(default_factory=set)
    dimensions: dict[Wish, set[str]] = field(default_factory=dict)

    def see(self, steps: Sequence[tuple[Step, OpSpec | None]]) -> None:
        """Steps, each with its spec if it can be planned."""
        for step, spec in steps:
            for wish in _wishes(step.hint):
                known = set() if spec is None else set(spec.iteration_space)
                self.dimensions.setdefault(wish, set()).update(known)
                if wish[1] in known:
                    self.met.add(wish)

    def require(self, wished: Sequence[Wish]) -> None:
        """Raise CompileError for a wish that is about no dimension of any operation."""
        lost = [wish for wish in dict.fromkeys(wished) if wish not in self.met]
        if lost:
            known = sorted(set().union(*(self.dimensions.get(wish, ()) for wish in lost)))
            names = ", ".join(sorted({symbol for _, symbol, _ in lost}))
            raise CompileError(
                f"no operation that can be planned has dimension {names} inside its hint; there"
                f" are {', '.join(known) or 'none'}"
            )


def _wishes(hint: Mapping[str, Mapping[str, int]] | None) -> Iterator[Wish]:
    for kind, wanted in (hint or {}).items():
        for symbol, count in wanted.items():
            yield kind, symbol, count


_state = threading.local()


@contextlib.contextmanager
def noting(reach: Reach) -> Iterator[None]:
    """Let ``reach`` see what this thread plans, and nobody complain yet."""
    before = getattr(_state, "reach", None)
    _state.reach = reach
    try:
        yield
    finally:
        _state.reach = before


def see(steps: Sequence[tuple[Step, OpSpec | None]]) -> None:
    """Show planned steps to whoever notes; if nobody does, every wish has to be met here.

    Raises
    ------
    CompileError
        Nobody notes, and a wish is about no dimension of any operation.
    """
    noted: Reach | None = getattr(_state, "reach", None)
    reach = noted if noted is not None else Reach()
    reach.see(steps)
    if noted is None:
        reach.require([wish for step, _ in steps for wish in _wishes(step.hint)])


def reach_of(graph: Any) -> Reach:
    """What has been seen of the wishes of a graph, and of the graphs inside it."""
    while getattr(graph, "parent", None) is not None:
        graph = graph.parent
    found: Reach = graph.__dict__.setdefault("_spyre_reach", Reach())
    return found


def require_reached(graph: Any) -> None:
    """Raise CompileError if a wish in a graph, all of whose bundles are written, is not met.

    A backward graph has the hints of the forward one, and not all of its operations.
    """
    if config.planner != "none" and not graph.is_backward:
        nodes = graph.orig_gm.graph.nodes
        reach_of(graph).require([wish for node in nodes for wish in _wishes(hint_of(node))])
