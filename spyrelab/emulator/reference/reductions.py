"""linalg.reduce: a fold in halves, then one combination with ``outs``."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from spyrelab.emulator.errors import UnsupportedError, place
from spyrelab.emulator.reference.core import Array, Core
from spyrelab.emulator.reference.registry import reference
from spyrelab.ktir.ir import Operation, Region
from spyrelab.ktir.types import ScalarType, element_of


def identity_of(region: Region, element: ScalarType) -> int | float | None:
    """The neutral element of a body that is one known combiner of its two arguments."""
    if len(region.arguments) != 2 or len(region.operations) != 2:
        return None
    body, end = region.operations
    if set(body.operands) != set(region.arguments) or end.operands != body.results:
        return None
    bits = element.bits
    smallest, largest = -(1 << (bits - 1)), (1 << (bits - 1)) - 1
    identities: dict[str, int | float] = {
        "arith.addf": 0.0,
        "arith.mulf": 1.0,
        "arith.maximumf": -np.inf,
        "arith.maxnumf": -np.inf,
        "arith.minimumf": np.inf,
        "arith.minnumf": np.inf,
        "arith.addi": 0,
        "arith.muli": 1,
        "arith.andi": -1,
        "arith.ori": 0,
        "arith.xori": 0,
        "arith.maxsi": smallest,
        "arith.minsi": largest,
        "arith.maxui": 0,
        "arith.minui": -1,
    }
    return identities.get(body.name)


@reference("linalg.reduce")
def reduce(core: Core, operation: Operation, *operands: Array) -> tuple[Array, ...]:
    """Flatten the reduced axes row-major, fold upper halves into lower ones, then into outs.

    With a known combiner the values are padded with its identity to a power of two.
    """
    count = operation.attributes["inputs"]
    axes = operation.attributes["dimensions"]
    (body,) = operation.regions
    ins = [_reduced_first(array, axes) for array in operands[:count]]
    outs = operands[count:]
    if ins[0].shape[0] == 0:
        return tuple(outs)
    elements = [element_of(value.type) for value in operation.operands]
    if elements[:count] != elements[count:]:
        raise UnsupportedError(f"{place(operation)}: element types of ins and outs differ")
    identity = identity_of(body, elements[0])
    if identity is not None:
        ins = [_padded(ins[0], identity)]
    with core.over([], points=0):
        folded = _fold_halves(core, body, ins)
    # Counted once, as the body run on every input element.
    with core.over([], points=operands[0].size):
        results = core.call(body, *folded, *outs)
    return tuple(np.broadcast_to(new, old.shape) for new, old in zip(results, outs, strict=True))


def _reduced_first(array: Array, axes: Sequence[int]) -> Array:
    front = np.moveaxis(array, axes, range(len(axes)))
    count = math.prod(front.shape[: len(axes)])
    return front.reshape(count, *front.shape[len(axes) :])


def _padded(array: Array, identity: int | float) -> Array:
    # The identity is not rounded: formats without an infinity have no such element.
    missing = (1 << (array.shape[0] - 1).bit_length()) - array.shape[0]
    padding = np.full((missing, *array.shape[1:]), identity, array.dtype)
    return np.concatenate([array, padding])


def _fold_halves(core: Core, body: Region, arrays: list[Array]) -> list[Any]:
    while (length := arrays[0].shape[0]) > 1:
        half = (length + 1) // 2
        pairs = length - half
        upper = [array[half:] for array in arrays]
        lower = [array[:pairs] for array in arrays]
        combined = core.call(body, *upper, *lower)
        arrays = [
            np.concatenate([np.broadcast_to(new, old[:pairs].shape), old[pairs:half]])
            for new, old in zip(combined, arrays, strict=True)
        ]
    return [array[0] for array in arrays]
