"""How the cores come by what an operation needs: it is there, gathered, copied, or read again."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import NamedTuple

from spyrelab.opspec import Unsupported
from spyrelab.opspec.spec import OpSpec
from spyrelab.tiling.candidates import with_split
from spyrelab.tiling.cost import Costs
from spyrelab.tiling.cut import Slicing
from spyrelab.tiling.fetching import Moved, copied, gathers, local_name
from spyrelab.tiling.loops import replaced
from spyrelab.tiling.states import Choice, Graph, State, marked
from spyrelab.tiling.stays import Sliced, Stay

__all__ = ["Preparing"]


class _Step(NamedTuple):
    """A move of a tensor, what the cores hold then, and its seconds."""

    moved: Moved
    stay: Stay
    seconds: float


@dataclass
class Preparing:
    """Moves tensors to where operations need them.

    Attributes
    ----------
    room : int
        Scratchpad bytes for what stays.
    """

    graph: Graph
    costs: Costs
    room: int

    def can(self, state: State, name: str, need: Stay) -> bool:
        """Whether cores that hold a tensor can come by what they need of it."""
        return name in state.copied or self._gather(state, state.held[name], need) is not None

    def prepared(
        self, state: State, number: int, spec: OpSpec, sliced: Sliced, opens: bool
    ) -> Iterator[State]:
        """The states in which an operation finds its operands, one for every way to get there."""
        states = [state]
        for position, arg in enumerate(spec.inputs):
            if arg.name in sliced.mixed:
                continue
            need = sliced.stay(position)
            found: list[State] = []
            for each in states:
                found += self._ways(each, number, position, arg.name, need, opens)
            states = found
        yield from states

    def _ways(
        self, state: State, number: int, position: int, name: str, need: Stay, opens: bool
    ) -> Iterator[State]:
        stay = state.held.get(name)
        if stay is not None and stay.serves(need):
            yield state
            return
        if stay is None or name in state.copied:
            yield state
        step = None
        if stay is not None:
            step = self._gather(state, stay, need)
        elif (
            state.turns == 1
            and name not in state.written
            and self.graph.is_worth_keeping(number, name)
        ):
            step = self._copy(number, position, need)
        if step is not None:
            moved = self._moved(state, number, name, step, opens and not state.extra)
            if moved is not None:
                yield moved

    def _moved(
        self, state: State, number: int, name: str, step: _Step, opens: bool
    ) -> State | None:
        """The state after a move."""
        is_copy = name not in state.held
        if step.seconds == math.inf:
            return None
        if step.stay.nbytes + sum(stay.nbytes for stay in state.held.values()) > self.room:
            return None
        source = name if is_copy else state.called.get(name, name)
        target = local_name(name, number)
        names = dict(zip((arg.name for arg in step.moved.spec.args), (source, target), strict=True))
        spec = replaced(step.moved.spec, args=lambda arg: replace(arg, name=names[arg.name]))
        resident = frozenset({target} if is_copy else {source, target})
        choice = Choice(spec, step.moved.split, opens, resident, "", 1)
        return replace(
            state,
            choices=(*state.choices, choice),
            seconds=state.seconds + step.seconds,
            held={**state.held, name: step.stay},
            called={**state.called, name: target},
            copied=state.copied | {name} if is_copy else state.copied,
            touched=state.touched | {name} if is_copy else state.touched,
            extra=state.extra + 1,
        )

    # ---- steps ---------------------------------------------------------------------------

    def _gather(self, state: State, stay: Stay, need: Stay) -> _Step | None:
        """The smallest gather that serves; None without one."""
        if state.turns > 1 or stay.gaps is not None or not 0 < stay.nbytes < need.nbytes:
            return None
        known = self.costs.gathers.setdefault((stay.maker, stay.position), {})
        if need.key not in known:
            if None not in known:
                known[None] = self._variants(stay)
            fits = [step for step in known[None] if step.stay.serves(need)]
            best = min(fits, key=lambda step: step.stay.nbytes, default=None)
            if best is not None and best.seconds < 0:
                best = best._replace(seconds=self._seconds(best.moved, 2))
            known[need.key] = best
        found: _Step | None = known[need.key]
        return found

    def _variants(self, stay: Stay) -> list[_Step]:
        slicing = stay.maker.slicing
        arg = slicing.spec.args[stay.position]
        made = []
        for moved in gathers(slicing, arg, f"{arg.name}'"):
            sliced = self._sliced(moved)
            if sliced.stay(0).key == stay.key:
                made.append(_Step(moved, sliced.stay(1), -1.0))
        return made

    def _copy(self, number: int, position: int, need: Stay) -> _Step | None:
        known = self.costs.gathers.setdefault((need.maker, position), {})
        if "copy" not in known:
            slicing = need.maker.slicing
            arg = slicing.spec.args[position]
            moved, step = copied(slicing, arg, f"{arg.name}'"), None
            if moved is not None:
                stay = self._sliced(moved).stay(1)
                if stay.serves(need):
                    step = _Step(moved, stay, self._seconds(moved, 1))
            known["copy"] = step
        found: _Step | None = known["copy"]
        return found

    def _sliced(self, moved: Moved) -> Sliced:
        return Sliced(Slicing.of(with_split(moved.spec, moved.split)), self.costs.machine)

    def _seconds(self, moved: Moved, local: int) -> float:
        """Seconds of a move; its last operands are on the cores."""
        resident = frozenset(arg.name for arg in moved.spec.args[-local:])
        try:
            return self.costs.seconds(marked(with_split(moved.spec, moved.split), resident))
        except Unsupported:
            return math.inf
