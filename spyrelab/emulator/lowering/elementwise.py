"""Lowering of elementwise operations on scalars and tiles, broadcasts included for free."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from spyrelab.emulator.conversions import conversion_of
from spyrelab.emulator.counters import UNITS
from spyrelab.emulator.elementwise import TABLE, Elementwise, predicate_of
from spyrelab.emulator.families import Conversion, Family
from spyrelab.emulator.formats import ROUNDING
from spyrelab.emulator.lowering.lowering import Lowering
from spyrelab.emulator.lowering.registry import lowers
from spyrelab.emulator.lowering.values import Attributes, Size, Tile
from spyrelab.emulator.opcodes import Broadcast, Op
from spyrelab.ktir import Operation, ScalarType
from spyrelab.ktir.types import element_of

_OPS = {
    Family.UNARY_FLOAT: Op.UNARY_FLOAT,
    Family.BINARY_FLOAT: Op.BINARY_FLOAT,
    Family.TERNARY_FLOAT: Op.TERNARY_FLOAT,
    Family.POWER_FLOAT_INT: Op.POWER,
    Family.CLASSIFY_FLOAT: Op.CLASSIFY,
    Family.COMPARE_FLOAT: Op.COMPARE_FLOAT,
    Family.UNARY_INT: Op.UNARY_INT,
    Family.BINARY_INT: Op.BINARY_INT,
    Family.TERNARY_INT: Op.TERNARY_INT,
    Family.COMPARE_INT: Op.COMPARE_INT,
}


@dataclass(frozen=True)
class Split:
    """``outer x inner`` view of a shape, and how each operand broadcasts in it."""

    outer: Size
    inner: Size
    modes: tuple[Broadcast, ...]

    def mode(self) -> int:
        return sum(int(mode) << 2 * i for i, mode in enumerate(self.modes))


@lowers(*TABLE)
def elementwise(lowering: Lowering, operation: Operation) -> None:
    operands = [lowering.tile(value) for value in operation.operands]
    kind = element_of(operation.result.type)
    kinds = [element_of(value.type) for value in operation.operands]
    row = TABLE[operation.name]
    if operation.name == "arith.truncf" and lowering.is_only_stored(operation.result):
        # The store rounds to the same format, so rounding here would do it twice.
        tile = operands[0]
        count(lowering, row, tile.shape, True)
        lowering.define(operation.result, _retyped(lowering.emitter.retain(tile), kind))
        return
    result = apply(lowering, row, operands, kinds, kind, operation.attributes)
    lowering.define(operation.result, result)


def apply(
    lowering: Lowering,
    row: Elementwise,
    operands: Sequence[Tile],
    kinds: Sequence[ScalarType],
    kind: ScalarType,
    attributes: Attributes,
    counted: bool = True,
) -> Tile:
    """Emit an elementwise operation and return its result, a fresh reference."""
    operands = [*operands, *_literals(lowering, row, operands, kinds[0], attributes)]
    folded = _fold(lowering, row, operands, kinds, kind, attributes)
    if folded is not None:
        return folded
    shape, *others = [t.shape for t in operands if t.shape] or [()]
    for other in others:
        lowering.emitter.check_equal(other, shape)
    if row.family is Family.CONVERT and _is_free(kinds[0], kind):
        # A wider float holds the same value, so nothing is computed.
        count(lowering, row, shape, counted)
        return _retyped(lowering.emitter.retain(operands[0]), kind)
    out = lowering.emitter.tile(kind, shape)
    split, tiles = _arrange(lowering, shape, operands)
    _emit(lowering, row, tiles, kinds, kind, attributes, split, out, counted)
    for tile in tiles:
        lowering.emitter.release(tile)
    return out


def _retyped(tile: Tile, kind: ScalarType) -> Tile:
    return Tile(kind, tile.place, tile.shape, tile.kept, tile.buffer)


def _is_free(source: ScalarType, target: ScalarType) -> bool:
    exact = {
        ("f16", "f32"),
        ("bf16", "f32"),
        ("f8E4M3FN", "f16"),
        ("f8E5M2", "f16"),
        ("f8E4M3FN", "f32"),
        ("f8E5M2", "f32"),
        ("!spyreop.df16", "f32"),
    }
    return (source.name, target.name) in exact


def _literals(
    lowering: Lowering,
    row: Elementwise,
    operands: Sequence[Tile],
    kind: ScalarType,
    attributes: Attributes,
) -> list[Tile]:
    """Operands that stand as attributes in the text."""
    given, tiles = len(operands) - 1, []
    for name, default in row.literals:
        if name not in attributes and given:
            given -= 1
            continue
        value = attributes.get(name, default)
        if kind.is_float:
            tiles.append(Tile(kind, lowering.emitter.float_constant(float(value))))
        else:
            tiles.append(lowering.emitter.constant(int(value), kind))
    return tiles


def _fold(
    lowering: Lowering,
    row: Elementwise,
    operands: Sequence[Tile],
    kinds: Sequence[ScalarType],
    kind: ScalarType,
    attributes: Attributes,
) -> Tile | None:
    """The constant that integer scalars combine to, if all are known."""
    known = [tile.constant for tile in operands if not tile.shape]
    if len(known) != len(operands) or None in known or kind.is_float:
        return None
    arrays = [np.asarray(value, np.int64) for value in known]
    value = row.reference(arrays, kind, list(kinds), attributes)
    return lowering.emitter.constant(int(value), kind)


def _arrange(
    lowering: Lowering, shape: Sequence[Size], operands: Sequence[Tile]
) -> tuple[Split, list[Tile]]:
    """Choose rows and columns; operands that do not fit are stored in full first."""
    cuts = [_cut(tile) for tile in operands]
    proposals = [cut for _, cut in cuts if cut is not None]
    chosen = proposals[0] if proposals else len(shape)
    modes, tiles = [], []
    for tile, (mode, cut) in zip(operands, cuts, strict=True):
        if mode is None or (cut is not None and cut != chosen):
            mode, tile = Broadcast.FULL, lowering.contiguous(tile)
        else:
            tile = lowering.emitter.retain(tile)
        modes.append(mode)
        tiles.append(tile)
    product = lowering.emitter.product
    if not proposals:
        return Split(1, product(shape), tuple(modes)), tiles
    return Split(product(shape[:chosen]), product(shape[chosen:]), tuple(modes)), tiles


def _cut(tile: Tile) -> tuple[Broadcast | None, int | None]:
    """How an operand broadcasts, and the axis between its kept and its broadcast part."""
    axes = [
        (axis, kept)
        for axis, (extent, kept) in enumerate(zip(tile.shape, tile.kept, strict=True))
        if extent != 1
    ]
    flags = [kept for _, kept in axes]
    if not any(flags):
        return Broadcast.SCALAR, None
    if all(flags):
        return Broadcast.FULL, None
    change = next(i for i in range(1, len(flags)) if flags[i] != flags[0])
    if any(flag == flags[0] for flag in flags[change:]):
        return None, None
    return (Broadcast.COLUMN if flags[0] else Broadcast.ROW), axes[change][0]


def count(lowering: Lowering, row: Elementwise, shape: Sequence[Size], counted: bool) -> None:
    """Count one operation at every point of a shape."""
    if counted and shape:
        emitter = lowering.emitter
        emitter.emit(Op.COUNT, size=emitter.place(emitter.product(shape)), unit=_unit(row))


def _unit(row: Elementwise) -> int:
    return int(UNITS[row.cost.value])


def _emit(
    lowering: Lowering,
    row: Elementwise,
    tiles: Sequence[Tile],
    kinds: Sequence[ScalarType],
    kind: ScalarType,
    attributes: Attributes,
    split: Split,
    out: Tile,
    counted: bool,
) -> None:
    emitter = lowering.emitter
    places = [tile.place for tile in tiles] + [0, 0]
    unit = _unit(row) if counted and out.shape else -1
    rounding = ROUNDING[kind.name] if kind.is_float else kind.bits
    op, sub = _code(row, kinds, kind, attributes)
    if row.family in (Family.COMPARE_INT, Family.POWER_FLOAT_INT):
        rounding = kinds[0].bits if row.family is Family.COMPARE_INT else rounding
    extra = places[2]
    if row.family is Family.CONVERT:
        extra = _source_code(sub, kinds[0], kind)
    emitter.emit(
        op,
        sub=sub,
        dst=out.place,
        a=places[0],
        b=places[1],
        c=extra,
        mode=split.mode(),
        rounding=rounding,
        unit=unit,
        size=emitter.place(split.inner),
        outer=emitter.place(split.outer),
    )


def _code(
    row: Elementwise, kinds: Sequence[ScalarType], kind: ScalarType, attributes: Attributes
) -> tuple[Op, int]:
    if row.family is Family.SELECT:
        return (Op.SELECT_FLOAT if kind.is_float else Op.SELECT_INT), 0
    if row.family is Family.CONVERT:
        return Op.CONVERT, int(conversion_of(row.name, kinds[0], kind))
    if row.family in (Family.COMPARE_FLOAT, Family.COMPARE_INT):
        return _OPS[row.family], int(predicate_of(row.name, attributes))
    return _OPS[row.family], int(row.sub or 0)


def _source_code(sub: int, source: ScalarType, target: ScalarType) -> int:
    """What a conversion must know of its operand: its width, or its float format."""
    if sub in (int(Conversion.FLOAT_TO_BITS), int(Conversion.FLOAT_BITS_TO_FLOAT)):
        return ROUNDING[source.name]
    return source.bits
