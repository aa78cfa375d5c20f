"""Exact placement by dynamic programming: one node after the other is minimised away."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from spyrelab.layout.graph import Node
from spyrelab.layout.rules import Alternative

if TYPE_CHECKING:
    from spyrelab.layout.placement import Problem

__all__ = ["TooWideError", "eliminate"]

_LARGEST_TABLE = 1 << 18


class TooWideError(Exception):
    """A table would have too many entries."""


@dataclass(frozen=True)
class _Table:
    """A cost for every combination of choices of some nodes (numbers, ascending)."""

    nodes: tuple[int, ...]
    values: NDArray[np.float64]


def eliminate(problem: Problem) -> dict[Node, Alternative]:
    """The choice of least cost.

    Bertelè and Brioschi's nonserial dynamic programming (1972): each tensor gives a table over
    its maker and its consumers; to eliminate a node, the tables that know it are added up and
    the node is minimised away. The node with the smallest such table goes first, so a tree
    never needs a table of more than a node and its neighbours.

    Raises
    ------
    TooWideError
    """
    nodes = problem.graph.nodes
    extents = [len(problem.candidates[node]) for node in nodes]
    tables = [_table(problem, tensor, extents) for tensor in nodes]
    steps: list[tuple[int, _Table]] = []
    left = set(range(len(nodes)))
    while left:
        node = min(left, key=lambda each: (_width(tables, each, extents), each))
        known = [table for table in tables if node in table.nodes]
        joint = _sum(known, extents)
        steps.append((node, joint))
        rest = tuple(each for each in joint.nodes if each != node)
        reduced = joint.values.min(axis=joint.nodes.index(node))
        tables = [table for table in tables if node not in table.nodes] + [_Table(rest, reduced)]
        left.remove(node)
    return _choices(problem, steps)


def _choices(problem: Problem, steps: list[tuple[int, _Table]]) -> dict[Node, Alternative]:
    """Backwards: each node's best choice, given those of the nodes eliminated after it."""
    taken: dict[int, int] = {}
    for node, table in reversed(steps):
        place = tuple(slice(None) if each == node else taken[each] for each in table.nodes)
        taken[node] = int(table.values[place].argmin())
    nodes = problem.graph.nodes
    return {nodes[at]: problem.candidates[nodes[at]][taken[at]] for at in sorted(taken)}


def _table(problem: Problem, tensor: Node, extents: list[int]) -> _Table:
    """The conversions of one tensor, for every choice of its maker and its consumers."""
    number = {node: at for at, node in enumerate(problem.graph.nodes)}
    consumers = problem.consumers[tensor]
    members = tuple(number[node] for node in (tensor, *consumers))
    shape = [extents[member] for member in members]
    _check(shape)
    values = np.zeros(shape)
    for first, made in enumerate(problem.candidates[tensor]):
        wanted = [
            [problem.targets(tensor, made.result, consumer, way) for way in ways]
            for consumer, ways in ((c, problem.candidates[c]) for c in consumers)
        ]
        flat = {target for ways in wanted for targets in ways for target in targets}
        price = {target: problem.seconds(tensor, made.result, target) for target in flat}
        for rest in itertools.product(*(range(extent) for extent in shape[1:])):
            needed = set().union(*(ways[at] for ways, at in zip(wanted, rest, strict=True)))
            values[(first, *rest)] = math.fsum(price[target] for target in needed)
    return _Table(members, values)


def _width(tables: Sequence[_Table], node: int, extents: list[int]) -> int:
    members = {each for table in tables if node in table.nodes for each in table.nodes}
    return math.prod(extents[each] for each in members)


def _sum(tables: Sequence[_Table], extents: list[int]) -> _Table:
    members = tuple(sorted({node for table in tables for node in table.nodes}))
    _check([extents[member] for member in members])
    total = np.zeros([extents[member] for member in members])
    for table in tables:
        shape = [extents[each] if each in table.nodes else 1 for each in members]
        total = total + table.values.reshape(shape)
    return _Table(members, total)


def _check(shape: Sequence[int]) -> None:
    # NumPy has at most 64 dimensions; a node of one alternative adds a dimension, no entries.
    if math.prod(shape) > _LARGEST_TABLE or len(shape) > 64:
        raise TooWideError
