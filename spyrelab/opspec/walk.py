"""Code that walks a divided box: loops, loads, the turn into one order, stores."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Any

from spyrelab.kernels.division import steps
from spyrelab.ktir.builder import Builder, Scalar, Tensor, View
from spyrelab.ktir.ir import Operation, Region, Value
from spyrelab.ktir.types import I64, INDEX, MemorySpace, ScalarType, TensorType
from spyrelab.machine import SPYRE
from spyrelab.opspec.division import Division
from spyrelab.opspec.errors import OpSpecError
from spyrelab.opspec.target import DDR

__all__ = ["Place", "Walk", "iota"]

Tile = Tensor | Scalar


@dataclass(frozen=True)
class Place:
    """An operand inside a program: its pointer, element type and memory.

    ``sparse``: every element is the first of a stick of its own.
    """

    pointer: Scalar
    kind: ScalarType
    space: MemorySpace = DDR
    sparse: bool = False

    @property
    def lanes(self) -> int:
        """Elements of a stick."""
        return SPYRE.stick_bytes // self.kind.itemsize


@dataclass
class Walk:
    """The code for one box.

    Operands are counted as in the box: inputs first; None stands for one that has no memory
    (its elements are their own numbers). Tiles are handed out with one axis per
    loop that a tile spans (`shape`), in the order of the loops.
    """

    builder: Builder
    division: Division
    operands: Sequence[Place | None]
    cores: int
    views: dict[int, View] = field(default_factory=dict)

    @property
    def spanned(self) -> tuple[int, ...]:
        """Loops along which a tile has an axis."""
        found = tuple(loop for loop, extent in enumerate(self.division.tile) if extent > 1)
        return found or (len(self.division.tile) - 1,)

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the tiles that a body works on."""
        return tuple(self.division.tile[loop] for loop in self.spanned)

    def run(
        self,
        inputs: int,
        prepare: Callable[[int, Tile], Tile],
        body: Callable[[list[Tile]], Sequence[Tensor]],
    ) -> None:
        """Emit the loops; ``body`` turns tiles of all inputs into tiles of all outputs.

        An input is loaded in the outermost loop that it allows; ``prepare`` converts it there.
        """
        loaded: dict[int, Tile] = {}

        def load_ready(at: Sequence[Scalar]) -> None:
            for operand in range(inputs):
                if operand not in loaded and self._depth(operand) <= len(at):
                    loaded[operand] = prepare(operand, self.load(operand, at))

        with ExitStack() as opened:
            at = self.open(opened, load_ready)
            tiles = [self.widened(operand, loaded[operand]) for operand in range(inputs)]
            for number, result in enumerate(body(tiles)):
                self.store(inputs + number, result, at)

    def open(
        self, opened: ExitStack, before: Callable[[Sequence[Scalar]], None] | None = None
    ) -> list[Scalar]:
        """Open all loops; where they stand.  ``before`` is called at each depth on the way."""
        for operand, place in enumerate(self.operands):
            if place is not None:
                self.view(operand)
        core = self.builder.compute_tile_id() if self.cores > 1 else self.builder.constant(0)
        at: list[Scalar] = []
        for loop in range(len(self.division.tile)):
            if before is not None:
                before(at)
            at.append(opened.enter_context(self._steps(loop, core)))
        if before is not None:
            before(at)
        return at

    def view(self, operand: int) -> View:
        """The part of an operand that the box covers."""
        if operand not in self.views:
            self.views[operand] = self._view(operand)
        return self.views[operand]

    def _view(self, operand: int) -> View:
        box, place = self.division.box, self.place(operand)
        moves = self._moves(operand)
        counts = [box.counts[loop] for loop in moves] or [1]
        strides = [box.strides[operand][loop] for loop in moves] or [1]
        if place.sparse:
            counts, strides = [*counts, place.lanes], [*strides, 1]
        address = place.pointer + box.offsets[operand]
        return self.builder.view(
            address, sizes=counts, strides=strides, dtype=place.kind, memory_space=place.space
        )

    def place(self, operand: int) -> Place:
        """Where an operand is; raises OpSpecError for one without memory."""
        place = self.operands[operand]
        if place is None:
            raise OpSpecError(f"operand {operand} has no memory")
        return place

    def _moves(self, operand: int) -> list[int]:
        """Loops that move an operand, in its own order of memory."""
        strides = self.division.box.strides[operand]
        moving = [loop for loop, stride in enumerate(strides) if stride]
        return sorted(moving, key=lambda loop: -abs(strides[loop]))

    def _steps(self, loop: int, core: Scalar) -> Any:
        division, b = self.division, self.builder
        count, tile = division.box.counts[loop], division.tile[loop]
        name = f"at_{loop}"
        if loop != division.split or self.cores == 1:
            return steps(b, b.constant(0), tile, -(-count // tile), count, name)
        first = core * division.share
        if division.share == tile and division.cores == self.cores:
            return steps(b, first, tile, 1, None, name)
        upper = b.minimum(first + division.share, count)
        return b.loop(first, upper, tile, names=name)

    def _depth(self, operand: int) -> int:
        """How many loops must be open before an operand can be loaded."""
        division = self.division
        needed = [
            loop + 1
            for loop in self._moves(operand)
            if division.is_looped(loop) or (loop == division.split and self.cores > 1)
        ]
        return max(needed, default=0)

    def load(self, operand: int, at: Sequence[Scalar]) -> Tile:
        """An operand's tile with an axis per spanned loop that moves it; a scalar if none does.

        Loops behind the end of ``at`` stand at zero.
        """
        b, view, moves = self.builder, self.view(operand), self._moves(operand)
        place = self.place(operand)
        if not moves:
            if place.sparse:
                return b.extract(b.load(view[0, 0], shape=(1, place.lanes)), (0, 0))
            return b.load(view[0], shape=(1,)).item()
        tile = [self.division.tile[loop] for loop in moves]
        zero = b.constant(0)
        start = tuple(at[loop] if loop < len(at) else zero for loop in moves)
        values = b.load(
            view[(*start, zero) if place.sparse else start],
            shape=[*tile, place.lanes] if place.sparse else tile,
        )
        if place.sparse:
            first = b.extract_slice(values, [0] * values.rank, [*tile, 1])
            values = b.reshape(first, tile)
        kept = [loop for loop in moves if loop in self.spanned]
        if not kept:
            return b.reshape(values, (1,)).item()
        values = b.reshape(values, [self.division.tile[loop] for loop in kept])
        order = sorted(kept)
        return values if order == kept else b.transpose(values, [kept.index(d) for d in order])

    def numbers(self, operand: int, at: Sequence[Scalar]) -> Tensor:
        """The offset of each element of an operand without memory, i64 of `shape`."""
        b, box = self.builder, self.division.box
        strides = box.strides[operand]
        first = b.constant(box.offsets[operand])
        for here, stride in zip(at, strides, strict=True):
            first = first + here * stride
        inside = iota(b, self.shape, [strides[loop] for loop in self.spanned])
        return inside + b.splat(first.to(I64), self.shape)

    def widened(self, operand: int, values: Tile) -> Tile:
        """A tile repeated along the loops that do not move its operand."""
        if isinstance(values, Scalar):
            return self.builder.splat(values, self.shape)
        strides = self.division.box.strides[operand]
        missing = [axis for axis, loop in enumerate(self.spanned) if not strides[loop]]
        return self.builder.broadcast(values, self.shape, missing) if missing else values

    def store(self, operand: int, result: Tensor, at: Sequence[Scalar]) -> None:
        """Write a tile of `shape`; the store rounds to the operand's type."""
        b, view, moves = self.builder, self.view(operand), self._moves(operand)
        kept = [loop for loop in moves if loop in self.spanned]
        if kept != sorted(kept):
            result = b.transpose(result, [sorted(kept).index(loop) for loop in kept])
        tile = [self.division.tile[loop] for loop in moves] or [1]
        start: list[Scalar | int] = [at[loop] for loop in moves] or [0]
        value = b.reshape(result, tile).to(self.place(operand).kind)
        if self.place(operand).sparse:
            lanes = self.place(operand).lanes
            value = b.broadcast(value, [*tile, lanes], [len(tile)])
            start.append(0)
        b.store(value, view[tuple(start)])


def iota(b: Builder, shape: Sequence[int], strides: Sequence[int]) -> Tensor:
    """A tile of the numbers ``sum(index * stride)``, i64."""
    indices = [Value(b.unique(f"i{axis}"), INDEX) for axis in range(len(shape))]
    operations: list[Operation] = []

    def emit(name: str, *operands: Value) -> Value:
        result = Value(b.unique("number"), INDEX)
        operations.append(Operation(name, operands, (result,)))
        return result

    total = b.constant(0).value
    for index, stride in zip(indices, strides, strict=True):
        if stride:
            total = emit("arith.addi", total, emit("arith.muli", index, b.constant(stride).value))
    operations.append(Operation("tensor.yield", (total,)))
    region = Region(tuple(indices), operations)
    kind = TensorType(tuple(shape), INDEX)
    made = b.emit("tensor.generate", [], [kind], regions=[region], hint="numbers")
    return b.tensor(made[0]).to(I64)
