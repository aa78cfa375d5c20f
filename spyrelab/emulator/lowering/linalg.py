"""Lowering of named linalg operations."""

from __future__ import annotations

from collections.abc import Sequence

from spyrelab.emulator.counters import Column as Counter
from spyrelab.emulator.elementwise import LINALG_NAMES, TABLE, named_row
from spyrelab.emulator.formats import ROUNDING
from spyrelab.emulator.lowering.bodies import evaluate_body
from spyrelab.emulator.lowering.elementwise import apply
from spyrelab.emulator.lowering.lowering import Lowering
from spyrelab.emulator.lowering.registry import lowers
from spyrelab.emulator.lowering.tensors import count_moves, full, splat_of
from spyrelab.emulator.lowering.values import Size, Tile
from spyrelab.emulator.opcodes import Op
from spyrelab.ktir import I1, Operation, ScalarType

CONTRACTIONS = {
    # name: (batched, left transposed, right transposed, left is a vector, right is a vector)
    "matmul": (False, False, False, False, False),
    "matmul_transpose_a": (False, True, False, False, False),
    "matmul_transpose_b": (False, False, True, False, False),
    "batch_matmul": (True, False, False, False, False),
    "batch_matmul_transpose_a": (True, True, False, False, False),
    "batch_matmul_transpose_b": (True, False, True, False, False),
    "matvec": (False, False, False, False, True),
    "vecmat": (False, False, False, True, False),
    "dot": (False, False, False, True, True),
    "batch_matvec": (True, False, False, False, True),
}


def operands_of(lowering: Lowering, operation: Operation) -> tuple[list[Tile], list[Tile]]:
    """Tiles of ins and of outs."""
    count = operation.attributes["inputs"]
    tiles = [lowering.tile(value) for value in operation.operands]
    return tiles[:count], tiles[count:]


@lowers("linalg.fill")
def fill(lowering: Lowering, operation: Operation) -> None:
    (value,), (out,) = operands_of(lowering, operation)
    lowering.define(operation.result, splat_of(_typed(lowering, value, out.kind), out.shape))


def _typed(lowering: Lowering, tile: Tile, kind: ScalarType) -> Tile:
    """A tile rounded or wrapped to an element type; a fresh reference, counts nothing."""
    if tile.kind == kind:
        return lowering.emitter.retain(tile)
    row = TABLE["linalg.copy" if kind.is_float else "linalg.copy_int"]
    return apply(lowering, row, [tile], [tile.kind], kind, {}, counted=False)


@lowers(*(f"linalg.{name}" for name in LINALG_NAMES))
def named_elementwise(lowering: Lowering, operation: Operation) -> None:
    ins, (out,) = operands_of(lowering, operation)
    row = named_row(operation.name.removeprefix("linalg."), out.kind)
    condition = int(operation.name == "linalg.select")
    kinds = [I1] * condition + [out.kind] * (len(ins) - condition)
    tiles = [_typed(lowering, tile, kind) for tile, kind in zip(ins, kinds, strict=True)]
    lowering.define(
        operation.result, apply(lowering, row, tiles, kinds, out.kind, operation.attributes)
    )
    for tile in tiles:
        lowering.emitter.release(tile)


@lowers("linalg.broadcast")
def broadcast(lowering: Lowering, operation: Operation) -> None:
    (source,), (out,) = operands_of(lowering, operation)
    added = set(operation.attributes["dimensions"])
    emitter, kept = lowering.emitter, iter(source.kept)
    emitter.check_equal(source.shape, [e for d, e in enumerate(out.shape) if d not in added])
    flags = tuple(False if axis in added else next(kept) for axis in range(len(out.shape)))
    emitter.retain(source)
    tile = Tile(source.kind, source.place, out.shape, flags, source.buffer)
    lowering.define(operation.result, tile)


@lowers("linalg.transpose")
def transpose(lowering: Lowering, operation: Operation) -> None:
    (source,), _ = operands_of(lowering, operation)
    order = operation.attributes["permutation"]
    out = lowering.emitter.tile(source.kind, [source.shape[axis] for axis in order])
    strides = lowering.strides(source)
    lowering.copy_strided(
        out,
        out.shape,
        source.place,
        [strides[axis] for axis in order],
        out.place,
        lowering.strides(out),
    )
    count_moves(lowering, out.shape)
    lowering.define(operation.result, out)


@lowers("linalg.map")
def mapped(lowering: Lowering, operation: Operation) -> None:
    ins, (out,) = operands_of(lowering, operation)
    arguments = [lowering.emitter.retain(tile) for tile in ins]
    (region,) = operation.regions
    if len(region.arguments) > len(arguments):
        arguments.append(lowering.emitter.retain(out))
    (yielded,) = evaluate_body(lowering, region, arguments, out.shape)
    lowering.define(operation.result, full(lowering, yielded, out.shape))
    lowering.emitter.release(yielded)


@lowers(*(f"linalg.{name}" for name in CONTRACTIONS))
def contraction(lowering: Lowering, operation: Operation) -> None:
    (left, right), (outs,) = operands_of(lowering, operation)
    name = operation.name.removeprefix("linalg.")
    batched, flip_left, flip_right, left_vector, right_vector = CONTRACTIONS[name]
    shape_a = _matrix(left.shape[batched:], left_vector, row=True)
    shape_b = _matrix(right.shape[batched:], right_vector, row=False)
    m, k = shape_a[::-1] if flip_left else shape_a
    n = shape_b[0] if flip_right else shape_b[1]
    batch: Size = left.shape[0] if batched else 1
    emitter = lowering.emitter
    other = shape_b[1] if flip_right else shape_b[0]
    kept = [size for size, dropped in ((m, left_vector), (n, right_vector)) if not dropped]
    emitter.check_equal(
        [k, *[batch] * (2 * batched), *kept], [other, *right.shape[:batched], *outs.shape]
    )
    tiles = [lowering.contiguous(tile) for tile in (left, right, outs)]
    out = emitter.tile(outs.kind, outs.shape)
    scratch = emitter.tile(outs.kind, (_scratch_size(lowering, m, n, k, flip_right),))
    entries = [*(tile.place for tile in tiles), out.place, scratch.place]
    entries += [emitter.place(size) for size in (batch, m, n, k)]
    size = scratch.buffer.capacity if scratch.buffer else 0
    entries += [int(flip_left), int(flip_right), size]
    rounding = ROUNDING[outs.kind.name] if outs.is_float else outs.kind.bits
    op = Op.MATMUL_FLOAT if outs.is_float else Op.MATMUL_INT
    emitter.emit(op, a=emitter.describe(entries), rounding=rounding)
    _count_macs(lowering, (batch, m, n, k))
    for tile in (*tiles, scratch):
        emitter.release(tile)
    lowering.define(operation.result, out)


def _scratch_size(lowering: Lowering, m: Size, n: Size, k: Size, turned: bool) -> Size:
    """Room for the product (BLAS), or for a row and a turned right operand (exact)."""
    emitter = lowering.emitter
    size = emitter.add(emitter.multiply(m, n), n)
    return emitter.add(size, emitter.multiply(k, n)) if turned else size


def _matrix(shape: Sequence[Size], vector: bool, row: bool) -> tuple[Size, Size]:
    if vector:
        return (1, shape[0]) if row else (shape[0], 1)
    return shape[0], shape[1]


def _count_macs(lowering: Lowering, sizes: Sequence[Size]) -> None:
    emitter = lowering.emitter
    emitter.emit(Op.COUNT, size=emitter.place(emitter.product(sizes)), unit=int(Counter.OPS_PT))
