"""How far the memory views of a function reach: interval arithmetic on its scalars.

Every whole number gets a range, and an address its range relative to the argument that it
starts from. Loop counters range over the loop, core numbers over the grid; what is loaded from
memory has no range.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from spyrelab.ktir import Function, MemRefType, Operation, ScalarType, Value

__all__ = ["Reach", "Reached", "find_reach"]


@dataclass(frozen=True)
class Reach:
    """Elements ``[0, high)`` of ``element``; values read as subscripts are below index_limit."""

    element: ScalarType
    high: int
    index_limit: int | None = None


@dataclass
class Reached:
    """What is reached from each pointer argument, and from each literal address."""

    arguments: dict[str, Reach] = field(default_factory=dict)
    literal: dict[int, Reach] = field(default_factory=dict)


@dataclass(frozen=True)
class Span:
    """A range of whole numbers, both ends included, relative to ``base`` if it is an address."""

    low: int
    high: int
    base: str | None = None


def find_reach(function: Function, grid: Sequence[int], scalars: Mapping[str, int]) -> Reached:
    """Follow addresses from the arguments to every view; unknown ones are left out."""
    walker = _Walker(grid)
    for argument in function.arguments:
        if argument.name in scalars:
            walker.spans[argument] = Span(scalars[argument.name], scalars[argument.name])
        else:
            walker.spans[argument] = Span(0, 0, argument.name)
    walker.walk(function.body.operations)
    return walker.finish()


def _corners(rule: Callable[[int, int], int]) -> Callable[[Span, Span], Span | None]:
    """A rule that is monotonic in each operand takes its extremes at the corners."""

    def apply(left: Span, right: Span) -> Span | None:
        if left.base or right.base:
            return None
        ends = [rule(a, b) for a in (left.low, left.high) for b in (right.low, right.high)]
        return Span(min(ends), max(ends))

    return apply


def _divide(rule: Callable[[int, int], int]) -> Callable[[Span, Span], Span | None]:
    corners = _corners(rule)
    return lambda left, right: corners(left, right) if right.low > 0 else None


def _add(left: Span, right: Span) -> Span | None:
    if left.base and right.base:
        # The leftmost is the pointer, as where addresses are bound; the other starts at zero.
        return Span(left.low, left.high, left.base)
    return Span(left.low + right.low, left.high + right.high, left.base or right.base)


def _subtract(left: Span, right: Span) -> Span | None:
    if right.base:
        return None
    return Span(left.low - right.high, left.high - right.low, left.base)


def _remainder(left: Span, right: Span) -> Span | None:
    if left.base or right.base or right.low <= 0 or left.low < 0:
        return None
    return Span(0, min(left.high, right.high - 1))


_RULES: dict[str, Callable[[Span, Span], Span | None]] = {
    "arith.addi": _add,
    "arith.subi": _subtract,
    "arith.muli": _corners(lambda a, b: a * b),
    "arith.minsi": _corners(min),
    "arith.minui": _corners(min),
    "arith.maxsi": _corners(max),
    "arith.maxui": _corners(max),
    "arith.divsi": _divide(lambda a, b: a // b if a >= 0 else -(-a // b)),
    "arith.divui": _divide(lambda a, b: a // b),
    "arith.floordivsi": _divide(lambda a, b: a // b),
    "arith.ceildivsi": _divide(lambda a, b: -(-a // b)),
    "arith.ceildivui": _divide(lambda a, b: -(-a // b)),
    "arith.remsi": _remainder,
    "arith.remui": _remainder,
}
_CASTS = ("arith.index_cast", "arith.index_castui", "arith.extsi", "arith.extui", "arith.trunci")


class _Walker:
    def __init__(self, grid: Sequence[int]) -> None:
        self.grid = grid
        self.spans: dict[Value, Span] = {}
        self.origins: dict[Value, tuple[str | int, ScalarType]] = {}
        self.reaches: list[tuple[str | None, int, int, ScalarType]] = []
        self.limits: dict[str | int, int] = {}

    def walk(self, operations: Iterable[Operation]) -> None:
        for operation in operations:
            self._visit(operation)

    def _visit(self, operation: Operation) -> None:
        name, operands = operation.name, operation.operands
        if name == "arith.constant":
            value = operation.attributes["value"]
            if isinstance(value, int):
                self.spans[operation.result] = Span(int(value), int(value))
        elif name == "ktdp.get_compute_tile_id":
            for axis, result in enumerate(operation.results):
                extent = self.grid[axis] if axis < len(self.grid) else 1
                self.spans[result] = Span(0, extent - 1)
        elif name in _RULES:
            self._apply(_RULES[name], operation)
        elif name in _CASTS or name == "ktdp.runtime_arg_extract":
            if operands[0] in self.spans:
                self.spans[operation.result] = self.spans[operands[0]]
        elif name == "arith.select":
            self._join(operation.result, operands[1:])
        elif name == "ktdp.construct_memory_view":
            self._view(operation)
        elif name == "ktdp.construct_indirect_access_tile":
            self._index_limits(operation)
        self._enter(operation)

    def _apply(self, rule: Callable[[Span, Span], Span | None], operation: Operation) -> None:
        left, right = (self.spans.get(value) for value in operation.operands)
        result = rule(left, right) if left and right else None
        if result:
            self.spans[operation.result] = result

    def _join(self, result: Value, values: Sequence[Value]) -> None:
        spans = [self.spans.get(value) for value in values]
        known = [span for span in spans if span]
        if known and len(known) == len(spans) and len({span.base for span in known}) == 1:
            low, high = min(s.low for s in known), max(s.high for s in known)
            self.spans[result] = Span(low, high, known[0].base)

    def _enter(self, operation: Operation) -> None:
        if operation.name == "scf.for":
            lower, upper, step = (self.spans.get(value) for value in operation.operands[:3])
            if lower and upper and not lower.base and not upper.base:
                counter = operation.regions[0].arguments[0]
                last = max(upper.high - 1, lower.low)
                if lower.low == lower.high and step and step.low == step.high > 0:
                    last -= (last - lower.low) % step.low
                self.spans[counter] = Span(lower.low, last)
        for region in operation.regions:
            self.walk(region.operations)
        if operation.name == "scf.if":
            ends = [region.operations[-1].operands for region in operation.regions]
            for result, *values in zip(operation.results, *ends, strict=False):
                self._join(result, values)

    def _view(self, operation: Operation) -> None:
        address, *dynamic = operation.operands
        start, memref = self.spans.get(address), operation.result.type
        if start is None or not isinstance(memref, MemRefType):
            return
        self.origins[operation.result] = (start.base or start.low, memref.element)
        space = operation.attributes.get("memory_space") or memref.space
        numbers = [self.spans.get(value) for value in dynamic]
        sizes, numbers = _fill(operation.attributes["sizes"], numbers)
        strides, _ = _fill(operation.attributes["strides"], numbers)
        if (space and space.core_local) or None in sizes or None in strides:
            return
        steps = [(s - 1) * t for s, t in zip(sizes, strides, strict=True) if s and t is not None]
        high = start.high + 1 + sum(max(step, 0) for step in steps)
        self.reaches.append((start.base, start.low, max(high, start.low + 1), memref.element))

    def _index_limits(self, operation: Operation) -> None:
        base = operation.operands[0].type
        for axis, subscript in enumerate(operation.attributes["subscripts"]):
            if subscript.view is None or not isinstance(base, MemRefType):
                continue
            origin = self.origins.get(operation.operands[1 + subscript.view])
            extent = base.shape[axis]
            if origin and extent is not None:
                before = self.limits.get(origin[0], extent)
                self.limits[origin[0]] = min(before, extent)

    def finish(self) -> Reached:
        reached = Reached()
        pieces: list[tuple[int, int, ScalarType]] = []
        for base, low, high, element in self.reaches:
            if base is None:
                pieces.append((low, high, element))
                continue
            known = reached.arguments.get(base)
            high = max(high, known.high if known else 0)
            first = known.element if known else element
            reached.arguments[base] = Reach(first, high, self.limits.get(base))
        for low, high, element in sorted(pieces, key=lambda p: p[0] * p[2].itemsize):
            self._merge(reached.literal, low, high, element)
        return reached

    def _merge(self, found: dict[int, Reach], low: int, high: int, element: ScalarType) -> None:
        """Views at literal addresses that overlap share an array."""
        limit = self.limits.get(low)
        if found:
            start, last = next(reversed(found.items()))
            size, other = element.itemsize, last.element.itemsize
            if low * size < (start + last.high) * other:
                end = -(-high * size // other)
                found[start] = replace(last, high=max(last.high, end - start))
                return
        found[low] = Reach(element, high - low, limit)


def _fill(
    numbers: Sequence[int | None], dynamic: Sequence[Span | None]
) -> tuple[list[int | None], list[Span | None]]:
    """Put the ranges' upper ends where the text has ``?``; also gives the ranges left over."""
    rest = list(dynamic)
    filled = [n if n is not None else _high(rest.pop(0)) for n in numbers]
    return filled, rest


def _high(span: Span | None) -> int | None:
    return None if span is None or span.base else span.high
