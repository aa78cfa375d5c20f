"""From an operation on tensors to the OpSpec that says it, and back to what compiles it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from spyrelab.layout import Access, Located, SpyreTensorLayout
from spyrelab.opspec import Input, Operand
from spyrelab.opspec.attention import check_attention
from spyrelab.opspec.attention_space import cut_axis
from spyrelab.opspec.errors import OpSpecError, Unsuitable, Unsupported
from spyrelab.opspec.registry import builder_of
from spyrelab.opspec.spans import plain
from spyrelab.opspec.spec import OpSpec, operand_of, tensor_arg
from spyrelab.tiling.signature import signature, signature_of, space_of

__all__ = ["Tensor", "joined_axes", "operands_of", "spec_of"]


@dataclass(frozen=True)
class Tensor:
    """A view of a device tensor: the name of its storage, the layout of that, where it lies.

    ``dtype`` is what the view's elements are read as.
    """

    name: str
    layout: SpyreTensorLayout
    located: Located
    dtype: str


def spec_of(
    op: str,
    inputs: Sequence[Tensor | int | float],
    outputs: Sequence[Tensor],
    attributes: Mapping[str, Any] | None = None,
) -> OpSpec | None:
    """The spec of an operation as `spyrelab.opspec.compile` takes it; None if none says it.

    Numbers go to ``op_info["numbers"]`` by their position. None: the operation cannot be cut,
    or an operand's elements lie where no plain access finds them.
    """
    info = dict(attributes or {})
    tensors = [entry for entry in inputs if isinstance(entry, Tensor)]
    everything = [*tensors, *outputs]
    if any(not _is_plain(tensor) for tensor in everything):
        return None
    sizes = [tensor.located.access.size for tensor in tensors]
    results = [tensor.located.access.size for tensor in outputs]
    space = space_of(op, sizes, results)
    if space is None or not space or 0 in space.values():
        return None
    if op in ("attention", "cat") and not _suits(op, tensors, outputs, len(inputs), info):
        return None
    found = signature(op, tuple(space), len(tensors), len(outputs), info)
    if found is None:
        return None
    args = []
    for number, (tensor, symbols) in enumerate(zip(everything, found.operands, strict=True)):
        parted = _parted(tensor.located, symbols, space, found.joined.get(number))
        located = _fitted(parted, symbols, space)
        if located is None:
            return None
        args.append(tensor_arg(tensor.name, tensor.layout, located, symbols, number < len(tensors)))
    numbers = {p: entry for p, entry in enumerate(inputs) if not isinstance(entry, Tensor)}
    if numbers:
        info["numbers"] = numbers
    return OpSpec(op, {symbol: (extent, 0) for symbol, extent in space.items()}, tuple(args), info)


def operands_of(spec: OpSpec) -> tuple[tuple[Input, ...], tuple[Operand, ...]]:
    """What `spyrelab.opspec.compile` takes for a spec; numbers appear as their types."""
    found = signature_of(spec)
    assert found is not None
    operands = []
    for number, (arg, symbols) in enumerate(zip(spec.args, found.operands, strict=True)):
        access = operand_of(arg, {s: spec.iteration_space[s] for s in symbols}).access
        access = joined_axes(access, found.joined.get(number))
        operands.append(Operand(arg.dtype, access))
    tensors = iter(operands[: len(spec.inputs)])
    numbers: Mapping[int, int | float] = spec.op_info.get("numbers", {})
    total = len(spec.inputs) + len(numbers)
    inputs = tuple(_type_of(numbers[p]) if p in numbers else next(tensors) for p in range(total))
    return inputs, tuple(operands[len(spec.inputs) :])


def joined_axes(access: Access, at: int | None) -> Access:
    """The access with one dimension for the one at ``at`` and the next."""
    if at is None:
        return access
    size, axes = access.size, access.axes
    size = (*size[:at], size[at] * size[at + 1], *size[at + 2 :])
    return Access(size, (*axes[:at], axes[at] + axes[at + 1], *axes[at + 2 :]))


def _parted(
    located: Located, symbols: Sequence[str], space: Mapping[str, int], at: int | None
) -> Located:
    """The view with two dimensions for the one at ``at``, where two symbols run along it."""
    if at is None:
        return located
    size, axes = located.access.size, located.access.axes
    first, second = (space[symbol] for symbol in symbols[at : at + 2])
    sizes, parts = (1, 1), (plain(1), plain(1))
    if size[at] > 1:
        sizes, parts = (first, second), cut_axis(0, axes[at], size[at], second)
    access = Access((*size[:at], *sizes, *size[at + 1 :]), (*axes[:at], *parts, *axes[at + 1 :]))
    return Located(access, located.start)


def _suits(
    op: str,
    tensors: Sequence[Tensor],
    outputs: Sequence[Tensor],
    count: int,
    info: Mapping[str, Any],
) -> bool:
    """Whether one core can do a slice where the operands lie."""
    everything = (*tensors, *outputs)
    if count != len(tensors) or any(-1 in tensor.layout.stride_map for tensor in everything):
        return False
    operands = [Operand(t.dtype, t.located.access) for t in everything]
    try:
        if op == "attention":
            check_attention(operands[:count], operands[count:], **info)
        else:
            builder_of(op)(op, tuple(operands[:count]), tuple(operands[count:]), **info)
    except (OpSpecError, Unsuitable, Unsupported):
        return False
    return True


def _type_of(number: float) -> str:
    return "f32" if isinstance(number, float) else "i64"


def _is_plain(tensor: Tensor) -> bool:
    layout = tensor.layout
    return isinstance(tensor.located.access, Access) and layout.dtype == tensor.dtype


def _fitted(located: Located, symbols: Sequence[str], space: Mapping[str, int]) -> Located | None:
    """The view with one dimension per symbol: leading ones are broadcast, reduced ones dropped."""
    size, axes = list(located.access.size), list(located.access.axes)
    wanted = [space[symbol] for symbol in symbols]
    if len(wanted) < len(size) == len(space):
        kept = [axis for axis, symbol in enumerate(space) if symbol in symbols]
        size, axes = [size[axis] for axis in kept], [axes[axis] for axis in kept]
    missing = len(wanted) - len(size)
    size, axes = [1] * missing + size, [()] * missing + axes
    if len(size) != len(wanted) or any(
        own not in (1, extent) for own, extent in zip(size, wanted, strict=True)
    ):
        return None
    return Located(Access(tuple(size), tuple(axes)), located.start)
