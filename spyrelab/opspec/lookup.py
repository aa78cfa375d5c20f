"""Programs that read or write a table at positions that index tensors give.

For each element of a box the indices are turned into offsets, however the table's dimension is
cut into digits, and kept in the scratchpad; one indirect tile then moves the elements. Where
several elements may meet in one place of the table, the core that owns the place takes them in
order: so the last one wins, and sums do not depend on the number of cores.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

from spyrelab.ktir.builder import Builder
from spyrelab.ktir.ir import Module
from spyrelab.ktir.types import ScalarType
from spyrelab.layout.access import Axis
from spyrelab.opspec.errors import Unsuitable, Unsupported
from spyrelab.opspec.lookup_division import Division, Move
from spyrelab.opspec.lookup_program import Program
from spyrelab.opspec.spans import MixedDigitsError, Span, common_spans, joined

__all__ = ["IndexTensor", "Lookup", "Move"]

_MOST_BLOCKS = 16


@dataclass(frozen=True)
class IndexTensor:
    """An index operand.

    ``axes`` are its axes along the iteration space (stride 0 where it is repeated); ``extent``
    and ``target`` the extent and axis of the table dimension that it selects from.
    """

    name: str
    element: ScalarType
    axes: tuple[Axis, ...]
    extent: int
    target: Axis


@dataclass(frozen=True)
class Lookup:
    """A move over an iteration space.

    Attributes
    ----------
    extents : tuple of int
        The iteration space.
    table, data : tuple of Axis
        Axes along it; stride 0 where the table is indexed, or where data are repeated.
    table_name, data_name : str
        Arguments.
    element, data_element : ScalarType
        Of the table, and of the data.
    number : bool
        The data are one number given at launch.
    skip : int, optional
        Elements with this index count as zero.
    positions : tuple of int
        Operands for `Unsuitable`: data, table, then the indices.
    """

    name: str
    move: Move
    extents: tuple[int, ...]
    table: tuple[Axis, ...]
    data: tuple[Axis, ...]
    indices: tuple[IndexTensor, ...]
    table_name: str
    data_name: str
    element: ScalarType
    data_element: ScalarType
    positions: tuple[int, ...]
    number: bool = False
    skip: int | None = None

    def build(self, arguments: Sequence[tuple[str, ScalarType | None]]) -> Module:
        """The module; ``arguments`` are its names in order, pointers with None for a type."""
        blocks = [
            Division.of(span, self.move, self.extents, self.element.itemsize)
            for span in self._blocks()
        ]
        cores = max(block.cores for block in blocks)
        b = Builder(self.name, grid=(cores,))
        scalars = {
            name: b.argument(name) if kind is None else b.argument(name, kind)
            for name, kind in arguments
        }
        core = b.compute_tile_id()
        for block in blocks:
            if block.cores == cores:
                Program(b, self, block, scalars, core).emit()
                continue
            with b.if_(core < block.cores):
                Program(b, self, block, scalars, core).emit()
        return b.build()

    def _blocks(self) -> list[Span]:
        operands = (self.data, self.table, *(index.axes for index in self.indices))
        spans = []
        for dimension, extent in enumerate(self.extents):
            try:
                spans.append(common_spans(extent, [axes[dimension] for axes in operands]))
            except MixedDigitsError as error:
                raise Unsuitable(self.positions[error.operand], str(error)) from None
        if not spans:
            zeros = tuple((0,) for _ in operands)
            return [Span(0, (1,), zeros, (0,) * len(operands))]
        blocks = [joined(chosen) for chosen in itertools.product(*spans)]
        if len(blocks) > _MOST_BLOCKS:
            raise Unsupported(f"{self.name} in {len(blocks)} pieces")
        return blocks
