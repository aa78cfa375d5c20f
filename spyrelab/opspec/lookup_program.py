"""The code of a lookup: loops, offsets from indices, and what moves."""

from __future__ import annotations

import math
from collections.abc import Sequence
from contextlib import AbstractContextManager, ExitStack, nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING

from spyrelab.ktir.builder import Builder, Scalar, Tensor, View
from spyrelab.ktir.types import F32, I64, INDEX, MemorySpace
from spyrelab.layout.access import Axis
from spyrelab.opspec.lookup_division import Division, Move

if TYPE_CHECKING:
    from spyrelab.opspec.lookup import Lookup

__all__ = ["Program"]

_SCRATCHPAD = MemorySpace(core_local=True)

Position = Scalar | int


@dataclass
class Program:
    """Emits one block."""

    b: Builder
    owner: Lookup
    plan: Division
    scalars: dict[str, Scalar]
    core: Scalar

    def emit(self) -> None:
        """Append the block to the builder."""
        plan, counts = self.plan, self.plan.span.counts
        inner = [d for d in range(len(counts)) if d not in plan.indexed]
        at: list[Position] = [0] * len(counts)
        data = None if self.owner.number else self._view(0, self.owner.data_name)
        table = self._table()
        with ExitStack() as loops:
            for digit in plan.indexed:
                at[digit] = loops.enter_context(self._steps(digit))
            indices, offsets = self._offsets(at)
            for digit in inner:
                at[digit] = loops.enter_context(self._steps(digit))
            within: list[Position] = [0] * len(counts)
            for digit in plan.indexed:
                if plan.held[digit] > plan.tile[digit]:
                    left = self.b.minimum(
                        self.b.constant(counts[digit]) - at[digit], plan.held[digit]
                    )
                    within[digit] = loops.enter_context(self.b.loop(0, left, 1, names="next"))
            self._move(table, data, offsets, indices, at, within)

    def _steps(self, digit: int) -> AbstractContextManager[Position]:
        b, plan = self.b, self.plan
        count, held = plan.span.counts[digit], plan.held[digit]
        if digit == plan.split and plan.cores > 1:
            lower = self.core * plan.share
            if held == plan.share:
                return nullcontext(lower)
            return b.loop(lower, b.minimum(lower + plan.share, count), held, names=f"at_{digit}")
        return nullcontext(0) if held == count else b.loop(0, count, held, names=f"at_{digit}")

    def _view(self, operand: int, name: str) -> View:
        span = self.plan.span
        element = self.owner.data_element
        start = self.scalars[name] + span.offsets[operand]
        return self.b.view(start, span.counts, element, span.strides[operand])

    def _table(self) -> View:
        """The table: its elements in one line that offsets point into, then every digit.

        Digits along which the table does not move have stride 0: they mask what a tile that
        overhangs would move.
        """
        owner, span = self.owner, self.plan.span
        reach = sum(
            (digit.count - 1) * digit.stride for index in owner.indices for digit in index.target
        )
        start = self.scalars[owner.table_name] + span.offsets[1]
        sizes, strides = (reach + 1, *span.counts), (1, *span.strides[1])
        return self.b.view(start, sizes, owner.element, strides)

    def _offsets(self, at: Sequence[Position]) -> tuple[Tensor, Tensor | View]:
        """The last index tensor's tile, and the offsets by all, perhaps in the scratchpad."""
        b, plan, span = self.b, self.plan, self.plan.span
        shape = tuple(plan.held[d] for d in plan.indexed)
        total: Tensor | None = None
        for number, index in enumerate(self.owner.indices, 2):
            view = b.view(
                self.scalars[index.name] + span.offsets[number],
                [span.counts[d] for d in plan.indexed],
                index.element,
                [span.strides[number][d] for d in plan.indexed],
            )
            values = b.load(view[tuple(at[d] for d in plan.indexed)], shape).to(I64)
            values = b.select(values < 0, values + index.extent, values)
            offset = _device_offset(values, index.target)
            total = offset if total is None else total + offset
        assert total is not None
        if self._is_direct:
            return values, total
        place = b.view(0, shape, I64, memory_space=_SCRATCHPAD)
        b.store(total, place[(0,) * len(shape)])
        return values, place

    @property
    def _is_direct(self) -> bool:
        """Whether tiles are boxes of the table, at an offset that is a scalar."""
        return self.owner.move is Move.ADD and self.plan.one_by_one

    def _move(
        self,
        table: View,
        data: View | None,
        offsets: Tensor | View,
        indices: Tensor,
        at: Sequence[Position],
        within: Sequence[Position],
    ) -> None:
        b, owner, plan = self.b, self.owner, self.plan
        tile = plan.tile
        places = [_sum(a, w) for a, w in zip(at, within, strict=True)]
        if isinstance(offsets, Tensor):
            place = offsets.item(*(within[d] for d in plan.indexed)).to(INDEX)
            old = b.reshape(b.load(table[(place, *places)], (1, *tile)), tile)
            new = _added(old, self._value(data, places, indices, within)).to(owner.element)
            b.store(b.reshape(new, (1, *tile)), table[(place, *places)])
            return

        def subscripts(*variables: object) -> list[object]:
            picked = tuple(variables[d] + within[d] for d in plan.indexed)  # type: ignore[operator]
            moved = [v + p for v, p in zip(variables, places, strict=True)]  # type: ignore[operator]
            return [offsets[picked], *moved]

        if owner.move is Move.READ:
            assert data is not None
            read = b.gather(table, tile, subscripts)  # type: ignore[arg-type]
            b.store(read.to(owner.data_element), data[tuple(places)])
            return
        value = self._value(data, places, indices, within)
        if owner.move is Move.ADD:
            old = b.gather(table, tile, subscripts)  # type: ignore[arg-type]
            value = _added(old, value)
        b.scatter(value.to(owner.element), table, subscripts)  # type: ignore[arg-type]

    def _value(
        self,
        data: View | None,
        places: Sequence[Position],
        indices: Tensor,
        within: Sequence[Position],
    ) -> Tensor:
        b, owner, tile = self.b, self.owner, self.plan.tile
        if data is None:
            number = self.scalars[owner.data_name].to(owner.element)
            return b.splat(number, tile)
        value = b.load(data[tuple(places)], tile)
        if owner.skip is not None:
            index = indices.item(*(within[d] for d in self.plan.indexed))
            value = b.select(index.equals(owner.skip), b.fill(tile, 0, value.dtype), value)
        return value


def _sum(a: Position, b: Position) -> Position:
    if isinstance(b, int) and b == 0:
        return a
    return b + a if isinstance(a, int) else a + b


def _device_offset(index: Tensor, axis: Axis) -> Tensor:
    """Sum of digit times stride."""
    inner = math.prod(digit.count for digit in axis)
    total: Tensor | None = None
    for position, digit in enumerate(axis):
        inner //= digit.count
        own = index // inner if inner > 1 else index
        own = own % digit.count if position else own
        if not digit.stride:
            continue
        own = own * digit.stride if digit.stride != 1 else own
        total = own if total is None else total + own
    return index * 0 if total is None else total


def _added(old: Tensor, value: Tensor) -> Tensor:
    """The sum, in f32 for floats."""
    if old.dtype.is_float:
        return old.to(F32) + value.to(F32)
    return old + value.to(old.dtype)
