"""Where to restickify: at least total cost, or greedily."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from spyrelab.layout.costs import Cost, predicted_seconds
from spyrelab.layout.elimination import TooWideError, eliminate
from spyrelab.layout.errors import LayoutConflictError
from spyrelab.layout.graph import Graph, Node, Operation
from spyrelab.layout.integer import solve_integer
from spyrelab.layout.propagation import propagate
from spyrelab.layout.rules import Alternative
from spyrelab.layout.tensor_layout import SpyreTensorLayout

__all__ = ["Placement", "Problem", "Restickify", "place", "place_greedily"]


@dataclass(frozen=True)
class Restickify:
    """One conversion: of a tensor, into a layout that some of its consumers read."""

    tensor: Node
    source: SpyreTensorLayout
    target: SpyreTensorLayout
    consumers: tuple[Node, ...]
    seconds: float


@dataclass(frozen=True)
class Placement:
    """A layout for every tensor of a graph, and the conversions in between.

    Attributes
    ----------
    chosen : mapping
        How each node is carried out.
    restickifies : tuple of Restickify
        In the order of the graph.
    """

    graph: Graph
    chosen: Mapping[Node, Alternative]
    restickifies: tuple[Restickify, ...]

    @property
    def seconds(self) -> float:
        """Predicted seconds of all conversions."""
        return math.fsum(each.seconds for each in self.restickifies)

    def layout(self, node: Node) -> SpyreTensorLayout:
        """The layout of the tensor that a node makes."""
        return self.chosen[node].result

    def read_layout(self, node: Node, operand: int) -> SpyreTensorLayout:
        """The layout in which a node reads one of its operands, after conversion."""
        tensor, need = node.operands[operand], self.chosen[node].needs[operand]
        own = self.layout(tensor)
        return own if need is None or need.accepts(own, tensor.size) else need.target


class Problem:
    """The choices of a graph and what they cost.

    A tensor is converted at most once into each layout; all consumers share the result.
    Constants are packed by the host as often as needed, for nothing.
    """

    def __init__(self, graph: Graph, cost: Cost = predicted_seconds) -> None:
        self.graph = graph
        self.cost = cost
        self.candidates = propagate(graph)
        self.consumers = {node: graph.consumers(node) for node in graph.nodes}

    def targets(
        self, tensor: Node, own: SpyreTensorLayout, consumer: Node, way: Alternative
    ) -> tuple[SpyreTensorLayout, ...]:
        """The layouts into which ``tensor`` has to be converted for one consumer."""
        pairs = zip(consumer.operands, way.needs, strict=True)
        needs = [need for operand, need in pairs if operand is tensor and need is not None]
        missing = (need.target for need in needs if not need.accepts(own, tensor.size))
        return tuple(dict.fromkeys(missing))

    def seconds(self, tensor: Node, source: SpyreTensorLayout, target: SpyreTensorLayout) -> float:
        """The cost of one conversion."""
        if tensor.operation is Operation.CONSTANT:
            return 0.0
        return self.cost(tensor.size, tensor.dtype, source, target)

    def placement(self, chosen: Mapping[Node, Alternative]) -> Placement:
        """The conversions that a choice implies.

        Raises
        ------
        LayoutConflictError
            One of them is impossible.
        """
        made: list[Restickify] = []
        for tensor in self.graph.nodes:
            own = chosen[tensor].result
            readers: dict[SpyreTensorLayout, list[Node]] = {}
            for consumer in self.consumers[tensor]:
                wanted = self.targets(tensor, own, consumer, chosen[consumer])
                for target in wanted:
                    readers.setdefault(target, []).append(consumer)
            if tensor.operation is Operation.CONSTANT:
                continue
            for target, nodes in readers.items():
                seconds = self.seconds(tensor, own, target)
                if math.isinf(seconds):
                    reason = f"no program converts its operand {tensor!r}"
                    raise LayoutConflictError(nodes[0].name, own, target, reason)
                made.append(Restickify(tensor, own, target, tuple(nodes), seconds))
        return Placement(self.graph, dict(chosen), tuple(made))


def place(graph: Graph, cost: Cost = predicted_seconds) -> Placement:
    """The layouts and conversions of least total cost.

    Exact: nodes are eliminated one by one (dynamic programming, which takes trees and
    series-parallel graphs in small tables); a graph too entangled for that goes to an integer
    program.

    Raises
    ------
    LayoutConflictError
        Some operation cannot be carried out in any layout.
    """
    problem = Problem(graph, cost)
    try:
        return problem.placement(eliminate(problem))
    except TooWideError:
        return problem.placement(solve_integer(problem))


def place_greedily(graph: Graph, cost: Cost = predicted_seconds) -> Placement:
    """Operation by operation, each in the way that costs least there and then."""
    problem = Problem(graph, cost)
    chosen: dict[Node, Alternative] = {}
    done: set[tuple[Node, SpyreTensorLayout]] = set()
    for node in graph.nodes:
        ways = problem.candidates[node]
        added = [_conversions(problem, node, way, chosen) - done for way in ways]
        best = min(range(len(ways)), key=lambda at: _price(problem, added[at], chosen))
        chosen[node] = ways[best]
        done |= added[best]
    return problem.placement(chosen)


def _conversions(
    problem: Problem, node: Node, way: Alternative, chosen: Mapping[Node, Alternative]
) -> set[tuple[Node, SpyreTensorLayout]]:
    return {
        (operand, target)
        for operand in node.operands
        for target in problem.targets(operand, chosen[operand].result, node, way)
    }


def _price(
    problem: Problem,
    conversions: set[tuple[Node, SpyreTensorLayout]],
    chosen: Mapping[Node, Alternative],
) -> float:
    return math.fsum(problem.seconds(t, chosen[t].result, target) for t, target in conversions)
