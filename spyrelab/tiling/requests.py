"""From an operation on tensors to the OpSpec that says it, and back to what compiles it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from spyrelab.layout import Access, Located, SpyreTensorLayout
from spyrelab.opspec import Input, Operand
from spyrelab.opspec.spec import OpSpec, operand_of, tensor_arg
from spyrelab.tiling.signature import signature, signature_of, space_of

__all__ = ["Tensor", "operands_of", "spec_of"]


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
    found = signature(op, tuple(space), len(tensors), len(outputs), info)
    if found is None:
        return None
    args = []
    for number, (tensor, symbols) in enumerate(zip(everything, found.operands, strict=True)):
        located = _fitted(tensor.located, symbols, space)
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
    for arg, symbols in zip(spec.args, found.operands, strict=True):
        access = operand_of(arg, {s: spec.iteration_space[s] for s in symbols}).access
        operands.append(Operand(arg.dtype, access))
    tensors = iter(operands[: len(spec.inputs)])
    numbers: Mapping[int, int | float] = spec.op_info.get("numbers", {})
    total = len(spec.inputs) + len(numbers)
    inputs = tuple(_type_of(numbers[p]) if p in numbers else next(tensors) for p in range(total))
    return inputs, tuple(operands[len(spec.inputs) :])


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
