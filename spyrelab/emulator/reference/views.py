"""Memory views: where the element at a coordinate lies, and whether there is one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from spyrelab.emulator.points import enumerate_set
from spyrelab.emulator.reference.core import Core, scalar
from spyrelab.emulator.reference.registry import reference
from spyrelab.ktir.affine import AffineSet
from spyrelab.ktir.ir import Operation
from spyrelab.ktir.types import MemorySpace, MemRefType, element_of

Integers = NDArray[np.int64]

MAIN_MEMORY = -1
"""Owner of elements in main memory; elements in a scratchpad have the core's number."""


@dataclass(frozen=True)
class Located:
    """Elements found for an array of coordinates; the three arrays broadcast together.

    ``address`` is a byte address in the flat space of main memory and scratchpads, ``owner`` the
    memory that it was meant for, and ``inside`` False where the view has no such element.
    """

    address: Integers
    owner: Integers
    inside: NDArray[np.bool_]


class View(Protocol):
    """Anything that maps coordinates to memory."""

    def locate(self, coordinates: Sequence[Any]) -> Located:
        """Find the elements at coordinates, given as broadcastable arrays per dimension."""


@dataclass(frozen=True)
class MemoryView:
    """A strided region.  ``base`` is the byte address of the element at coordinate ``low``."""

    base: int
    owner: int
    itemsize: int
    low: tuple[int, ...]
    sizes: tuple[int, ...]
    strides: tuple[int, ...]
    points: AffineSet | None
    symbols: tuple[int, ...]

    def locate(self, coordinates: Sequence[Any]) -> Located:
        offset: Any = 0
        for coordinate, low, stride in zip(coordinates, self.low, self.strides, strict=True):
            offset = offset + (coordinate - low) * stride
        address = np.asarray(self.base + offset * self.itemsize, np.int64)
        inside = _within(coordinates, self.sizes)
        if self.points is not None:
            inside = self.points.contains(coordinates, self.symbols)
        return Located(address, np.asarray(self.owner), np.asarray(inside))


def _within(coordinates: Sequence[Any], sizes: Sequence[int]) -> Any:
    inside: Any = True
    for coordinate, size in zip(coordinates, sizes, strict=True):
        inside = inside & (coordinate >= 0) & (coordinate < size)
    return inside


@dataclass(frozen=True)
class DistributedView:
    """Several regions as one tensor: the first that holds a coordinate provides the element."""

    parts: tuple[View, ...]

    def locate(self, coordinates: Sequence[Any]) -> Located:
        found = self.parts[-1].locate(coordinates)
        for part in self.parts[-2::-1]:
            first = part.locate(coordinates)
            found = Located(
                np.where(first.inside, first.address, found.address),
                np.where(first.inside, first.owner, found.owner),
                first.inside | found.inside,
            )
        return found


@dataclass(frozen=True)
class Subview:
    """Every ``strides``-th element of a view from ``offsets`` on, with coordinates from zero."""

    source: View
    offsets: tuple[int, ...]
    sizes: tuple[int, ...]
    strides: tuple[int, ...]
    kept: tuple[int, ...]

    def locate(self, coordinates: Sequence[Any]) -> Located:
        place = list(self.offsets)
        for axis, coordinate in zip(self.kept, coordinates, strict=True):
            place[axis] = self.offsets[axis] + coordinate * self.strides[axis]
        found = self.source.locate(place)
        inside = found.inside & _within(coordinates, [self.sizes[axis] for axis in self.kept])
        return Located(found.address, found.owner, np.asarray(inside))


@reference("ktdp.construct_memory_view")
def memory_view(core: Core, operation: Operation, address: Any, *dynamic: Any) -> MemoryView:
    sizes, strides = fill_dynamic(operation, ("sizes", "strides"), dynamic)
    space = operation.attributes.get("memory_space") or MemorySpace()
    points = operation.attributes.get("coordinate_set")
    # Symbols of the set are the run-time sizes, left to right.
    dynamic_sizes = (scalar(value) for value in dynamic)
    symbols = tuple(islice(dynamic_sizes, points.symbols)) if points else ()
    owner = MAIN_MEMORY
    if space.core_local:
        owner = core.number if space.core is None else space.core
    itemsize = element_of(operation.result.type).itemsize
    return MemoryView(
        base=scalar(address) * itemsize + (core.memory.lx_base(owner) if owner >= 0 else 0),
        owner=owner,
        itemsize=itemsize,
        low=enumerate_set(points, symbols).low if points else (0,) * len(sizes),
        sizes=sizes,
        strides=strides,
        points=points,
        symbols=symbols,
    )


@reference("ktdp.construct_distributed_memory_view")
def distributed_view(core: Core, operation: Operation, *parts: View) -> DistributedView:
    return DistributedView(parts)


@reference("memref.subview")
def subview(core: Core, operation: Operation, source: View, *dynamic: Any) -> Subview:
    offsets, sizes, strides = fill_dynamic(operation, ("offsets", "sizes", "strides"), dynamic)
    kind = operation.result.type
    assert isinstance(kind, MemRefType)
    kept = kept_axes(sizes, kind.shape)
    return Subview(source, offsets, sizes, strides, kept)


def fill_dynamic(
    operation: Operation, names: Sequence[str], dynamic: Sequence[Any]
) -> list[tuple[int, ...]]:
    """The integer lists of an operation, with operands in place of the dynamic entries."""
    values = iter(dynamic)
    return [
        tuple(scalar(next(values)) if n is None else n for n in operation.attributes[name])
        for name in names
    ]


def kept_axes(sizes: Sequence[int], shape: Sequence[int | None]) -> tuple[int, ...]:
    """The axes that a rank-reducing slice of type ``shape`` keeps; only unit axes go."""
    surplus = len(sizes) - len(shape)
    kept: list[int] = []
    for axis, size in enumerate(sizes):
        wanted = shape[len(kept)] if len(kept) < len(shape) else 0
        if size == 1 and surplus and wanted != 1:
            surplus -= 1
        else:
            kept.append(axis)
    return tuple(kept)
