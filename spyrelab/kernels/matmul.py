"""Matrix products split over cores along batch, rows, columns and depth."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from spyrelab.kernels.arrays import Array, KernelError, element_type, random_array, zeros
from spyrelab.kernels.division import ceil_div, positive, steps, stick_elements
from spyrelab.kernels.kernel import Kernel
from spyrelab.kernels.layouts import Layouts
from spyrelab.kernels.matmul_tiles import MatmulTiles, choose_tiles
from spyrelab.kernels.operands import Operand, operands
from spyrelab.ktir.builder import Builder, Scalar, Tensor, TileGroups
from spyrelab.ktir.ir import Module

PARTNERS = ("adjacent", "16 apart")


def matmul(
    b: int,
    m: int,
    n: int,
    k: int,
    dtype: str = "f16",
    split: tuple[int, int, int, int] = (1, 4, 8, 1),
    k_partners: str = "adjacent",
    lx_backend_fraction: float = 0.2,
    layouts: Layouts | None = None,
) -> Module:
    """``out = a @ b`` for each of ``b`` batch entries, summed in f32 and rounded once.

    Each core multiplies its block in tiles that fit the scratchpad: whole depth where it
    fits, else a carried f32 sum.  With a split of k, partners fold their f32 sums and the
    one with the first part of k stores.

    Arguments of the kernel: a ``[b, m, k]``, b ``[b, k, n]``, out ``[b, m, n]`` of ``dtype``
    (no batch axis when b is 1).
    Bytes moved: ``itemsize * b * (split_n * m * k + split_m * k * n + m * n)`` plus reloads
    where a core's block is larger than its scratchpad; ring: ``4 * b * m * n * (split_k - 1)``.

    Parameters
    ----------
    b, m, n, k
        Batch entries, rows, columns, depth.
    split
        Parts of (b, m, n, k); their product is the number of cores.
    k_partners
        How cores that share a sum are numbered.  ``"adjacent"``: cores run over (b, m, n, k)
        row-major, k fastest.  ``"16 apart"``: k slowest, so that the two halves of a 32-core
        split lie 16 apart.
    lx_backend_fraction
        Share of the scratchpad that the back-end compiler keeps; it does not change the
        program, is stored as ``spyrelab.lx_backend_fraction`` and read by the timing model.
    layouts
        Of a, b and out, where they are not row-major: a in sticks along k, b and out along n.
        The shares of cores are then whole sticks of k and n.
    """
    extents = (b, m, n, k)
    problem = _Problem.of(extents, split, k_partners, dtype, lx_backend_fraction, layouts or {})
    return problem.build(lx_backend_fraction)


@dataclass(frozen=True)
class _Problem:
    extents: tuple[int, int, int, int]
    split: tuple[int, int, int, int]
    adjacent: bool
    dtype: str
    tiles: MatmulTiles
    layouts: Layouts

    @staticmethod
    def of(
        extents: tuple[int, int, int, int],
        split: tuple[int, int, int, int],
        k_partners: str,
        dtype: str,
        fraction: float,
        layouts: Layouts,
    ) -> _Problem:
        positive(**dict(zip("bmnk", extents, strict=True)))
        if len(split) != 4:
            raise KernelError(f"split = {split!r} has no four parts (b, m, n, k)")
        positive(**{f"split of {name}": part for name, part in zip("bmnk", split, strict=True)})
        if k_partners not in PARTNERS:
            raise KernelError(f"k_partners = {k_partners!r} is none of {PARTNERS}")
        if not 0 <= fraction < 1:
            raise KernelError(f"lx_backend_fraction = {fraction!r} is not in [0, 1)")
        element = element_type(dtype)
        share = [ceil_div(extent, part) for extent, part in zip(extents, split, strict=True)]
        # A core's share and its tiles hold whole sticks where an operand is in sticks.
        lanes = stick_elements(element)
        wide = lanes if "b" in layouts or "out" in layouts else 1
        deep = lanes if "a" in layouts else 1
        # Incomplete sticks are put in order in the scratchpad, which takes a second tile.
        copies = 2 if (wide > 1 and extents[2] % wide) or (deep > 1 and extents[3] % deep) else 1
        tiles = choose_tiles(*share, copies * element.itemsize, split[3] > 1, wide, deep)
        adjacent = k_partners == "adjacent"
        return _Problem(extents, split, adjacent, dtype, tiles, layouts)

    @property
    def starts(self) -> tuple[int, int, int, int]:
        """What one core's share of each dimension spans, in whole tiles."""
        t = self.tiles
        return (
            t.batch * t.batch_count,
            t.rows * t.row_count,
            t.cols * t.col_count,
            t.depth * t.depth_count,
        )

    def build(self, fraction: float) -> Module:
        b = Builder(
            "matmul",
            grid=(math.prod(self.split),),
            attributes={"spyrelab.lx_backend_fraction": float(fraction)},
        )
        batch, rows, cols, depth = self.extents
        lead = () if batch == 1 else (batch,)
        sizes = {"a": (*lead, rows, depth), "b": (*lead, depth, cols), "out": (*lead, rows, cols)}
        found = operands(b, sizes, element_type(self.dtype), self.layouts, self._reach(lead))
        _Emission(b, self, *found).emit()
        return b.build()

    def _reach(self, lead: tuple[int, ...]) -> dict[str, tuple[int, ...]]:
        """The tiles of each operand, which in whole sticks may be larger than the operand."""
        if not self.layouts:
            return {}
        t = self.tiles
        first = (t.batch,) if lead else ()
        shapes = {"a": (t.rows, t.depth), "b": (t.depth, t.cols), "out": (t.rows, t.cols)}
        return {name: (*first, *shape) for name, shape in shapes.items()}

    def groups(self) -> TileGroups:
        """Cores that share a sum."""
        parts = self.split[3]
        count = math.prod(self.split) // parts
        return (
            TileGroups.adjacent(count, parts) if self.adjacent else TileGroups.strided(count, parts)
        )


@dataclass
class _Emission:
    b: Builder
    problem: _Problem
    left: Operand
    right: Operand
    out: Operand

    def emit(self) -> None:
        tiles, extents = self.problem.tiles, self.problem.extents
        # Partners have to meet at every exchange, so no tile is left out with a split of k.
        limits = extents if self.problem.split[3] == 1 else (None,) * 4
        begin, part = self._begin()
        b = self.b
        with (
            steps(b, begin[0], tiles.batch, tiles.batch_count, limits[0], "entry") as entry,
            steps(b, begin[1], tiles.rows, tiles.row_count, limits[1], "row") as row,
        ):
            resident = None
            if tiles.depth_count == 1:
                resident = self._load(self.left, entry, row, begin[3], tiles.rows, tiles.depth)
            with steps(b, begin[2], tiles.cols, tiles.col_count, limits[2], "col") as col:
                total = self._total(resident, entry, row, col, begin[3])
                self._finish(total, part, entry, row, col)

    def _begin(self) -> tuple[list[Scalar], Scalar]:
        """First element of this core's share of (b, m, n, k), and its part of k."""
        order = "bmnk" if self.problem.adjacent else "kbmn"
        rest = self.b.compute_tile_id()
        numbers: dict[str, Scalar] = {}
        for name in reversed(order):
            parts = self.problem.split["bmnk".index(name)]
            numbers[name] = self.b.constant(0)
            if parts > 1:
                numbers[name] = rest if name == order[0] else rest % parts
                numbers[name].named(f"part_{name}")
            rest = rest // parts if name != order[0] else rest
        starts = dict(zip("bmnk", self.problem.starts, strict=True))
        begin = [numbers[name] * starts[name] for name in "bmnk"]
        return begin, numbers["k"]

    def _load(
        self, operand: Operand, entry: Scalar, row: Any, col: Any, height: int, width: int
    ) -> Tensor:
        if len(operand.size) == 2:
            return operand.load((row, col), (height, width))
        shape = (self.problem.tiles.batch, height, width)
        return operand.load((entry, row, col), shape)

    def _total(
        self, resident: Tensor | None, entry: Scalar, row: Scalar, col: Scalar, begin: Scalar
    ) -> Tensor:
        b, tiles = self.b, self.problem.tiles
        if resident is not None:
            right = self._load(self.right, entry, begin, col, tiles.depth, tiles.cols)
            return b.matmul(resident, right)
        shape = (tiles.rows, tiles.cols)
        lead = () if len(self.left.size) == 2 else (tiles.batch,)
        start = b.fill((*lead, *shape), 0.0)
        end = begin + tiles.depth * tiles.depth_count
        loop = b.loop(begin, end, tiles.depth, carry=(start,), names=("depth", "total"))
        with loop as (depth, total):
            left = self._load(self.left, entry, row, depth, tiles.rows, tiles.depth)
            right = self._load(self.right, entry, depth, col, tiles.depth, tiles.cols)
            loop.yield_(b.matmul(left, right, into=total))
        result: Tensor = loop.results[0]
        return result

    def _finish(self, total: Tensor, part: Scalar, entry: Scalar, row: Scalar, col: Scalar) -> None:
        place = (row, col) if len(self.out.size) == 2 else (entry, row, col)
        if self.problem.split[3] == 1:
            self.out.store(total.to(self.out.dtype), place)
            return
        total = self.b.produce_reduce(total, self.problem.groups())
        with self.b.if_(part.equals(0)):
            self.out.store(total.to(self.out.dtype), place)


def spec(a: Array, b: Array, **_: Any) -> Array:
    """The product in float32."""
    return np.matmul(a, b)


def arguments(
    b: int, m: int, n: int, k: int, dtype: str = "f16", seed: int = 0, **_: Any
) -> dict[str, Array]:
    """Random a and b scaled so that the product is of order one, and room for out."""
    rng = np.random.default_rng(seed)
    lead = () if b == 1 else (b,)
    return {
        "a": random_array(rng, (*lead, m, k), dtype),
        "b": random_array(rng, (*lead, k, n), dtype, 1 / math.sqrt(k)),
        "out": zeros((*lead, m, n), dtype),
    }


MATMUL = Kernel("matmul", matmul, spec, arguments)
