"""Which layouts every tensor of a graph can have."""

from __future__ import annotations

from collections.abc import Sequence

from spyrelab.layout.errors import LayoutConflictError
from spyrelab.layout.graph import Graph, Node
from spyrelab.layout.rules import Alternative, Candidates, Need, alternatives
from spyrelab.layout.sticks import sticks_of
from spyrelab.layout.tensor_layout import SpyreTensorLayout

__all__ = ["propagate"]


def propagate(graph: Graph, restickify: bool = True) -> dict[Node, tuple[Alternative, ...]]:
    """The ways in which each node can be carried out, from inputs to outputs.

    Parameters
    ----------
    restickify : bool
        Whether operands may be converted. If not, only those ways are kept whose operands can
        come as asked.

    Raises
    ------
    LayoutConflictError
        There is no way for some operation; it names the operation and two layouts.
    """
    found: dict[Node, tuple[Alternative, ...]] = {}
    for node in graph.nodes:
        ways = alternatives(node, found)
        if not ways:
            raise _unfollowed(node, found)
        kept = ways if restickify else [way for way in ways if not _unmet(node, way, found)]
        if not kept:
            raise _conflict(node, ways, found)
        found[node] = tuple(kept)
    return found


def _unmet(
    node: Node, way: Alternative, before: Candidates
) -> list[tuple[Node, SpyreTensorLayout, Need]]:
    """Operands that cannot come as asked, each with a layout that it may have."""
    missing = []
    for operand, need in zip(node.operands, way.needs, strict=True):
        layouts = [alternative.result for alternative in before[operand]]
        if need and not any(need.accepts(layout, operand.size) for layout in layouts):
            missing.append((operand, layouts[0], need))
    return missing


def _conflict(node: Node, ways: Sequence[Alternative], before: Candidates) -> LayoutConflictError:
    nearest = min((_unmet(node, way, before) for way in ways), key=len)
    operand, layout, need = nearest[0]
    held = sticks_of(layout, operand.size)
    wanted = need.sticks or sticks_of(need.target, operand.size)
    return LayoutConflictError(
        node.name,
        layout,
        need.target,
        f"its operand {operand!r} holds {held} and would have to hold {wanted}; restickify it",
    )


def _unfollowed(node: Node, before: Candidates) -> LayoutConflictError:
    (operand,) = node.operands
    own = before[operand][0].result
    makers = SpyreTensorLayout.linear, SpyreTensorLayout.default
    tried = [make(operand.size, operand.dtype) for make in makers]
    return LayoutConflictError(
        node.name,
        own,
        next(layout for layout in tried if layout != own),
        f"{node!r} of {operand!r} begins or ends inside a stick in each of them; copy it instead",
    )
