"""Views and access tiles of all cores at once: which elements a transfer touches."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from spyrelab.ktir import AffineSet, MemorySpace, Operation
from spyrelab.ktir.affine import AffineMap
from spyrelab.ktir.ir import Subscript
from spyrelab.ktir.types import element_of
from spyrelab.timing.motion import Moving
from spyrelab.timing.scalars import Scalar, Unknown

__all__ = ["Tile", "View", "gather_of", "tile_of", "view_of"]


@dataclass(frozen=True, eq=False)
class View:
    """A memory view; extents and lows are numbers per core, or Unknown.

    ``space`` is None for device memory, -1 for the running core's scratchpad, else a core.
    ``points`` is its coordinate set where that is no box, with the values of its symbols.
    """

    address: Scalar
    base: str
    itemsize: int
    sizes: tuple[Scalar, ...]
    strides: tuple[Scalar, ...]
    lows: tuple[Scalar, ...]
    space: int | None
    points: AffineSet | None = None
    symbols: tuple[Scalar, ...] = ()


@dataclass(frozen=True, eq=False)
class Tile:
    """An access tile: starts, a box relative to them, and the views that hold it.

    Attributes
    ----------
    points : AffineSet or None
        The set of its variables where that is no box, with the values of its ``symbols``.
    subscripts : tuple of Subscript
        Of an indirect tile: how variables and ``captures`` become coordinates, through
        ``indices``.
    """

    parts: tuple[View, ...]
    starts: tuple[Scalar, ...]
    lows: tuple[Scalar, ...]
    extents: tuple[Scalar, ...]
    shape: tuple[int | None, ...]
    order: AffineMap | None = None
    points: AffineSet | None = None
    symbols: tuple[Scalar, ...] = ()
    captures: tuple[Scalar, ...] = ()
    subscripts: tuple[Subscript, ...] = ()
    indices: tuple[tuple[View, ...], ...] = ()


def view_of(operation: Operation, operands: Sequence[Scalar], base: str, cores: int) -> View:
    """``ktdp.construct_memory_view``."""
    attributes = operation.attributes
    rest = iter(operands[1:])
    sizes = tuple(full(s, cores) if s is not None else next(rest) for s in attributes["sizes"])
    strides = tuple(full(s, cores) if s is not None else next(rest) for s in attributes["strides"])
    lows: tuple[Scalar, ...] = tuple(full(0, cores) for _ in sizes)
    points: AffineSet | None = attributes.get("coordinate_set")
    symbols = tuple(operands[1:][: points.symbols]) if points is not None else ()
    if points is not None and points.box is not None:
        lows, sizes = _box(points, symbols, cores)
        points = None
    space: MemorySpace | None = attributes.get("memory_space")
    where = None
    if space is not None and space.core_local:
        where = -1 if space.core is None else space.core
    itemsize = element_of(operation.result.type).itemsize
    return View(operands[0], base, itemsize, sizes, strides, lows, where, points, symbols)


def tile_of(
    operation: Operation,
    parts: tuple[View, ...],
    captures: Sequence[Scalar],
    symbols: Sequence[Scalar],
    cores: int,
) -> Tile:
    """``ktdp.construct_access_tile``."""
    attributes = operation.attributes
    starts = tuple(
        _apply(attributes["base_map"], index, captures, cores)
        for index in range(len(attributes["base_map"].results))
    )
    shape: tuple[int | None, ...] = operation.result.type.shape  # type: ignore[union-attr]
    points: AffineSet | None = attributes.get("access_tile_set")
    lows, extents, points = _tile_box(points, symbols, shape, cores)
    order = attributes.get("access_tile_order")
    return Tile(parts, starts, lows, extents, shape, order, points, tuple(symbols))


def gather_of(
    operation: Operation,
    parts: tuple[View, ...],
    indices: Sequence[tuple[View, ...]],
    captures: Sequence[Scalar],
    symbols: Sequence[Scalar],
    cores: int,
) -> Tile:
    """``ktdp.construct_indirect_access_tile``: lows and extents are those of its variables."""
    attributes = operation.attributes
    shape: tuple[int | None, ...] = operation.result.type.shape  # type: ignore[union-attr]
    points: AffineSet | None = attributes.get("variables_space_set")
    lows, extents, points = _tile_box(points, symbols, shape, cores)
    return Tile(
        parts,
        (),
        lows,
        extents,
        shape,
        attributes.get("variables_space_order"),
        points,
        tuple(symbols),
        tuple(captures),
        tuple(attributes["subscripts"]),
        tuple(indices),
    )


def _tile_box(
    points: AffineSet | None,
    symbols: Sequence[Scalar],
    shape: Sequence[int | None],
    cores: int,
) -> tuple[tuple[Scalar, ...], tuple[Scalar, ...], AffineSet | None]:
    if points is not None and points.box is not None:
        return (*_box(points, symbols, cores), None)
    lows = tuple(full(0, cores) for _ in shape)
    unknown = Unknown("a size that the program does not give")
    sizes = tuple(unknown if n is None else full(n, cores) for n in shape)
    return lows, sizes, points


def _apply(mapping: AffineMap, index: int, captures: Sequence[Scalar], cores: int) -> Scalar:
    for capture in captures:
        if isinstance(capture, Unknown):
            return capture
    value = AffineMap(mapping.dims, mapping.symbols, (mapping.results[index],))(captures)[0]
    return value if isinstance(value, Moving) else full(value, cores)


def _box(
    points: AffineSet, symbols: Sequence[Scalar], cores: int
) -> tuple[tuple[Scalar, ...], tuple[Scalar, ...]]:
    known = list(symbols[: points.symbols])
    unknown = next((s for s in known if isinstance(s, Unknown)), None)
    lows: list[Scalar] = []
    extents: list[Scalar] = []
    for low, high in points.box or ():
        if unknown is not None and (any(low.symbols) or any(high.symbols)):
            lows.append(unknown)
            extents.append(unknown)
            continue
        values: list[Any] = [0 if isinstance(s, Unknown) else s for s in known]
        first, extent = low(values), high(values) - low(values) + 1
        lows.append(first if isinstance(first, Moving) else full(first, cores))
        if isinstance(extent, Moving):
            extents.append(extent.course.maximum(extent, full(0, cores)))
        else:
            extents.append(np.maximum(full(extent, cores), 0))
    return tuple(lows), tuple(extents)


def full(value: Any, cores: int) -> np.ndarray:
    """A number as an array over cores; not to be written to."""
    if type(value) is int:
        return _filled(value, cores)
    array = np.asarray(value, np.int64)
    return np.full(cores, array) if array.ndim == 0 else array


@lru_cache(maxsize=4096)
def _filled(value: int, cores: int) -> np.ndarray:
    array = np.full(cores, value, np.int64)
    array.flags.writeable = False
    return array


def clipped(lows: np.ndarray, highs: np.ndarray) -> np.ndarray:
    """Elements of each core's box."""
    return np.prod(np.maximum(highs - lows, 0), axis=1, dtype=np.int64)
