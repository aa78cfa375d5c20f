"""Lowering of ``ktdp.load`` and ``ktdp.store``.

A box of a plain view is one instruction.  Everything else (indirect tiles, sets that are no
box, partitions that may overlap, unusual visiting orders) becomes runs: start addresses
computed as integer tiles, `MASKED` where there is none, and one strided row behind each.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

from spyrelab.emulator.errors import LoweringError, place
from spyrelab.emulator.lowering.lowering import Lowering, check_rank, tensor_type
from spyrelab.emulator.lowering.points import check_tile, runs_of_box, runs_of_indirect
from spyrelab.emulator.lowering.registry import lowers
from spyrelab.emulator.lowering.runs import Runs
from spyrelab.emulator.lowering.sets import box_of
from spyrelab.emulator.lowering.values import (
    BoxTile,
    IndirectTile,
    Size,
    Tile,
    View,
)
from spyrelab.emulator.opcodes import BoxMode, Element, Op
from spyrelab.ktir import Operation, ScalarType

ELEMENTS = {
    "f32": Element.F32,
    "f16": Element.F16,
    "bf16": Element.BF16,
    "!spyreop.df16": Element.DF16,
    "!spyreop.df16_fused": Element.DF16,
    "!spyreop.fp16_fused": Element.F16,
    "!spyreop.fp32_fused": Element.F32,
    "f8E4M3FN": Element.F8E4M3,
    "f8E5M2": Element.F8E5M2,
    "i1": Element.I1,
    "i8": Element.I8,
    "i16": Element.I16,
    "i32": Element.I32,
    "i64": Element.I64,
    "index": Element.I64,
}


@lowers("ktdp.load")
def load(lowering: Lowering, operation: Operation) -> None:
    access = _access(lowering, operation, 0)
    kind = tensor_type(operation)
    plan = _plan(lowering, operation, access)
    shape = _result_shape(operation, plan.shape, kind.shape)
    _check_shapes(lowering, plan.shape, shape)
    tile = lowering.emitter.tile(kind.element, shape)
    plan.move(lowering, kind.element, tile.place, store=False)
    lowering.define(operation.result, tile)


@lowers("ktdp.store")
def store(lowering: Lowering, operation: Operation) -> None:
    value = lowering.tile(operation.operands[0])
    plan = _plan(lowering, operation, _access(lowering, operation, 1))
    _check_shapes(lowering, plan.shape, value.shape)
    tile = lowering.contiguous(value)
    plan.move(lowering, value.kind, tile.place, store=True)
    lowering.emitter.release(tile)


def _check_shapes(lowering: Lowering, walked: Sequence[Size], given: Sequence[Size]) -> None:
    """Emit checks that a tile and a tensor have equal shapes, or equal sizes in older texts."""
    emitter = lowering.emitter
    if len(walked) == len(given):
        emitter.check_equal(walked, given)
    else:
        emitter.check_equal([emitter.product(walked)], [emitter.product(given)])


def _access(lowering: Lowering, operation: Operation, operand: int) -> BoxTile | IndirectTile:
    access = lowering.environment[operation.operands[operand]]
    if not isinstance(access, (BoxTile, IndirectTile)):
        raise LoweringError(f"{place(operation)}: operand {operand} is no access tile")
    return access


def _result_shape(
    operation: Operation, walked: Sequence[Size], declared: Sequence[int | None]
) -> tuple[Size, ...]:
    """The declared shape where static; a dropped or added unit dimension is tolerated."""
    if all(extent is not None for extent in declared):
        static = [size for size in walked if isinstance(size, int)]
        if len(static) == len(walked) and _count(static) != _count(declared):
            raise LoweringError(
                f"{place(operation)}: the access tile has shape {static}, "
                f"the tensor {list(declared)}"
            )
        return tuple(int(extent or 0) for extent in declared)
    return tuple(walked)


def _count(shape: Sequence[int | None]) -> int:
    total = 1
    for extent in shape:
        total *= extent or 0
    return total


class Boxes:
    """Box transfers of the same tile, one for each partition that may hold a part of it."""

    def __init__(
        self,
        parts: Sequence[View],
        starts: Sequence[Sequence[Size]],
        extents: Sequence[Size],
        order: Sequence[int],
    ) -> None:
        self.parts = parts
        self.starts = starts
        self.extents = extents
        self.order = order
        self.shape = tuple(extents[axis] for axis in order)

    def move(self, lowering: Lowering, kind: ScalarType, at: int, store: bool) -> None:
        check_rank(len(self.order))
        emitter = lowering.emitter
        if len(self.parts) > 1 and not store:
            op = Op.FILL_FLOAT if kind.is_float else Op.FILL_INT
            zero = emitter.float_constant(0.0) if kind.is_float else emitter.zero.place
            emitter.emit(op, dst=at, a=zero, size=emitter.place(emitter.product(self.shape)))
        for number, (part, starts) in enumerate(zip(self.parts, self.starts, strict=True)):
            mode = BoxMode.FOLLOWS if number else BoxMode.FIRST
            if len(self.parts) == 1:
                mode = BoxMode.ALONE
            entries = [
                len(self.order),
                int(ELEMENTS[part.element.name]),
                part.address.place,
                at,
                part.space,
                int(mode),
            ]
            for axis in self.order:
                sizes = (starts[axis], self.extents[axis], part.strides[axis], part.limit[axis])
                entries += [emitter.place(size) for size in sizes]
            emitter.transfer(Op.STORE_BOX if store else Op.LOAD_BOX, entries, [part.origin])


def _plan(lowering: Lowering, operation: Operation, access: BoxTile | IndirectTile) -> Boxes | Runs:
    if isinstance(access, IndirectTile):
        return runs_of_indirect(lowering, operation, access)
    lows, extents, mask = box_of(lowering, operation, access.points, access.symbols)
    order = tuple(range(len(extents))) if access.order is None else access.order.permutation
    check_tile(lowering, extents, order, access.shape)
    parts = access.base.parts
    if mask is None and order is not None and all(part.mask is None for part in parts):
        parts = _in_order(parts, extents, order)
    else:
        parts = ()
    if order is None or not parts:
        return runs_of_box(lowering, operation, access, lows, extents, mask)
    emitter = lowering.emitter
    firsts = [emitter.add(a, b) for a, b in zip(access.starts, lows, strict=True)]
    starts = [
        [emitter.subtract(first, low) for first, low in zip(firsts, part.low, strict=True)]
        for part in parts
    ]
    return Boxes(parts, starts, extents, order)


def _in_order(
    parts: Sequence[View], extents: Sequence[Size], order: Sequence[int]
) -> tuple[View, ...]:
    """Partitions in the order in which the tile visits them, empty if that is not known.

    They may be moved one after the other if their boxes do not overlap, and if the walk does
    not come back to main memory in a partition that it has left: sticks are counted in order.
    """
    if len(parts) == 1:
        return tuple(parts)
    axis = next((d for d in order if extents[d] != 1), order[0] if order else 0)
    lows = [low for part in parts if isinstance(low := part.low[axis], int)]
    if len(lows) == len(parts):
        parts = [part for _, part in sorted(zip(lows, parts, strict=True), key=lambda p: p[0])]
    axes = list(range(len(extents)))
    if sum(part.space == 0 for part in parts) > 1:
        # Of partitions that are apart where the tile has a single index, one holds all of it.
        axes = [axis, *(d for d in axes if extents[d] == 1)]
    apart = all(any(_are_apart(a, b, d) for d in axes) for a, b in combinations(parts, 2))
    return tuple(parts) if apart else ()


def _are_apart(a: View, b: View, axis: int) -> bool:
    return _separate(a.low[axis], a.limit[axis], b.low[axis], b.limit[axis])


def _separate(low_a: Size, extent_a: Size, low_b: Size, extent_b: Size) -> bool:
    a, b = low_a, low_b
    if isinstance(a, Tile) or isinstance(b, Tile):
        return False
    before = isinstance(extent_a, int) and a + extent_a <= b
    return before or (isinstance(extent_b, int) and b + extent_b <= a)
