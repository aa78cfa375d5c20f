"""A small graph of tensor operations: sizes and types, no numbers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import Enum

from spyrelab.layout.element import element_type
from spyrelab.layout.errors import LayoutError
from spyrelab.layout.sticks import sticks_of
from spyrelab.layout.tensor_layout import SpyreTensorLayout, contiguous_strides

__all__ = ["Graph", "HostView", "Node", "Operation"]


class Operation(Enum):
    """What a node does, as far as layouts care."""

    INPUT = "input"
    CONSTANT = "constant"
    POINTWISE = "pointwise"
    MATMUL = "matmul"
    REDUCTION = "reduction"
    VIEW = "view"
    OUTPUT = "output"


@dataclass(frozen=True)
class HostView:
    """How a view sees its operand: strides and offset in elements of the contiguous operand."""

    stride: tuple[int, ...]
    offset: int = 0


@dataclass(frozen=True, eq=False)
class Node:
    """One operation and the tensor that it makes.

    Attributes
    ----------
    layout : SpyreTensorLayout or None
        The layout in which an input comes or an output is wanted.
    reduced : tuple of int
        Dimensions that a reduction folds.
    keeps : bool
        Whether a reduction keeps them, with one element.
    view : HostView or None
    """

    name: str
    operation: Operation
    size: tuple[int, ...]
    dtype: str
    operands: tuple[Node, ...] = ()
    layout: SpyreTensorLayout | None = None
    reduced: tuple[int, ...] = ()
    keeps: bool = False
    view: HostView | None = None

    @property
    def numel(self) -> int:
        """Elements of the tensor."""
        return math.prod(self.size)

    def __repr__(self) -> str:
        return f"{self.name}{list(self.size)}"


@dataclass
class Graph:
    """Operations in the order in which they were added; each method adds one.

    >>> graph = Graph()
    >>> x = graph.input("x", (512, 256))
    >>> total = graph.pointwise("add", x, graph.permute(graph.input("y", (256, 512)), (1, 0)))
    >>> graph.output(total)
    output[512, 256]
    """

    nodes: list[Node] = field(default_factory=list)

    def input(
        self,
        name: str,
        size: Sequence[int],
        dtype: str = "f16",
        layout: SpyreTensorLayout | None = None,
    ) -> Node:
        """A tensor that comes in a fixed layout; default stick-tiled."""
        fixed = layout or SpyreTensorLayout.default(size, dtype)
        sticks_of(fixed, tuple(size))
        return self._add(name, Operation.INPUT, size, dtype, layout=fixed)

    def constant(self, name: str, size: Sequence[int], dtype: str = "f16") -> Node:
        """A tensor known beforehand: the host packs it in every layout that is asked for."""
        return self._add(name, Operation.CONSTANT, size, dtype)

    def pointwise(self, name: str, *operands: Node, dtype: str | None = None) -> Node:
        """An elementwise operation; operands broadcast as in NumPy."""
        if not operands:
            raise LayoutError(f"{name}: a pointwise operation has operands")
        size = _broadcast(name, [node.size for node in operands])
        kind = dtype or operands[0].dtype
        return self._add(name, Operation.POINTWISE, size, kind, operands)

    def matmul(self, left: Node, right: Node, name: str = "matmul") -> Node:
        """``left @ right``: [..., m, k] times [..., k, n], batch dimensions broadcast."""
        fits = min(len(left.size), len(right.size)) >= 2 and left.size[-1] == right.size[-2]
        if not fits:
            raise LayoutError(f"{name}: {left!r} @ {right!r} is no product of matrices")
        batch = _broadcast(name, [left.size[:-2], right.size[:-2]])
        size = (*batch, left.size[-2], right.size[-1])
        return self._add(name, Operation.MATMUL, size, left.dtype, (left, right))

    def reduce(
        self, operand: Node, dimensions: Sequence[int], keepdim: bool = False, name: str = "sum"
    ) -> Node:
        """Fold some dimensions away, or down to one element each."""
        rank = len(operand.size)
        if any(not -rank <= d < rank for d in dimensions):
            raise LayoutError(f"{name}: {operand!r} has no dimensions {list(dimensions)}")
        folded = tuple(sorted({d % rank for d in dimensions}))
        kept = [(d, 1 if d in folded else n) for d, n in enumerate(operand.size)]
        size = [n for d, n in kept if keepdim or d not in folded]
        return self._add(
            name,
            Operation.REDUCTION,
            size,
            operand.dtype,
            (operand,),
            reduced=folded,
            keeps=keepdim,
        )

    # -- views: the same memory --------------------------------------------------------------

    def permute(self, operand: Node, order: Sequence[int], name: str = "permute") -> Node:
        """Dimension i of the view is dimension ``order[i]`` of the operand."""
        if sorted(order) != list(range(len(operand.size))):
            raise LayoutError(f"{name}: {list(order)} permutes no dimensions of {operand!r}")
        steps = contiguous_strides(operand.size)
        view = HostView(tuple(steps[d] for d in order))
        return self._view(name, [operand.size[d] for d in order], operand, view)

    def transpose(self, operand: Node, name: str = "transpose") -> Node:
        """Swap the last two dimensions."""
        rank = len(operand.size)
        return self.permute(operand, [*range(rank - 2), rank - 1, rank - 2], name)

    def slice(
        self, operand: Node, dimension: int, start: int, stop: int, name: str = "slice"
    ) -> Node:
        """Elements ``start`` to ``stop`` of one dimension."""
        rank = len(operand.size)
        at = dimension % rank if rank else 0
        if not -rank <= dimension < rank or not 0 <= start < stop <= operand.size[at]:
            raise LayoutError(f"{name}: {operand!r} has no {start}:{stop} along {dimension}")
        size = list(operand.size)
        size[at] = stop - start
        steps = contiguous_strides(operand.size)
        return self._view(name, size, operand, HostView(steps, start * steps[at]))

    def reshape(self, operand: Node, size: Sequence[int], name: str = "reshape") -> Node:
        """The same elements, in row-major order, in another size."""
        if math.prod(size) != operand.numel:
            raise LayoutError(f"{name}: {operand!r} does not reshape to {list(size)}")
        return self._view(name, size, operand, HostView(contiguous_strides(size)))

    def output(
        self, operand: Node, layout: SpyreTensorLayout | None = None, name: str = "output"
    ) -> Node:
        """A result, in a layout that is asked for or in any."""
        if layout is not None:
            sticks_of(layout, operand.size)
        return self._add(
            name, Operation.OUTPUT, operand.size, operand.dtype, (operand,), layout=layout
        )

    def consumers(self, node: Node) -> list[Node]:
        """The nodes that read a node's tensor, in order."""
        return [other for other in self.nodes if node in other.operands]

    def _view(self, name: str, size: Sequence[int], operand: Node, view: HostView) -> Node:
        return self._add(name, Operation.VIEW, size, operand.dtype, (operand,), view=view)

    def _add(
        self,
        name: str,
        operation: Operation,
        size: Sequence[int],
        dtype: str,
        operands: tuple[Node, ...] = (),
        layout: SpyreTensorLayout | None = None,
        reduced: tuple[int, ...] = (),
        keeps: bool = False,
        view: HostView | None = None,
    ) -> Node:
        if any(extent < 1 for extent in size):
            raise LayoutError(f"{name}: a tensor of size {list(size)} has no elements to place")
        element_type(dtype)
        foreign = [node for node in operands if node not in self.nodes]
        if foreign:
            raise LayoutError(f"{name}: {foreign[0]!r} belongs to another graph")
        used = {node.name for node in self.nodes}
        number, unique = 2, name
        while unique in used:
            unique, number = f"{name}_{number}", number + 1
        node = Node(unique, operation, tuple(size), dtype, operands, layout, reduced, keeps, view)
        self.nodes.append(node)
        return node


def _broadcast(name: str, sizes: Sequence[tuple[int, ...]]) -> tuple[int, ...]:
    rank = max(len(size) for size in sizes)
    result = [1] * rank
    for size in sizes:
        for position, extent in enumerate(size, rank - len(size)):
            if extent != 1 and result[position] not in (1, extent):
                shown = " and ".join(str(list(each)) for each in sizes)
                raise LayoutError(f"{name}: sizes {shown} do not broadcast")
            result[position] = max(result[position], extent)
    return tuple(result)
