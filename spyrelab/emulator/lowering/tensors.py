"""Lowering of ``tensor`` operations: shapes, slices, single elements."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from spyrelab.emulator.counters import Column as Counter
from spyrelab.emulator.errors import LoweringError, UnsupportedError, place
from spyrelab.emulator.lowering.bodies import evaluate_body
from spyrelab.emulator.lowering.control import scalar_constant
from spyrelab.emulator.lowering.coordinates import Coordinates
from spyrelab.emulator.lowering.lowering import Lowering, tensor_type
from spyrelab.emulator.lowering.registry import lowers
from spyrelab.emulator.lowering.values import Size, Tile
from spyrelab.emulator.opcodes import Op
from spyrelab.ktir import INDEX, Operation, TensorType


def count_moves(lowering: Lowering, shape: Sequence[Size]) -> None:
    """Count moved elements."""
    emitter = lowering.emitter
    size = emitter.place(emitter.product(shape))
    emitter.emit(Op.COUNT, size=size, unit=int(Counter.OPS_MOVE))


@lowers("tensor.empty")
def empty(lowering: Lowering, operation: Operation) -> None:
    kind = tensor_type(operation)
    dynamic = [lowering.tile(value) for value in operation.operands]
    zero = scalar_constant(lowering, kind.element, 0)
    lowering.define(operation.result, splat_of(zero, lowering.shape_of(kind, dynamic)))


@lowers("tensor.splat")
def splat(lowering: Lowering, operation: Operation) -> None:
    value, *dynamic = (lowering.tile(v) for v in operation.operands)
    shape = lowering.shape_of(tensor_type(operation), dynamic)
    lowering.define(operation.result, splat_of(value, shape))


def splat_of(value: Tile, shape: Sequence[Size]) -> Tile:
    """One value for all elements; nothing is stored."""
    return Tile(value.kind, value.place, tuple(shape), (False,) * len(shape))


@lowers("tensor.extract")
def extract(lowering: Lowering, operation: Operation) -> None:
    source, *indices = (lowering.tile(v) for v in operation.operands)
    shape = next((index.shape for index in indices if index.shape), ())
    stored = lowering.contiguous(source) if shape else source
    lowering.define(operation.result, _take(lowering, stored, indices, shape))
    if shape:
        lowering.emitter.release(stored)


def _take(lowering: Lowering, source: Tile, indices: Sequence[Tile], shape: Sequence[Size]) -> Tile:
    """Elements at indices: one, or (inside a body) one for every point."""
    emitter = lowering.emitter
    op = Op.TAKE_FLOAT if source.is_float else Op.TAKE_INT
    limit = emitter.place(emitter.product(source.shape))
    if not shape:
        out = emitter.scalar(source.kind)
        offset = _element_offset(lowering, source, indices)
        emitter.emit(op, dst=out.place, a=source.place, b=emitter.place(offset), c=limit)
        return out
    block = Coordinates(lowering, emitter.product(shape))
    total = emitter.zero
    axes = zip(indices, source.shape, lowering.strides(source), strict=True)
    for index, extent, stride in axes:
        dense = lowering.contiguous(index)
        block.hold(dense)
        flat = dense.reshaped((block.count,)) if dense.shape else dense
        check_range(lowering, flat, extent, points=block.count if dense.shape else 1)
        part = block.binary("arith.muli", flat, emitter.tile_of(stride))
        total = block.binary("arith.addi", total, part)
    out = emitter.tile(source.kind, shape)
    emitter.emit(
        op, dst=out.place, a=source.place, b=total.place, c=limit, size=emitter.place(block.count)
    )
    block.release()
    return out


@lowers("tensor.insert")
def insert(lowering: Lowering, operation: Operation) -> None:
    scalar, target, *indices = (lowering.tile(v) for v in operation.operands)
    out = _fresh_copy(lowering, target)
    offset = _element_offset(lowering, out, indices)
    lowering.copy_strided(out, (1,), scalar.place, (1,), out.place, (1,), target_shift=offset)
    lowering.define(operation.result, out)


def _fresh_copy(lowering: Lowering, tile: Tile) -> Tile:
    out = lowering.emitter.tile(tile.kind, tile.shape)
    lowering.copy(tile, out)
    return out


def _element_offset(lowering: Lowering, tile: Tile, indices: Sequence[Tile]) -> Size:
    emitter = lowering.emitter
    offset: Size = 0
    for index, extent, stride in zip(indices, tile.shape, lowering.strides(tile), strict=True):
        check_range(lowering, index, extent)
        offset = emitter.add(offset, emitter.multiply(index, stride))
    return offset


def check_range(
    lowering: Lowering, index: Size, limit: Size, count: Size = 1, points: Size | None = None
) -> None:
    """Emit the check ``0 <= index < limit`` unless it is known to hold or ``count`` is 0.

    ``points``: number of indices, one behind the other, that the null engine need not know.
    """
    emitter = lowering.emitter
    tile = emitter.tile_of(index)
    if isinstance(limit, int) and tile.constant is not None and 0 <= tile.constant < limit:
        return
    emitter.emit(
        Op.CHECK_RANGE,
        a=tile.place,
        b=emitter.place(limit),
        size=emitter.place(count),
        outer=emitter.place(1 if points is None else points),
        needed=points is None or None,
    )


@lowers("tensor.from_elements")
def from_elements(lowering: Lowering, operation: Operation) -> None:
    kind = tensor_type(operation)
    out = lowering.emitter.tile(kind.element, lowering.shape_of(kind, ()))
    for number, value in enumerate(operation.operands):
        element = lowering.tile(value)
        op = Op.FILL_FLOAT if out.is_float else Op.FILL_INT
        lowering.emitter.emit(op, dst=out.place + number, a=element.place)
    lowering.define(operation.result, out)


@lowers("tensor.generate")
def generate(lowering: Lowering, operation: Operation) -> None:
    kind = tensor_type(operation)
    dynamic = [lowering.tile(value) for value in operation.operands]
    shape = lowering.shape_of(kind, dynamic)
    region = operation.regions[0]
    indices = [axis_tile(lowering, shape, axis) for axis in range(len(shape))]
    (yielded,) = evaluate_body(lowering, region, indices, shape)
    lowering.define(operation.result, full(lowering, yielded, shape))
    lowering.emitter.release(yielded)


def axis_tile(lowering: Lowering, shape: Sequence[Size], axis: int) -> Tile:
    """The index along one axis at every point of a shape (stored along that axis only)."""
    emitter = lowering.emitter
    line = emitter.tile(INDEX, (shape[axis],))
    emitter.emit(
        Op.IOTA,
        dst=line.place,
        a=emitter.one.place,
        b=emitter.place(shape[axis]),
        c=emitter.zero.place,
        size=emitter.place(shape[axis]),
    )
    kept = tuple(d == axis for d in range(len(shape)))
    return Tile(INDEX, line.place, tuple(shape), kept, line.buffer)


def full(lowering: Lowering, tile: Tile, shape: Sequence[Size]) -> Tile:
    """A body's result over the whole iteration space, stored in full; a fresh reference."""
    if not tile.shape and shape:
        tile = Tile(tile.kind, tile.place, tuple(shape), (False,) * len(shape))
    return lowering.contiguous(tile)


# -- shapes ----------------------------------------------------------------------------------


@lowers("tensor.expand_shape", "tensor.collapse_shape", "tensor.reshape", "tensor.cast")
def reshape(lowering: Lowering, operation: Operation) -> None:
    source = lowering.tile(operation.operands[0])
    kind = tensor_type(operation)
    shape = _target_shape(lowering, operation, source, kind)
    lowering.define(operation.result, lowering.alias(source, shape))


def _target_shape(
    lowering: Lowering, operation: Operation, source: Tile, kind: TensorType
) -> tuple[Size, ...]:
    product = lowering.emitter.product
    if None not in kind.shape:
        shape = lowering.shape_of(kind, ())
        lowering.emitter.check_equal([product(source.shape)], [product(shape)])
        return shape
    if operation.name == "tensor.cast":
        return source.shape
    if operation.name == "tensor.collapse_shape":
        groups = operation.attributes["reassociation"]
        return tuple(product([source.shape[axis] for axis in group]) for group in groups)
    if operation.name == "tensor.expand_shape" and operation.attributes.get("output_shape"):
        dynamic = iter(lowering.tile(v) for v in operation.operands[1:])
        given = operation.attributes["output_shape"]
        shape = tuple(next(dynamic) if extent is None else extent for extent in given)
        lowering.emitter.check_equal([product(source.shape)], [product(shape)])
        return shape
    raise UnsupportedError(f"{place(operation)}: a dynamic result shape is not known here")


@lowers("tensor.dim")
def dimension(lowering: Lowering, operation: Operation) -> None:
    source, axis = (lowering.tile(v) for v in operation.operands)
    if axis.constant is None or not 0 <= axis.constant < len(source.shape):
        raise LoweringError(f"{place(operation)}: the dimension must be a constant within rank")
    extent = source.shape[axis.constant]
    lowering.define(operation.result, lowering.emitter.tile_of(extent))


# -- slices ----------------------------------------------------------------------------------


@lowers("tensor.extract_slice")
def extract_slice(lowering: Lowering, operation: Operation) -> None:
    source = lowering.tile(operation.operands[0])
    offsets, sizes, steps = _slice(lowering, operation, 1)
    whole = lowering.contiguous(source)
    out = lowering.emitter.tile(source.kind, sizes)
    shift, strides = _window(lowering, whole, offsets, sizes, steps)
    lowering.copy_strided(
        out, sizes, whole.place, strides, out.place, lowering.strides(out), source_shift=shift
    )
    lowering.emitter.release(whole)
    count_moves(lowering, sizes)
    kind = tensor_type(operation)
    known = tuple(extent for extent in kind.shape if extent is not None)
    result = out.reshaped(known) if len(known) == len(kind.shape) else out
    lowering.define(operation.result, result)


@lowers("tensor.insert_slice")
def insert_slice(lowering: Lowering, operation: Operation) -> None:
    source, target = (lowering.tile(v) for v in operation.operands[:2])
    offsets, sizes, steps = _slice(lowering, operation, 2)
    block = lowering.contiguous(source)
    product = lowering.emitter.product
    lowering.emitter.check_equal([product(source.shape)], [product(sizes)])
    out = _fresh_copy(lowering, target)
    shift, strides = _window(lowering, out, offsets, sizes, steps)
    dense = Tile(block.kind, block.place, sizes, (True,) * len(sizes))
    lowering.copy_strided(
        out,
        sizes,
        block.place,
        lowering.strides(dense),
        out.place,
        strides,
        target_shift=shift,
    )
    lowering.emitter.release(block)
    count_moves(lowering, sizes)
    lowering.define(operation.result, out)


def _slice(
    lowering: Lowering, operation: Operation, first: int
) -> tuple[tuple[Size, ...], tuple[Size, ...], tuple[Size, ...]]:
    dynamic = iter([lowering.tile(v) for v in operation.operands[first:]])

    def mixed(name: str) -> tuple[Size, ...]:
        return tuple(_next(dynamic) if n is None else n for n in operation.attributes[name])

    return mixed("offsets"), mixed("sizes"), mixed("strides")


def _next(dynamic: Iterator[Tile]) -> Size:
    tile = next(dynamic)
    return tile if tile.constant is None else tile.constant


def _window(
    lowering: Lowering,
    tile: Tile,
    offsets: Sequence[Size],
    sizes: Sequence[Size],
    steps: Sequence[Size],
) -> tuple[Size, list[Size]]:
    """Offset of a window's first element, and its strides; the window must lie inside."""
    emitter = lowering.emitter
    shift: Size = 0
    strides: list[Size] = []
    axes = zip(tile.shape, lowering.strides(tile), offsets, sizes, steps, strict=True)
    for extent, stride, offset, size, step in axes:
        last = emitter.add(offset, emitter.multiply(emitter.subtract(size, 1), step))
        if size != 0:
            check_range(lowering, offset, extent, size)
            check_range(lowering, last, extent, size)
        shift = emitter.add(shift, emitter.multiply(offset, stride))
        strides.append(emitter.multiply(stride, step))
    return shift, strides


@lowers("tensor.concat")
def concat(lowering: Lowering, operation: Operation) -> None:
    axis = operation.attributes["dim"]
    tiles = [lowering.contiguous(lowering.tile(v)) for v in operation.operands]
    emitter = lowering.emitter
    total: Size = 0
    for tile in tiles:
        total = emitter.add(total, tile.shape[axis])
        around = (*tile.shape[:axis], *tile.shape[axis + 1 :])
        emitter.check_equal(around, (*tiles[0].shape[:axis], *tiles[0].shape[axis + 1 :]))
    shape = (*tiles[0].shape[:axis], total, *tiles[0].shape[axis + 1 :])
    out = emitter.tile(tiles[0].kind, shape)
    strides = lowering.strides(out)
    shift: Size = 0
    for tile in tiles:
        lowering.copy_strided(
            out,
            tile.shape,
            tile.place,
            lowering.strides(tile),
            out.place,
            strides,
            target_shift=emitter.multiply(shift, strides[axis]),
        )
        shift = emitter.add(shift, tile.shape[axis])
        emitter.release(tile)
    count_moves(lowering, shape)
    lowering.define(operation.result, out)


@lowers("tensor.pad")
def pad(lowering: Lowering, operation: Operation) -> None:
    source = lowering.tile(operation.operands[0])
    low, high = operation.attributes["low"], operation.attributes["high"]
    if None in low or None in high:
        raise UnsupportedError(f"{place(operation)}: the vm engine pads by static amounts only")
    emitter = lowering.emitter
    shape = tuple(
        emitter.add(extent, a + b) for extent, a, b in zip(source.shape, low, high, strict=True)
    )
    indices = [axis_tile(lowering, shape, axis) for axis in range(len(shape))]
    (value,) = evaluate_body(lowering, operation.regions[0], indices, shape)
    out = emitter.tile(source.kind, shape)
    around = full(lowering, value, shape)
    lowering.copy(around, out)
    block = lowering.contiguous(source)
    shift, strides = _window(lowering, out, low, source.shape, (1,) * len(shape))
    lowering.copy_strided(
        out,
        source.shape,
        block.place,
        lowering.strides(block),
        out.place,
        strides,
        target_shift=shift,
    )
    for tile in (around, block, value):
        emitter.release(tile)
    count_moves(lowering, shape)
    lowering.define(operation.result, out)
