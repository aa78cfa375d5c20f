"""What every value of a program is, for all cores: scalars, views, tiles, and transfers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from spyrelab.emulator.addresses import view_arguments
from spyrelab.emulator.lowering.liveness import steering_values
from spyrelab.ktir import Function, Operation, TensorType, Value, walk
from spyrelab.ktir.element_access import STORED
from spyrelab.timing.arguments import Arguments
from spyrelab.timing.errors import TimingError, UnknownValueError
from spyrelab.timing.motion import Course, pick, plain
from spyrelab.timing.nodes import BUNDLE_ATTRIBUTE, Node
from spyrelab.timing.places import Tile, View, full, gather_of, tile_of, view_of
from spyrelab.timing.rebase import rebased
from spyrelab.timing.scalars import Unknown, constant, said
from spyrelab.timing.shapes import Shapes, shape_of
from spyrelab.timing.sharing import readers_alike
from spyrelab.timing.touched import loaded_shape, touched
from spyrelab.timing.transfers import Card, transfer_steps

__all__ = ["Values", "chosen"]


class Values:
    """Scalars, views and tiles that a walk has come to.

    Every handler takes the cores that take part, and the list that steps are added to.
    """

    def __init__(
        self, card: Card, function: Function, grid: Sequence[int], arguments: Arguments
    ) -> None:
        self.card, self.grid, self.arguments = card, tuple(grid), arguments
        self.values: dict[Value, Any] = arguments.bind(function, card.cores)
        self.shapes: Shapes = {}
        self.steering = steering_values(function)
        self.course = Course(card.cores)
        self.reasons: list[str] = []
        self.looks = 0
        # A bundle's products are priced from the views of one turn.
        self.moves_views = BUNDLE_ATTRIBUTE not in function.attributes
        arguments.stored = stored_arguments(function) if arguments.given else set()

    def scalar(self, value: Value) -> Any:
        """What a scalar is for every core."""
        return self.values.get(value, Unknown(f"%{value.name}"))

    def known(self, value: Value, what: str) -> Any:
        """A scalar that the program's course depends on."""
        found = self.scalar(value)
        if isinstance(found, Unknown):
            raise UnknownValueError(found.ask(what))
        return found

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
        parts = [part for value in operation.operands for part in self.parts(value)]
        self.values[operation.result] = tuple(parts)

    def tile(self, operation: Operation, active: np.ndarray, nodes: list[Node]) -> None:
        """``ktdp.construct_access_tile``."""
        del active, nodes
        captures, symbols = self._captures(operation, operation.operands[1:])
        parts = self.parts(operation.operands[0])
        self.values[operation.result] = tile_of(
            operation, parts, captures, symbols, self.card.cores
        )

    def gather(self, operation: Operation, active: np.ndarray, nodes: list[Node]) -> None:
        """``ktdp.construct_indirect_access_tile``."""
        del active, nodes
        parts = self.parts(operation.operands[0])
        count = operation.attributes["index_views"]
        indices = [self.parts(v) for v in operation.operands[1 : 1 + count]]
        captures, symbols = self._captures(operation, operation.operands[1 + count :])
        self.values[operation.result] = gather_of(
            operation, parts, indices, captures, symbols, self.card.cores
        )

    def _captures(self, operation: Operation, operands: Sequence[Value]) -> tuple[Any, Any]:
        values = [self.scalar(value) for value in operands]
        cut = len(values) - operation.attributes.get("symbol_operands", 0)
        return values[:cut], values[cut:]

    def parts(self, value: Value) -> tuple[View, ...]:
        """The views that a memory view is made of."""
        found = self.values.get(value)
        if not isinstance(found, tuple):
            raise TimingError(f"%{value.name} is no memory view built in the program; not timed")
        return found

    def load(self, operation: Operation, active: np.ndarray, nodes: list[Node]) -> None:
        """``ktdp.load``; the values of an index array are kept where they steer."""
        del active
        tile: Tile = self.values[operation.operands[0]]
        self._transfer(operation, tile, operation.result, nodes)
        self._load_shape(operation.result, tile)
        if operation.result in self.steering:
            self.values[operation.result] = self.arguments.read(self.course, tile, operation)

    def _load_shape(self, value: Value, tile: Tile) -> None:
        kind = value.type
        assert isinstance(kind, TensorType)
        if None in kind.shape:
            shape = loaded_shape(self.course, tile, kind)
            if shape is not None:
                self.shapes[value] = shape

    def store(self, operation: Operation, active: np.ndarray, nodes: list[Node]) -> None:
        """``ktdp.store``."""
        del active
        tile: Tile = self.values[operation.operands[1]]
        self._transfer(operation, tile, operation.operands[0], nodes)

    def _transfer(self, operation: Operation, tile: Tile, value: Value, nodes: list[Node]) -> None:
        found = touched(self.course, self.arguments, tile)
        if self.moves_views:
            tile, found = rebased(self.course, tile, found)
        if operation.name == "ktdp.load":
            found.alike = readers_alike(self.course, self.arguments, tile, found)
        self.reasons += [f"{said(operation)}: {reason}" for reason in found.reasons]
        nodes += transfer_steps(self.card, self.course, operation, tile, value, found)

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
        unknown = next((v for v in (data, *places) if isinstance(v, Unknown)), None)
        if unknown is not None:
            self.values[operation.result] = unknown
            return
        now = plain(data)
        clipped = [
            np.clip(plain(p), 0, max(n - 1, 0)) for p, n in zip(places, now.shape[1:], strict=True)
        ]
        found = now[(np.arange(self.card.cores), *clipped)]
        low, high = self.course.span(data)
        self.values[operation.result] = self.course.hide(
            found, (data, *places), np.min(low), np.max(high)
        )

    def dimension(self, operation: Operation, active: np.ndarray, nodes: list[Node]) -> None:
        """``tensor.dim``."""
        del active, nodes
        axis = self.scalar(operation.operands[1])
        if isinstance(axis, Unknown) or np.ptp(axis := self.course.settle(axis)):
            self.values[operation.result] = Unknown(f"the result of {said(operation)}")
            return
        shape = shape_of(operation.operands[0], self.shapes)
        self.values[operation.result] = full(shape[int(axis[0])], self.card.cores)


def chosen(mask: np.ndarray, one: Any, other: Any) -> Any:
    """``one`` for the cores of a mask, ``other`` for the rest; Unknown where either is."""
    for value in (one, other):
        if isinstance(value, Unknown):
            return value
    if isinstance(one, tuple) or isinstance(other, tuple) or plain(one).ndim != 1:
        return one if one is other else Unknown("which of two tensors a core has")
    return pick(mask, one, other)


def stored_arguments(function: Function) -> set[str]:
    """Arrays that a program writes: what it reads from them is not what was given."""
    makers = {v: o for o in walk(function.body.operations) for v in o.results}
    behind = view_arguments(function)
    found: set[str] = set()
    for operation in walk(function.body.operations):
        if operation.name == "ktdp.store" or operation.name in _WRITES:
            pending = [operation.operands[_WRITES.get(operation.name, 1)]]
            while pending:
                maker = makers.get(pending.pop())
                if maker is not None and maker.name.startswith("ktdp.construct_"):
                    found |= behind.get(maker) or frozenset()
                    pending += maker.operands[: None if maker.name in _DISTRIBUTED else 1]
    return found


_WRITES = {name: count for name, count in STORED.items() if count}
"""Operations on single elements that write, with the number of the operand that is the view."""

_DISTRIBUTED = ("ktdp.construct_distributed_memory_view",)
