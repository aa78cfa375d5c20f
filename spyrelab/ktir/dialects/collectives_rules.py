"""Rules of the collectives: sets of tiles, partials and deliveries."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from spyrelab.ktir.affine import AffineSet
from spyrelab.ktir.check import Check
from spyrelab.ktir.dialects.bounds import set_ranges
from spyrelab.ktir.ir import Operation, Value
from spyrelab.ktir.matching import same_partials
from spyrelab.ktir.types import INDEX, Dimension, TensorType, TileFutureType, Type

_MOST_PAIRS = 1 << 22
_PRODUCERS = "producer_tiles_per_group"
_CONSUMERS = "consumer_tiles_per_group"
_DEPENDENCY = "producer_dependency_per_consumer"


def values_of_tensors(check: Check, operation: Operation) -> None:
    """A partial is a tensor."""
    for value in operation.operands:
        check.tensor(operation, "partial", value)


def _set(check: Check, operation: Operation, key: str, symbols: tuple[int, ...]) -> AffineSet:
    points = operation.attributes.get(key)
    if not isinstance(points, AffineSet):
        check.fail(operation, f"it needs {key} = affine_set<..>")
    if points.dims != 1 or points.symbols not in symbols:
        form = "(p)[c] or (p)[c, g]" if key == _DEPENDENCY else "(i)[g]"
        check.fail(
            operation,
            f"{key} has {points.dims} dimensions and {points.symbols} symbols",
            f"it is a set {form}",
        )
    return points


def produce(check: Check, operation: Operation) -> None:
    """One region over the group number that yields the partials; groups are disjoint."""
    future = operation.result.type
    if not isinstance(future, TileFutureType):
        check.fail(operation, f"the result is a {future}, not a tile_future")
    if future.groups.dims != 1 or future.groups.symbols:
        check.fail(operation, "groups must be a set (g) of group numbers")
    producers = _set(check, operation, _PRODUCERS, (0, 1))
    (region,) = operation.regions
    check.region_arguments(operation, region, [INDEX])
    last = check.terminator(operation, region, "ktdp.yield_partial")
    _same_partials(check, last, "partials", last.operands, future.partials)
    members = _membership(check, producers, future.groups)
    if members is None:
        return
    groups, matrix = members
    shared = np.flatnonzero(matrix.sum(axis=1) > 1)
    if shared.size:
        tile = int(shared[0])
        first, second = (int(g) for g in groups[np.flatnonzero(matrix[tile])[:2]])
        check.fail(
            operation,
            f"tile {tile} produces for groups {first} and {second}",
            "producer sets of different groups must be disjoint",
        )


def _membership(
    check: Check, tiles: AffineSet, groups: AffineSet
) -> tuple[NDArray[np.int64], NDArray[np.bool_]] | None:
    """Group numbers, and whether each tile (row) belongs to each group (column)."""
    if "grid" not in check.function.attributes:
        return None
    count = math.prod(check.function.grid)
    (pair,) = set_ranges(groups) or [None]
    low, high = pair if pair is not None else (0, count - 1)
    if high - low + 1 > _MOST_PAIRS // max(count, 1):
        return None
    try:
        return _members(tiles, groups, np.arange(low, high + 1), count)
    except OverflowError:  # a product of constants beyond 64 bits
        return None


def _members(
    tiles: AffineSet, groups: AffineSet, candidates: NDArray[np.int64], count: int
) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    numbers = candidates[np.broadcast_to(groups.contains((candidates,)), candidates.shape)]
    rows = np.arange(count)[:, None]
    symbols = (numbers[None, :],) if tiles.symbols else ()
    return numbers, np.broadcast_to(tiles.contains((rows,), symbols), (count, len(numbers)))


def _same_partials(
    check: Check,
    operation: Operation,
    what: str,
    values: Sequence[Value],
    partials: Sequence[Type],
) -> None:
    kinds = [value.type for value in values]
    if not same_partials(kinds, partials):
        shown, wanted = (", ".join(map(str, types)) or "none" for types in (kinds, partials))
        check.fail(operation, f"its {what} are {shown}; the future holds {wanted}")


def delivery(lists: tuple[str, ...], folds: bool) -> Callable[[Check, Operation], None]:
    """The rule of a collective that takes a future.

    Parameters
    ----------
    lists
        Attributes that list dimensions.
    folds
        Whether partials are combined by a region, starting from identities.
    """

    def rule(check: Check, operation: Operation) -> None:
        if not operation.operands:
            check.fail(operation, "it takes a future")
        future, *identities = operation.operands
        kind = future.type
        if not isinstance(kind, TileFutureType):
            check.fail(operation, f"%{future.name} is a {kind}, not a tile_future")
        _set(check, operation, _CONSUMERS, (0, 1))
        if _DEPENDENCY in operation.attributes:
            _set(check, operation, _DEPENDENCY, (1, 2))
        if folds:
            _same_partials(check, operation, "identities", identities, kind.partials)
            _combiner(check, operation, kind)
        elif identities:
            check.fail(operation, f"it takes 1 operand, not {len(operation.operands)}")
        if lists:
            _delivered_shapes(check, operation, lists, kind)
        else:
            _same_partials(check, operation, "results", operation.results, kind.partials)
        if not folds and not lists and _DEPENDENCY not in operation.attributes:
            _one_producer(check, operation, future, kind)

    return rule


def _combiner(check: Check, operation: Operation, kind: TileFutureType) -> None:
    (region,) = operation.regions
    _same_partials(
        check, operation, "region arguments", region.arguments, [*kind.partials, *kind.partials]
    )
    last = check.terminator(operation, region, "ktdp.yield_reduced")
    _same_partials(check, last, "values", last.operands, kind.partials)


def _one_producer(check: Check, operation: Operation, future: Value, kind: TileFutureType) -> None:
    source = check.definitions.get(future)
    if source is None or source.name != "ktdp.inter_tile_produce":
        return
    members = _membership(check, source.attributes[_PRODUCERS], kind.groups)
    if members is None:
        return
    groups, matrix = members
    crowded = np.flatnonzero(matrix.sum(axis=0) > 1)
    if crowded.size:
        group = int(groups[crowded[0]])
        check.fail(
            operation,
            f"group {group} has {int(matrix[:, crowded[0]].sum())} producers, so which one "
            "does a tile receive from?",
            f"add {_DEPENDENCY} = affine_set<(p)[c] : (..)>",
        )


def _delivered_shapes(
    check: Check, operation: Operation, lists: tuple[str, ...], kind: TileFutureType
) -> None:
    if len(operation.results) != len(kind.partials):
        check.fail(operation, f"{len(operation.results)} results for {len(kind.partials)} partials")
    for value, partial in zip(operation.results, kind.partials, strict=True):
        result = value.type
        if not (isinstance(result, TensorType) and isinstance(partial, TensorType)):
            check.fail(operation, f"{result} and {partial} must be tensors")
        if result.element != partial.element or len(result.shape) != len(partial.shape):
            check.fail(operation, f"{result} cannot be made of parts {partial}")
        grows, shrinks = _dimension_lists(check, operation, lists, len(partial.shape))
        for axis, (part, whole) in enumerate(zip(partial.shape, result.shape, strict=True)):
            if not _fits(part, whole, axis in grows, axis in shrinks):
                check.fail(operation, f"dimension {axis} of {result} does not fit {partial}")


def _dimension_lists(
    check: Check, operation: Operation, lists: tuple[str, ...], rank: int
) -> tuple[set[int], set[int]]:
    """Dimensions along which results grow, and along which they shrink."""
    grows: set[int] = set()
    shrinks: set[int] = set()
    for key in lists:
        dimensions = operation.attributes.get(key)
        if not dimensions:
            check.fail(operation, f"it needs {key} = [..]")
        if len(set(dimensions)) != len(dimensions) or not all(0 <= d < rank for d in dimensions):
            check.fail(operation, f"{key} {list(dimensions)} does not fit {rank} dimensions")
        (grows if key == "concat_dimensions" else shrinks).update(dimensions)
    return grows, shrinks


def _fits(part: Dimension, whole: Dimension, grows: bool, shrinks: bool) -> bool:
    if part is None or whole is None or (grows and shrinks):
        return True
    if grows:
        return part > 0 and whole % part == 0
    if shrinks:
        return whole > 0 and part % whole == 0
    return part == whole
