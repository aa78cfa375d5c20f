"""One core of the reference interpreter: its values, and how it runs a region."""

from __future__ import annotations

import math
from collections.abc import Generator, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from inspect import isgenerator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from spyrelab.emulator.counters import UNITS, Column, Counters
from spyrelab.emulator.errors import UnsupportedError, Waiting, place
from spyrelab.emulator.reference.registry import REFERENCE
from spyrelab.ktir.ir import Operation, Region, Value
from spyrelab.ktir.types import ScalarType, TensorType, Type
from spyrelab.machine import DeviceMemory, Machine

Array = NDArray[Any]
"""float32 values already rounded to their type, or int64 values wrapped to it."""

Steps = Generator[Waiting, None, tuple[Any, ...]]
"""A running region or operation: yields what it waits for, returns its results."""

TERMINATORS = frozenset(
    {
        "func.return",
        "scf.yield",
        "scf.condition",
        "scf.reduce",
        "scf.reduce.return",
        "scf.forall.in_parallel",
        "linalg.yield",
        "tensor.yield",
        "ktdp.yield_partial",
        "ktdp.yield_reduced",
    }
)


class Core:
    """The state of one core.

    Attributes
    ----------
    number : int
        Flat number of the core.
    tile_id : tuple of int
        Its coordinates in the grid.
    iteration : list of arrays or None
        Inside a body that is run for all points of an iteration space at once: the coordinates
        of the points, one array per dimension.  Scalars of the body are arrays over the points.
    """

    def __init__(
        self,
        number: int,
        tile_id: tuple[int, ...],
        memory: DeviceMemory,
        machine: Machine,
        counters: Counters,
        rendezvous: Any,
    ) -> None:
        self.number, self.tile_id = number, tile_id
        self.memory, self.machine, self.rendezvous = memory, machine, rendezvous
        self.values: dict[Value, Any] = {}
        self.iteration: list[Array] | None = None
        self._points = 0
        self._counts = counters.matrix[number]

    def run(self, region: Region, arguments: Sequence[Any] = ()) -> Steps:
        """Run a region; returns the operands of its terminator."""
        self.values.update(zip(region.arguments, arguments, strict=True))
        for operation in region.operations:
            operands = tuple(self.values[operand] for operand in operation.operands)
            if operation.name in TERMINATORS:
                return operands
            results = _handler(operation)(self, operation, *operands)
            if isgenerator(results):
                results = yield from results
            self._define(operation, results)
        return ()

    def call(self, region: Region, *arguments: Any) -> tuple[Any, ...]:
        """Run a region that must not wait for other cores."""
        steps = self.run(region, arguments)
        try:
            waiting = next(steps)
        except StopIteration as stop:
            return tuple(stop.value)
        raise UnsupportedError(f"{waiting.operation} inside the body of a tile operation")

    @contextmanager
    def over(self, iteration: list[Array], points: int) -> Iterator[None]:
        """Run bodies for ``points`` points of an iteration space at once."""
        if self.iteration is not None:
            raise UnsupportedError("a tile operation with a body inside such a body")
        self.iteration, self._points = iteration, points
        yield
        self.iteration = None

    def over_grid(
        self, grid: Sequence[Array], shape: Sequence[int]
    ) -> AbstractContextManager[None]:
        """`over` the points of an open grid; a space without dimensions counts as scalar code."""
        return self.over(list(grid), math.prod(shape) if shape else 0)

    def count(self, column: Column, amount: int) -> None:
        self._counts[column] += amount

    def count_elements(self, unit: str, kind: Type, result: Array) -> None:
        """Count an elementwise result on a unit: its elements, or the points of a body."""
        if self.iteration is not None:
            self.count(UNITS[unit], self._points)
        elif isinstance(kind, TensorType) and kind.shape:
            self.count(UNITS[unit], result.size)

    def waiting(self, operation: Operation, tiles: Sequence[int]) -> Waiting:
        return Waiting(
            self.number, operation.name, operation.position, tuple(tiles), operation.location
        )

    def _define(self, operation: Operation, results: Any) -> None:
        if len(operation.results) == 1 and not isinstance(results, tuple):
            results = (results,)
        self.values.update(zip(operation.results, results or (), strict=True))


def _handler(operation: Operation) -> Any:
    try:
        return REFERENCE[operation.name]
    except KeyError:
        raise UnsupportedError(f"{place(operation)} has no reference semantics") from None


def tensor_type(value: Value) -> TensorType:
    """The type of a value that the verifier has found to be a tensor."""
    kind = value.type
    assert isinstance(kind, TensorType)
    return kind


def scalar(value: Any) -> int:
    """A single index or integer as a Python int."""
    array = np.asarray(value)
    if array.size != 1:
        raise UnsupportedError("control flow that differs between the points of a body")
    return int(array.reshape(()))


def zeros(shape: Sequence[int], element: ScalarType) -> Array:
    """An array of zeros in the value representation of a type."""
    return np.zeros(shape, np.float32 if element.is_float else np.int64)


def concrete_shape(kind: TensorType, size: int, operation: Operation) -> tuple[int, ...]:
    """The shape of a tensor type; one dynamic extent follows from the number of elements."""
    dynamic = kind.shape.count(None)
    known = math.prod(extent for extent in kind.shape if extent is not None)
    if dynamic > 1 or (dynamic and (known == 0 or size % known)):
        raise UnsupportedError(f"{place(operation)}: {size} elements do not determine {kind}")
    return tuple(size // known if extent is None else extent for extent in kind.shape)
