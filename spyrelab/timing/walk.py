"""A program walked once: its scalars evaluated for all cores, its tiles turned into steps.

Loops are not run.  A few iterations are looked at; those between two that ask for the same
are taken to ask for the same.  So the cost grows with the program and not with trip counts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from spyrelab.emulator.groups import Exchange, exchanges, resolve
from spyrelab.emulator.lowering.liveness import steering_values
from spyrelab.ktir import Function, Operation, Region, TensorType, Value
from spyrelab.timing.arguments import Arguments
from spyrelab.timing.engines import arithmetic_steps, exchange_step
from spyrelab.timing.errors import TimingError, UnknownValueError
from spyrelab.timing.looks import Looks, joined_hull
from spyrelab.timing.nodes import Access, Engine, Iterations, Loop, Node, Step
from spyrelab.timing.places import Tile, View, gather_of, tile_of, view_of
from spyrelab.timing.scalars import Scalar, Unknown, constant, evaluate
from spyrelab.timing.transfers import Card, transfer_steps

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
    """

    nodes: tuple[Node, ...]
    hulls: dict[Operation, Access]
    exchanges: dict[Operation, Exchange]


MOST_LOOKS = 50_000
"""Iterations of loops that have to be looked at one by one before a program is refused."""


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
    return Walked(tuple(nodes), walker.hulls, walker.resolved)


class Walker:
    """State of one walk: what every value is, for all cores."""

    def __init__(
        self, card: Card, function: Function, grid: Sequence[int], arguments: Arguments
    ) -> None:
        self.card, self.grid, self.arguments = card, tuple(grid), arguments
        self.values: dict[Value, Any] = arguments.bind(function, card.cores)
        self.shapes: dict[Value, tuple[int, ...]] = {}
        self.steering = steering_values(function)
        self.takers = exchanges(function)
        self.makers = {taker: maker for maker, taker in self.takers.items()}
        self.resolved: dict[Operation, Exchange] = {}
        self.hulls: dict[Operation, Access] = {}
        self.looks = 0

    # -- regions -----------------------------------------------------------------------------

    def region(self, region: Region, active: np.ndarray) -> tuple[list[Node], tuple[Value, ...]]:
        """Nodes of a region, and the operands of its terminator."""
        nodes: list[Node] = []
        for operation in region.operations:
            self.operation(operation, active, nodes)
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
            nodes.extend(arithmetic_steps(self.card, operation, active, self.shapes))
        else:
            self._tensor_shape(operation)
            nodes.extend(arithmetic_steps(self.card, operation, active, self.shapes) or ())
            self._pass_through(operation, nodes)

    def _steers(self, value: Value) -> bool:
        return value in self.steering

    def _evaluate(self, operation: Operation) -> None:
        operands = [self.scalar(value) for value in operation.operands]
        self.values[operation.result] = evaluate(operation, operands)

    def scalar(self, value: Value) -> Any:
        """What a scalar is for every core."""
        return self.values.get(value, Unknown(f"%{value.name}"))

    def known(self, value: Value, what: str) -> np.ndarray:
        """A scalar that the program's course depends on."""
        found = self.scalar(value)
        if isinstance(found, Unknown):
            raise UnknownValueError(
                f"{what} depends on {found.reason}; pass it in args to estimate"
            )
        return np.asarray(found)

    def _tensor_shape(self, operation: Operation) -> None:
        if operation.name == "tensor.empty" and operation.operands:
            kind = operation.result.type
            assert isinstance(kind, TensorType)
            sizes = iter(operation.operands)
            made = (e if e is not None else self._size(next(sizes)) for e in kind.shape)
            self.shapes[operation.result] = tuple(made)
        for result in operation.results:
            if isinstance(result.type, TensorType) and None in result.type.shape:
                for operand in operation.operands:
                    shape = self.shapes.get(operand)
                    if shape and len(shape) == len(result.type.shape):
                        self.shapes.setdefault(result, shape)

    def _size(self, value: Value) -> int:
        found = self.scalar(value)
        return 1 if isinstance(found, Unknown) else int(np.max(found))

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
        if maker not in self.resolved:
            self.resolved[maker] = resolve(maker, operation, self.grid)
        partials = maker.regions[0].operations[-1].operands
        nodes.append(
            exchange_step(self.card, operation, self.resolved[maker], partials, active, self.shapes)
        )

    # -- loops -------------------------------------------------------------------------------

    def loop(self, operation: Operation, active: np.ndarray, nodes: list[Node]) -> None:
        """``scf.for``: look at few iterations, or at all where scalars are carried."""
        lower, upper, step = (
            self.known(v, "the trip count of a loop") for v in operation.operands[:3]
        )
        trips = np.where(active, np.maximum(-(-(upper - lower) // np.maximum(step, 1)), 0), 0)
        region = operation.regions[0]
        inits, arguments = operation.operands[3:], region.arguments[1:]
        carried = self._steering_pairs(inits, arguments)
        looks = Looks(self, region, lower, step, trips, carried)
        most = int(trips.max(initial=0))
        for init, argument in zip(inits, arguments, strict=True):
            self.values[argument] = self.scalar(init)
        runs = looks.one_by_one(most) if carried else looks.runs(0, most)
        yielded = region.operations[-1].operands
        names = zip(inits, arguments, yielded, operation.results, strict=True)
        tensors = tuple(n for n in names if isinstance(n[0].type, TensorType))
        if carried:
            for value, result in zip(arguments, operation.results, strict=True):
                self.values[result] = self.scalar(value)
        nodes.append(Loop(operation, tuple(runs), tensors))

    def _steering_pairs(
        self, inits: Sequence[Value], arguments: Sequence[Value]
    ) -> list[tuple[Value, Value]]:
        return [
            (i, a)
            for i, a in zip(inits, arguments, strict=True)
            if a in self.steering and not isinstance(self.scalar(i), Unknown)
        ]

    def branch(self, operation: Operation, active: np.ndarray, nodes: list[Node]) -> None:
        """``scf.if``: both sides, each for the cores that take it."""
        holds = self.known(operation.operands[0], "a branch") != 0
        for index, region in enumerate(operation.regions):
            taken = active & (holds if index == 0 else ~holds)
            if not taken.any():
                continue
            inner, yielded = self.region(region, taken)
            nodes.extend(inner)
            for value, result in zip(yielded, operation.results, strict=False):
                self.merge(result, value, taken)
                if isinstance(result.type, TensorType):
                    self.alias((result,), (value,), nodes)

    def merge(self, result: Value, value: Value, taken: np.ndarray) -> None:
        found, before = self.scalar(value), self.values.get(result)
        if isinstance(found, np.ndarray) and isinstance(before, np.ndarray) and found.ndim == 1:
            self.values[result] = np.where(taken, found, before)
        else:
            self.values[result] = found

    def repeat(self, operation: Operation, active: np.ndarray, nodes: list[Node]) -> None:
        """``scf.while``: one iteration after the other, as its condition asks."""
        before, after = operation.regions
        state = [self.scalar(value) for value in operation.operands]
        runs: list[Iterations] = []
        while True:
            self.count_look()
            self.values.update(zip(before.arguments, state, strict=True))
            test, (condition, *passed) = self.region(before, active)
            active = active & (self.known(condition, "a while loop") != 0)
            results = [self.scalar(value) for value in passed]
            if not active.any():
                runs.append(Iterations(1, tuple(test)))
                break
            self.values.update(zip(after.arguments, results, strict=True))
            body, yielded = self.region(after, active)
            state = [self.scalar(value) for value in yielded]
            runs.append(Iterations(1, (*test, *body)))
        self.values.update(zip(operation.results, results, strict=True))
        nodes.append(Loop(operation, tuple(runs)))

    def count_look(self) -> None:
        self.looks += 1
        if self.looks > MOST_LOOKS:
            raise TimingError(
                f"more than {MOST_LOOKS:,} iterations differ from each other; "
                "the program is too irregular to be timed"
            )

    # -- memory ------------------------------------------------------------------------------

    def view(self, operation: Operation, active: np.ndarray, nodes: list[Node]) -> None:
        """``ktdp.construct_memory_view``."""
        del active, nodes
        operands = [self.scalar(value) for value in operation.operands]
        base = self.arguments.base_of(operands[0])
        self.values[operation.result] = (view_of(operation, operands, base, self.card.cores),)

    def views(self, operation: Operation, active: np.ndarray, nodes: list[Node]) -> None:
        """``ktdp.construct_distributed_memory_view``."""
        del active, nodes
        parts = [part for value in operation.operands for part in self._parts(value)]
        self.values[operation.result] = tuple(parts)

    def tile(self, operation: Operation, active: np.ndarray, nodes: list[Node]) -> None:
        """``ktdp.construct_access_tile``."""
        del active, nodes
        rest = [self.scalar(value) for value in operation.operands[1:]]
        cut = len(rest) - operation.attributes.get("symbol_operands", 0)
        parts = self._parts(operation.operands[0])
        self.values[operation.result] = tile_of(
            operation, parts, rest[:cut], rest[cut:], self.card.cores
        )

    def gather(self, operation: Operation, active: np.ndarray, nodes: list[Node]) -> None:
        """``ktdp.construct_indirect_access_tile``."""
        del active, nodes
        parts = self._parts(operation.operands[0])
        count = operation.attributes["index_views"]
        indices = [self._parts(v)[0] for v in operation.operands[1 : 1 + count]]
        self.values[operation.result] = gather_of(operation, parts, indices, self.card.cores)

    def _parts(self, value: Value) -> tuple[View, ...]:
        found = self.values.get(value)
        if not isinstance(found, tuple):
            raise TimingError(f"%{value.name} is no memory view built in the program; not timed")
        return found

    def load(self, operation: Operation, active: np.ndarray, nodes: list[Node]) -> None:
        """``ktdp.load``; the values of an index array are kept where they steer."""
        tile: Tile = self.values[operation.operands[0]]
        self._transfer(operation, tile, operation.result, active, nodes)
        self._load_shape(operation.result, tile)
        if operation.result in self.steering:
            self.values[operation.result] = self.arguments.read(tile, active)

    def _load_shape(self, value: Value, tile: Tile) -> None:
        kind = value.type
        assert isinstance(kind, TensorType)
        if None in kind.shape:
            sizes = [e for e in tile.extents if not isinstance(e, Unknown)]
            if len(sizes) == len(kind.shape):
                self.shapes[value] = tuple(int(np.max(extent)) for extent in sizes)

    def store(self, operation: Operation, active: np.ndarray, nodes: list[Node]) -> None:
        """``ktdp.store``."""
        tile: Tile = self.values[operation.operands[1]]
        self._transfer(operation, tile, operation.operands[0], active, nodes)

    def _transfer(
        self,
        operation: Operation,
        tile: Tile,
        value: Value,
        active: np.ndarray,
        nodes: list[Node],
    ) -> None:
        for step in transfer_steps(self.card, operation, tile, value, active):
            nodes.append(step)
            if step.access is not None:
                before = self.hulls.get(operation)
                self.hulls[operation] = joined_hull(before, step.access)

    # -- scalars -----------------------------------------------------------------------------

    def constant(self, operation: Operation, active: np.ndarray, nodes: list[Node]) -> None:
        """``arith.constant``."""
        del active, nodes
        if operation.result in self.steering:
            self.values[operation.result] = constant(operation, self.card.cores)

    def tile_number(self, operation: Operation, active: np.ndarray, nodes: list[Node]) -> None:
        """``ktdp.get_compute_tile_id``, x fastest."""
        del active, nodes
        rest = np.arange(self.card.cores)
        for axis, value in enumerate(operation.results):
            extent = self.grid[axis] if axis < len(self.grid) else 1
            self.values[value] = rest % extent
            rest = rest // extent

    def extract(self, operation: Operation, active: np.ndarray, nodes: list[Node]) -> None:
        """``tensor.extract`` from an index array whose values are known."""
        del active, nodes
        if operation.result not in self.steering:
            return
        data = self.scalar(operation.operands[0])
        places = [self.scalar(value) for value in operation.operands[1:]]
        unknown: Scalar | None = next((v for v in (data, *places) if isinstance(v, Unknown)), None)
        if unknown is not None:
            self.values[operation.result] = unknown
            return
        clipped = [np.clip(p, 0, n - 1) for p, n in zip(places, data.shape[1:], strict=True)]
        self.values[operation.result] = data[(np.arange(self.card.cores), *clipped)]

    def nothing(self, operation: Operation, active: np.ndarray, nodes: list[Node]) -> None:
        """Terminators and futures: nothing happens yet."""
        del active
        if operation.name == "ktdp.inter_tile_produce":
            inner, _ = self.region(operation.regions[0], np.ones(self.card.cores, bool))
            nodes.extend(inner)


_NOT_TIMED = ("scf.parallel", "scf.forall", "memref.", "func.call", "scf.execute_region")

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
    "ktdp.inter_tile_produce": Walker.nothing,
    "arith.constant": Walker.constant,
    "tensor.extract": Walker.extract,
    **dict.fromkeys(
        ("return", "func.return", "scf.yield", "scf.condition", "ktdp.yield_partial"),
        Walker.nothing,
    ),
}
