"""The search for a plan: splits, turns and places of a whole run of operations together.

A state is how far the operations are done, what the cores hold, and what it cost.  The next
operation may be split in any way that finds what it needs where it is; whatever it makes may stay
on the cores or go to device memory.  The cheapest states are kept (a beam), and the plans that
come out are priced whole.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple

from spyrelab.machine import SPYRE
from spyrelab.opspec.spec import OpSpec
from spyrelab.tiling.candidates import Split, reordered, replicated, splits, with_split
from spyrelab.tiling.cost import Costs, structure
from spyrelab.tiling.cut import Slicing, granule
from spyrelab.tiling.errors import TilingError
from spyrelab.tiling.hints import Hint
from spyrelab.tiling.loops import replaced
from spyrelab.tiling.signature import Role, Signature, signature_of
from spyrelab.tiling.stays import Sliced, Stay

__all__ = ["Choice", "Graph", "Search", "State"]


@dataclass(frozen=True)
class Graph:
    """Operations in order, and which tensors outlive them."""

    specs: tuple[OpSpec, ...]
    live_out: frozenset[str]

    def last_use(self, name: str) -> int:
        """Number of the last operation that touches a tensor."""
        return self._last[name]

    def is_inner(self, name: str) -> bool:
        """Whether a tensor is made here by one operation, read only then, and used up."""
        return name in self._inner

    @cached_property
    def _inner(self) -> frozenset[str]:
        first: dict[str, int] = {}
        spoilt = set(self.live_out)
        for number, spec in enumerate(self.specs):
            spoilt |= {arg.name for arg in spec.inputs if first.get(arg.name, number) == number}
            for arg in spec.outputs:
                spoilt |= {arg.name} if arg.name in first else set()
                first[arg.name] = number
        return frozenset(first) - spoilt

    @cached_property
    def _last(self) -> Mapping[str, int]:
        found: dict[str, int] = {}
        for number, spec in enumerate(self.specs):
            found |= {arg.name: number for arg in spec.args}
        return found | dict.fromkeys(self.live_out, len(self.specs))


class Choice(NamedTuple):
    """What was decided for one operation.

    ``opens``: it begins a bundle.  ``resident``: tensors that it reads or writes on the cores.
    ``tiled``: the symbol that is taken in ``turns`` steps.
    """

    spec: OpSpec
    opens: bool
    resident: frozenset[str]
    tiled: str
    turns: int


@dataclass(frozen=True)
class State:
    """A beginning of a plan.

    Attributes
    ----------
    seconds : float
        Predicted: the sum of what the operations take alone, and launches.
    held : mapping of str to Stay
        What the cores hold.
    written : mapping of str to Stay
        What each core has written to device memory in this bundle.
    touched : frozenset of str
        Device tensors of this bundle.
    turns : int
        Of the loop round this bundle.
    """

    choices: tuple[Choice, ...] = ()
    seconds: float = 0.0
    held: Mapping[str, Stay] = field(default_factory=dict)
    written: Mapping[str, Stay] = field(default_factory=dict)
    touched: frozenset[str] = frozenset()
    turns: int = 1

    @property
    def key(self) -> Any:
        """States of the same key have the same future."""
        held = tuple(sorted((name, stay.key) for name, stay in self.held.items()))
        written = tuple(sorted((name, stay.key) for name, stay in self.written.items()))
        return held, written, self.touched, self.turns


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
    lx_bytes: int = SPYRE.lx_front_end_bytes

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
                raise TilingError(f"operation {number}, {spec.op}, fits no plan")
            states = self._kept(found.values())
        return states

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
            symbols = self._tileable(spec, turns) if turns > 1 else [""]
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
        symbols = self._tileable(spec, state.turns) if state.turns > 1 else [""]
        for symbol in symbols:
            for split in self._splits(number, spec, symbol, state.turns, state.held):
                yield from self._chosen(state, number, spec, split, symbol, opens=False)

    def _tileable(self, spec: OpSpec, turns: int) -> list[str]:
        """Symbols that a loop of so many turns can take in steps."""
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
            slicing = self._slicing(spec, split, symbol, turns)
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
        key = structure(spec), bound, repr(hint)
        if key in self._lists:
            return self._lists[key]
        listed = splits(spec, self.costs.machine, hint.parts if hint is not None else None)
        found = signature_of(spec)
        assert found is not None
        shared = [n for n, s in enumerate(spec.iteration_space) if s in found.shared]
        inner = all(self.graph.is_inner(arg.name) for arg in spec.outputs)
        if bound and inner and hint is None:
            few = replicated(spec, self.costs.machine)
            listed += [split for split in few if all(split.parts[n] == 1 for n in shared)]
        turned = reordered(spec, listed)
        listed += [s for s in turned if bound or s.first in found.shared]
        self._lists[key] = [split for split in listed if self._has_partners(found, split, spec)]
        return self._lists[key]

    def _has_partners(self, found: Signature, split: Split, spec: OpSpec) -> bool:
        """Whether cores that exchange sums are neighbours, or evenly apart."""
        late = [
            s
            for s, parts in zip(spec.iteration_space, split.parts, strict=True)
            if parts > 1 and s in found.shared
        ]
        return len(late) < 2 or split.first not in late

    def _slicing(self, spec: OpSpec, split: Split, symbol: str, turns: int) -> Sliced | None:
        """An operation with a split and a loop; None where the loop does not divide it."""
        key = structure(spec), split, symbol, turns
        if key not in self._slicings:
            made = Slicing.of(with_split(spec, split), {symbol: turns} if turns > 1 else None)
            fits = True
            if turns > 1:
                cut = made.cuts[symbol]
                unit = granule(spec.args, symbol, cut.extent)
                fits = cut.is_even and cut.piece % (turns * unit) == 0
            self._slicings[key] = Sliced(made, self.costs.machine) if fits else None
        return self._slicings[key]

    def __post_init__(self) -> None:
        self._slicings: dict[Any, Sliced | None] = {}
        self.was_full = False
        self._lists: dict[Any, list[Split]] = {}

    def _chosen(
        self, state: State, number: int, spec: OpSpec, split: Split, symbol: str, opens: bool
    ) -> Iterator[State]:
        """The states after an operation with a split, one for every place of its result."""
        graph, turns = self.graph, state.turns
        slicing = self._slicing(spec, split, symbol, turns)
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
            if sum(stay.nbytes for stay in alive.values()) > self.lx_bytes - self.costs.work_bytes:
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
            settled = _resident(with_split(spec, split), resident | stays)
            cost = self.costs.seconds(settled, {symbol: turns} if turns > 1 else None)
            cost += self.costs.launch if opens else 0.0
            choice = Choice(settled, opens, frozenset(resident | stays), symbol, turns)
            yield State(
                (*state.choices, choice), state.seconds + cost, held, written, touched, turns
            )


def _resident(spec: OpSpec, resident: Container[str]) -> OpSpec:
    """The spec with resident operands marked; their addresses are found later."""
    return replaced(
        spec,
        args=tuple(replace(a, lx_address=0) if a.name in resident else a for a in spec.args),
    )
