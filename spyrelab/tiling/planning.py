"""`plan`: settle splits, loops and scratchpad addresses of a list of operations."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from importlib import import_module
from typing import Any

from spyrelab.layout import SpyreTensorLayout
from spyrelab.machine import SPYRE, Machine
from spyrelab.opspec.spec import OpSpec
from spyrelab.tiling.addresses import addressed, roomier
from spyrelab.tiling.asked import check_numbers, check_operations, check_wanted
from spyrelab.tiling.candidates import Split
from spyrelab.tiling.cost import Costs
from spyrelab.tiling.digits import unfolded
from spyrelab.tiling.errors import TilingError, WorkingSetError
from spyrelab.tiling.fetching import is_local_name
from spyrelab.tiling.hazards import bare, check_updates
from spyrelab.tiling.hints import Hint, Wishes, check_hints, hints_of
from spyrelab.tiling.loops import Item, LoopSpec, each
from spyrelab.tiling.lower import WORK_BYTES
from spyrelab.tiling.pieces import pieces_of
from spyrelab.tiling.search import Search
from spyrelab.tiling.states import Choice, Graph, State

__all__ = ["PLANNERS", "Bundle", "Plan", "plan"]

PLANNERS = ("joint", "per-op")
_TURNS = (1, 2, 4, 8, 16, 32, 64)
_WHOLE = 3
"""Complete plans that are priced whole."""


@dataclass(frozen=True)
class Bundle:
    """Operations that are one program and one launch.

    Attributes
    ----------
    items : tuple of OpSpec and LoopSpec
    seconds : float
        Predicted, launch included.
    port_bytes : int
        Bytes that cross the memory port: multicast once, sticks whole.
    """

    items: tuple[Item, ...]
    seconds: float = 0.0
    port_bytes: int = 0

    @property
    def specs(self) -> tuple[OpSpec, ...]:
        """Its operations in order."""
        return tuple(spec for spec, _ in each(self.items))


@dataclass(frozen=True)
class Plan:
    """Settled operations.

    Attributes
    ----------
    bundles : tuple of Bundle
    planner : str
    live_out : frozenset of str
        Tensors that are wanted afterwards.
    """

    bundles: tuple[Bundle, ...]
    planner: str = "joint"
    live_out: frozenset[str] = frozenset()
    asked: int = field(default=0, compare=False)

    @property
    def items(self) -> tuple[Item, ...]:
        """Operations and loops of all bundles, in order."""
        return tuple(item for bundle in self.bundles for item in bundle.items)

    @property
    def seconds(self) -> float:
        """Predicted device time, launches included."""
        return sum(bundle.seconds for bundle in self.bundles)

    @property
    def port_bytes(self) -> int:
        """Bytes that cross the memory port."""
        return sum(bundle.port_bytes for bundle in self.bundles)

    @cached_property
    def temporaries(self) -> Mapping[str, SpyreTensorLayout]:
        """Device tensors that one bundle writes for another."""
        made: dict[str, SpyreTensorLayout] = {}
        for bundle in self.bundles:
            for spec in bundle.specs:
                for arg in spec.outputs:
                    if arg.lx_address is None and arg.name not in self.live_out:
                        made[arg.name] = arg.layout
        return made

    @property
    def resident(self) -> tuple[str, ...]:
        """Tensors that never leave the cores."""
        specs = [spec for bundle in self.bundles for spec in bundle.specs]
        names = [a.name for spec in specs for a in spec.outputs if a.lx_address is not None]
        return tuple(dict.fromkeys(name for name in names if not is_local_name(name)))

    def __repr__(self) -> str:
        bundles = []
        for bundle in self.bundles:
            items = "".join(f"{item!r},\n" for item in bundle.items)
            indented = "".join(f"        {line}\n" for line in items.splitlines())
            bundles.append(
                f"    Bundle((\n{indented}    ), {bundle.seconds!r}, {bundle.port_bytes}),\n"
            )
        live = sorted(self.live_out)
        return f"Plan((\n{''.join(bundles)}), {self.planner!r}, frozenset({live!r}))"

    def _repr_html_(self) -> str:
        return str(import_module("spyrelab.tiling.page").plan_html(self))

    def explain(self) -> str:
        """What was decided, in words: one line per bundle and operation."""
        count = len(self.bundles)
        lines = [
            f"{self.planner} plan: {self.seconds * 1e6:.1f} us in {count}"
            f" launch{'es'[: 2 * (count > 1)]}, {len(self.resident)} tensors never leave the cores"
        ]
        for number, bundle in enumerate(self.bundles):
            lines.append(f"bundle {number}: {bundle.seconds * 1e6:.1f} us")
            for spec, turns in each(bundle.items):
                cut = ", ".join(
                    f"{s}={extent}/{parts}" if parts > 1 else f"{s}={extent}"
                    for s, (extent, parts) in spec.iteration_space.items()
                )
                copies = spec.op_info.get("replicas", 1)
                cut += f", {copies} cores alike" if copies > 1 else ""
                cut += f", {first} first" if (first := spec.op_info.get("first")) else ""
                places = ", ".join(
                    f"{a.name} in LX at {a.lx_address:,}"
                    for a in spec.args
                    if a.lx_address is not None
                )
                loop = "".join(f", {s} in {count} turns" for s, count in turns.items())
                lines.append(f"  {spec.op}({cut}{loop})" + (f": {places}" if places else ""))
        return "\n".join(lines)


def plan(
    ops: Sequence[OpSpec],
    planner: str = "joint",
    machine: Machine = SPYRE,
    live_out: Collection[str] | None = None,
    hints: Sequence[Hint] | Wishes = (),
    width: int = 24,
    work_bytes: int = WORK_BYTES,
    cores: int | None = None,
) -> Plan:
    """Settle the splits, loops and scratchpad addresses of some operations.

    Parameters
    ----------
    ops
        In an order in which they can be done; every tensor is made once.
    planner
        ``"per-op"``: each operation's own best split, then results stay in the scratchpad where
        the next operations happen to agree.  ``"joint"``: splits, loops and places together, by
        predicted time; the per-op plan is one of its candidates.
    live_out
        Tensors that are wanted afterwards; by default those that nothing here reads.
    hints
        For each operation; or wishes by the names of dimensions, such as
        ``{"num_tiles": {"M": 8}, "work_div": {"N": 4}}``.
    work_bytes
        Scratchpad bytes that are left to the tiles of an operation at work.
    cores
        At most so many cores.

    Raises
    ------
    TilingError
    """
    if planner not in PLANNERS:
        raise TilingError(f"planner = {planner!r}: choose one of {', '.join(PLANNERS)}")
    check_numbers(machine, width, work_bytes, cores)
    check_operations(ops)
    check_wanted(ops, live_out, hints)
    if cores is not None:
        machine = machine.replace(cores=cores)
    ops = unfolded([bare(spec) for spec in ops])
    check_updates(ops)
    hints = hints_of(ops, hints) if isinstance(hints, Mapping) else hints
    check_hints(ops, hints, machine)
    out = frozenset(live_out) if live_out is not None else _unread(ops)
    costs = Costs(machine, work_bytes)
    graph = Graph(tuple(ops), out)
    if not ops:
        return Plan((), planner, out)
    fixed = _own_splits(graph, costs, hints)
    pieces = _in_pieces(graph, hints) if planner == "joint" else None
    share = room = machine.lx_front_end_bytes
    plans: list[Plan] = []
    while not plans:
        found = Search(graph, costs, 4, fixed=fixed, hints=hints, lx_bytes=room).run()[:1]
        if planner == "joint":
            found += _joint(graph, costs, width, hints, room)
            if pieces is not None:
                found += _joint(pieces, costs, width, (), room)
        for state in _different(found):
            with suppress(WorkingSetError):
                plans.append(_priced(state, planner, out, costs, share - work_bytes))
        # What is alive fits, but lies between holes: keep less on the cores.
        room = work_bytes + (room - work_bytes) * 7 // 8
    best = min(plans, key=lambda made: made.seconds)
    return replace(best, asked=costs.asked)


def _joint(graph: Graph, costs: Costs, width: int, hints: Sequence[Hint], room: int) -> list[State]:
    search = Search(graph, costs, width, hints=hints, lx_bytes=room)
    found = search.run()[:_WHOLE]
    if search.was_full:
        search = Search(graph, costs, width, turns=_TURNS, hints=hints, lx_bytes=room)
        found += search.run()[:_WHOLE]
    return found


def _in_pieces(graph: Graph, hints: Sequence[Hint]) -> Graph | None:
    """The graph with products in pieces where that makes a difference, and nobody has wishes."""
    if any(hint != Hint() for hint in hints):
        return None
    ops = pieces_of(graph.specs, graph.live_out)
    return Graph(tuple(ops), graph.live_out) if len(ops) > len(graph.specs) else None


def _unread(ops: Sequence[OpSpec]) -> frozenset[str]:
    read = {arg.name for spec in ops for arg in spec.inputs}
    return frozenset(arg.name for spec in ops for arg in spec.outputs) - read


def _own_splits(graph: Graph, costs: Costs, hints: Sequence[Hint]) -> list[Split]:
    """The best split of every operation by itself, all its operands in device memory."""
    found: list[Split] = []
    known: dict[Any, Split] = {}
    for number, spec in enumerate(graph.specs):
        mine = hints[number : number + 1]
        key = graph.kinds[number], repr(mine)
        if key not in known:
            alone = Graph((spec,), frozenset(arg.name for arg in spec.outputs))
            known[key] = Search(alone, costs, 1, hints=mine).run()[0].choices[0].split
        found.append(known[key])
    return found


def _different(states: Sequence[State]) -> list[State]:
    return list(
        {repr([choice[1:] for choice in state.choices]): state for state in states}.values()
    )


def _priced(state: State, planner: str, out: frozenset[str], costs: Costs, room: int) -> Plan:
    bundles = []
    for choices in _runs(state.choices):
        specs = addressed(choices, room)
        ways = [specs, *roomier(specs, choices, room + costs.work_bytes, costs.work_bytes)]
        made = []
        for way in ways:
            items = _items(choices, way)
            found = costs.bundle(items)
            made.append(Bundle(items, found.seconds, round(found.port_bytes)))
        bundles.append(min(made, key=lambda bundle: bundle.seconds))
    return Plan(tuple(bundles), planner, out)


def _runs(choices: Sequence[Choice]) -> list[list[Choice]]:
    runs: list[list[Choice]] = []
    for choice in choices:
        if choice.opens:
            runs.append([])
        runs[-1].append(choice)
    return runs


def _items(choices: Sequence[Choice], specs: tuple[OpSpec, ...]) -> tuple[Item, ...]:
    turns = choices[0].turns
    if turns == 1:
        return specs
    return (LoopSpec(turns, specs, tuple(choice.tiled for choice in choices)),)
