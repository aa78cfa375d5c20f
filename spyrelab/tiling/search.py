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
from spyrelab.opspec.spec import OpSpec
from spyrelab.tiling.candidates import Split, reordered, replicated, splits, with_split
from spyrelab.tiling.cost import Costs
from spyrelab.tiling.cut import Slicing, granule
from spyrelab.tiling.errors import TilingError
from spyrelab.tiling.hints import Hint
from spyrelab.tiling.room import too_little_room
from spyrelab.tiling.signature import Role, Signature, signature_of
from spyrelab.tiling.states import Choice, Graph, State, marked
from spyrelab.tiling.stays import Sliced, Stay

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
        self.was_full = False
        self.refused: Unsupported | None = None
        whole = self.costs.machine.lx_front_end_bytes if self.lx_bytes is None else self.lx_bytes
        self.room = whole - self.costs.work_bytes

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
        asked = self._hint(number)
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
        needed = [n for n in state.held if self.graph.last_use(n) >= number]
        if needed:
            return
        fresh = replace(state, held={}, written={}, touched=frozenset(), turns=1)
        for turns in self._turns(number):
            symbols = self._tileable(number, spec, turns) if turns > 1 else [""]
            for symbol in symbols:
                for split in self._splits(number, spec, symbol, turns, {}):
                    yield from self._chosen(
                        replace(fresh, turns=turns), number, spec, split, symbol, opens=True
                    )

    def _turns(self, number: int) -> tuple[int, ...]:
        hint = self._hint(number)
        return (hint.turns,) if hint is not None and hint.turns else self.turns

    def _hint(self, number: int) -> Hint | None:
        return self.hints[number] if number < len(self.hints) else None

    def _continued(self, state: State, number: int, spec: OpSpec) -> Iterator[State]:
        inputs = [arg.name for arg in spec.inputs if arg.name in state.held]
        hint = self._hint(number)
        if hint is not None and hint.turns and hint.turns != state.turns:
            return
        if state.turns > 1 and not inputs:
            return
        symbols = self._tileable(number, spec, state.turns) if state.turns > 1 else [""]
        for symbol in symbols:
            for split in self._splits(number, spec, symbol, state.turns, state.held):
                yield from self._chosen(state, number, spec, split, symbol, opens=False)

    def _tileable(self, number: int, spec: OpSpec, turns: int) -> list[str]:
        """Symbols that a loop of so many turns can take in steps."""
        hint = self._hint(number)
        if hint is not None and hint.tiled and hint.turns > 1:
            return [hint.tiled]
        found = signature_of(spec)
        if found is None:
            return []
        kept = []
        for symbol, (extent, _) in spec.iteration_space.items():
            unit = granule(spec.args, symbol, extent)
            if found.roles[symbol] is Role.FREE and extent % (unit * turns) == 0:
                kept.append(symbol)
        return kept

    def _splits(
        self, number: int, spec: OpSpec, symbol: str, turns: int, held: Mapping[str, Stay]
    ) -> list[Split]:
        """Splits worth a look: the best by a quick guess of those that find what they need."""
        if self.fixed is not None:
            listed = [self.fixed[number]]
        else:
            listed = self._listed(number, spec, any(arg.name in held for arg in spec.inputs))
        ranked = []
        for split in listed:
            slicing = self._slicing(number, split, symbol, turns)
            if slicing is None:
                continue
            needs = [(p, a.name) for p, a in enumerate(spec.inputs) if a.name in held]
            if all(held[name].serves(slicing.stay(p)) for p, name in needs):
                ranked.append((slicing.guess, split))
        ranked.sort()
        best = list(dict.fromkeys((split.parts, split.replicas) for _, split in ranked))
        return [s for _, s in ranked if (s.parts, s.replicas) in best[: self.choices]]

    def _listed(self, number: int, spec: OpSpec, bound: bool) -> list[Split]:
        """Splits to choose from; ``bound``: many more, as few fit what the cores hold."""
        hint = self._hint(number)
        inner = all(self.graph.is_inner(arg.name) for arg in spec.outputs)
        key = self.graph.kinds[number], bound, inner, repr(hint)
        if key not in self.costs.lists:
            self.costs.lists[key] = self._list(spec, bound and inner, bound, hint)
        return self.costs.lists[key]

    def _list(self, spec: OpSpec, copies: bool, bound: bool, hint: Hint | None) -> list[Split]:
        parts = hint.parts if hint is not None else None
        listed = splits(spec, self.costs.machine, parts)
        found = signature_of(spec)
        assert found is not None
        shared = [n for n, s in enumerate(spec.iteration_space) if s in found.shared]
        if copies and not parts:
            few = replicated(spec, self.costs.machine)
            listed += [split for split in few if all(split.parts[n] == 1 for n in shared)]
        turned = reordered(spec, listed)
        listed += [s for s in turned if bound or s.first in found.shared]
        return [split for split in listed if self._has_partners(found, split, spec)]

    def _has_partners(self, found: Signature, split: Split, spec: OpSpec) -> bool:
        """Whether cores that exchange sums are neighbours, or evenly apart."""
        late = [
            s
            for s, parts in zip(spec.iteration_space, split.parts, strict=True)
            if parts > 1 and s in found.shared
        ]
        return len(late) < 2 or split.first not in late

    def _slicing(self, number: int, split: Split, symbol: str, turns: int) -> Sliced | None:
        """An operation with a split and a loop; None where the loop does not divide it."""
        spec = self.graph.specs[number]
        known = self.costs.slicings.setdefault(self.graph.kinds[number], {})
        key = split, symbol, turns
        if key not in known:
            made = Slicing.of(with_split(spec, split), {symbol: turns} if turns > 1 else None)
            fits = True
            if turns > 1:
                cut = made.cuts[symbol]
                unit = granule(spec.args, symbol, cut.extent)
                fits = cut.is_even and cut.piece % (turns * unit) == 0
            known[key] = Sliced(made, self.costs.machine) if fits else None
        return known[key]

    def _chosen(
        self, state: State, number: int, spec: OpSpec, split: Split, symbol: str, opens: bool
    ) -> Iterator[State]:
        """The states after an operation with a split, one for every place of its result."""
        graph, turns = self.graph, state.turns
        slicing = self._slicing(number, split, symbol, turns)
        assert slicing is not None
        resident = {a.name for a in spec.inputs if a.name in state.held}
        for position, arg in enumerate(spec.inputs):
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
                self.was_full = True
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
            choice = Choice(spec, split, opens, frozenset(resident | stays), symbol, turns)
            cost = self._seconds(number, slicing, choice) + (self.costs.launch if opens else 0.0)
            if cost == math.inf:
                continue
            yield State(
                (*state.choices, choice), state.seconds + cost, held, written, touched, turns
            )

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
