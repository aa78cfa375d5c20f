"""What each operation asks of its operands' layouts, and the layout of its result."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from spyrelab.layout.graph import HostView, Node, Operation
from spyrelab.layout.sticks import Holding, Sticks, follow, stick_layout, sticks_of
from spyrelab.layout.tensor_layout import SpyreTensorLayout

__all__ = ["Alternative", "Candidates", "Need", "alternatives"]


@dataclass(frozen=True)
class Need:
    """What an operation asks of one operand.

    Attributes
    ----------
    target : SpyreTensorLayout
        The layout to convert to where the operand's own does not do.
    sticks : Sticks or None
        What the operand's sticks have to hold; None: only ``target`` itself will do.
    """

    target: SpyreTensorLayout
    sticks: Sticks | None = None

    def accepts(self, layout: SpyreTensorLayout, size: tuple[int, ...]) -> bool:
        """Whether an operand of ``size`` in ``layout`` can be used as it is."""
        if self.sticks is None:
            return layout == self.target or layout.canonical() == self.target.canonical()
        return sticks_of(layout, size) == self.sticks


@dataclass(frozen=True)
class Alternative:
    """One way to carry out an operation.

    Attributes
    ----------
    needs : tuple of (Need or None)
        One per operand; None: any layout will do.
    result : SpyreTensorLayout
    zeroed : tuple of (operand, dimension)
        Where padding takes part in a sum, so that loads have to replace it by zero.
    """

    needs: tuple[Need | None, ...]
    result: SpyreTensorLayout
    zeroed: tuple[tuple[int, int], ...] = ()


Candidates = Mapping[Node, Sequence[Alternative]]
"""The alternatives of the nodes that come before."""


def alternatives(node: Node, before: Candidates) -> list[Alternative]:
    """All ways to carry out a node, the most natural first.

    Pointwise operations want one stick dimension, the same for all operands; an operand that
    does not vary along it lies sparse, one element for each stick of the others. Products want
    the first operand in sticks along k, and give the second one's sticks along n. A reduction
    along the sticks leaves a sparse result. Views keep memory as it is.
    """
    rule = {
        Operation.INPUT: _given,
        Operation.CONSTANT: _given,
        Operation.POINTWISE: _pointwise,
        Operation.MATMUL: _matmul,
        Operation.REDUCTION: _reduction,
        Operation.VIEW: _view,
        Operation.OUTPUT: _output,
    }[node.operation]
    found = list(rule(node, before))
    return list(dict.fromkeys(found))


def _given(node: Node, before: Candidates) -> Iterator[Alternative]:
    del before
    yield Alternative((), node.layout or SpyreTensorLayout.default(node.size, node.dtype))


def _output(node: Node, before: Candidates) -> Iterator[Alternative]:
    del before
    if node.layout is not None:
        yield Alternative((Need(node.layout),), node.layout)
    else:
        yield Alternative((None,), SpyreTensorLayout.default(node.size, node.dtype))


def _pointwise(node: Node, before: Candidates) -> Iterator[Alternative]:
    if node.numel == 1:
        yield Alternative((None,) * len(node.operands), _default(node))
        return
    for dimension in _long_dimensions(node.size):
        shifts = [len(node.size) - len(operand.size) for operand in node.operands]
        needs = [_need(o, dimension - s) for o, s in zip(node.operands, shifts, strict=True)]
        yield Alternative(tuple(needs), stick_layout(node.size, node.dtype, dimension))
    whole = any(operand.size == node.size for operand in node.operands)
    if whole and all(_may_be_sparse(operand, before) for operand in node.operands):
        yield Alternative(tuple(map(_sparse, node.operands)), _sparse_layout(node))


def _matmul(node: Node, before: Candidates) -> Iterator[Alternative]:
    del before
    left, right = node.operands
    needs = (_need(left, len(left.size) - 1), _need(right, len(right.size) - 1))
    zeroed = ((0, len(left.size) - 1), (1, len(right.size) - 2))
    last = len(node.size) - 1
    yield Alternative(needs, stick_layout(node.size, node.dtype, last), zeroed)


def _reduction(node: Node, before: Candidates) -> Iterator[Alternative]:
    (operand,) = node.operands
    if operand.numel == 1:
        yield Alternative((None,), _default(node))
        return
    for dimension in _long_dimensions(operand.size):
        folded = dimension in node.reduced
        zeroed = ((0, dimension),) if folded else ()
        gone = 0 if node.keeps else sum(d < dimension for d in node.reduced)
        result = (
            _sparse_layout(node)
            if folded
            else stick_layout(node.size, node.dtype, dimension - gone)
        )
        yield Alternative((_need(operand, dimension),), result, zeroed)
    if _may_be_sparse(operand, before):
        yield Alternative((_sparse(operand),), _sparse_layout(node))


def _view(node: Node, before: Candidates) -> Iterator[Alternative]:
    (operand,) = node.operands
    view = node.view or HostView(())
    own = [alternative.result for alternative in before[operand]]
    sticks = [stick_layout(operand.size, node.dtype, d) for d in _long_dimensions(operand.size)]
    linear = SpyreTensorLayout.linear(operand.size, node.dtype)
    for layout in dict.fromkeys([*own, *sticks, linear]):
        result = follow(layout, node.size, view.stride, view.offset)
        if result is not None:
            yield Alternative((Need(layout),), result)


def _need(operand: Node, dimension: int) -> Need | None:
    """Sticks along a dimension; sparse where the operand does not vary along it."""
    if operand.numel == 1:
        return None
    if dimension < 0 or operand.size[dimension] == 1:
        return _sparse(operand)
    target = stick_layout(operand.size, operand.dtype, dimension)
    return Need(target, Sticks(Holding.DENSE, dimension))


def _sparse(operand: Node) -> Need | None:
    if operand.numel == 1:
        return None
    return Need(_sparse_layout(operand), Sticks(Holding.SPARSE))


def _default(node: Node) -> SpyreTensorLayout:
    return SpyreTensorLayout.default(node.size, node.dtype)


def _sparse_layout(node: Node) -> SpyreTensorLayout:
    if node.numel == 1:
        return _default(node)
    return SpyreTensorLayout.sparse(node.size, node.dtype)


def _may_be_sparse(operand: Node, before: Candidates) -> bool:
    if operand.numel == 1:
        return True
    kinds = (sticks_of(a.result, operand.size).holding for a in before[operand])
    return Holding.SPARSE in kinds


def _long_dimensions(size: tuple[int, ...]) -> list[int]:
    """Dimensions of more than one element, the last first: most tensors have sticks there."""
    return [d for d in reversed(range(len(size))) if size[d] > 1]
