"""Reductions and scans: one operation of KTIR each, with the kernel's own combination."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from spyrelab.ktir.builder import Scalar, Tensor
from spyrelab.ktir.builder_values import Element
from spyrelab.ktir.ir import Region
from spyrelab.ktir.ir import Value as KtirValue
from spyrelab.ktir.types import I1, ScalarType
from spyrelab.triton.lowering.bodies import lower_body
from spyrelab.triton.lowering.kernel import Kernel
from spyrelab.triton.lowering.registry import lowers
from spyrelab.triton.ttir import TtirBlock, TtirOperation

__all__ = ["combined"]

# Infinity would hide that all values are NaN, which gives way to any number anyhow.
_IDENTITIES: dict[str, float] = {
    "arith.addf": 0.0,
    "arith.mulf": 1.0,
    "arith.maximumf": -math.inf,
    "arith.minimumf": math.inf,
    "arith.maxnumf": math.nan,
    "arith.minnumf": math.nan,
    "arith.addi": 0,
    "arith.muli": 1,
    "arith.andi": -1,
    "arith.ori": 0,
    "arith.xori": 0,
    "arith.maxui": 0,
    "arith.minui": -1,
}


@lowers("tt.reduce")
def reduce(kernel: Kernel, operation: TtirOperation) -> None:
    """Fold an axis away; several tensors at once where the combination takes several."""
    sources: list[Tensor] = kernel.elements(kernel.values(operation))
    axis = operation.attributes["axis"]
    (block,) = operation.regions[0]
    name = _plain(block)
    identity = None if name is None else _identity(name, sources[0].dtype)
    if identity is not None:
        shape = _without(sources[0], axis)
        ins, outs = sources, [kernel.b.full(shape, identity, sources[0].dtype)]
    else:
        outs = [_part(kernel, source, axis, 0, 1) for source in sources]
        extent = sources[0].shape[axis] or 0
        ins = [_part(kernel, source, axis, 1, extent) for source in sources] if extent > 1 else []
    results = _fold(kernel, block, ins, outs, axis) if ins else outs
    for result, tensor in zip(operation.results, results, strict=True):
        kernel.define(result, kernel.wrapped(tensor if tensor.rank else tensor.item()))


def _plain(block: TtirBlock) -> str | None:
    """The operation of a combination that is only that."""
    if len(block.operations) != 2 or len(block.arguments) != 2:
        return None
    body, last = block.operations
    plain = set(body.operands) == set(block.arguments) and last.operands == body.results
    return body.name if plain else None


def _identity(name: str, dtype: ScalarType) -> float | None:
    if dtype.is_float and dtype.bits == 8:
        return None
    least = -(1 << max(dtype.bits - 1, 0))
    extremes = {"arith.maxsi": least, "arith.minsi": -1 - least}
    found = extremes.get(name, _IDENTITIES.get(name))
    if found is not None and dtype == I1:
        return None if name in extremes else int(found) & 1
    return found


def _without(source: Tensor, axis: int) -> tuple[int, ...]:
    return tuple(extent or 0 for number, extent in enumerate(source.shape) if number != axis)


def _part(kernel: Kernel, source: Tensor, axis: int, first: int, stop: int) -> Tensor:
    """A slice along an axis; a slice of one loses the axis."""
    b = kernel.b
    offsets = [first if number == axis else 0 for number in range(source.rank)]
    sizes = [extent or 0 for extent in source.shape]
    sizes[axis] = stop - first
    part = b.extract_slice(source, offsets, sizes)
    return b.reshape(part, _without(source, axis)) if first == 0 else part


def _fold(
    kernel: Kernel, block: TtirBlock, ins: Sequence[Tensor], outs: Sequence[Tensor], axis: int
) -> list[Tensor]:
    b = kernel.b
    region = _region(kernel, block, [source.dtype for source in ins])
    attributes = {"inputs": len(ins), "dimensions": (axis,)}
    kinds = [out.type for out in outs]
    made = b.emit("linalg.reduce", [*ins, *outs], kinds, attributes, [region], hint="folded")
    return [b.tensor(value) for value in made]


def _region(kernel: Kernel, block: TtirBlock, kinds: Sequence[ScalarType]) -> Region:
    """The combination as a region of scalars: new values first, then what has been folded."""
    b = kernel.b
    new = [KtirValue(b.unique("in"), kind) for kind in kinds]
    folded = [KtirValue(b.unique("acc"), kind) for kind in kinds]
    region = b.begin([*new, *folded])
    handles = [b.element(value) for value in (*folded, *new)]
    b.emit("linalg.yield", combined(kernel, block, handles))
    b.suspend()
    return region


def combined(kernel: Kernel, block: TtirBlock, handles: Sequence[Element]) -> list[Any]:
    """What a block gives for its arguments."""
    for argument, handle in zip(block.arguments, handles, strict=True):
        kernel.define(argument, kernel.wrapped(handle))
    return kernel.elements(lower_body(kernel, block)[1])


@lowers("tt.scan")
def scan(kernel: Kernel, operation: TtirOperation) -> None:
    """Inclusive scan along an axis."""
    b = kernel.b
    sources: list[Tensor] = kernel.elements(kernel.values(operation))
    (block,) = operation.regions[0]
    axis = operation.attributes["axis"]
    reverse = bool(operation.attributes.get("reverse"))

    def combine(*scalars: Scalar) -> list[Any]:
        return combined(kernel, block, scalars)

    results = b.scan(sources, axis, combine, reverse)
    for result, tensor in zip(operation.results, results, strict=True):
        kernel.define(result, kernel.wrapped(tensor))
