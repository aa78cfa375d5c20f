"""When two types or shapes may stand for the same thing."""

from __future__ import annotations

from collections.abc import Sequence

from spyrelab.ktir.types import (
    AccessTileType,
    Dimension,
    MemRefType,
    TensorType,
    TileFutureType,
    Type,
)

Shape = Sequence[Dimension]


def compatible_shapes(first: Shape, second: Shape) -> bool:
    """Same rank, and the same extents wherever both are known."""
    return len(first) == len(second) and all(
        a == b or a is None or b is None for a, b in zip(first, second, strict=True)
    )


def compatible(first: Type, second: Type) -> bool:
    """Whether two types agree wherever both say something."""
    if first == second:
        return True
    match first, second:
        case TensorType(), TensorType():
            return first.element == second.element and compatible_shapes(first.shape, second.shape)
        case MemRefType(), MemRefType():
            spaces = {first.space, second.space} - {None}
            return (
                first.element == second.element
                and compatible_shapes(first.shape, second.shape)
                and len(spaces) < 2
            )
        case AccessTileType(), AccessTileType():
            return compatible_shapes(first.shape, second.shape)
        case TileFutureType(), TileFutureType():
            return first.groups == second.groups and same_partials(first.partials, second.partials)
    return False


def same_partials(first: Sequence[Type], second: Sequence[Type]) -> bool:
    """Types of partials and deliveries; older text drops extents of one."""
    return len(first) == len(second) and all(
        compatible(a, b) or compatible(_without_ones(a), _without_ones(b))
        for a, b in zip(first, second, strict=True)
    )


def _without_ones(kind: Type) -> Type:
    if isinstance(kind, TensorType):
        return TensorType(tuple(e for e in kind.shape if e != 1), kind.element)
    return kind


def element_count(shape: Shape) -> int | None:
    """Number of elements, or None where an extent is unknown."""
    total = 1
    for extent in shape:
        if extent is None:
            return None
        total *= extent
    return total
