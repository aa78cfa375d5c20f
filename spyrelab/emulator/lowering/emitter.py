"""Emission of VM instructions: rows, descriptors, constants, scalars and tile buffers."""

from __future__ import annotations

import math
import struct
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from spyrelab.emulator.lowering.arena import Arena
from spyrelab.emulator.lowering.values import Buffer, Size, Tile
from spyrelab.emulator.opcodes import WIDTH, Column, Op, Place
from spyrelab.ktir import INDEX, Operation, ScalarType


class ZoneFullError(Exception):
    """The zone for scalars and constants is too small; lower again with a larger one."""


@dataclass(frozen=True)
class TransferNote:
    """What the sanitizer wants to know of a transfer.

    ``origins`` constructed its views; ``indices`` are the places of loaded coordinates (see
    `spyrelab.emulator.lowering.runs.Indices`), empty if there are none.
    """

    origins: tuple[Operation | None, ...]
    indices: tuple[int, ...] = ()


class Emitter:
    """Growing program.

    Each arena begins with a zone for scalars and constants, which is written at the start of
    every core, and goes on with tile buffers.
    """

    def __init__(self, zone: int, lx_bytes: int) -> None:
        self.zone = zone
        self.lx_bytes = lx_bytes
        self.code: list[list[int]] = []
        self.pool: list[int] = []
        self.sources: list[int] = []
        self.transfers: dict[int, TransferNote] = {}
        self.prints: dict[int, tuple[Tile, ...]] = {}
        """What the host reads at a row that prints."""
        self.source = -1
        self.needed = False
        self.integers = [0] * int(Place.FIRST_FREE)
        self.floats: list[float] = []
        self.arenas = {True: Arena(zone), False: Arena(zone)}
        self._integer_constants: dict[int, Tile] = {}
        self._float_constants: dict[bytes, int] = {}
        self.zero = self.constant(0)
        self.one = self.constant(1)

    # -- rows -------------------------------------------------------------------------------

    def emit(
        self,
        op: Op,
        *,
        sub: int = 0,
        dst: int = 0,
        a: int = 0,
        b: int = 0,
        c: int = 0,
        size: int | None = None,
        outer: int | None = None,
        mode: int = 0,
        rounding: int = 0,
        unit: int = -1,
        needed: bool | None = None,
    ) -> int:
        """Append a row and return its number; sizes default to the place of the constant 1."""
        row = [0] * WIDTH
        row[Column.OP], row[Column.SUB], row[Column.DST] = int(op), sub, dst
        row[Column.A], row[Column.B], row[Column.C] = a, b, c
        row[Column.SIZE] = self.one.place if size is None else size
        row[Column.OUTER] = self.one.place if outer is None else outer
        row[Column.MODE], row[Column.ROUND], row[Column.UNIT] = mode, rounding, unit
        row[Column.NEEDED] = int(self.needed if needed is None else needed)
        self.code.append(row)
        self.sources.append(self.source)
        return len(self.code) - 1

    def here(self) -> int:
        """Number of the next row."""
        return len(self.code)

    def patch(self, row: int, column: Column, value: int) -> None:
        self.code[row][column] = value

    def transfer(
        self,
        op: Op,
        entries: Sequence[int],
        origins: Sequence[Operation | None],
        indices: Sequence[int] = (),
    ) -> None:
        """Append a transfer with its descriptor, and a note on it."""
        row = self.emit(op, a=self.describe(entries))
        self.transfers[row] = TransferNote(tuple(origins), tuple(indices))

    def describe(self, entries: Sequence[int]) -> int:
        """Append a descriptor to the pool and return its offset."""
        start = len(self.pool)
        self.pool.extend(int(entry) for entry in entries)
        return start

    # -- constants and scalars ---------------------------------------------------------------

    def constant(self, value: int, kind: ScalarType = INDEX) -> Tile:
        """An integer constant (one place per value)."""
        known = self._integer_constants.get(value)
        if known is None:
            place = self._integer_place(value)
            known = Tile(INDEX, place, constant=value)
            self._integer_constants[value] = known
        return known if kind == INDEX else Tile(kind, known.place, constant=value)

    def float_constant(self, value: float) -> int:
        """Place of a float32 constant in F."""
        bits = struct.pack("<f", value)
        if bits not in self._float_constants:
            self._float_constants[bits] = self._float_place([value])
        return self._float_constants[bits]

    def is_float_constant(self, place: int) -> bool:
        return place in self._float_constants.values()

    def dense(self, kind: ScalarType, values: np.ndarray) -> int:
        """Place of a constant tile, stored with the constants."""
        if kind.is_float:
            return self._float_place(values.astype(np.float32).tolist())
        start = len(self.integers)
        self.integers.extend(int(v) for v in values)
        self._check_zone(len(self.integers))
        return start

    def scalar(self, kind: ScalarType) -> Tile:
        """A fresh scalar."""
        place = self._float_place([0.0]) if kind.is_float else self._integer_place(0)
        return Tile(kind, place)

    def _integer_place(self, value: int) -> int:
        self.integers.append(value)
        self._check_zone(len(self.integers))
        return len(self.integers) - 1

    def _float_place(self, values: Sequence[float]) -> int:
        start = len(self.floats)
        self.floats.extend(values)
        self._check_zone(len(self.floats))
        return start

    def _check_zone(self, used: int) -> None:
        if used > self.zone:
            raise ZoneFullError

    # -- sizes -------------------------------------------------------------------------------

    def tile_of(self, size: Size) -> Tile:
        return self.constant(size) if isinstance(size, int) else size

    def place(self, size: Size) -> int:
        """Place in I that holds a size."""
        return self.tile_of(size).place

    def arithmetic(self, op: Op, a: Size, b: Size) -> Size:
        """``a op b`` for ADD, SUBTRACT or MULTIPLY on 64-bit integers, folded where known."""
        left, right = _known(a), _known(b)
        if left is not None and right is not None:
            return _wrap(_FOLD[op](left, right))
        if (right == 0 and op != Op.MULTIPLY) or (right == 1 and op == Op.MULTIPLY):
            return a
        if (left == 0 and op == Op.ADD) or (left == 1 and op == Op.MULTIPLY):
            return b
        if op == Op.MULTIPLY and 0 in (left, right):
            return 0
        out = self.scalar(INDEX)
        self.emit(op, dst=out.place, a=self.place(a), b=self.place(b), needed=True)
        return out

    def add(self, a: Size, b: Size) -> Size:
        return self.arithmetic(Op.ADD, a, b)

    def subtract(self, a: Size, b: Size) -> Size:
        return self.arithmetic(Op.SUBTRACT, a, b)

    def multiply(self, a: Size, b: Size) -> Size:
        return self.arithmetic(Op.MULTIPLY, a, b)

    def product(self, sizes: Sequence[Size]) -> Size:
        total: Size = 1
        for size in sizes:
            total = self.multiply(total, size)
        return total

    def check_equal(self, shape: Sequence[Size], wanted: Sequence[Size]) -> None:
        """Emit the check that two shapes agree, unless that is known."""
        for extent, other in zip(shape, wanted, strict=True):
            a, b = self.place(extent), self.place(other)
            if a != b:
                self.emit(Op.CHECK_EQUAL, a=a, b=b, needed=True)

    # -- buffers -----------------------------------------------------------------------------

    def tile(self, kind: ScalarType, shape: Sequence[Size]) -> Tile:
        """A fresh contiguous tile; the caller holds one reference to its buffer.

        A tile of dynamic size gets room for a whole scratchpad and a size check.
        """
        if not shape:
            return self.scalar(kind)
        if all(isinstance(extent, int) for extent in shape):
            capacity = math.prod(extent for extent in shape if isinstance(extent, int))
        else:
            capacity = self.lx_bytes // max(1, kind.itemsize)
            self._check_sizes(shape, capacity)
        start = self.arenas[kind.is_float].allocate(capacity)
        buffer = Buffer(kind.is_float, start, capacity, references=1)
        return Tile(kind, start, tuple(shape), (True,) * len(shape), buffer)

    def _check_sizes(self, shape: Sequence[Size], capacity: int) -> None:
        """Check every extent and every partial product: a product alone may wrap to few."""
        total: Size = 1
        for extent in shape:
            total = self.multiply(total, extent)
            for size in dict.fromkeys((self.place(extent), self.place(total))):
                self.emit(Op.CHECK_SIZE, a=size, b=self.place(capacity), needed=True)

    def tile_apart(self, kind: ScalarType, shape: Sequence[int]) -> Tile:
        """A tile that shares its place with no other, for other cores to read at any time."""
        if not shape:
            return self.scalar(kind)
        count = math.prod(shape)
        start = self.arenas[kind.is_float].allocate_apart(count)
        buffer = Buffer(kind.is_float, start, count, references=1)
        return Tile(kind, start, tuple(shape), (True,) * len(shape), buffer)

    def release(self, tile: Tile) -> None:
        """Drop one reference to a tile's buffer."""
        buffer = tile.buffer
        if buffer is not None:
            buffer.references -= 1
            if buffer.references == 0:
                self.arenas[buffer.is_float].release(buffer.start, buffer.capacity)

    def retain(self, tile: Tile) -> Tile:
        """Take one more reference to a tile's buffer."""
        if tile.buffer is not None:
            tile.buffer.references += 1
        return tile


_FOLD = {
    Op.ADD: lambda a, b: a + b,
    Op.SUBTRACT: lambda a, b: a - b,
    Op.MULTIPLY: lambda a, b: a * b,
}


def _known(size: Size) -> int | None:
    return size if isinstance(size, int) else size.constant


def _wrap(value: int) -> int:
    return (value + (1 << 63)) % (1 << 64) - (1 << 63)
