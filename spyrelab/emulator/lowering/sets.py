"""Boxes of affine sets whose symbols may be known only at run time."""

from __future__ import annotations

from collections.abc import Sequence

from spyrelab.emulator.errors import UnsupportedError, place
from spyrelab.emulator.lowering.coordinates import scalar_binary
from spyrelab.emulator.lowering.lowering import Lowering
from spyrelab.emulator.lowering.values import Size, Tile
from spyrelab.emulator.points import enumerate_set
from spyrelab.ktir import AffineSet, Operation
from spyrelab.ktir.affine import Bound, Constraint, linear

Box = tuple[tuple[Size, ...], tuple[Size, ...], AffineSet | None]
"""Smallest corner, extents, and the set itself where the box has points outside it."""


def corner(
    lowering: Lowering,
    operation: Operation,
    points: AffineSet | None,
    sizes: Sequence[Size],
    symbols: Sequence[Tile],
) -> Box:
    """Box of a view's coordinate set; the sizes themselves where there is none."""
    if points is None:
        return (0,) * len(sizes), tuple(sizes), None
    return box_of(lowering, operation, points, symbols)


def box_of(
    lowering: Lowering, operation: Operation, points: AffineSet, symbols: Sequence[Tile]
) -> Box:
    """Bounding box of a set; its symbols are the first of ``symbols``."""
    symbols, bounds = symbols[: points.symbols], points.box
    if bounds is None and all(symbol.constant is not None for symbol in symbols):
        found = enumerate_set(points, [int(symbol.constant or 0) for symbol in symbols])
        return found.low, found.shape, points if found.mask is not None else None
    mask = points if bounds is None else None
    if bounds is None:
        bounds = _single_axis_part(points).box
    if bounds is None:
        raise UnsupportedError(
            f"{place(operation)}: a set that depends on run-time symbols needs simple bounds "
            f"for every dimension to run on the vm engine: {points}"
        )
    emitter = lowering.emitter
    lows, extents = [], []
    for low, high in bounds:
        first, last = _bound(lowering, low, symbols), _bound(lowering, high, symbols)
        lows.append(first)
        extents.append(non_negative(lowering, emitter.add(emitter.subtract(last, first), 1)))
    return tuple(lows), tuple(extents), mask


def _single_axis_part(points: AffineSet) -> AffineSet:
    kept: list[Constraint] = []
    for constraint in points.constraints:
        form = linear(constraint.expr, points.dims, points.symbols)
        if form is not None and sum(map(abs, form.dims)) == 1:
            kept.append(constraint)
    return AffineSet(points.dims, points.symbols, tuple(kept))


def _bound(lowering: Lowering, bound: Bound, symbols: Sequence[Tile]) -> Size:
    emitter = lowering.emitter
    total: Size = bound.constant
    for factor, symbol in zip(bound.symbols, symbols, strict=False):
        if factor:
            total = emitter.add(total, emitter.multiply(symbol, factor))
    return total


def non_negative(lowering: Lowering, size: Size) -> Size:
    """``max(size, 0)``."""

    if isinstance(size, int):
        return max(size, 0)
    return scalar_binary(lowering, "arith.maxsi", size, lowering.emitter.zero)
