"""Operations that rearrange tensors: of integers, masks and pointers only what is known moves."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from spyrelab.ktir.builder import Scalar, Tensor
from spyrelab.ktir.types import I1, TensorType
from spyrelab.triton.lowering.kernel import Kernel, Value, tensor_shape
from spyrelab.triton.lowering.lanes import Lanes
from spyrelab.triton.lowering.masks import Mask
from spyrelab.triton.lowering.pointers import Pointer
from spyrelab.triton.lowering.registry import lowers
from spyrelab.triton.lowering.reshapes import regrouped, reshaped
from spyrelab.triton.lowering.spread import spread
from spyrelab.triton.lowering.turned import Turned
from spyrelab.triton.ttir import TtirOperation

__all__ = ["moved"]

Shape = tuple[int, ...]


def moved(
    kernel: Kernel,
    value: Value,
    places: Sequence[int],
    shape: Shape,
    make: Callable[[Tensor], Tensor],
) -> Value:
    """A value where axis ``i`` has become axis ``places[i]``; ``make`` does it to numbers."""
    b = kernel.b
    if isinstance(value, Pointer):
        offset = moved(kernel, value.offset, places, shape, make)
        assert isinstance(offset, Lanes)
        return Pointer(value.origin, value.element, offset)
    if isinstance(value, Lanes):
        lanes = value
        terms = [term.moved(places) for term in value.terms]
        return Lanes(b, shape, value.dtype, value.base, terms, lambda: make(lanes.tensor()))
    if isinstance(value, Mask):
        mask = value
        return value.moved(places, shape, lambda: make(mask.tensor()))
    return make(kernel.element(value))


@lowers("tt.splat")
def splat(kernel: Kernel, operation: TtirOperation) -> None:
    (source,) = kernel.values(operation)
    shape = tensor_shape(operation.result.type)
    kernel.define(operation.result, splatted(kernel, source, shape))


def splatted(kernel: Kernel, source: Value, shape: Shape) -> Value:
    """A single value everywhere."""
    b = kernel.b
    if isinstance(source, Pointer):
        offset = splatted(kernel, source.offset, shape)
        assert isinstance(offset, Lanes)
        return Pointer(source.origin, source.element, offset)
    if isinstance(source, Lanes):
        base = source.base
        return Lanes(b, shape, source.dtype, base, (), lambda: b.splat(b.scalar_of(base), shape))
    assert isinstance(source, Scalar)
    if source.dtype.is_float:
        if source.constant is not None:
            known = b.full(shape, source.constant, source.dtype)
            kernel.splats[known.value] = source.constant
            return known
        return b.splat(source, shape)
    if source.dtype == I1:
        scalar = source
        return Mask(b, shape, [source], make=lambda: b.splat(scalar, shape))
    return kernel.lanes(source, shape)


@lowers("tt.unsplat")
def unsplat(kernel: Kernel, operation: TtirOperation) -> None:
    (source,) = kernel.values(operation)
    tensor = kernel.element(source)
    kernel.define(operation.result, tensor.item(*(0,) * tensor.rank))


@lowers("tt.expand_dims")
def expand_dims(kernel: Kernel, operation: TtirOperation) -> None:
    (source,) = kernel.values(operation)
    axis = operation.attributes["axis"]
    shape = tensor_shape(operation.result.type)
    places = [own + (own >= axis) for own in range(len(shape) - 1)]
    kernel.define(
        operation.result,
        moved(kernel, source, places, shape, lambda tensor: kernel.b.reshape(tensor, shape)),
    )


@lowers("tt.broadcast")
def broadcast(kernel: Kernel, operation: TtirOperation) -> None:
    (source,) = kernel.values(operation)
    shape = tensor_shape(operation.result.type)

    def make(tensor: Tensor) -> Tensor:
        return widened(kernel, tensor, shape)

    kernel.define(operation.result, moved(kernel, source, range(len(shape)), shape, make))


def widened(kernel: Kernel, tensor: Tensor, shape: Shape) -> Tensor:
    """Axes of extent 1 repeated to the extents of ``shape``."""
    b = kernel.b
    own = tuple(extent or 0 for extent in tensor.shape)
    if own == shape:
        return tensor
    kept = [axis for axis, (e, wanted) in enumerate(zip(own, shape, strict=True)) if e == wanted]
    core = b.reshape(tensor, tuple(shape[axis] for axis in kept))
    return spread(b, core, kept, shape)


@lowers("tt.trans")
def trans(kernel: Kernel, operation: TtirOperation) -> None:
    b = kernel.b
    (source,) = kernel.values(operation)
    order = operation.attributes["order"]
    shape = tensor_shape(operation.result.type)
    if isinstance(source, Turned):
        whole = tuple(source.order[axis] for axis in order)
        plain = whole == tuple(range(len(whole)))
        result: Value = source.source if plain else Turned(b, source.source, whole)
        kernel.define(operation.result, result)
        return
    if isinstance(source, Tensor):
        kernel.define(operation.result, Turned(b, source, order))
        return
    places = [order.index(axis) for axis in range(len(order))]
    kernel.define(
        operation.result,
        moved(kernel, source, places, shape, lambda tensor: b.transpose(tensor, order)),
    )


@lowers("tt.reshape")
def reshape(kernel: Kernel, operation: TtirOperation) -> None:
    (source,) = kernel.values(operation)
    shape = tensor_shape(operation.result.type)
    if isinstance(source, Pointer):
        offset = reshaped(kernel.b, source.offset, shape)
        kernel.define(operation.result, Pointer(source.origin, source.element, offset))
    elif isinstance(source, Lanes):
        kernel.define(operation.result, reshaped(kernel.b, source, shape))
    else:
        tensor = regrouped(kernel.b, kernel.element(source), shape)
        kernel.define(operation.result, kernel.wrapped(tensor))


@lowers("tt.join")
def join(kernel: Kernel, operation: TtirOperation) -> None:
    """Two tensors side by side along a new last axis."""
    b = kernel.b
    left, right = kernel.elements(kernel.values(operation))
    shape = tensor_shape(operation.result.type)
    if isinstance(left, Scalar):
        left, right = (b.splat(side, shape[:-1]) for side in (left, right))
    parts = [b.reshape(side, (*shape[:-1], 1)) for side in (left, right)]
    kernel.define(operation.result, kernel.wrapped(concatenated(kernel, parts, len(shape) - 1)))


@lowers("tt.cat")
def cat(kernel: Kernel, operation: TtirOperation) -> None:
    parts = kernel.elements(kernel.values(operation))
    kernel.define(operation.result, kernel.wrapped(concatenated(kernel, parts, 0)))


def concatenated(kernel: Kernel, parts: Sequence[Tensor], axis: int) -> Tensor:
    """Tensors one behind the other along an axis."""
    first = parts[0]
    shape = list(first.shape)
    shape[axis] = sum(part.shape[axis] or 0 for part in parts)
    kind = TensorType(tuple(shape), first.dtype)
    made = kernel.b.emit("tensor.concat", parts, [kind], {"dim": axis}, hint="joined")
    return kernel.b.tensor(made[0])


@lowers("tt.split")
def split(kernel: Kernel, operation: TtirOperation) -> None:
    """The two halves along a last axis of extent 2."""
    b = kernel.b
    (source,) = kernel.elements(kernel.values(operation))
    shape = tuple(extent or 0 for extent in source.shape)
    for number, result in enumerate(operation.results):
        offsets = (*(0,) * (len(shape) - 1), number)
        part = b.extract_slice(source, offsets, (*shape[:-1], 1))
        kernel.define(result, kernel.wrapped(b.reshape(part, shape[:-1])))
