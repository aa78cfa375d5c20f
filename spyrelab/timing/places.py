"""Views and access tiles of all cores at once: which elements a transfer touches."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from spyrelab.ktir import AffineSet, MemorySpace, Operation, Value
from spyrelab.ktir.affine import AffineMap, Binary, Dim
from spyrelab.ktir.types import element_of
from spyrelab.timing.scalars import Scalar, Unknown

__all__ = ["Tile", "View", "boxes", "clipped", "run_elements"]


@dataclass(frozen=True, eq=False)
class View:
    """A memory view; extents and lows are arrays [cores] or Unknown.

    ``space`` is None for device memory, -1 for the running core's scratchpad, else a core.
    """

    address: Scalar
    base: str
    itemsize: int
    sizes: tuple[Scalar, ...]
    strides: tuple[Scalar, ...]
    lows: tuple[Scalar, ...]
    space: int | None


@dataclass(frozen=True, eq=False)
class Tile:
    """An access tile: starts, a box relative to them, and the views that hold it."""

    parts: tuple[View, ...]
    starts: tuple[Scalar, ...]
    lows: tuple[Scalar, ...]
    extents: tuple[Scalar, ...]
    shape: tuple[int | None, ...]
    order: AffineMap | None = None
    gathered: int = 0
    """Leading axes whose place depends on an index (0: a plain box)."""
    index_bytes: int = 0
    """Bytes of device memory that are read to find the places."""


def view_of(operation: Operation, operands: Sequence[Scalar], base: str, cores: int) -> View:
    """``ktdp.construct_memory_view``."""
    attributes = operation.attributes
    rest = iter(operands[1:])
    sizes = tuple(_full(s, cores) if s is not None else next(rest) for s in attributes["sizes"])
    strides = tuple(_full(s, cores) if s is not None else next(rest) for s in attributes["strides"])
    symbols = [s for s, known in zip(sizes, attributes["sizes"], strict=True) if known is None]
    lows: tuple[Scalar, ...] = tuple(_full(0, cores) for _ in sizes)
    points: AffineSet | None = attributes.get("coordinate_set")
    if points is not None and points.box is not None:
        lows, sizes = _box(points, symbols, cores)
    space: MemorySpace | None = attributes.get("memory_space")
    where = None
    if space is not None and space.core_local:
        where = -1 if space.core is None else space.core
    itemsize = element_of(operation.result.type).itemsize
    return View(operands[0], base, itemsize, sizes, strides, lows, where)


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
        _apply(attributes["base_map"], index, captures)
        for index in range(len(attributes["base_map"].results))
    )
    shape: tuple[int | None, ...] = operation.result.type.shape  # type: ignore[union-attr]
    points: AffineSet | None = attributes.get("access_tile_set")
    if points is not None and points.box is not None:
        lows, extents = _box(points, list(symbols), cores)
    else:
        lows = tuple(_full(0, cores) for _ in starts)
        extents = tuple(_full(extent or 1, cores) for extent in shape)
    return Tile(parts, starts, lows, extents, shape, attributes.get("access_tile_order"))


def gather_of(
    operation: Operation, parts: tuple[View, ...], indices: Sequence[View], cores: int
) -> Tile:
    """``ktdp.construct_indirect_access_tile``: the trailing direct axes are runs."""
    shape: tuple[int | None, ...] = operation.result.type.shape  # type: ignore[union-attr]
    subscripts = operation.attributes["subscripts"]
    direct = 0
    for subscript in reversed(subscripts):
        if subscript.view is not None:
            break
        direct += 1
    gathered = max(1, len(shape) - direct)
    full = tuple(_full(extent or 1, cores) for extent in shape)
    zero = tuple(_full(0, cores) for _ in shape)
    read = 0
    for subscript in subscripts:
        if subscript.view is not None and indices[subscript.view].space is None:
            used = _dims(subscript.map)
            extents = [shape[d] or 1 for d in sorted(used) if d < len(shape)]
            read += math.prod(extents) * indices[subscript.view].itemsize
    return Tile(parts, zero, zero, full, shape, None, gathered, read)


def _dims(mapping: AffineMap) -> set[int]:
    """Dimensions that a map depends on."""
    found: set[int] = set()
    pending: list[Any] = list(mapping.results)
    while pending:
        expr = pending.pop()
        if isinstance(expr, Dim):
            found.add(expr.index)
        elif isinstance(expr, Binary):
            pending += [expr.left, expr.right]
    return found


def _apply(mapping: AffineMap, index: int, captures: Sequence[Scalar]) -> Scalar:
    known: list[np.ndarray] = []
    for capture in captures:
        if isinstance(capture, Unknown):
            return capture
        known.append(capture)
    value = AffineMap(mapping.dims, mapping.symbols, (mapping.results[index],))(known)[0]
    cores = len(known[0]) if known else 1
    return _full(value, cores) if np.ndim(value) == 0 else np.asarray(value)


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
        plain = [np.zeros(cores, np.int64) if isinstance(s, Unknown) else s for s in known]
        first, last = _full(low(plain), cores), _full(high(plain), cores)
        lows.append(first)
        extents.append(np.maximum(last - first + 1, 0))
    return tuple(lows), tuple(extents)


def _full(value: Any, cores: int) -> np.ndarray:
    array = np.asarray(value, np.int64)
    return np.broadcast_to(array, (cores,)) if array.ndim == 0 else array


def boxes(tile: Tile, part: View, active: np.ndarray) -> tuple[np.ndarray, np.ndarray, bool]:
    """Per core the box that a tile touches in one view: lows, highs, and whether they are exact.

    A place that is not known is taken to lie inside the view.
    """
    rank, cores, exact = len(tile.starts), len(active), True
    lows, highs = np.zeros((cores, rank), np.int64), np.zeros((cores, rank), np.int64)
    for axis in range(rank):
        start, low, extent = tile.starts[axis], tile.lows[axis], tile.extents[axis]
        if isinstance(extent, Unknown):
            exact, extent = False, _full(tile.shape[axis] or 1, cores)
        if isinstance(start, Unknown) or isinstance(low, Unknown):
            exact = False
            highs[:, axis] = extent
            continue
        first = start + low
        last = first + extent
        limit_low, limit_size = part.lows[axis], part.sizes[axis]
        if tile.gathered or isinstance(limit_low, Unknown) or isinstance(limit_size, Unknown):
            exact = exact and not tile.gathered
        else:
            first = np.clip(first, limit_low, limit_low + limit_size)
            last = np.clip(last, limit_low, limit_low + limit_size)
        lows[:, axis], highs[:, axis] = first, np.maximum(first, last)
    highs[~active] = lows[~active]
    return lows, highs, exact


def clipped(lows: np.ndarray, highs: np.ndarray) -> np.ndarray:
    """Elements of each core's box."""
    return np.prod(np.maximum(highs - lows, 0), axis=1, dtype=np.int64)


def run_elements(tile: Tile, part: View) -> int:
    """Elements in a row of memory that a transfer takes at once, from the first core's tile."""
    if tile.gathered:
        shape = [extent or 1 for extent in tile.shape[tile.gathered :]]
        return max(1, math.prod(shape))
    run = 1
    for axis in reversed(range(len(tile.extents))):
        extent, stride, size = tile.extents[axis], part.strides[axis], part.sizes[axis]
        if isinstance(extent, Unknown) or isinstance(stride, Unknown):
            break
        if int(np.max(extent)) == 1:
            continue
        if int(stride[0]) != run:
            break
        run *= int(np.max(extent))
        if isinstance(size, Unknown) or int(np.max(extent)) < int(np.max(size)):
            break
    return run


def name_of(value: Value) -> str:
    """How a message calls a value."""
    return f"%{value.name}"
