"""The rows of one tile, as an operation sees them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from spyrelab.ktir.builder import Builder, Scalar, Tensor, TileGroups
from spyrelab.ktir.types import F32, I64, ScalarType
from spyrelab.opspec.errors import Unsupported
from spyrelab.opspec.row_chunks import Body, Chunk, Piece, walk_chunk
from spyrelab.opspec.row_plan import Layout, Share
from spyrelab.opspec.row_space import Space, segments_of
from spyrelab.opspec.row_values import count_up, identity_of, wide_type
from spyrelab.opspec.row_windows import Start, Window
from spyrelab.opspec.target import target

__all__ = ["Row", "Stream"]


class Stream:
    """One value per element of a row; computed on a tile when a pass comes to it."""

    def __init__(self, make: Callable[[Piece], Tensor], dtype: ScalarType = F32) -> None:
        self._make = make
        self.dtype = dtype

    def at(self, piece: Piece) -> Tensor:
        """The tile of a piece."""
        if self not in piece.known:
            piece.known[self] = self._make(piece)
        return piece.known[self]


class Row:
    """The rows of one tile, as an operation sees them.  Statistics are tensors ``[height]``."""

    def __init__(
        self,
        b: Builder,
        layout: Layout,
        share: Share,
        core: Scalar,
        windows: Mapping[tuple[str, int], Window],
        chunks: Sequence[Chunk],
        starts: Mapping[int, Start],
    ) -> None:
        self.b = b
        self.height = share.height
        self.axis = 1 if layout.rows_first else 0
        self.core = core
        self._layout, self._share = layout, share
        self._windows, self._chunks, self._starts = windows, chunks, starts
        self._resident = {
            id(chunk): Piece(chunk, chunk.starts, chunk.lengths)
            for chunk in chunks
            if share.resident and chunk.condition is None
        }
        self._loaded: dict[tuple[str, int], Tensor] = {}
        self._into = target()

    @property
    def width(self) -> int:
        """Elements of a row, those of all partners."""
        parts = self._into.partners.parts if self._into and self._into.partners else 1
        return self._layout.space.count(True) * parts

    @property
    def is_shared(self) -> bool:
        """Whether all cores walk a part of the same rows, one after the other."""
        return self._share.grouped

    @property
    def is_resident(self) -> bool:
        """Whether the rows stay in the scratchpad between passes."""
        return self._share.resident

    @property
    def cores(self) -> int:
        """Cores of the program."""
        return self._layout.cores

    # ---- reading ---------------------------------------------------------------------

    def load(self, name: str) -> Stream:
        """An operand along the rows, in f32 or i64; repeated where it lacks axes."""
        kind = self._windows[name, 0].bound.kind
        return Stream(lambda piece: self._tile(name, piece), wide_type(kind))

    def statistic(self, name: str) -> Tensor:
        """An operand that has one element per row, in f32 or i64."""
        window = self._windows[name, 0]
        lengths = dict(self._share.tile)
        line = window.load(self._starts, lengths, 1 - self.axis)
        return line.to(wide_type(line.dtype))

    def _tile(self, name: str, piece: Piece) -> Tensor:
        window = self._windows[name, piece.chunk.combination]
        if any(window.bound.has(axis) for axis in self._layout.kept):
            if not any(window.bound.has(axis) for axis in self._layout.reduced):
                return self.spread(self.statistic(name), piece)
            tile = window.load(*self._box(piece))
            return tile.to(wide_type(tile.dtype))
        line = self._loaded.get((name, id(piece.chunk))) if piece is self._kept(piece) else None
        if line is None:
            line = window.load(*self._box(piece), self.axis)
            line = line.to(wide_type(line.dtype))
        return self.b.broadcast(line, self._shape(piece), 1 - self.axis)

    def _kept(self, piece: Piece) -> Piece | None:
        return self._resident.get(id(piece.chunk))

    def preload(self, names: Sequence[str]) -> None:
        """Load operands that are the same for all rows, before the loop over rows."""
        for piece in self._resident.values():
            for name in names:
                line = self._windows[name, piece.chunk.combination].load(
                    piece.starts, piece.lengths, self.axis
                )
                self._loaded[name, id(piece.chunk)] = line.to(wide_type(line.dtype))

    def moved(self, starts: Mapping[int, Start]) -> Row:
        """The rows of another tile; what was preloaded stays."""
        other = Row(
            self.b, self._layout, self._share, self.core, self._windows, self._chunks, starts
        )
        other._loaded = self._loaded
        return other

    def _box(self, piece: Piece) -> tuple[dict[int, Start], dict[int, int]]:
        return {**self._starts, **piece.starts}, {**self._share.tile, **piece.lengths}

    def _shape(self, piece: Piece) -> tuple[int, int]:
        return (self.height, piece.width) if self.axis else (piece.width, self.height)

    # ---- computing -------------------------------------------------------------------

    def map(
        self,
        function: Callable[..., Tensor],
        *sources: Stream | Tensor,
        dtype: ScalarType | None = None,
    ) -> Stream:
        """``function`` of tiles of streams and of statistics spread over the row.

        ``dtype`` is the type of its results where that is not the first source's.
        """

        def make(piece: Piece) -> Tensor:
            return function(
                *(s.at(piece) if isinstance(s, Stream) else self.spread(s, piece) for s in sources)
            )

        return Stream(make, dtype or sources[0].dtype)

    def spread(self, statistic: Tensor, piece: Piece) -> Tensor:
        """A statistic as a tile."""
        return self.b.broadcast(statistic, self._shape(piece), self.axis)

    def index(self) -> Stream:
        """The row-major index of every element within its row, i64."""
        if self._into is not None and self._into.partners is not None:
            raise Unsupported("places within rows that several cores share")

        def make(piece: Piece) -> Tensor:
            space = self._layout.space
            lengths = [piece.lengths[axis] for axis in self._layout.reduced] or [1]
            weights = [space.weight(axis) for axis in self._layout.reduced] or [0]
            first: Any = self.b.constant(0)
            for axis in self._layout.reduced:
                low = piece.chunk.segments[axis].low
                first = first + (piece.starts[axis] + low) * space.weight(axis)
            line = count_up(self.b, lengths, weights, first)
            return self.b.broadcast(line, self._shape(piece), 1 - self.axis)

        return Stream(make, I64)

    def fold(self, kind: str, source: Stream) -> Tensor:
        """``add``, ``mul``, ``max`` or ``min`` of a row, over all cores that share it."""
        return self.folds((kind, source))[0]

    def folds(self, *wanted: tuple[str, Stream]) -> list[Tensor]:
        """Several folds in one pass."""

        def body(piece: Piece, *totals: Tensor) -> list[Tensor]:
            made: list[Tensor] = []
            for number, (kind, source) in enumerate(wanted):
                initial = totals[number] if totals else None
                made.append(self.b.reduce(kind, source.at(piece), self.axis, initial=initial))
            return made

        if len(self._chunks) == 1 and self._resident:
            totals = body(next(iter(self._resident.values())))
        else:
            start = [self._identity(kind, source) for kind, source in wanted]
            totals = list(self.walk(start, body))
        return [self.exchanged(kind, t) for (kind, _), t in zip(wanted, totals, strict=True)]

    def _identity(self, kind: str, source: Stream) -> Tensor:
        start = identity_of(kind, source.dtype)
        return self.b.fill((self.height,), start, source.dtype)

    def exchanged(self, kind: str, total: Tensor) -> Tensor:
        """A fold over all cores that share the row."""
        if self._into is not None:
            return self._into.folded(total, kind, identity_of(kind, total.dtype))
        if not self.is_shared:
            return total
        groups = TileGroups.adjacent(1, self._layout.cores)
        start = identity_of(kind, total.dtype)
        return self.b.produce_reduce(total, groups, kind, start, everyone=True)

    def pieces(self) -> list[Piece]:
        """The pieces of a row that is whole in the scratchpad."""
        return list(self._resident.values())

    def walk(self, state: Sequence[Tensor], body: Body) -> tuple[Any, ...]:
        """``state = body(piece, *state)`` over all pieces of the row that this core has."""
        for chunk in self._chunks:
            state = self._walk_chunk(chunk, state, body)
        return tuple(state)

    def _walk_chunk(self, chunk: Chunk, state: Sequence[Tensor], body: Body) -> Sequence[Any]:
        piece = self._resident.get(id(chunk))
        if piece is not None:
            return tuple(body(piece, *state))
        if chunk.condition is None:
            return walk_chunk(self.b, self._layout, chunk, self._share.room, state, body)
        with self.b.if_(chunk.condition) as branch:
            new = walk_chunk(self.b, self._layout, chunk, self._share.room, state, body)
            if state:
                branch.yield_(*new)
        if not state:
            return ()
        with branch.otherwise():
            branch.yield_(*state)
        return branch.results

    # ---- writing ---------------------------------------------------------------------

    def store(self, name: str, source: Stream) -> None:
        """Write a result along the rows."""
        self.stores((name, source))

    def stores(self, *results: tuple[str, Stream]) -> None:
        """Write several results in one pass."""

        def body(piece: Piece) -> list[Tensor]:
            for name, source in results:
                self.put(name, source.at(piece), piece)
            return []

        self.walk([], body)

    def put(self, name: str, tile: Tensor, piece: Piece) -> None:
        """Write one tile of a result."""
        self._windows[name, piece.chunk.combination].store(tile, *self._box(piece))

    def put_line_end(self, name: str, tile: Tensor, extent: int) -> None:
        """Write a result whose only reduced axis has another ``extent``, from its whole tile."""
        window = self._windows[name, 0]
        axis = next(iter(self._layout.reduced), None)
        if axis is None:
            window.store(tile, self._starts, self._share.tile)
            return
        extents = list(self._layout.space.extents)
        extents[axis] = extent
        space = Space(tuple(extents), self._layout.space.reduced)
        for segment in segments_of(space, axis, [window.bound]):
            part = self.part(tile, segment.low, segment.length)
            lengths = {**self._share.tile, axis: segment.length}
            window.over(axis, segment).store(part, {**self._starts, axis: 0}, lengths)

    def part(self, tile: Tensor, low: int, length: int) -> Tensor:
        """A range of a tile along the rows."""
        offsets, sizes = [0, 0], [self.height, self.height]
        offsets[self.axis], sizes[self.axis] = low, length
        return self.b.extract_slice(tile, offsets, sizes)

    def store_statistic(self, name: str, source: Tensor) -> None:
        """Write a result that has one element per row."""
        window = self._windows[name, 0]
        if self._into is not None:
            with self._into.storing(name):
                window.store(source, self._starts, self._share.tile)
            return
        if not self._share.grouped:
            window.store(source, self._starts, self._share.tile)
            return
        with self.b.if_(self.core.equals(0)):
            window.store(source, self._starts, self._share.tile)
