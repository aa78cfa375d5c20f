"""The builder's ``ktdp`` operations: views, tiles, loads, stores and exchange between tiles."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from spyrelab.ktir.affine import (
    AffineMap,
    AffineSet,
    Constant,
    Constraint,
    Dim,
    Expr,
    Symbol,
    add,
    box_set,
    identity_map,
    negate,
)
from spyrelab.ktir.builder_tensors import TensorBuilder
from spyrelab.ktir.builder_values import (
    AccessTile,
    BuilderError,
    Handle,
    Index,
    Place,
    Scalar,
    Tensor,
    View,
)
from spyrelab.ktir.ir import Subscript
from spyrelab.ktir.types import (
    GLOBAL,
    INDEX,
    AccessTileType,
    MemorySpace,
    MemRefType,
    ScalarType,
    TensorType,
)

Extent = int | Scalar
Variables = Callable[..., Sequence[Place | Index | Scalar | int]]
"""Maps the variables of an indirect tile to one subscript per dimension of the base."""


class TileBuilder(TensorBuilder):
    """Memory views, access tiles and what moves through them."""

    # ---- views -----------------------------------------------------------------------

    def view(
        self,
        address: Scalar | int,
        sizes: Sequence[Extent],
        dtype: ScalarType,
        strides: Sequence[Extent] | None = None,
        lows: Sequence[int] | None = None,
        memory_space: MemorySpace = GLOBAL,
    ) -> View:
        """Name a strided region that begins at ``address`` (in elements).

        Strides are row-major by default; the coordinate set is the box of ``sizes`` that
        begins at ``lows`` (zero by default).  Scalars among sizes and strides make them
        dynamic.
        """
        start = self.constant(address) if isinstance(address, int) else address
        extents = [_literal(size) for size in sizes]
        steps = [_literal(s) for s in (strides if strides else self._row_major(extents))]
        if len(steps) != len(extents):
            raise BuilderError(f"{len(extents)} sizes but {len(steps)} strides")
        dynamic = [entry for entry in (*extents, *steps) if isinstance(entry, Scalar)]
        shape = tuple(_static(extent) for extent in extents)
        if any(extent is not None and extent < 1 for extent in shape):
            raise BuilderError(f"a view of sizes {shape} has no elements", "sizes start at 1")
        attributes = {
            "sizes": shape,
            "strides": tuple(_static(step) for step in steps),
            "coordinate_set": _box(shape, lows),
            "memory_space": memory_space,
        }
        space = memory_space if memory_space.core_local else None
        kind = MemRefType(shape, dtype, space)
        name = "memory" if start.constant is not None else start.value.name
        operands: list[Handle] = [start, *dynamic]
        made = self.emit(
            "ktdp.construct_memory_view", operands, [kind], attributes, hint=f"{name}_view"
        )
        return View(self, made[0], self.block)

    def _row_major(self, extents: Sequence[Extent]) -> list[Extent]:
        strides: list[Extent] = []
        step: Extent = 1
        for extent in reversed(extents):
            strides.insert(0, step)
            step = _literal(extent * step)
        return strides

    def distributed_view(self, *views: View, sizes: Sequence[int]) -> View:
        """One tensor whose partitions are views with disjoint coordinate sets."""
        if not views:
            raise BuilderError("a distributed view needs at least one partition")
        kind = MemRefType(tuple(sizes), views[0].dtype)
        name = "ktdp.construct_distributed_memory_view"
        made = self.emit(name, views, [kind], hint="distributed")
        return View(self, made[0], self.block)

    # ---- access tiles, loads, stores -------------------------------------------------

    def tile(
        self, place: Place, shape: Sequence[Extent], order: Sequence[int] | None = None
    ) -> AccessTile:
        """The box of ``shape`` that begins at ``place``.

        ``order`` permutes the axes: ``(1, 0)`` visits a matrix by columns.  Extents that
        are scalars become symbols.
        """
        view = place.view
        if len(shape) != view.rank:
            raise BuilderError(
                f"a tile of {view!r} has {view.rank} extents, not {len(shape)}",
                "give 1 for dimensions that the tile does not span",
            )
        captures = place.captures
        results = tuple(i.in_terms_of(captures, symbols=False) for i in place.subscripts)
        extents = [_literal(extent) for extent in shape]
        static = tuple(_static(extent) for extent in extents)
        symbols = [extent for extent in extents if isinstance(extent, Scalar)]
        order_map, permuted = _order(static, order)
        attributes = {
            "base_map": AffineMap(len(captures), 0, results),
            "symbol_operands": len(symbols),
            "access_tile_set": _box(static),
            "access_tile_order": order_map,
        }
        operands: list[Handle] = [view, *captures, *symbols]
        hint = view.value.name.removesuffix("_view") + "_tile"
        kind = AccessTileType(permuted)
        made = self.emit("ktdp.construct_access_tile", operands, [kind], attributes, hint=hint)
        return AccessTile(self, made[0], self.block)

    def load(
        self, place: Place, shape: Sequence[Extent], order: Sequence[int] | None = None
    ) -> Tensor:
        """The box of ``shape`` that begins at ``place``, as a tensor.

        Elements beyond the view's coordinate set read as zero.
        """
        return self._load(self.tile(place, shape, order), place.view)

    def _load(self, tile: AccessTile, view: View) -> Tensor:
        kind = tile.type
        assert isinstance(kind, AccessTileType)
        hint = view.value.name.removesuffix("_view") + "_values"
        result = TensorType(kind.shape, view.dtype)
        return self.tensor(self.emit("ktdp.load", [tile], [result], hint=hint)[0])

    def store(self, source: Tensor, place: Place, order: Sequence[int] | None = None) -> None:
        """Write a tensor to the box that begins at ``place``.

        Elements beyond the view's coordinate set are dropped.
        """
        if order is None:
            shape: tuple[int | None, ...] = source.shape
        else:
            shape = tuple(source.shape[list(order).index(axis)] for axis in range(source.rank))
        if None in shape:
            raise BuilderError(f"{source.type} has no static shape", "store through emit")
        self._store(source, self.tile(place, [e or 0 for e in shape], order), place.view)

    def _store(self, source: Tensor, tile: AccessTile, view: View) -> None:
        if source.dtype != view.dtype:
            raise BuilderError(
                f"{source.type} cannot be stored to a view of {view.dtype}",
                f"cast it with .to({view.dtype})",
            )
        self.emit("ktdp.store", [source, tile])

    # ---- indirect tiles --------------------------------------------------------------

    def gather(self, base: View, shape: Sequence[int], subscripts: Variables) -> Tensor:
        """Load points of ``base`` whose coordinates are read from memory.

        ``subscripts`` is called with one variable per dimension of ``shape`` and gives one
        entry per dimension of ``base``: a place in an index view, or an affine expression::

            b.gather(pages, (64, 32), lambda t, d: (table[s, t // 16], t % 16, d))
        """
        return self._load(self.indirect_tile(base, shape, subscripts), base)

    def scatter(self, source: Tensor, base: View, subscripts: Variables) -> None:
        """Store a tensor to points of ``base``; ``subscripts`` as for `gather`."""
        shape = [extent or 0 for extent in source.shape]
        self._store(source, self.indirect_tile(base, shape, subscripts), base)

    def indirect_tile(self, base: View, shape: Sequence[int], subscripts: Variables) -> AccessTile:
        """The access tile behind `gather` and `scatter`."""
        entries = list(subscripts(*(Index(Dim(axis)) for axis in range(len(shape)))))
        if len(entries) != base.rank:
            raise BuilderError(f"{base!r} takes {base.rank} subscripts, not {len(entries)}")
        places = [e if isinstance(e, Place) else None for e in entries]
        indices = [e.subscripts if isinstance(e, Place) else (Index.of(e),) for e in entries]
        scalars = [s for group in indices for index in group for s in index.captures]
        captures = tuple({s.value: s for s in scalars}.values())
        views = [place.view for place in places if place is not None]
        attributes = {
            "intermediate_variables": len(shape),
            "index_views": len(views),
            "subscripts": _subscripts(places, indices, captures, len(shape)),
            "symbol_operands": 0,
            "variables_space_set": box_set(shape),
            "variables_space_order": identity_map(len(shape)),
        }
        hint = base.value.name.removesuffix("_view") + "_picked"
        made = self.emit(
            "ktdp.construct_indirect_access_tile",
            [base, *views, *captures],
            [AccessTileType(tuple(shape))],
            attributes,
            hint=hint,
        )
        return AccessTile(self, made[0], self.block)


def _subscripts(
    places: Sequence[Place | None],
    indices: Sequence[Sequence[Index]],
    captures: Sequence[Scalar],
    variables: int,
) -> tuple[Subscript, ...]:
    made: list[Subscript] = []
    views = 0
    for place, group in zip(places, indices, strict=True):
        results = tuple(index.in_terms_of(captures, symbols=True) for index in group)
        mapping = AffineMap(variables, len(captures), results)
        made.append(Subscript(None if place is None else views, mapping))
        views += place is not None
    return tuple(made)


def _literal(extent: Extent) -> Extent:
    if isinstance(extent, Scalar):
        if extent.dtype != INDEX:
            raise BuilderError(f"an extent is an index, not {extent.dtype}", "use .to(INDEX)")
        return extent if extent.constant is None else int(extent.constant)
    return extent


def _static(extent: Extent) -> int | None:
    return None if isinstance(extent, Scalar) else extent


def _box(shape: Sequence[int | None], lows: Sequence[int] | None = None) -> AffineSet:
    """The box of a shape; unknown extents are symbols, left to right."""
    if None not in shape:
        return box_set([extent or 0 for extent in shape], lows)
    constraints: list[Constraint] = []
    symbols = 0
    for axis, extent in enumerate(shape):
        low = lows[axis] if lows else 0
        upper: Expr = Constant(low + (extent or 0) - 1)
        if extent is None:
            upper = add(Symbol(symbols), Constant(low - 1))
            symbols += 1
        constraints.append(Constraint(add(Dim(axis), Constant(-low))))
        constraints.append(Constraint(add(negate(Dim(axis)), upper)))
    return AffineSet(len(shape), symbols, tuple(constraints))


def _order(
    shape: tuple[int | None, ...], order: Sequence[int] | None
) -> tuple[AffineMap, tuple[int | None, ...]]:
    if order is None:
        return identity_map(len(shape)), shape
    if sorted(order) != list(range(len(shape))):
        raise BuilderError(f"the order {tuple(order)} permutes no {len(shape)} axes")
    mapping = AffineMap(len(shape), 0, tuple(Dim(axis) for axis in order))
    return mapping, tuple(shape[axis] for axis in order)
