"""Copies into a larger tensor, with a number around and between the elements."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from spyrelab.ktir.builder import Builder, Scalar, View
from spyrelab.ktir.ir import Module
from spyrelab.layout.access import Axis, Digit
from spyrelab.machine import SPYRE
from spyrelab.opspec.chain import Chain
from spyrelab.opspec.compile import Compiled
from spyrelab.opspec.errors import OpSpecError, Unsupported
from spyrelab.opspec.operand import Input, Operand
from spyrelab.opspec.registry import composite, family
from spyrelab.opspec.spans import MixedDigitsError, Span, common_spans, joined, plain
from spyrelab.opspec.tiling import Tiling

__all__ = ["build_padding", "build_zero", "compile_padding", "is_plain"]

_TILE_ELEMENTS = 16384
_CORE_ELEMENTS = 2048
_MOST_BOXES = 64
_SOURCE, _TARGET = 0, 1


@composite("pad")
def compile_padding(
    op: str, inputs: tuple[Input, ...], outputs: tuple[Operand, ...], **attributes: Any
) -> Compiled | None:
    """By way of a linear temporary where the result's sticks would be cut."""
    if is_plain(outputs[0]):
        return None
    chain = Chain(inputs, outputs)
    linear = chain.temporary(outputs[0].size, outputs[0].dtype, linear=True)
    chain.add(op, chain.inputs, [linear], **attributes)
    chain.add("copy", [linear], chain.outputs)
    return chain.finish()


@family("pad")
def build_padding(
    op: str,
    inputs: tuple[Input, ...],
    outputs: tuple[Operand, ...],
    low: tuple[int, ...] = (),
    every: tuple[int, ...] = (),
    value: float = 0.0,
) -> Module:
    """The input in a result that is ``value`` elsewhere.

    Index i of dimension d goes to ``low[d] + every[d] * i`` (default: no padding, every one).
    """
    (source,) = inputs
    target = outputs[0]
    if not isinstance(source, Operand) or source.rank != target.rank:
        raise OpSpecError("pad takes one tensor of the result's rank")
    low, every = low or (0,) * source.rank, every or (1,) * source.rank
    for n, size, at, step in zip(source.size, target.size, low, every, strict=True):
        if at < 0 or at + (n - 1) * step >= size:
            raise Unsupported("padding that cuts something off")
    boxes = _boxes(source, target, low, every)
    return _module(op, boxes, (source, target), ("in0", "out0"), value)


@family("zero")
def build_zero(op: str, inputs: tuple[Input, ...], outputs: tuple[Operand, ...]) -> Module:
    """Zeros."""
    if inputs:
        raise OpSpecError("zero takes no input")
    target = outputs[0]
    spans = [_spans(n, plain(n), axis) for n, axis in zip(target.size, target.axes, strict=True)]
    boxes = [_Box(joined(chosen), False) for chosen in itertools.product(*spans)]
    return _module(op, boxes, (target, target), ("out0",), 0.0)


def is_plain(operand: Operand) -> bool:
    """Whether every index moves through memory in equal steps."""
    axes = getattr(operand.access, "axes", None)
    return axes is not None and all(len(axis) == 1 for axis in axes)


@dataclass(frozen=True)
class _Box:
    """A part of the result, copied or filled; strides of source and target."""

    span: Span
    copied: bool


def _boxes(
    source: Operand, target: Operand, low: tuple[int, ...], every: tuple[int, ...]
) -> list[_Box]:
    """Parts that cover the result once: what is copied, and slabs around and between."""
    copied: list[list[Span]] = []
    filled: list[list[Span]] = []
    for d, axis in enumerate(target.axes):
        n, step, count = source.size[d], every[d], target.size[d]
        if (low[d], step, n) == (0, 1, count):
            copied.append(_spans(n, source.axes[d], axis))
            filled.append([])
            continue
        if len(axis) != 1:
            raise Unsupported("padding of an index that the result cuts into sticks")
        stride = axis[0].stride
        moved = _spans(n, source.axes[d], plain(n, step * stride))
        copied.append([_shifted(span, low[d] * stride) for span in moved])
        behind = low[d] + (n - 1) * step + 1
        slabs = [(0, plain(low[d], stride)), (behind, plain(count - behind, stride))]
        between = (Digit(n - 1, step * stride), Digit(step - 1, stride))
        slabs.append((low[d] + 1, between))
        filled.append(
            [
                _shifted(span, at * stride)
                for at, digits in slabs
                if (extent := math.prod(digit.count for digit in digits))
                for span in _spans(extent, plain(extent), digits)
            ]
        )
    whole = [_spans(n, plain(n), axis) for n, axis in zip(target.size, target.axes, strict=True)]
    found = [_Box(joined(chosen), True) for chosen in itertools.product(*copied)]
    for d, slabs_of in enumerate(filled):
        parts = [*copied[:d], slabs_of, *whole[d + 1 :]]
        found += [_Box(joined(chosen), False) for chosen in itertools.product(*parts)]
    if len(found) > _MOST_BOXES:
        raise Unsupported(f"padding in {len(found)} pieces")
    return found


def _spans(extent: int, source: Axis, target: Axis) -> list[Span]:
    try:
        return common_spans(extent, [source, target])
    except MixedDigitsError as error:
        raise Unsupported(str(error)) from None


def _shifted(span: Span, by: int) -> Span:
    source, target = span.offsets
    return Span(span.low, span.counts, span.strides, (source, target + by))


def _tiling(span: Span) -> Tiling:
    """Cores take runs of tiles; as many as there is work for."""
    cores = min(SPYRE.cores, max(1, span.extent // _CORE_ELEMENTS))
    wanted = min(_TILE_ELEMENTS, -(-span.extent // cores))
    tiling = Tiling.of(span.counts, wanted)
    return Tiling(tiling.counts, tiling.shape, min(cores, tiling.total))


def _module(
    op: str,
    boxes: Sequence[_Box],
    operands: tuple[Operand, Operand],
    names: tuple[str, ...],
    value: float,
) -> Module:
    tilings = [_tiling(box.span) for box in boxes]
    b = Builder(op, grid=(max(tiling.parts for tiling in tilings),))
    pointers = b.pointers(*names)
    core = b.compute_tile_id()
    kind = operands[_TARGET].element
    for box, tiling in zip(boxes, tilings, strict=True):
        target = _view(b, box, _TARGET, operands, pointers[-1])
        with tiling.walk(b, core, "tile") as number:
            place = tuple(tiling.place(number, b))
            tile = b.fill(tiling.shape, value, kind)
            if box.copied:
                source = _view(b, box, _SOURCE, operands, pointers[0])
                tile = b.load(source[place], tiling.shape).to(kind)
            b.store(tile, target[place])
    return b.build()


def _view(b: Builder, box: _Box, which: int, operands: Sequence[Operand], pointer: Scalar) -> View:
    span = box.span
    start = pointer + span.offsets[which]
    return b.view(start, span.counts, operands[which].element, span.strides[which])
