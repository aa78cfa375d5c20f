"""Integer arithmetic on coordinates: scalars, or one value per point of a block.

Everything emitted here steers addresses, so the null engine executes it as well.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from spyrelab.emulator.elementwise import TABLE
from spyrelab.emulator.families import CompareInt
from spyrelab.emulator.lowering.lowering import Lowering
from spyrelab.emulator.lowering.values import Size, Tile
from spyrelab.emulator.opcodes import Broadcast, Op
from spyrelab.ktir import I1, INDEX
from spyrelab.ktir.affine import AffineSet, Binary, Constant, Dim, Expr, Symbol

_ARITHMETIC = {
    "+": "arith.addi",
    "*": "arith.muli",
    "floordiv": "arith.floordivsi",
    "ceildiv": "arith.ceildivsi",
}
_SCALAR_OPS = {"arith.addi": Op.ADD, "arith.subi": Op.SUBTRACT, "arith.muli": Op.MULTIPLY}


@dataclass
class Coordinates:
    """Tiles of one flat block of points, released together.

    Parameters
    ----------
    count : Size
        Number of points.
    """

    lowering: Lowering
    count: Size
    _held: list[Tile] = field(default_factory=list)

    def fresh(self) -> Tile:
        """A tile of one integer per point."""
        tile = self.lowering.emitter.tile(INDEX, (self.count,))
        self._held.append(tile)
        return tile

    def hold(self, tile: Tile) -> None:
        """Release a tile together with the block's own."""
        self._held.append(tile)

    def release(self) -> None:
        for tile in self._held:
            self.lowering.emitter.release(tile)
        self._held.clear()

    def axis(self, inner: Size, extent: Size, first: Size) -> Tile:
        """Coordinate along one axis of the block, whose inner axes have ``inner`` points."""
        emitter = self.lowering.emitter
        tile = self.fresh()
        emitter.emit(
            Op.IOTA,
            dst=tile.place,
            a=emitter.place(inner),
            b=emitter.place(extent),
            c=emitter.place(first),
            size=emitter.place(self.count),
            needed=True,
        )
        return tile

    def binary(self, name: str, a: Tile, b: Tile) -> Tile:
        """``arith`` operation of two coordinates."""
        if not a.shape and not b.shape:
            return scalar_binary(self.lowering, name, a, b)
        emitter, row = self.lowering.emitter, TABLE[name]
        out = self.fresh()
        emitter.emit(
            Op.BINARY_INT,
            sub=int(row.sub or 0),
            dst=out.place,
            a=a.place,
            b=b.place,
            size=emitter.place(self.count),
            mode=_mode(a) | _mode(b) << 2,
            rounding=64,
            needed=True,
        )
        return out

    def compare(self, predicate: str, a: Tile, b: Tile) -> Tile:
        """1 where the comparison holds; a scalar if both operands are."""
        emitter = self.lowering.emitter
        scalar = not a.shape and not b.shape
        out = emitter.scalar(I1) if scalar else self.fresh()
        size = emitter.one.place if scalar else emitter.place(self.count)
        emitter.emit(
            Op.COMPARE_INT,
            sub=int(CompareInt[predicate.upper()]),
            dst=out.place,
            a=a.place,
            b=b.place,
            size=size,
            mode=_mode(a) | _mode(b) << 2,
            rounding=64,
            needed=True,
        )
        return out

    def select(self, condition: Tile, a: Tile, b: Tile) -> Tile:
        emitter = self.lowering.emitter
        out = self.fresh()
        mode = _mode(condition) | _mode(a) << 2 | _mode(b) << 4
        emitter.emit(
            Op.SELECT_INT,
            dst=out.place,
            a=condition.place,
            b=a.place,
            c=b.place,
            size=emitter.place(self.count),
            mode=mode,
            needed=True,
        )
        return out

    def evaluate(self, expr: Expr, dims: Sequence[Tile], symbols: Sequence[Tile]) -> Tile:
        """Value of an affine expression."""
        match expr:
            case Constant(value):
                return self.lowering.emitter.constant(value)
            case Dim(index):
                return dims[index]
            case Symbol(index):
                return symbols[index]
            case Binary("mod", left, right):
                a, b = (self.evaluate(e, dims, symbols) for e in (left, right))
                whole = self.binary("arith.floordivsi", a, b)
                return self.binary("arith.subi", a, self.binary("arith.muli", whole, b))
            case Binary(operator, left, right):
                a, b = (self.evaluate(e, dims, symbols) for e in (left, right))
                return self.binary(_ARITHMETIC[operator], a, b)
        raise AssertionError(expr)

    def contains(self, points: AffineSet, dims: Sequence[Tile], symbols: Sequence[Tile]) -> Tile:
        """1 where a point lies in a set."""
        emitter = self.lowering.emitter
        inside: Tile | None = None
        for constraint in points.constraints:
            value = self.evaluate(constraint.expr, dims, symbols)
            holds = self.compare("eq" if constraint.equality else "sge", value, emitter.zero)
            inside = holds if inside is None else self.binary("arith.andi", inside, holds)
        return inside if inside is not None else emitter.one

    def within(self, value: Tile, limit: Size) -> Tile:
        """1 where ``0 <= value < limit``."""
        emitter = self.lowering.emitter
        low = self.compare("sge", value, emitter.zero)
        high = self.compare("slt", value, emitter.tile_of(limit))
        return self.binary("arith.andi", low, high)


def evaluate(lowering: Lowering, expr: Expr, dims: Sequence[Tile], symbols: Sequence[Tile]) -> Tile:
    """Value of an affine expression over scalars."""
    return Coordinates(lowering, 1).evaluate(expr, dims, symbols)


def scalar_binary(lowering: Lowering, name: str, a: Tile, b: Tile, bits: int = 64) -> Tile:
    """Integer ``arith`` operation on scalars, folded where both are known."""
    emitter, row = lowering.emitter, TABLE[name]
    if bits == 64 and name in _SCALAR_OPS:
        return emitter.tile_of(emitter.arithmetic(_SCALAR_OPS[name], a, b))
    if a.constant is not None and b.constant is not None:
        value = row.reference([_array(a.constant), _array(b.constant)], INDEX, [INDEX] * 2, {})
        return emitter.constant(int(value))
    out = emitter.scalar(INDEX)
    emitter.emit(
        Op.BINARY_INT,
        sub=int(row.sub or 0),
        dst=out.place,
        a=a.place,
        b=b.place,
        rounding=bits,
        needed=True,
    )
    return out


def _array(value: int) -> np.ndarray:
    return np.asarray(value, np.int64)


def _mode(tile: Tile) -> int:
    return int(Broadcast.FULL if tile.shape else Broadcast.SCALAR)
