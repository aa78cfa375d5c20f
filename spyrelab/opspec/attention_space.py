"""The indices of an attention, where each operand lies along them, and how tiles are loaded."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from spyrelab.ktir.builder import Builder, Scalar, Tensor, View
from spyrelab.ktir.types import GLOBAL, I1, MemorySpace, ScalarType
from spyrelab.layout.access import Axis, Digit
from spyrelab.opspec.contraction import MOST_DIGITS
from spyrelab.opspec.errors import Unsuitable
from spyrelab.opspec.operand import Operand
from spyrelab.opspec.spans import MixedDigitsError, Span, common_spans, plain

__all__ = ["ROLES", "Field", "Loader", "Part", "Run", "Space", "cut_axis", "runs_of"]

ROLES = "BKGMNDE"
"""Batch, kv heads, query heads of one kv head, queries, keys, head dimension, value dimension."""

Place = Sequence[Scalar | int]


@dataclass(frozen=True)
class Field:
    """One operand: its position for `Unsuitable`, element type and axis for each of its roles."""

    position: int
    element: ScalarType
    axes: Mapping[str, Axis]
    sticks: str = ""

    @staticmethod
    def of(position: int, operand: Operand, roles: str, group: int) -> Field:
        """An operand whose axes are ``roles``; ``H`` is the query heads, to be cut in two.

        The last of D and E among them has to run along the operand's sticks.
        """
        axes: dict[str, Axis] = {}
        for role, extent, axis in zip(roles, operand.size, operand.axes, strict=True):
            if role != "H":
                axes[role] = axis
            elif extent == 1:
                axes["K"] = axes["G"] = plain(1)
            else:
                axes["K"], axes["G"] = cut_axis(position, axis, extent, group)
        sticks = roles[-1] if roles[-1] in "DE" else ""
        if sticks and operand.size[-1] > 1 and axes[sticks][-1].stride != 1:
            raise Unsuitable(position, "its sticks do not lie along the head dimension")
        return Field(position, operand.element, axes, sticks)

    def moves(self, role: str) -> bool:
        """Whether the operand depends on an index."""
        return any(d.stride for d in self.axes.get(role, ()) if d.count > 1)


def cut_axis(position: int, axis: Axis, extent: int, inner: int) -> tuple[Axis, Axis]:
    """An axis as two, the second of ``inner`` indices."""
    if math.prod(digit.count for digit in axis) != extent:
        raise Unsuitable(position, "its heads end inside a stick")
    first: list[Digit] = []
    second: list[Digit] = []
    need = inner
    for digit in reversed(axis):
        if need > 1 and need % digit.count == 0:
            second.insert(0, digit)
            need //= digit.count
        elif digit.count % need == 0:
            if need > 1:
                second.insert(0, Digit(need, digit.stride))
            first.insert(0, Digit(digit.count // need, digit.stride * need))
            need = 1
        else:
            raise Unsuitable(position, "its digits cut groups of heads")
    return tuple(first) or plain(1), tuple(second) or plain(1)


@dataclass(frozen=True)
class Part:
    """Indices of one role that a tile covers: a span, where it begins, its extent per digit."""

    span: Span
    place: Place
    shape: tuple[int, ...]

    @staticmethod
    def whole(span: Span) -> Part:
        """All of a span."""
        return Part(span, (0,) * len(span.counts), span.counts)

    @property
    def extent(self) -> int:
        """Indices covered."""
        return math.prod(self.shape)


@dataclass(frozen=True)
class Run:
    """Tiles of one width that follow each other exactly, without one that overhangs.

    ``low`` is the index at which the first one begins, ``first`` its outermost digit.
    """

    span: Span
    first: int
    shape: tuple[int, ...]
    count: int
    low: int

    @property
    def width(self) -> int:
        """Indices of a tile."""
        return math.prod(self.shape)

    def part(self, number: Scalar | int) -> Part:
        """Tile ``number`` of the run."""
        outer = number * self.shape[0] + self.first
        return Part(self.span, (outer, *(0,) * (len(self.shape) - 1)), self.shape)


def runs_of(spans: Sequence[Span], wanted: int) -> list[Run]:
    """Spans in tiles of at most ``wanted`` indices, or of the inner digits where those are more."""
    found = []
    for span in spans:
        outer, *inner = span.counts
        width = math.prod(inner)
        step = min(outer, max(1, wanted // width))
        whole, rest = divmod(outer, step)
        found.append(Run(span, 0, (step, *inner), whole, span.low))
        if rest:
            low = span.low + whole * step * width
            found.append(Run(span, whole * step, (rest, *inner), 1, low))
    return found


@dataclass(frozen=True)
class Space:
    """Extents per role, operands by name and, for each role, spans that fit all of them."""

    extents: Mapping[str, int]
    fields: Mapping[str, Field]
    spans: Mapping[str, Sequence[Span]]
    order: tuple[str, ...]

    @staticmethod
    def of(extents: Mapping[str, int], fields: Mapping[str, Field]) -> Space:
        """Find the spans; raises Unsuitable."""
        order = tuple(fields)
        spans = {}
        for role in ROLES:
            extent = extents[role]
            axes = [fields[name].axes.get(role) or plain(extent) for name in order]
            axes = [a if a[0].count > 1 or len(a) > 1 else plain(extent) for a in axes]
            try:
                spans[role] = common_spans(extent, axes)
            except MixedDigitsError as error:
                raise Unsuitable(fields[order[error.operand]].position, str(error)) from None
            if len(spans[role]) > 1 and role in "BKG":
                worst = max(order, key=lambda name, r=role: len(fields[name].axes.get(r, ())))  # type: ignore[misc]
                raise Unsuitable(fields[worst].position, "its heads or batch end inside a stick")
        for field in fields.values():
            digits = sum(len(spans[role][0].counts) for role in field.axes)
            if digits > MOST_DIGITS:
                raise Unsuitable(field.position, f"it takes {digits} digits to walk it")
        return Space(extents, fields, spans, order)


@dataclass
class Loader:
    """Loads and stores tiles of the operands of a space through given pointers."""

    b: Builder
    space: Space
    pointers: Mapping[str, Scalar]
    spaces: Mapping[str, MemorySpace]

    def _view(self, name: str, roles: str, parts: Mapping[str, Part]) -> View:
        field, at = self.space.fields[name], self.space.order.index(name)
        spans = [parts[role].span for role in roles]
        return self.b.view(
            self._start(name, parts),
            [count for span in spans for count in span.counts],
            field.element,
            [stride for span in spans for stride in span.strides[at]],
            memory_space=self.spaces.get(name, GLOBAL),
        )

    def _place(self, name: str, roles: str, parts: Mapping[str, Part]) -> tuple[View, list[int]]:
        shape = [extent for role in roles for extent in parts[role].shape]
        return self._view(name, roles, parts), shape

    def load(self, name: str, parts: Mapping[str, Part], sizes: Sequence[int]) -> Tensor:
        """A tile of an operand that depends on every index in ``parts``, as ``sizes``."""
        roles = "".join(role for role in ROLES if role in parts)
        view, shape = self._place(name, roles, parts)
        position = tuple(p for role in roles for p in parts[role].place)
        return self.b.reshape(self.b.load(view[position], shape), sizes)

    def store(self, tile: Tensor, name: str, parts: Mapping[str, Part]) -> None:
        """Write a tile; what overhangs the operand is dropped."""
        roles = "".join(role for role in ROLES if role in parts)
        view, shape = self._place(name, roles, parts)
        position = tuple(p for role in roles for p in parts[role].place)
        self.b.store(self.b.reshape(tile, shape), view[position])

    def spread(self, name: str, parts: Mapping[str, Part]) -> Tensor:
        """A tile [G M, N] of an operand that may lack some of its indices."""
        b, field = self.b, self.space.fields[name]
        kept = "".join(role for role in "BKGMN" if field.moves(role))
        body = "".join(role for role in kept if role in "GMN")
        sizes = [parts[role].extent for role in "GMN"]
        rows = [sizes[0] * sizes[1], sizes[2]]
        if not kept:
            space = self.spaces.get(name, GLOBAL)
            start = self._start(name, parts)
            field_view = b.view(start, (1,), field.element, memory_space=space)
            return b.splat(b.load(field_view[0], (1,)).item(), rows)
        view, shape = self._place(name, kept, parts)
        position = tuple(p for role in kept for p in parts[role].place)
        tile = b.load(view[position], shape)
        if not body:
            return b.splat(tile.item(), rows)
        tile = b.reshape(tile, [parts[role].extent for role in body])
        added = [axis for axis, role in enumerate("GMN") if role not in body]
        if added:
            tile = b.broadcast(tile, sizes, added)
        return b.reshape(tile, rows)

    def _start(self, name: str, parts: Mapping[str, Part]) -> Scalar:
        at = self.space.order.index(name)
        return self.pointers[name] + sum(p.span.offsets[at] for p in parts.values())

    def is_boolean(self, name: str) -> bool:
        """Whether an operand holds truths."""
        return self.space.fields[name].element == I1
