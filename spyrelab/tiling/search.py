"""The search for a plan: splits, turns and places of a whole run of operations together.

A state is how far the operations are done, what the cores hold, and what it cost.  The next
operation may be split in any way that finds what it needs where it is; whatever it makes may stay
on the cores or go to device memory.  The cheapest states are kept (a beam), and the plans that
come out are priced whole.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from spyrelab.opspec import Unsupported
from spyrelab.opspec.spec import OpSpec, TensorArg
from spyrelab.tiling.candidates import Split, with_split
from spyrelab.tiling.cost import Costs
from spyrelab.tiling.errors import TilingError
from spyrelab.tiling.hints import Hint
from spyrelab.tiling.loops import replaced
from spyrelab.tiling.offers import Offers
from spyrelab.tiling.preparing import Preparing
from spyrelab.tiling.room import too_little_room
from spyrelab.tiling.states import Choice, Graph, State, marked
from spyrelab.tiling.stays import Sliced

__all__ = ["Search"]

_ALIKE = 3
"""States that hold the same tensors and are kept however dear they are."""


@dataclass
class Search:
    """A beam search over the choices for each operation in turn.

    Attributes
    ----------
    width : int
        States that are kept after each operation.
    choices : int
        Splits of an operation that the timing model is asked about.
    turns : tuple of int
        Turns that a bundle's loop may have.
    fixed : sequence of Split, optional
        The split of every operation, where it is decided.
    lx_bytes : int, optional
        Scratchpad for what stays and for operations at work; the machine's share by default.
    was_full : bool
        Whether something found no room in the scratchpad.
    """

    graph: Graph
    costs: Costs
    width: int = 24
    choices: int = 8
    turns: tuple[int, ...] = (1,)
    fixed: Sequence[Split] | None = None
    hints: Sequence[Hint] = ()
    lx_bytes: int | None = None

    def __post_init__(self) -> None:
        self.was_full = self.opened = False
        self.refused: Unsupported | None = None
        whole = self.costs.machine.lx_front_end_bytes if self.lx_bytes is None else self.lx_bytes
        self.room = whole - self.costs.work_bytes
        self.preparing = Preparing(self.graph, self.costs, self.room)
        self.offers = Offers(
            self.graph,
            self.costs,
            self.preparing,
            self.choices,
            self.turns,
            self.fixed,
            self.hints,
        )

    def run(self) -> list[State]:
        """The best complete states, cheapest first.

        Raises
        ------
        TilingError
            An operation cannot be done in any way.
        """
        states = [State()]
        for number, spec in enumerate(self.graph.specs):
            found: dict[Any, State] = {}
            self.opened = False
            for state in states:
                for new in self._after(state, number, spec):
                    known = found.get(new.key)
                    if known is None or new.seconds < known.seconds:
                        found[new.key] = new
            if not found:
                raise self._no_plan(number, spec)
            states = self._kept(found.values())
        return states

    def _no_plan(self, number: int, spec: OpSpec) -> Exception:
        costs = self.costs
        if self.refused is not None:
            room = costs.work_bytes
            return too_little_room(number, spec, room, costs.machine, self.refused)
        asked = self.offers.hint(number)
        why = f" as {asked} asks" if asked is not None and (asked.parts or asked.turns) else ""
        return TilingError(
            f"operation {number}, {spec.op}, fits no plan{why}: no split and loop of it leave room"
            f" in {self.room:,} B of LX and find its operands where they are"
        )

    def _kept(self, states: Iterable[State]) -> list[State]:
        """The best states, and the best of those that hold the same tensors.

        A state that holds little looks dear, but what the others hold may serve nobody.
        """
        ordered = sorted(states, key=lambda state: state.seconds)
        kept, alike = [], Counter[frozenset[str]]()
        for position, state in enumerate(ordered):
            names = frozenset(state.held)
            if position < self.width or alike[names] < _ALIKE:
                kept.append(state)
                alike[names] += 1
        return kept

    # ---- one operation ---------------------------------------------------------------

    def _after(self, state: State, number: int, spec: OpSpec) -> Iterator[State]:
        if number:
            yield from self._continued(state, number, spec)
        held = set(state.held) - state.copied
        if self.opened or any(self.graph.last_use(name) >= number for name in held):
            return
        # A new bundle is the same whatever came before: that of the cheapest state is the best.
        self.opened = True
        fresh = State(state.choices, state.seconds)
        for turns in self.offers.turns_of(number):
            for symbol in self.offers.symbols(number, spec, turns):
                begun = replace(fresh, turns=turns)
                for split in self.offers.splits(begun, number, spec, symbol):
                    yield from self._chosen(begun, number, spec, split, symbol, opens=True)

    def _continued(self, state: State, number: int, spec: OpSpec) -> Iterator[State]:
        inputs = [arg.name for arg in spec.inputs if arg.name in state.held]
        hint = self.offers.hint(number)
        if hint is not None and hint.turns and hint.turns != state.turns:
            return
        if state.turns > 1 and not inputs:
            return
        for symbol in self.offers.symbols(number, spec, state.turns):
            for split in self.offers.splits(state, number, spec, symbol):
                yield from self._chosen(state, number, spec, split, symbol, opens=False)

    def _chosen(
        self, state: State, number: int, spec: OpSpec, split: Split, symbol: str, opens: bool
    ) -> Iterator[State]:
        """The states after an operation with a split, one for every place of its result."""
        slicing = self.offers.slicing(number, split, symbol, state.turns)
        assert slicing is not None
        if self.fixed is not None:
            yield from self._placed(state, number, spec, split, slicing, symbol, opens, opens)
            return
        before = replace(state, extra=0)
        for ready in self.preparing.prepared(before, number, spec, slicing, opens):
            begins = opens and not ready.extra
            yield from self._placed(ready, number, spec, split, slicing, symbol, begins, opens)

    def _placed(
        self,
        state: State,
        number: int,
        spec: OpSpec,
        split: Split,
        slicing: Sliced,
        symbol: str,
        opens: bool,
        launches: bool,
    ) -> Iterator[State]:
        """The states after an operation that finds what it needs."""
        graph, turns = self.graph, state.turns
        resident = self._resident(state, spec, slicing)
        for position, arg in enumerate(spec.inputs):
            if arg.name in resident:
                continue
            stay = state.written.get(arg.name)
            if stay is not None and not stay.serves(slicing.stay(position)):
                return
        made = {a.name: slicing.stay(p) for p, a in enumerate(spec.args) if not a.is_input}
        makes = spec.outputs
        if any(a.name in state.touched or a.name in state.held for a in makes):
            return
        inner = [a.name for a in makes if graph.is_inner(a.name)]
        places = [frozenset(inner), frozenset[str]()] if inner else [frozenset[str]()]
        for stays in places[:1] if split.replicas > 1 else places:
            held = {n: s for n, s in state.held.items() if graph.last_use(n) > number}
            alive = dict(state.held)
            for arg in makes:
                if arg.name in stays:
                    alive[arg.name] = held[arg.name] = made[arg.name]
            if sum(stay.nbytes for stay in alive.values()) > self.room:
                # What was fetched can do without: loops are for what operations need.
                self.was_full |= not state.called
                continue
            outside = {a.name for a in spec.args} - resident - stays
            touched = state.touched | outside
            if len(touched) > max(self.costs.machine.bundle_tensors, len(outside)):
                continue
            written = dict(state.written)
            # Of cores that exchange sums only one writes the result.
            alone = not slicing.has_partners
            written |= {
                a.name: made[a.name] if alone else made[a.name].nowhere()
                for a in makes
                if a.name not in stays
            }
            names = {name: state.called.get(name, name) for name in resident}
            local = frozenset(names.values()) | stays
            choice = Choice(_called(spec, names), split, opens, local, symbol, turns)
            cost = self._seconds(number, slicing, choice) + (self.costs.launch if launches else 0.0)
            if cost == math.inf:
                continue
            yield State(
                (*state.choices, choice),
                state.seconds + cost,
                held,
                written,
                touched,
                turns,
                {name: state.called[name] for name in held if name in state.called},
                state.copied & held.keys(),
            )

    def _resident(self, state: State, spec: OpSpec, slicing: Sliced) -> set[str]:
        """Inputs that an operation finds on the cores."""
        held = {a.name for a in spec.inputs if a.name in state.held}
        lacking = {
            a.name
            for position, a in enumerate(spec.inputs)
            if a.name in held and not state.held[a.name].serves(slicing.stay(position))
        }
        return held - lacking - slicing.mixed

    def _seconds(self, number: int, slicing: Sliced, choice: Choice) -> float:
        spec, split = choice.undecided, choice.split
        # Cores may count along any symbol: only how far partners are apart makes a difference.
        split = split if split.first in slicing.shared else split._replace(first="")
        places = tuple(arg.name in choice.resident for arg in spec.args)
        known = self.costs.choices.setdefault(self.graph.kinds[number], {})
        key = split, places, choice.tiled, choice.turns
        if key not in known:
            turns = {choice.tiled: choice.turns} if choice.turns > 1 else None
            settled = marked(with_split(spec, split), choice.resident)
            try:
                known[key] = self.costs.seconds(settled, turns)
            except Unsupported as error:
                known[key], self.refused = math.inf, error
        return known[key]


def _called(spec: OpSpec, names: Mapping[str, str]) -> OpSpec:
    """The operation on what the cores fetched for it."""
    if all(name == called for name, called in names.items()):
        return spec

    def named(arg: TensorArg) -> TensorArg:
        return replace(arg, name=names.get(arg.name, arg.name)) if arg.is_input else arg

    return replaced(spec, args=named)
