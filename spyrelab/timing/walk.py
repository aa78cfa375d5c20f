"""A program walked once: its scalars evaluated for all cores, its tiles turned into steps.

Loops are not run.  An iteration is looked at, and with it for how many more the same is true;
then the first for which it is not.  So the cost grows with the program and not with trip counts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from spyrelab.emulator.groups import Exchange, exchanges
from spyrelab.ktir import Function, Operation, Region, TensorType, Value
from spyrelab.ktir.element_access import STORED
from spyrelab.timing.arguments import Arguments
from spyrelab.timing.engines import arithmetic_steps, barrier_step, exchange_step
from spyrelab.timing.errors import TimingError
from spyrelab.timing.exchanging import resolved
from spyrelab.timing.index_tensors import MAKERS, make_tensor
from spyrelab.timing.looks import Looks
from spyrelab.timing.motion import Moving, Turn
from spyrelab.timing.narrowing import narrowed
from spyrelab.timing.nodes import Access, Engine, Iterations, Loop, Node, Step
from spyrelab.timing.scalars import Unknown, evaluate, said
from spyrelab.timing.shapes import shapes_of
from spyrelab.timing.single_elements import access_elements
from spyrelab.timing.transfers import Card
from spyrelab.timing.values import Values, chosen

__all__ = ["walk_function"]


@dataclass(frozen=True)
class Walked:
    """What a walk finds.

    Attributes
    ----------
    hulls : dict
        Per load or store of device memory the box that each core touches in all.
    exchanges : dict
        Who takes part in every future.
    reasons : tuple of str
        Why counts are not exact; empty where they are.
    """

    nodes: tuple[Node, ...]
    hulls: dict[Operation, Access]
    exchanges: dict[Operation, Exchange]
    reasons: tuple[str, ...]


MOST_LOOKS = 50_000
"""Iterations of loops that have to be looked at one by one before a program is refused."""

ENDLESS = 1 << 31
"""Iterations of a loop that nothing is known to end."""


def walk_function(
    card: Card, function: Function, grid: Sequence[int], arguments: Arguments
) -> Walked:
    """Everything that a function asks of the card, in order.

    Raises
    ------
    UnknownValueError
        A trip count or branch depends on an argument that was not given.
    """
    walker = Walker(card, function, grid, arguments)
    nodes, _ = walker.region(function.body, np.ones(card.cores, bool))
    reasons = tuple(dict.fromkeys(walker.reasons))
    return Walked(tuple(nodes), walker.course.hulls, walker.resolved, reasons)


class Walker(Values):
    """State of one walk: regions, loops and exchanges."""

    def __init__(
        self, card: Card, function: Function, grid: Sequence[int], arguments: Arguments
    ) -> None:
        super().__init__(card, function, grid, arguments)
        self.takers = exchanges(function)
        self.makers = {taker: maker for maker, taker in self.takers.items()}
        self.resolved: dict[Operation, Exchange] = {}
        self.arithmetic: dict[Operation, list[Step]] = {}
        self.changing: set[Operation] = set()

    # -- regions -----------------------------------------------------------------------------

    def region(self, region: Region, active: np.ndarray) -> tuple[list[Node], tuple[Value, ...]]:
        """Nodes of a region, and the operands of its terminator."""
        nodes: list[Node] = []
        before, self.course.active = self.course.active, active
        for operation in region.operations:
            self.operation(operation, active, nodes)
        self.course.active = before
        last = region.operations[-1] if region.operations else None
        return nodes, last.operands if last is not None else ()

    def operation(self, operation: Operation, active: np.ndarray, nodes: list[Node]) -> None:
        """Turn one operation into nodes, or evaluate it."""
        handler = _HANDLERS.get(operation.name)
        if handler is not None:
            handler(self, operation, active, nodes)
        elif operation.name.startswith("ktdp.inter_tile_"):
            self._exchange(operation, active, nodes)
        elif operation.name.startswith(_NOT_TIMED):
            where = f"line {operation.position.line}: " if operation.position else ""
            raise TimingError(f"{where}{operation.name} is not timed; write it with scf.for")
        elif operation.results and all(self._steers(value) for value in operation.results):
            self._evaluate(operation)
            nodes.extend(self._arithmetic(operation, active))
        else:
            nodes.extend(self._arithmetic(operation, active))
            self._pass_through(operation, nodes)

    def _arithmetic(self, operation: Operation, active: np.ndarray) -> list[Step]:
        """Steps of an operation on tiles: always the same where its shapes are."""
        if operation in self.changing:
            shapes_of(operation, self.size, self.shapes)
            return arithmetic_steps(self.card, operation, active, self.shapes)
        if operation not in self.arithmetic:
            values = (*operation.operands, *operation.results)
            if any(isinstance(v.type, TensorType) and None in v.type.shape for v in values):
                self.changing.add(operation)
                return self._arithmetic(operation, active)
            everybody = np.ones(self.card.cores, bool)
            self.arithmetic[operation] = arithmetic_steps(self.card, operation, everybody, {})
        steps = self.arithmetic[operation]
        if not steps or active.all():
            return steps
        return [step for step in narrowed(steps, active[None])[0] if isinstance(step, Step)]

    def _steers(self, value: Value) -> bool:
        return value in self.steering

    def _evaluate(self, operation: Operation) -> None:
        if len(operation.results) > 1:
            unknown = Unknown(f"the result of {said(operation)}")
            self.values.update(dict.fromkeys(operation.results, unknown))
            return
        if operation.name in MAKERS:
            made = make_tensor(operation, self.scalar, self.card.cores)
            self.values[operation.result] = made
            return
        operands = [self.scalar(value) for value in operation.operands]
        self.values[operation.result] = evaluate(operation, operands)

    def size(self, value: Value) -> Any:
        """A scalar that is an extent: a look ends where it changes."""
        return self.course.settle(self.scalar(value))

    def _pass_through(self, operation: Operation, nodes: list[Node]) -> None:
        """A reshape and its like make a value that is ready when its operand is."""
        tensors = tuple(v for v in operation.operands if isinstance(v.type, TensorType))
        made = any(isinstance(n, Step) and n.operation is operation for n in nodes[-2:])
        if tensors and operation.results and not made:
            self.alias(operation.results, tensors, nodes)

    def alias(self, results: Sequence[Value], sources: Sequence[Value], nodes: list[Node]) -> None:
        """Record that values are ready when others are."""
        idle = np.full(self.card.cores, -2.0)
        nodes.append(Step(Engine.NONE, "", None, idle, reads=tuple(sources), writes=tuple(results)))

    # -- exchanges ---------------------------------------------------------------------------

    def _exchange(self, operation: Operation, active: np.ndarray, nodes: list[Node]) -> None:
        maker = self.makers[operation]
        partials = maker.regions[0].operations[-1].operands
        nodes.append(
            exchange_step(self.card, operation, self.exchange(maker), partials, active, self.shapes)
        )

    def exchange(self, maker: Operation) -> Exchange:
        """Who takes part in a future."""
        if maker not in self.resolved:
            self.resolved[maker] = resolved(maker, self.takers[maker], self.grid)
        return self.resolved[maker]

    # -- loops -------------------------------------------------------------------------------

    def loop(self, operation: Operation, active: np.ndarray, nodes: list[Node]) -> None:
        """``scf.for``: look at as few iterations as tell all."""
        lower, upper, step = (
            self.known(v, "the trip count of a loop") for v in operation.operands[:3]
        )
        step = self.course.settle(step)
        if np.any((step <= 0) & active):
            raise TimingError(f"{said(operation)}: the step is {int(step.min())}, not positive")
        span = self.course.settle(upper - lower)
        trips = np.where(active, np.maximum(-(-span // np.maximum(step, 1)), 0), 0)
        region = operation.regions[0]
        inits, arguments = operation.operands[3:], region.arguments[1:]
        yielded = region.operations[-1].operands

        def body(index: int, number: Any, given: list[Any]) -> tuple[list[Node], list[Any], Any]:
            self.count_look()
            self.values[region.arguments[0]] = lower + number * step
            self.values.update(zip(arguments, given, strict=True))
            self._carry_shapes(yielded if index else inits, arguments)
            inner, _ = self.region(region, trips > index)
            return inner, [self.scalar(value) for value in yielded], trips > index

        names = zip(inits, arguments, yielded, operation.results, strict=True)
        carried = tuple(n for n in names if isinstance(n[0].type, TensorType))
        flat = not any(o.name in _NOT_FLAT for o in region.operations)
        looks = Looks(self.course, body, [self.scalar(value) for value in inits], flat)
        runs = looks.runs(trips)
        self.values.update(zip(operation.results, looks.states, strict=True))
        self._carry_shapes(yielded if trips.any() else inits, operation.results)
        nodes.append(Loop(operation, runs, carried))

    def _carry_shapes(self, sources: Sequence[Value], results: Sequence[Value]) -> None:
        for source, result in zip(sources, results, strict=True):
            if source in self.shapes:
                self.shapes[result] = self.shapes[source]

    def branch(self, operation: Operation, active: np.ndarray, nodes: list[Node]) -> None:
        """``scf.if``: both sides, each for the cores that take it."""
        holds = self.course.settle(self.known(operation.operands[0], "a branch")) != 0
        for index, region in enumerate(operation.regions):
            taken = active & (holds if index == 0 else ~holds)
            if not taken.any():
                continue
            inner, yielded = self.region(region, taken)
            nodes.extend(inner)
            for value, result in zip(yielded, operation.results, strict=False):
                self.merge(result, value, taken, bool((active & ~taken).any()) and index > 0)
                if isinstance(result.type, TensorType):
                    self.alias((result,), (value,), nodes)

    def merge(self, result: Value, value: Value, taken: np.ndarray, second: bool) -> None:
        """What a side of a branch yields, for the cores that took it."""
        found, before = self.scalar(value), self.values.get(result)
        self._carry_shapes((value,), (result,))
        self.values[result] = chosen(taken, found, before) if second else found

    def repeat(self, operation: Operation, active: np.ndarray, nodes: list[Node]) -> None:
        """``scf.while``: a loop whose last look is at its condition alone."""
        before, after = operation.regions
        passed = before.operations[-1].operands[1:]
        yielded = after.operations[-1].operands
        going, shaped = active, False
        results = [Unknown(f"the result of {said(operation)}") for _ in passed]

        def body(index: int, number: Any, given: list[Any]) -> tuple[list[Node], list[Any], Any]:
            nonlocal going, shaped
            del index, number
            self.count_look()
            self.values.update(zip(before.arguments, given, strict=True))
            self._carry_shapes(yielded if shaped else operation.operands, before.arguments)
            shaped = True
            test, (condition, *_) = self.region(before, going)
            self.course.active = going
            found = self.course.settle(self.known(condition, "a while loop"))
            state = [self.scalar(value) for value in passed]
            stop, go = going & (found == 0), going & (found != 0)
            if stop.any():
                turn = self.course.turns[-1]
                self.course.pin([turn])
                results[:] = [
                    self._left(r, v, turn, stop) for r, v in zip(results, state, strict=True)
                ]
            going = go
            self._carry_shapes(passed, after.arguments)
            self._carry_shapes(passed, operation.results)
            if not go.any():
                return test, given, go
            self.values.update(zip(after.arguments, state, strict=True))
            inner, _ = self.region(after, go)
            return [*test, *inner], [self.scalar(value) for value in yielded], go

        looks = Looks(self.course, body, [self.scalar(value) for value in operation.operands])
        runs: list[Iterations] = []
        while going.any():
            run, _ = looks.look(0, ENDLESS)
            if run.count == ENDLESS:
                raise TimingError(f"{said(operation)} never ends")
            runs.append(run)
        self.course.active = active
        self.values.update(zip(operation.results, results, strict=True))
        nodes.append(Loop(operation, tuple(runs)))

    def _left(self, before: Any, value: Any, turn: Turn, stop: np.ndarray) -> Any:
        """What comes out of a loop, once the cores of ``stop`` have left it too."""
        value = self.course.open(value)
        value = value.without(turn) if isinstance(value, Moving) else value
        return value if isinstance(before, Unknown) else chosen(stop, value, before)

    def count_look(self) -> None:
        self.looks += 1
        if self.looks > MOST_LOOKS:
            raise TimingError(
                f"more than {MOST_LOOKS:,} iterations differ from each other; "
                "the program is too irregular to be timed"
            )

    # -- others -----------------------------------------------------------------------------

    def nothing(self, operation: Operation, active: np.ndarray, nodes: list[Node]) -> None:
        """Terminators: nothing happens."""
        del operation, active, nodes

    def barrier(self, operation: Operation, active: np.ndarray, nodes: list[Node]) -> None:
        """``spyrelab.barrier``: all cores meet."""
        nodes.append(barrier_step(operation, active))

    def produce(self, operation: Operation, active: np.ndarray, nodes: list[Node]) -> None:
        """``ktdp.inter_tile_produce``: only producers walk the region."""
        producers = self.exchange(operation).producers
        group = np.full(self.card.cores, -1, np.int64)
        for number, tiles in producers.items():
            group[list(tiles)] = number
        region = operation.regions[0]
        self.values.update(dict.fromkeys(region.arguments, group))
        inner, _ = self.region(region, active & (group >= 0))
        nodes.extend(inner)


_NOT_TIMED = ("scf.parallel", "scf.forall", "memref.", "func.call", "scf.execute_region")

_NOT_FLAT = ("scf.for", "scf.if", "scf.while", "ktdp.inter_tile_produce", "spyrelab.barrier")

_HANDLERS: Mapping[str, Any] = {
    "scf.for": Walker.loop,
    "scf.if": Walker.branch,
    "scf.while": Walker.repeat,
    "ktdp.construct_memory_view": Walker.view,
    "ktdp.construct_distributed_memory_view": Walker.views,
    "ktdp.construct_access_tile": Walker.tile,
    "ktdp.construct_indirect_access_tile": Walker.gather,
    "ktdp.load": Walker.load,
    "ktdp.store": Walker.store,
    "ktdp.get_compute_tile_id": Walker.tile_number,
    "ktdp.inter_tile_produce": Walker.produce,
    "arith.constant": Walker.constant,
    "tensor.extract": Walker.extract,
    "tensor.dim": Walker.dimension,
    **dict.fromkeys(
        ("return", "func.return", "scf.yield", "scf.condition", "ktdp.yield_partial"),
        Walker.nothing,
    ),
    # The order of atomics is for the numbers only, prints and assertions for people.
    **dict.fromkeys(
        ("spyrelab.turn", "spyrelab.turn_done", "spyrelab.print", "spyrelab.assert"),
        Walker.nothing,
    ),
    "spyrelab.barrier": Walker.barrier,
    **dict.fromkeys(STORED, access_elements),
}
