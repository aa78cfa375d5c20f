"""Tensors of a kernel as boxes of logical elements, whatever their layout in device memory."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from spyrelab.kernels.layouts import Layouts, adjoining, device_dimensions, known_layouts, placed
from spyrelab.ktir.builder import Builder, Place, Scalar, Tensor, View
from spyrelab.ktir.builder_values import Index
from spyrelab.ktir.types import ScalarType, TensorType
from spyrelab.layout import SpyreTensorLayout

__all__ = ["Operand", "Position", "operands"]

Position = Sequence[Scalar | int]

Subscript = Place | Index | Scalar | int


@dataclass(frozen=True)
class Operand:
    """One tensor of a kernel: boxes of its logical elements are loaded and stored.

    A row-major tensor is a view of its own size. A stick-tiled one is a view of the layout's
    device size, read as sticks and put into logical order on the way. Its last stick, where that
    holds padding, is a partition of its own: padding loads as zero and is never stored.

    Attributes
    ----------
    size
        Logical extents.
    stick
        Boxes begin at multiples of this along the last dimension; 1 where they begin anywhere.
    order
        Device dimensions by the logical dimension that they belong to; those of none come first.
    digits
        How many device dimensions each logical dimension has.
    inner
        The logical dimension along which sticks follow each other in memory.
    """

    b: Builder
    view: View
    size: tuple[int, ...]
    stick: int
    order: tuple[int, ...]
    digits: tuple[int, ...]
    inner: int

    @staticmethod
    def of(
        b: Builder,
        pointer: Scalar,
        size: Sequence[int],
        dtype: ScalarType,
        layouts: Layouts,
        reach: Sequence[int] = (),
    ) -> Operand:
        """The argument that ``pointer`` points at, in the layout given for its name.

        ``reach`` is the largest box, where that may be larger than the tensor.

        Raises
        ------
        KernelError
            The layout does not describe the tensor, or its sticks do not run along the last
            dimension.
        """
        extents, name = tuple(size), pointer.value.name
        place = placed(name, extents, dtype, layouts)
        reached = [max(n, m) for n, m in zip(extents, reach or extents, strict=True)]
        if place is None:
            rank = len(extents)
            view = b.view(pointer, sizes=extents, dtype=dtype)
            if reached != list(extents):
                view = b.distributed_view(view, sizes=reached)
            return Operand(b, view, extents, 1, tuple(range(rank)), (1,) * rank, -1)
        layout, found = place
        digits = device_dimensions(name, extents, layout, found)
        used = [d for group in digits for d in group]
        rank = max(*used, len(layout.device_size) - 1) + 1
        order = (*(d for d in range(rank) if d not in used), *used)
        stick = layout.elements_per_stick if len(digits[-1]) == 2 else 1
        view = _view(b, pointer, layout, extents, digits, dtype, reached)
        inner = adjoining(extents, found)
        return Operand(b, view, extents, stick, order, tuple(map(len, digits)), inner)

    @property
    def dtype(self) -> ScalarType:
        """Element type."""
        return self.view.dtype

    @property
    def is_row_major(self) -> bool:
        """Whether the view has the tensor's own size."""
        return self.inner < 0

    @property
    def rows_adjoin(self) -> bool:
        """Whether a stick of one row is followed in memory by that of the next."""
        return self.inner == len(self.size) - 2 >= 0

    def load(self, at: Position, shape: Sequence[int]) -> Tensor:
        """The box of ``shape`` that begins at ``at``; elements beyond the tensor are zero."""
        b = self.b
        if self.is_row_major:
            return b.load(self.view[tuple(at)], shape=shape)
        grown = self._grown(shape)
        place, extents = self._box(at, grown)
        values = b.load(place, extents, self._order)
        if self._is_turned:
            *outer, _ = grown
            values = b.reshape(values, (extents[self.order[-2]], *outer, self.stick))
            values = b.transpose(values, (*range(1, values.rank - 1), 0, values.rank - 1))
        values = b.reshape(values, grown)
        if grown == tuple(shape):
            return values
        return b.extract_slice(values, (0,) * len(grown), shape)

    def store(self, values: Tensor, at: Position) -> None:
        """Write a box that begins at ``at``; elements beyond the tensor are dropped."""
        b = self.b
        if self.is_row_major:
            b.store(values, self.view[tuple(at)])
            return
        shape = tuple(extent or 0 for extent in values.shape)
        grown = self._grown(shape)
        if grown != shape:
            room = b.empty(TensorType(grown, values.dtype))
            values = b.insert_slice(values, room, (0,) * len(grown))
        place, extents = self._box(at, grown)
        if self._is_turned:
            *outer, width = grown
            values = b.reshape(values, (*outer, width // self.stick, self.stick))
            last = values.rank - 1
            values = b.transpose(values, (last - 1, *range(last - 1), last))
        visited = [extents[d] for d in self._order or range(len(extents))]
        b.store(b.reshape(values, visited), place, self._order)

    def gather(
        self, shape: tuple[int, int], rows: Callable[[Index], Place], column: Scalar | int
    ) -> Tensor:
        """Rows of a matrix whose numbers lie at ``rows``, ``shape`` of them from ``column`` on."""
        b, height = self.b, shape[0]
        if self.is_row_major:
            return b.gather(self.view, shape, lambda i, c: (rows(i), column + c))
        if self.digits[-1] == 1:
            row, col = self.order[-2:]

            def plain(i: Index, c: Index) -> list[Subscript]:
                return self._subscripts({row: rows(i), col: column + c})

            return b.gather(self.view, shape, plain)
        row, tile, lane = self.order[-3:]
        first, stick = _divided(column, self.stick), self.stick

        def sticks(i: Index, t: Index, c: Index) -> list[Subscript]:
            return self._subscripts({row: rows(i), tile: first + t, lane: c})

        grown = self._grown(shape)
        found = b.gather(self.view, (height, grown[1] // stick, stick), sticks)
        values = b.reshape(found, grown)
        return values if grown == shape else b.extract_slice(values, (0, 0), shape)

    def _subscripts(self, known: Mapping[int, Subscript]) -> list[Subscript]:
        return [known.get(d, 0) for d in range(len(self.order))]

    @property
    def _is_turned(self) -> bool:
        """Whether sticks come tile by tile and are put in order in the scratchpad.

        Partitions are walked one after the other, so what lies in both is not asked for row by
        row.
        """
        return self.stick > 1 and self.size[-1] % self.stick > 0

    @property
    def _order(self) -> tuple[int, ...] | None:
        """Device dimensions in the order in which a transfer walks them; None for their own."""
        order = self.order
        if self._is_turned:
            *outer, tile, lane = order
            order = (tile, *outer, lane)
        return None if list(order) == sorted(order) else order

    def _grown(self, shape: Sequence[int]) -> tuple[int, ...]:
        """A box in whole sticks."""
        *outer, width = shape
        return (*outer, -(-width // self.stick) * self.stick)

    def _box(self, at: Position, shape: Sequence[int]) -> tuple[Place, list[int]]:
        """Where a box begins on the device, and its extents there."""
        rank = len(self.order)
        place: list[Index | Scalar | int] = [0] * rank
        extents = [1] * rank
        mine = list(self.order[rank - sum(self.digits) :])
        for first, extent, parts in zip(at, shape, self.digits, strict=True):
            dimensions, mine = mine[:parts], mine[parts:]
            if parts == 1:
                place[dimensions[0]], extents[dimensions[0]] = first, extent
            else:
                tile, lane = dimensions
                place[tile] = _divided(first, self.stick)
                extents[tile], extents[lane] = extent // self.stick, self.stick
        return self.view[tuple(place)], extents


def _divided(first: Scalar | int, stick: int) -> Index | int:
    known = first.constant if isinstance(first, Scalar) else first
    return Index.of(first) // stick if known is None else int(known) // stick


def _view(
    b: Builder,
    pointer: Scalar,
    layout: SpyreTensorLayout,
    size: tuple[int, ...],
    digits: Sequence[tuple[int, ...]],
    dtype: ScalarType,
    reached: Sequence[int],
) -> View:
    """A view of the device size; with padding, of its parts that hold elements."""
    lanes, rank = layout.elements_per_stick, len(layout.device_size)
    added = max(0, max(d for group in digits for d in group) + 1 - rank)
    device_size = (*layout.device_size, *(1,) * added)
    strides = (*layout.device_strides, *(1,) * added)
    limits, room, beyond = [(0, 1)] * len(device_size), list(device_size), False
    for extent, most, dimensions in zip(size, reached, digits, strict=True):
        outer, unit = dimensions[0], lanes if len(dimensions) == 2 else 1
        room[outer] = max(room[outer], -(-most // unit))
        beyond |= -(-most // unit) > -(-extent // unit)
        if len(dimensions) == 1:
            limits[outer] = (0, extent)
    views = []
    for box in _boxes(limits, digits[-1], size[-1], lanes):
        lows = [low for low, _ in box]
        sizes = [high - low for low, high in box]
        start = pointer + sum(a * s for a, s in zip(lows, strides, strict=True))
        views.append(b.view(start, sizes, dtype, strides, lows))
    if len(views) == 1 and not beyond:
        return views[0]
    return b.distributed_view(*views, sizes=room)


Box = list[tuple[int, int]]
"""Where a box begins and ends in each device dimension."""


def _boxes(limits: Box, last: tuple[int, ...], width: int, lanes: int) -> list[Box]:
    """The device coordinates that hold elements: whole sticks, then what the last one has."""
    if len(last) == 1:
        return [limits]
    tile, lane = last
    whole, rest = divmod(width, lanes)
    boxes = []
    for tiles, within in [((0, whole), lanes), ((whole, whole + 1), rest)]:
        box = list(limits)
        box[tile], box[lane] = tiles, (0, within)
        boxes.append(box)
    return boxes if rest else boxes[:1]


def operands(
    b: Builder,
    sizes: Mapping[str, Sequence[int]],
    dtype: ScalarType,
    layouts: Layouts | None = None,
    reach: Mapping[str, Sequence[int]] | None = None,
) -> list[Operand]:
    """Pointer arguments of the function that ``b`` builds, and the operand at each."""
    chosen, reached = known_layouts(layouts, list(sizes)), reach or {}
    pointers = b.pointers(*sizes)
    return [
        Operand.of(b, pointer, size, dtype, chosen, reached.get(name, ()))
        for pointer, (name, size) in zip(pointers, sizes.items(), strict=True)
    ]
