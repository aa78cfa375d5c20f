"""Tensors made from the numbers of their elements: ranges, the identity, triangles."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from typing import Any

from spyrelab.ktir.builder import Builder, Scalar, Tensor
from spyrelab.ktir.ir import Module
from spyrelab.ktir.types import F32, I64
from spyrelab.layout.access import Access, Digit
from spyrelab.opspec.division import divide
from spyrelab.opspec.errors import Unsupported
from spyrelab.opspec.expressions import as_type, function
from spyrelab.opspec.iteration import boxes
from spyrelab.opspec.operand import Input, Operand
from spyrelab.opspec.pointwise import arguments_of
from spyrelab.opspec.registry import family
from spyrelab.opspec.views import contiguous
from spyrelab.opspec.walk import Place, Walk

__all__ = ["build_numbered"]

Formula = Callable[..., Any]


def _arange(b: Builder, number: Tensor, start: Any, step: Any, **_: Any) -> Any:
    """``start + number * step``, with one rounding."""
    if start.dtype != F32:
        return start + number * step
    return function(b, "math.fma", number.to(F32), step, start)


def _linspace(b: Builder, number: Tensor, start: Any, end: Any, steps: int) -> Any:
    """From both ends towards the middle, so that both are exact."""
    step = (end - start) / float(max(steps - 1, 1))
    rest = b.full(number.shape, steps - 1, I64) - number
    low = function(b, "math.fma", number.to(F32), step, start)
    high = function(b, "math.fma", rest.to(F32), -step, end)
    return b.select(number < (steps + 1) // 2, low, high)


def _eye(b: Builder, row: Tensor, column: Tensor) -> Any:
    return row.equals(column)


def _triangle(keeps: Callable[[Any, int], Any]) -> Formula:
    def emit(b: Builder, row: Tensor, column: Tensor, x: Tensor, diagonal: int = 0) -> Any:
        return b.select(keeps(column - row, diagonal), x, b.full(x.shape, 0, x.dtype))

    return emit


_LINE: dict[str, Formula] = {"arange": _arange, "linspace": _linspace}
_MATRIX: dict[str, Formula] = {
    "eye": _eye,
    "tril": _triangle(lambda distance, diagonal: distance <= diagonal),
    "triu": _triangle(lambda distance, diagonal: distance >= diagonal),
}


@family(*_LINE, *_MATRIX, takes_shifted=True)
def build_numbered(
    op: str, inputs: tuple[Input, ...], outputs: tuple[Operand, ...], **attributes: Any
) -> Module:
    """The program of a tensor whose elements follow from where they stand.

    ``arange`` takes start and step, ``linspace`` start and end and attribute ``steps``, ``tril``
    and ``triu`` a tensor and attribute ``diagonal``, ``eye`` nothing.

    Raises
    ------
    Unsuitable, Unsupported
    """
    (out,) = outputs
    if op in _MATRIX and out.rank < 2:
        raise Unsupported(f"{op} of {out.rank} dimensions")
    tensors = [operand for operand in inputs if isinstance(operand, Operand)]
    numbered = [contiguous(out.size)] if op in _LINE else _row_and_column(out.size)
    accesses = [operand.access for operand in tensors] + [out.access, *numbered]
    positions = [*range(len(tensors)), len(inputs), *[len(inputs)] * len(numbered)]
    leader = len(tensors)
    found = boxes(accesses, leader, positions, outputs=1)
    divisions = [divide(box, [o.element.itemsize for o in (*tensors, out)]) for box in found]
    b = Builder(op, grid=(max(division.cores for division in divisions),))
    arguments = arguments_of(b, inputs, outputs)
    pointers = [a for a, operand in zip(arguments, inputs, strict=False) if operand in tensors]
    places: list[Place | None] = [
        Place(a, operand.element)
        for a, operand in zip([*pointers, arguments[-1]], (*tensors, out), strict=True)
    ]
    places += [None] * len(numbered)
    numbers = [a for a, operand in zip(arguments, inputs, strict=False) if operand not in tensors]
    for division in divisions:
        walk = Walk(b, division, places, b.grid[0])
        _emit(walk, op, leader, numbers, len(numbered), attributes)
    return b.build()


def _emit(
    walk: Walk,
    op: str,
    leader: int,
    scalars: list[Scalar],
    numbered: int,
    attributes: dict[str, Any],
) -> None:
    b = walk.builder
    formula = (_LINE | _MATRIX)[op]
    with ExitStack() as opened:
        at = walk.open(opened)
        where = [walk.numbers(leader + 1 + number, at) for number in range(numbered)]
        tiles = [walk.widened(operand, walk.load(operand, at)) for operand in range(leader)]
        tiles += [b.splat(scalar, walk.shape) for scalar in scalars]
        result = formula(b, *where, *tiles, **attributes)
        walk.store(leader, as_type(result, walk.place(leader).kind), at)


def _row_and_column(size: tuple[int, ...]) -> list[Access]:
    """Accesses whose offsets are the last two indices."""

    def along(dimension: int) -> Access:
        axes = [(Digit(n, int(d == dimension and n > 1)),) for d, n in enumerate(size)]
        return Access(size, tuple(axes))

    return [along(len(size) - 2), along(len(size) - 1)]
