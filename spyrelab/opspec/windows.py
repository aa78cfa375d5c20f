"""Folds over sliding windows of a padded, linear tensor: maximum with its position, and mean."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from spyrelab.ktir.builder import Builder, Scalar, Tensor, View
from spyrelab.ktir.ir import Module
from spyrelab.ktir.types import F32, I64
from spyrelab.machine import SPYRE
from spyrelab.opspec.errors import Unsuitable, Unsupported
from spyrelab.opspec.operand import Input, Operand
from spyrelab.opspec.registry import family
from spyrelab.opspec.spans import MixedDigitsError, Span, common_spans, plain
from spyrelab.opspec.tiling import Tiling

__all__ = ["build_windows"]

_TILE_ELEMENTS = 16384
_CORE_ELEMENTS = 1024
_MOST_BOXES = 16
_PADDED = 0


@family("window_max", "window_mean")
def build_windows(
    op: str,
    inputs: tuple[Input, ...],
    outputs: tuple[Operand, ...],
    kernel: tuple[int, ...],
    stride: tuple[int, ...],
    dilation: tuple[int, ...],
    padding: tuple[int, ...],
    size: tuple[int, ...],
    divisor: int = 0,
    includes_padding: bool = True,
) -> Module:
    """One number for every window.

    Parameters
    ----------
    size
        Spatial extents without the padding, which is there in the input already: minus infinity
        for ``window_max``, zero for ``window_mean``.
    divisor
        For ``window_mean``; 0 for the number of elements, ``includes_padding`` or not.

    A second output of ``window_max`` takes the position of the maximum among ``size``, i64.
    """
    padded = inputs[0]
    assert isinstance(padded, Operand)
    if any(len(axis) != 1 for axis in padded.axes):
        raise Unsuitable(0, "windows need a linear input")
    window = _Window(kernel, stride, dilation, padding, size, divisor, includes_padding)
    boxes = _boxes(padded, outputs, window)
    b = Builder(op, grid=(max(box.tiling.parts for box in boxes),))
    pointers = b.pointers("in0", *(f"out{i}" for i in range(len(outputs))))
    core = b.compute_tile_id()
    for box in boxes:
        _Emission(b, op, box, window, (padded, *outputs), pointers).emit(core)
    return b.build()


@dataclass(frozen=True)
class _Window:
    kernel: tuple[int, ...]
    stride: tuple[int, ...]
    dilation: tuple[int, ...]
    padding: tuple[int, ...]
    size: tuple[int, ...]
    divisor: int
    includes_padding: bool

    def is_cut(self, places: Sequence[int]) -> bool:
        """Whether some window has fewer elements than the kernel."""
        if not self.includes_padding and any(self.padding):
            return True
        rows = zip(places, self.stride, self.kernel, self.size, self.padding, strict=True)
        return any((o - 1) * s + k > n + 2 * p for o, s, k, n, p in rows)


@dataclass(frozen=True)
class _Box:
    """A part of the results: a span for each dimension, walked in tiles."""

    spans: tuple[Span, ...]
    tiling: Tiling

    @property
    def counts(self) -> tuple[int, ...]:
        return tuple(count for span in self.spans for count in span.counts)

    def strides(self, operand: int) -> tuple[int, ...]:
        return tuple(stride for span in self.spans for stride in span.strides[operand])

    def offset(self, operand: int) -> int:
        return sum(span.offsets[operand] for span in self.spans)


def _boxes(padded: Operand, outputs: Sequence[Operand], window: _Window) -> list[_Box]:
    spans = []
    for d, extent in enumerate(outputs[0].size):
        axis = padded.axes[d]
        if d >= 2:
            axis = plain(extent, axis[0].stride * window.stride[d - 2])
        try:
            spans.append(common_spans(extent, [axis, *(o.axes[d] for o in outputs)]))
        except MixedDigitsError as error:
            raise Unsuitable(error.operand, str(error)) from None
    chosen = list(itertools.product(*spans))
    if len(chosen) > _MOST_BOXES:
        raise Unsupported(f"windows in {len(chosen)} pieces")
    boxes = []
    for parts in chosen:
        counts = tuple(count for span in parts for count in span.counts)
        extent = math.prod(counts)
        cores = min(SPYRE.cores, max(1, extent * math.prod(window.kernel) // _CORE_ELEMENTS))
        tiling = Tiling.of(counts, min(_TILE_ELEMENTS, -(-extent // cores)))
        tiling = Tiling(counts, tiling.shape, min(cores, tiling.total))
        boxes.append(_Box(parts, tiling))
    return boxes


@dataclass
class _Emission:
    b: Builder
    op: str
    box: _Box
    window: _Window
    operands: Sequence[Operand]
    pointers: Sequence[Scalar]

    def emit(self, core: Scalar) -> None:
        b, tiling = self.b, self.box.tiling
        source = self._source()
        results = [self._view(i) for i in range(1, len(self.operands))]
        with tiling.walk(b, core, "tile") as number:
            place = tiling.place(number, b)
            made = self._maximum if self.op == "window_max" else self._mean
            for value, view in zip(made(source, place), results, strict=False):
                b.store(value.to(view.dtype), view[tuple(place)])

    def _view(self, operand: int) -> View:
        start = self.pointers[operand] + self.box.offset(operand)
        kind = self.operands[operand].element
        return self.b.view(start, self.box.counts, kind, self.box.strides(operand))

    def _source(self) -> View:
        """The input: the digits of the results' places, then those of the kernel."""
        padded, window = self.operands[_PADDED], self.window
        moves = [
            axis[0].stride * step
            for axis, step in zip(padded.axes[2:], window.dilation, strict=True)
        ]
        return self.b.view(
            self.pointers[_PADDED] + self.box.offset(_PADDED),
            (*self.box.counts, *window.kernel),
            padded.element,
            (*self.box.strides(_PADDED), *moves),
        )

    def _fold(self, carry: Sequence[Tensor], step: Any) -> list[Tensor]:
        """Loops over the kernel, outermost dimension first."""
        kernel = [d for d, extent in enumerate(self.window.kernel) if extent > 1]

        def level(depth: int, taps: dict[int, Scalar], state: Sequence[Tensor]) -> list[Tensor]:
            if depth == len(kernel):
                return list(step(taps, state))
            d = kernel[depth]
            names = ("tap", *(f"so_far_{i}" for i in range(len(state))))
            loop = self.b.loop(0, self.window.kernel[d], 1, carry=state, names=names)
            with loop as (tap, *inner):
                loop.yield_(*level(depth + 1, {**taps, d: tap}, inner))
            return list(loop.results)

        return level(0, {}, carry)

    def _load(self, source: View, place: Sequence[Any], taps: dict[int, Scalar]) -> Tensor:
        shape = self.box.tiling.shape
        inner = [taps.get(d, 0) for d in range(len(self.window.kernel))]
        tile = self.b.load(source[(*place, *inner)], (*shape, *(1 for _ in inner)))
        return self.b.reshape(tile, shape).to(F32)

    def _maximum(self, source: View, place: Sequence[Any]) -> list[Tensor]:
        """Later values win if they are greater or not a number, as in torch."""
        b, window, shape = self.b, self.window, self.box.tiling.shape
        low = b.fill(shape, -math.inf, F32)
        if len(self.operands) == 2:

            def step(taps: dict[int, Scalar], state: Sequence[Tensor]) -> list[Tensor]:
                return [b.maximum(state[0], self._load(source, place, taps))]

            return self._fold([low], step)
        rows = _row_major(window.size)
        begins = self._begins(place)
        first = _total([b.maximum(c, 0) * s for c, s in zip(begins, rows, strict=True)])
        base = _total([c * s for c, s in zip(begins, rows, strict=True)])

        def advance(taps: dict[int, Scalar], state: Sequence[Tensor]) -> list[Tensor]:
            best, at = state
            value = self._load(source, place, taps)
            here = base
            for d, tap in taps.items():
                here = here + b.splat((tap * (window.dilation[d] * rows[d])).to(I64), shape)
            wins = (value > best) | value.differs(value)
            return [b.select(wins, value, best), b.select(wins, here, at)]

        return self._fold([low, first], advance)

    def _mean(self, source: View, place: Sequence[Any]) -> list[Tensor]:
        b, window, shape = self.b, self.window, self.box.tiling.shape

        def step(taps: dict[int, Scalar], state: Sequence[Tensor]) -> list[Tensor]:
            return [state[0] + self._load(source, place, taps)]

        (total,) = self._fold([b.fill(shape, 0.0, F32)], step)
        if window.divisor or not window.is_cut(self.operands[1].size[2:]):
            number = window.divisor or math.prod(window.kernel)
            return [total / float(number) if number != 1 else total]
        counts = []
        for d, begin in enumerate(self._begins(place)):
            margin = window.padding[d] if window.includes_padding else 0
            end = b.minimum(begin + window.kernel[d], window.size[d] + margin)
            counts.append(end - (begin if window.includes_padding else b.maximum(begin, 0)))
        several = counts[0]
        for count in counts[1:]:
            several = several * count
        return [total / several.to(F32)]

    def _begins(self, place: Sequence[Any]) -> list[Tensor]:
        """For each spatial dimension where the window of each place begins, without padding."""
        found, digit = [], 0
        for d, span in enumerate(self.box.spans):
            begin = self._coordinate(span, digit, place) if d >= 2 else None
            digit += len(span.counts)
            if begin is not None:
                found.append(begin * self.window.stride[d - 2] - self.window.padding[d - 2])
        return found

    def _coordinate(self, span: Span, first: int, place: Sequence[Any]) -> Tensor:
        """The index of a dimension at each element of a tile, i64."""
        b, shape = self.b, self.box.tiling.shape
        total: Tensor | None = None
        start: Any = b.constant(span.low)
        unit = span.extent
        for axis, count in enumerate(span.counts, first):
            unit //= count
            ramp = b.constant_tensor([i * unit for i in range(shape[axis])], I64)
            others = [other for other in range(len(shape)) if other != axis]
            wide = b.broadcast(ramp, shape, others) if others else ramp
            total = wide if total is None else total + wide
            start = start + place[axis] * unit
        assert total is not None
        return total + b.splat(start.to(I64), shape)


def _total(parts: Sequence[Tensor]) -> Tensor:
    total = parts[0]
    for part in parts[1:]:
        total = total + part
    return total


def _row_major(size: Sequence[int]) -> list[int]:
    return [math.prod(size[d + 1 :]) for d in range(len(size))]
