"""Rules of the tensor dialect and of memref.subview."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from spyrelab.ktir.check import Check
from spyrelab.ktir.dialects.form import nothing
from spyrelab.ktir.dialects.lists import dynamic, resolve
from spyrelab.ktir.ir import Operation, Value
from spyrelab.ktir.matching import compatible_shapes, element_count
from spyrelab.ktir.types import INDEX, Dimension, MemRefType, TensorType, Type

__all__ = ["nothing"]

Slice = tuple[list[int | Value], list[int | Value], list[int | Value]]


def _sizes(check: Check, operation: Operation, sizes: Sequence[Value]) -> TensorType:
    result = check.tensor(operation, "result", operation.result)
    check.integers(operation, "extent", *sizes)
    if len(sizes) != result.shape.count(None):
        check.fail(
            operation,
            f"{len(sizes)} extents for the {result.shape.count(None)} unknown ones of {result}",
        )
    return result


def empty(check: Check, operation: Operation) -> None:
    """One operand per unknown extent."""
    _sizes(check, operation, operation.operands)


def splat(check: Check, operation: Operation) -> None:
    """A scalar of the element type."""
    if not operation.operands:
        check.fail(operation, "it takes a scalar")
    value, *sizes = operation.operands
    result = _sizes(check, operation, sizes)
    check.same(operation, f"%{value.name}", value.type, result.element)


def _indices(check: Check, operation: Operation, kind: TensorType, indices: list[Value]) -> None:
    check.integers(operation, "index", *indices)
    if len(indices) != len(kind.shape):
        check.fail(operation, f"{len(indices)} indices for a {kind}")
    for index, extent in zip(indices, kind.shape, strict=True):
        known = check.constant(index)
        if known is not None and extent is not None and not 0 <= known < extent:
            check.fail(operation, f"index {known} lies outside {kind}")


def extract(check: Check, operation: Operation) -> None:
    """One index per dimension, inside the tensor where that is known."""
    source, *indices = operation.operands
    kind = check.tensor(operation, "source", source)
    _indices(check, operation, kind, indices)
    check.same(operation, "the result", operation.result.type, kind.element)


def insert(check: Check, operation: Operation) -> None:
    """The same for writing one element."""
    if len(operation.operands) < 2:
        check.fail(operation, "it takes a scalar and a tensor")
    scalar, target, *indices = operation.operands
    kind = check.tensor(operation, "target", target)
    _indices(check, operation, kind, indices)
    check.same(operation, f"%{scalar.name}", scalar.type, kind.element)
    check.same(operation, "the result", operation.result.type, kind)


def from_elements(check: Check, operation: Operation) -> None:
    """As many scalars as the tensor has elements."""
    result = check.tensor(operation, "result", operation.result)
    count = element_count(result.shape)
    if count != len(operation.operands):
        check.fail(operation, f"{len(operation.operands)} elements for a {result}")
    for value in operation.operands:
        check.same(operation, f"%{value.name}", value.type, result.element)


def generate(check: Check, operation: Operation) -> None:
    """A region over the indices that yields one element."""
    result = _sizes(check, operation, operation.operands)
    (region,) = operation.regions
    check.region_arguments(operation, region, [INDEX] * len(result.shape))
    check.yields(operation, region, "tensor.yield", [result.element])


def cast(check: Check, operation: Operation) -> None:
    """Only what is known of the shape changes."""
    source = check.tensor(operation, "source", operation.operands[0])
    check.same(operation, "the result", operation.result.type, source)


def dim(check: Check, operation: Operation) -> None:
    """An existing dimension."""
    source, index = operation.operands
    kind = check.tensor(operation, "source", source)
    check.integers(operation, "index", index)
    known = check.constant(index)
    if known is not None and not 0 <= known < len(kind.shape):
        check.fail(operation, f"dimension {known} does not exist in {kind}")
    check.same(operation, "the result", operation.result.type, INDEX)


def concat(check: Check, operation: Operation) -> None:
    """Equal shapes but for the joined dimension, whose extents add up."""
    result = check.tensor(operation, "result", operation.result)
    axis = operation.attributes["dim"]
    if not 0 <= axis < len(result.shape):
        check.fail(operation, f"dimension {axis} does not exist in {result}")
    total: int | None = 0
    for value in operation.operands:
        kind = check.tensor(operation, "operand", value)
        shape = list(kind.shape)
        if len(shape) == len(result.shape):
            extent, shape[axis] = shape[axis], None
            total = None if extent is None or total is None else total + extent
        if kind.element != result.element or not compatible_shapes(shape, result.shape):
            check.fail(operation, f"%{value.name} is a {kind}, which cannot be part of {result}")
    if total is not None and result.shape[axis] not in (None, total):
        check.fail(operation, f"the parts make {total} along dimension {axis} of {result}")


def pad(check: Check, operation: Operation) -> None:
    """Extents grow by what low and high add; the region yields the new elements."""
    source = check.tensor(operation, "source", operation.operands[0])
    result = check.tensor(operation, "result", operation.result)
    values = iter(operation.operands[1:])
    parts = operation.attributes["low"], operation.attributes["high"]
    if any(len(part) != len(source.shape) for part in parts):
        check.fail(operation, f"low and high need {len(source.shape)} entries each")
    if sum(map(dynamic, parts)) != len(operation.operands) - 1:
        check.fail(operation, "low, high and its operands do not match")
    low, high = (resolve(part, values) for part in parts)
    shape: list[Dimension] = []
    for before, extent, after in zip(low, source.shape, high, strict=True):
        first, second = _known(check, before), _known(check, after)
        if min(first or 0, second or 0) < 0:
            check.fail(operation, "a tensor cannot be padded by a negative amount")
        known = None not in (first, extent, second)
        shape.append((first or 0) + (extent or 0) + (second or 0) if known else None)
    check.same(operation, "the result", result, TensorType(tuple(shape), source.element))
    (region,) = operation.regions
    check.region_arguments(operation, region, [INDEX] * len(shape))
    check.yields(operation, region, "tensor.yield", [source.element])


def _known(check: Check, entry: int | Value) -> int | None:
    return entry if isinstance(entry, int) else check.constant(entry)


def _slice(
    check: Check, operation: Operation, shape: Sequence[Dimension], values: Iterator[Value]
) -> list[Dimension]:
    """Checks a slice against the sliced shape and returns the slice's sizes."""
    parts = [operation.attributes[part] for part in ("offsets", "sizes", "strides")]
    if any(len(part) != len(shape) for part in parts):
        check.fail(operation, f"offsets, sizes and strides need {len(shape)} entries each")
    operands = list(values)
    if sum(map(dynamic, parts)) != len(operands):
        check.fail(operation, "offsets, sizes, strides and its operands do not match")
    check.integers(operation, "offset, size or stride", *operands)
    rest = iter(operands)
    offsets, sizes, strides = (
        [_known(check, entry) for entry in resolve(part, rest)] for part in parts
    )
    for axis, extent in enumerate(shape):
        offset, size, stride = offsets[axis], sizes[axis], strides[axis]
        if min(size or 0, offset or 0) < 0:
            check.fail(operation, f"offset and size of dimension {axis} must not be negative")
        if stride is not None and stride < 1:
            check.fail(operation, f"stride {stride} of dimension {axis} is not positive")
        if extent is None or offset is None or not size:
            continue
        last = offset + (size - 1) * (stride or 1)
        if last >= extent:
            check.fail(
                operation, f"the slice ends at {last} in dimension {axis}, which has {extent}"
            )
    return list(sizes)


def _drops_to(sizes: Sequence[Dimension], shape: Sequence[Dimension]) -> bool:
    """Whether a shape is the sizes, at most without some extents of one."""
    rest = list(shape)
    for size in sizes:
        if rest and (size == rest[0] or size is None or rest[0] is None):
            if size != 1 or len(rest) > 1 or rest[0] == 1 or rest[0] is None:
                rest.pop(0)
        elif size != 1:
            return False
    return not rest


def _slice_type(
    check: Check, operation: Operation, kind: Type, whole: Type, sizes: Sequence[Dimension]
) -> None:
    fits = isinstance(kind, TensorType | MemRefType) and _drops_to(sizes, kind.shape)
    same = isinstance(whole, TensorType | MemRefType) and (
        isinstance(kind, TensorType | MemRefType) and whole.element == kind.element
    )
    if not fits or not same:
        shown = "x".join("?" if size is None else str(size) for size in sizes)
        check.fail(operation, f"a slice of size {shown} of {whole} cannot be a {kind}")


def extract_slice(check: Check, operation: Operation) -> None:
    """The slice lies in the source; the result has its sizes."""
    source, *values = operation.operands
    kind = check.tensor(operation, "source", source)
    sizes = _slice(check, operation, kind.shape, iter(values))
    _slice_type(check, operation, operation.result.type, kind, sizes)


def insert_slice(check: Check, operation: Operation) -> None:
    """The slice lies in the target; the source has its sizes."""
    if len(operation.operands) < 2:
        check.fail(operation, "it takes a source and a target")
    source, target, *values = operation.operands
    kind = check.tensor(operation, "target", target)
    sizes = _slice(check, operation, kind.shape, iter(values))
    _slice_type(check, operation, source.type, kind, sizes)
    check.same(operation, "the result", operation.result.type, kind)


def subview(check: Check, operation: Operation) -> None:
    """The same for a part of a view."""
    source, *values = operation.operands
    kind = source.type
    if not isinstance(kind, MemRefType):
        check.fail(operation, f"%{source.name} is a {kind}, not a memref")
    sizes = _slice(check, operation, kind.shape, iter(values))
    _slice_type(check, operation, operation.result.type, kind, sizes)
