"""Splits and loops that are worth a look for one operation, given what the cores hold."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from spyrelab.opspec.spec import OpSpec
from spyrelab.tiling.candidates import Split, reordered, replicated, splits, with_split
from spyrelab.tiling.cost import Costs
from spyrelab.tiling.cut import Slicing, granule
from spyrelab.tiling.hints import Hint
from spyrelab.tiling.preparing import Preparing
from spyrelab.tiling.signature import Role, Signature, is_pointwise, signature_of
from spyrelab.tiling.states import Graph, State
from spyrelab.tiling.stays import Sliced, Stay

__all__ = ["Offers"]

_FETCHED = 4
"""Splits that are looked at although tensors have to be moved first."""


@dataclass
class Offers:
    """Ways to do each operation, best guesses first.

    Attributes
    ----------
    most : int
        Splits of an operation that find all they need, at most.
    turns : tuple of int
        Turns that a bundle's loop may have, where no hint says it.
    fixed : sequence of Split, optional
        The split of every operation, where it is decided.
    """

    graph: Graph
    costs: Costs
    preparing: Preparing
    most: int
    turns: tuple[int, ...]
    fixed: Sequence[Split] | None
    hints: Sequence[Hint]

    def hint(self, number: int) -> Hint | None:
        """What was asked of an operation."""
        return self.hints[number] if number < len(self.hints) else None

    def turns_of(self, number: int) -> tuple[int, ...]:
        """Turns that a bundle may have that begins with an operation."""
        hint = self.hint(number)
        return (hint.turns,) if hint is not None and hint.turns else self.turns

    def symbols(self, number: int, spec: OpSpec, turns: int) -> list[str]:
        """Symbols that a loop of so many turns can take in steps; one of no name without a loop."""
        if turns == 1:
            return [""]
        hint = self.hint(number)
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

    def splits(self, state: State, number: int, spec: OpSpec, symbol: str) -> list[Split]:
        """Splits worth a look: the best by a quick guess of those that find what they need, and
        fewer of those that have to get it first."""
        needs = [(p, a.name) for p, a in enumerate(spec.inputs) if a.name in state.held]
        if self.fixed is not None:
            listed = [self.fixed[number]]
        else:
            listed = self._listed(number, spec, bool(needs))
        ranked = []
        for split in listed:
            sliced = self.slicing(number, split, symbol, state.turns)
            if sliced is not None and not sliced.mixed & (state.held.keys() - state.copied):
                ranked.append((sliced.guess, split, sliced))
        ranked.sort(key=lambda entry: entry[:2])
        lacking = {
            split: [
                (name, need)
                for position, name in needs
                if not state.held[name].serves(need := sliced.stay(position))
            ]
            for _, split, sliced in ranked
        }
        ready = self._ready([split for split in lacking if not lacking[split]])
        if self.fixed is not None or (ready and is_pointwise(spec.op)):
            return ready
        return ready + self._fetching(state, {s: lack for s, lack in lacking.items() if lack})

    def _ready(self, ordered: Sequence[Split]) -> list[Split]:
        best = list(dict.fromkeys((split.parts, split.replicas) for split in ordered))
        return [s for s in ordered if (s.parts, s.replicas) in best[: self.most]]

    def _fetching(
        self, state: State, lacking: Mapping[Split, Sequence[tuple[str, Stay]]]
    ) -> list[Split]:
        """One order of the cores is enough where tensors move anyway."""
        found: dict[Any, Split] = {}
        for split, needs in lacking.items():
            same = split.parts, split.replicas
            if len(found) >= _FETCHED:
                break
            if same not in found and all(self.preparing.can(state, *need) for need in needs):
                found[same] = split
        return list(found.values())

    def _listed(self, number: int, spec: OpSpec, bound: bool) -> list[Split]:
        """Splits to choose from; ``bound``: many more, as few fit what the cores hold."""
        hint = self.hint(number)
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

    def slicing(self, number: int, split: Split, symbol: str, turns: int) -> Sliced | None:
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
