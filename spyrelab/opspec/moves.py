"""Operations that only move elements: joining, turning around, rolling."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from spyrelab.ktir.builder import Builder
from spyrelab.ktir.ir import Module
from spyrelab.layout.access import Access
from spyrelab.opspec.division import divide
from spyrelab.opspec.errors import OpSpecError, Unsuitable, Unsupported
from spyrelab.opspec.expressions import as_type
from spyrelab.opspec.iteration import Box, boxes
from spyrelab.opspec.operand import Input, Operand
from spyrelab.opspec.pointwise import arguments_of
from spyrelab.opspec.pointwise_tiles import fitting_division
from spyrelab.opspec.registry import family
from spyrelab.opspec.target import Target, target
from spyrelab.opspec.views import AnyAccess, Placed, Scattered, Shifted, aligned, flipped
from spyrelab.opspec.walk import Place, Walk

__all__ = ["build_cat", "build_flip", "build_roll"]

_MOST_BOXES = 64


@dataclass(frozen=True)
class _Part:
    """A part of an input that goes to a part of the output."""

    position: int
    source: Placed
    target: AnyAccess


@family("cat", takes_shifted=True)
def build_cat(
    op: str, inputs: tuple[Input, ...], outputs: tuple[Operand, ...], dim: int = 0
) -> Module:
    """Inputs one behind the other along ``dim`` of the output, in one launch."""
    (out,) = outputs
    parts, low = [], 0
    for position, operand in enumerate(inputs):
        entry = _tensor(operand)
        extent = entry.size[dim]
        target = _slice(out.access, dim, low, extent)
        parts.append(_Part(position, Placed(entry.access, 0), target))
        low += extent
    return _build(op, inputs, out, parts)


@family("flip", takes_shifted=True)
def build_flip(
    op: str, inputs: tuple[Input, ...], outputs: tuple[Operand, ...], dims: tuple[int, ...]
) -> Module:
    """The input read backwards along ``dims``."""
    (out,) = outputs
    rank = out.rank
    turned = flipped(Placed(_tensor(inputs[0]).access, 0), [d % rank for d in dims])
    if turned is None:
        raise Unsuitable(0, "its elements are scattered")
    return _build(op, inputs, out, [_Part(0, turned, out.access)])


@family("roll", takes_shifted=True)
def build_roll(
    op: str,
    inputs: tuple[Input, ...],
    outputs: tuple[Operand, ...],
    shifts: tuple[int, ...],
    dims: tuple[int, ...],
) -> Module:
    """The input moved by ``shifts`` along ``dims``; what leaves at one end enters at the other."""
    (out,) = outputs
    source = _tensor(inputs[0])
    size = out.size
    halves = []
    for shift, dim in zip(shifts, dims, strict=True):
        extent = size[dim]
        cut = shift % extent
        halves.append([(dim, 0, cut, extent - cut), (dim, extent - cut, 0, cut)])
    parts = []
    for chosen in itertools.product(*halves):
        read, written = source.access, out.access
        for dim, low, high, extent in chosen:
            if not extent:
                break
            read = _slice(read, dim, low, extent)
            written = _slice(written, dim, high, extent)
        else:
            parts.append(_Part(0, Placed(read, 0), written))
    return _build(op, inputs, out, parts)


def _tensor(operand: Input) -> Operand:
    if not isinstance(operand, Operand):
        raise OpSpecError("numbers cannot be moved")
    return operand


def _slice(access: AnyAccess, dim: int, low: int, extent: int) -> AnyAccess:
    """``extent`` indices of a dimension from ``low``, as a view with the same start."""
    if isinstance(access, Scattered):
        return access
    around, skip = aligned(access)
    first = skip[dim] + low
    size = (*around.size[:dim], first + extent, *around.size[dim + 1 :])
    skips = (*skip[:dim], first, *skip[dim + 1 :])
    cut = Access(size, around.axes)
    return Shifted(cut, skips) if any(skips) else cut


def _build(op: str, inputs: tuple[Input, ...], out: Operand, parts: Sequence[_Part]) -> Module:
    found = [(part, box) for part in parts for box in _boxes(part, len(inputs))]
    if len(found) > _MOST_BOXES:
        raise Unsupported(f"{op} in {len(found)} pieces")
    kinds = [_tensor(operand).element for operand in inputs]
    into = target()
    if into is not None:
        _emitted(into, found)
        return Module(())
    divisions = [
        divide(box, [kinds[part.position].itemsize, out.element.itemsize]) for part, box in found
    ]
    b = Builder(op, grid=(max(division.cores for division in divisions),))
    arguments = arguments_of(b, inputs, (out,))
    for (part, _), division in zip(found, divisions, strict=True):
        source = Place(arguments[part.position], kinds[part.position])
        written = Place(arguments[-1], out.element)
        walk = Walk(b, division, [source, written], b.grid[0])
        walk.run(1, lambda _, tile: tile, lambda tiles: [as_type(tiles[0], out.element)])
    return b.build()


def _emitted(into: Target, found: Sequence[tuple[_Part, Box]]) -> None:
    """One core's code, in another program."""
    out = into.given["out0"]
    for part, box in found:
        given = into.given[f"in{part.position}"]
        places = [Place(g.pointer, g.operand.element, g.space, g.sparse) for g in (given, out)]
        live = 2 * (given.operand.element.itemsize + out.operand.element.itemsize + 4)
        walk = Walk(into.builder, fitting_division(box, places, live, into.lx_bytes), places, 1)
        kind = out.operand.element
        walk.run(1, lambda _, tile: tile, lambda tiles, kind=kind: [as_type(tiles[0], kind)])  # type: ignore[misc]


def _boxes(part: _Part, output: int) -> Iterator[Box]:
    positions = (part.position, output)
    for box in boxes([part.source.access, part.target], 1, positions):
        yield replace(box, offsets=(box.offsets[0] + part.source.start, box.offsets[1]))
