"""The walk over a function that turns operations into VM instructions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from spyrelab.emulator.errors import LoweringError, UnsupportedError, place
from spyrelab.emulator.groups import Exchange, exchanges
from spyrelab.emulator.lowering.emitter import Emitter
from spyrelab.emulator.lowering.liveness import deaths, steering_values
from spyrelab.emulator.lowering.lx import DynamicBytes, LxTracker
from spyrelab.emulator.lowering.registry import RULES
from spyrelab.emulator.lowering.values import Lowered, Size, Tile
from spyrelab.emulator.opcodes import Op
from spyrelab.ktir import (
    Function,
    Operation,
    Region,
    ScalarType,
    TensorType,
    Value,
    walk,
)
from spyrelab.ktir.types import element_of
from spyrelab.machine import Machine

LoweredType = TypeVar("LoweredType", bound=Lowered)

STICK = 128
MOST_DIMENSIONS = 8
_SHARES_OPERAND = {
    "tensor.expand_shape",
    "tensor.collapse_shape",
    "tensor.reshape",
    "tensor.cast",
    "arith.bitcast",
    "ktdp.inter_tile_produce",
    "scf.for",
    "scf.if",
    "scf.while",
}


@dataclass
class Lowering:
    """State of one lowering.

    Attributes
    ----------
    emitter : Emitter
        Where instructions go.
    environment : dict
        What every SSA value met so far became.
    lx : LxTracker
        Scratchpad use.
    exchanges : list of Exchange
        One per future, in order of their number.
    """

    function: Function
    machine: Machine
    grid: tuple[int, ...]
    emitter: Emitter
    environment: dict[Value, Lowered] = field(default_factory=dict)
    lx: LxTracker = field(default_factory=LxTracker)
    exchanges: list[Exchange] = field(default_factory=list)
    operations: list[Operation] = field(default_factory=list)
    taker: dict[Operation, Operation] = field(default_factory=dict)
    dying: list[Value] = field(default_factory=list)
    steering: set[Value] = field(default_factory=set)
    users: dict[Value, list[Operation]] = field(default_factory=dict)
    inside_generic: bool = False
    turns: int | None = None
    """Number of the exchange that counts turns, once there is one."""

    def __post_init__(self) -> None:
        self.steering = steering_values(self.function)
        self.taker = exchanges(self.function)
        for operation in walk(self.function.body.operations):
            for value in operation.operands:
                self.users.setdefault(value, []).append(operation)

    # -- environment -------------------------------------------------------------------------

    def tile(self, value: Value) -> Tile:
        """The scalar or tile that a value became."""
        return self.get(value, Tile)

    def get(self, value: Value, kind: type[LoweredType]) -> LoweredType:
        """What a value became; LoweringError if it is of another kind."""
        lowered = self.environment.get(value)
        if not isinstance(lowered, kind):
            raise LoweringError(f"%{value.name} of type {value.type} cannot be used here")
        return lowered

    def define(self, value: Value, lowered: Lowered) -> None:
        """Bind a value; it takes over one reference to the buffer of a tile."""
        self.environment[value] = lowered

    def kill(self, value: Value) -> None:
        """Release what a value held, after its last use."""
        lowered = self.environment.get(value)
        if isinstance(lowered, Tile):
            self.emitter.release(lowered)
        self.lx.kill(value)

    def is_only_stored(self, value: Value) -> bool:
        """Whether every use of a value is to be written by ``ktdp.store``."""
        return all(user.name == "ktdp.store" for user in self.users.get(value, ()))

    # -- walking -----------------------------------------------------------------------------

    def lower_region(self, region: Region) -> None:
        """Lower all operations of a region but its terminator."""
        dead = deaths(region)
        for operation, dying in zip(region.operations[:-1], dead, strict=False):
            self.lower(operation, dying)
            for value in dying:
                self.kill(value)

    def end_region(self, region: Region) -> None:
        """Release what lives until the terminator of a region."""
        for value in deaths(region)[-1]:
            self.kill(value)

    def lower(self, operation: Operation, dying: Sequence[Value] = ()) -> None:
        """Lower one operation."""
        rule = RULES.get(operation.name)
        if rule is None:
            raise UnsupportedError(
                f"{place(operation)}: this operation is not run by the vm engine; "
                'the reference engine may run it (engine="reference")'
            )
        outer_source, outer_needed = self.emitter.source, self.emitter.needed
        self.operations.append(operation)
        self.emitter.source = len(self.operations) - 1
        arguments = (a for region in operation.regions for a in region.arguments)
        self.emitter.needed = any(v in self.steering for v in (*operation.results, *arguments))
        self.dying = list(dying)
        rule(self, operation)
        self.account(operation.results, operation, dying)
        self.emitter.source, self.emitter.needed = outer_source, outer_needed

    # -- scratchpad --------------------------------------------------------------------------

    def account(
        self, values: Sequence[Value], operation: Operation, dying: Sequence[Value] = ()
    ) -> None:
        """Enter new tensor values into the scratchpad's account."""
        if self.inside_generic:
            return
        available = [v for v in dying if v in operation.operands or operation.regions]
        shares = operation.name in _SHARES_OPERAND or is_elementwise(operation)
        for value in values:
            size = self.lx_bytes(value)
            if size is None:
                continue
            donor = next((v for v in available if shares and self.lx.size_of(v) == size), None)
            if donor is not None:
                available.remove(donor)
            self.lx.define(value, size, operation.position, donor, operation.location)
            self._track_dynamic()

    def lx_bytes(self, value: Value) -> int | DynamicBytes | None:
        """Scratchpad bytes of a tensor value; None for scalars, splats and constants."""
        lowered = self.environment.get(value)
        if not isinstance(value.type, TensorType) or not isinstance(lowered, Tile):
            return None
        if lowered.is_splat and lowered.buffer is None:
            return None
        total = self.emitter.product(lowered.shape)
        itemsize = value.type.element.itemsize
        if lowered.buffer is None and lowered.is_contiguous and total != 1:
            return None
        if isinstance(total, Tile):
            return DynamicBytes(total.place, itemsize)
        return -(-total * itemsize // STICK) * STICK

    def _track_dynamic(self) -> None:
        sizes = self.lx.dynamic
        if sizes:
            entries = [self.lx.static_bytes, len(sizes)]
            for size in sizes:
                entries += [size.place, size.itemsize]
            descriptor = self.emitter.describe(entries)
            self.emitter.emit(Op.TRACK_LX, a=descriptor, needed=True)

    # -- tiles -------------------------------------------------------------------------------

    def result(self, operation: Operation, shape: Sequence[Size], index: int = 0) -> Tile:
        """A fresh tile for a result of an operation."""
        return self.emitter.tile(element_of(operation.results[index].type), shape)

    def shape_of(self, kind: TensorType, dynamic: Sequence[Tile]) -> tuple[Size, ...]:
        """Static extents of a type, dynamic ones from scalars in order."""
        rest = iter(dynamic)
        return tuple(next(rest) if extent is None else extent for extent in kind.shape)

    def contiguous(self, tile: Tile) -> Tile:
        """The tile with every element stored; the caller holds a reference."""
        if tile.is_contiguous or not tile.shape:
            return self.emitter.retain(tile)
        out = self.emitter.tile(tile.kind, tile.shape)
        self.copy(tile, out)
        return out

    def copy(self, source: Tile, target: Tile) -> None:
        """Fill ``target`` (contiguous, same shape) with the elements of ``source``."""
        emitter = self.emitter
        count = emitter.place(emitter.product(target.shape))
        if source.is_splat:
            op = Op.FILL_FLOAT if target.is_float else Op.FILL_INT
            emitter.emit(op, dst=target.place, a=source.place, size=count)
        elif source.is_contiguous:
            op = Op.COPY_FLOAT if target.is_float else Op.COPY_INT
            emitter.emit(op, dst=target.place, a=source.place, size=count)
        else:
            self.copy_strided(
                target,
                target.shape,
                source.place,
                self.strides(source),
                target.place,
                self.strides(target),
            )

    def strides(self, tile: Tile) -> list[Size]:
        """Element strides of a tile's axes, 0 where it is broadcast."""
        strides: list[Size] = []
        step: Size = 1
        for extent, kept in zip(reversed(tile.shape), reversed(tile.kept), strict=True):
            strides.append(step if kept else 0)
            if kept:
                step = self.emitter.multiply(step, extent)
        return strides[::-1]

    def copy_strided(
        self,
        like: Tile,
        extents: Sequence[Size],
        source: int,
        source_strides: Sequence[Size],
        target: int,
        target_strides: Sequence[Size],
        source_shift: Size = 0,
        target_shift: Size = 0,
    ) -> None:
        """Copy a block between two places of the arena of ``like``."""
        emitter = self.emitter
        axes = list(zip(extents, source_strides, target_strides, strict=True)) or [(1, 1, 1)]
        check_rank(len(axes))
        entries = [
            len(axes),
            source,
            emitter.place(source_shift),
            target,
            emitter.place(target_shift),
        ]
        for axis in axes:
            entries += [emitter.place(size) for size in axis]
        op = Op.STRIDED_FLOAT if like.is_float else Op.STRIDED_INT
        emitter.emit(op, a=emitter.describe(entries))

    def alias(self, tile: Tile, shape: Sequence[Size]) -> Tile:
        """The same elements with another shape of equal size; a copy if they are broadcast."""
        if tile.is_contiguous or tile.is_splat:
            return self.emitter.retain(tile).reshaped(shape)
        return self.contiguous(tile).reshaped(shape)

    def integer(self, kind: ScalarType, value: int) -> Tile:
        return self.emitter.constant(value, kind)


def check_rank(rank: int) -> None:
    """Raise UnsupportedError for more dimensions than the VM walks."""
    if rank > MOST_DIMENSIONS:
        raise UnsupportedError(
            f"the vm engine moves tiles of at most {MOST_DIMENSIONS} dimensions, not {rank}"
        )


def tensor_type(operation: Operation) -> TensorType:
    """Type of the only result, a tensor."""
    kind = operation.result.type
    if not isinstance(kind, TensorType):
        raise LoweringError(f"{place(operation)}: the result must be a tensor, not {kind}")
    return kind


def is_elementwise(operation: Operation) -> bool:
    """Whether a result may take the place of an operand of equal size."""
    dialect = operation.name.split(".")[0]
    return dialect in ("arith", "math", "spyreop") or operation.name in _NAMED_ELEMENTWISE


_NAMED_ELEMENTWISE = {
    f"linalg.{name}"
    for name in (
        "add",
        "sub",
        "mul",
        "div",
        "max",
        "min",
        "powf",
        "exp",
        "log",
        "abs",
        "ceil",
        "floor",
        "negf",
        "tanh",
        "sqrt",
        "rsqrt",
        "square",
        "reciprocal",
        "erf",
        "round",
        "select",
        "generic",
        "map",
    )
}
