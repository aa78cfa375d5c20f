"""Gathers, scatters and atomics: elements of memory at computed offsets, one by one."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from spyrelab.emulator.atomics import Atomic, atomic_of, combined
from spyrelab.emulator.formats import storage_dtype
from spyrelab.emulator.reference.core import Array, Core, scalar, zeros
from spyrelab.emulator.reference.registry import reference
from spyrelab.emulator.reference.transfers import (
    Active,
    check_live,
    count_transfer,
    fetch,
    to_bits,
    to_values,
)
from spyrelab.emulator.reference.views import Located
from spyrelab.ktir.element_access import ElementAccess, element_access
from spyrelab.ktir.ir import Operation
from spyrelab.ktir.types import MemRefType, ScalarType

Mask = NDArray[np.bool_]


def _element(operation: Operation) -> ScalarType:
    kind = element_access(operation, operation.operands).view.type
    assert isinstance(kind, MemRefType)
    return kind.element


def _find(operation: Operation, access: ElementAccess[Any]) -> tuple[Located, Mask]:
    """Elements in the shape of what is moved, and which of them are."""
    inside = np.ones(access.offsets.shape, bool) if access.mask is None else access.mask != 0
    if access.stride is None:
        found = access.view.locate((access.offsets,))
        return found, np.asarray(inside & found.inside)
    extent = operation.attributes["extent"]
    stride, limit = scalar(access.stride), scalar(access.limit)
    steps = np.arange(extent, dtype=np.int64) * stride
    found = access.view.locate((access.offsets[..., None] + steps,))
    # A row that does not lie in the view as a whole is not moved at all.
    last = max(min(extent, limit), 1) - 1
    inside = inside & found.inside[..., 0] & found.inside[..., last]
    return found, inside[..., None] & (np.arange(extent) < limit)


def _active(found: Located, mask: Mask) -> Active:
    owner = np.broadcast_to(found.owner, mask.shape)
    return Active(found.address[mask], owner[mask])


@reference("spyrelab.gather")
def gather(core: Core, operation: Operation, *operands: Any) -> Array:
    """Masked elements, and those outside the view, read as zero."""
    element = _element(operation)
    found, mask = _find(operation, element_access(operation, operands))
    active = _active(found, mask)
    check_live(core, operation, active, element.itemsize)
    count_transfer(core, active, element.itemsize, writes=False)
    return fetch(core, found.address, mask, element)


@reference("spyrelab.scatter")
def scatter(core: Core, operation: Operation, *operands: Any) -> None:
    """Of elements with one address the last one wins."""
    element = _element(operation)
    access = element_access(operation, operands)
    found, mask = _find(operation, access)
    active = _active(found, mask)
    check_live(core, operation, active, element.itemsize)
    count_transfer(core, active, element.itemsize, writes=True)
    memory = core.memory.bytes.view(storage_dtype(element))
    memory[active.address // element.itemsize] = to_bits(access.values[0][mask], element)


@reference("spyrelab.atomic_rmw", "spyrelab.atomic_cas")
def atomic(core: Core, operation: Operation, *operands: Any) -> Array:
    """One element after the other, row-major; each is read and written."""
    element, kind = _element(operation), atomic_of(operation)
    access = element_access(operation, operands)
    found, mask = _find(operation, access)
    active = _active(found, mask)
    check_live(core, operation, active, element.itemsize)
    for writes in (False, True):
        count_transfer(core, active, element.itemsize, writes=writes)
    memory = core.memory.bytes.view(storage_dtype(element))
    *compared, given = (np.broadcast_to(value, mask.shape)[mask] for value in access.values)
    seen = zeros(active.address.shape, element)
    for number, place in enumerate(active.address // element.itemsize):
        old = to_values(memory[place : place + 1], element)
        seen[number] = old[0]
        if kind is Atomic.CAS:
            new = given[number] if compared[0][number] == old[0] else old[0]
        else:
            new = combined(kind, old[0], given[number], element)
        memory[place : place + 1] = to_bits(np.full_like(old, new), element)
    result = zeros(mask.shape, element)
    result[mask] = seen
    return result
