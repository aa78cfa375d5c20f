"""Exact placement as an integer program, for graphs that dynamic programming cannot take."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from spyrelab.layout.errors import LayoutError
from spyrelab.layout.graph import Node
from spyrelab.layout.rules import Alternative
from spyrelab.layout.tensor_layout import SpyreTensorLayout

if TYPE_CHECKING:
    from spyrelab.layout.placement import Problem

__all__ = ["solve_integer"]

Row = dict[int, float]


class _Program:
    """Columns with costs, and rows with bounds."""

    def __init__(self) -> None:
        self.costs: list[float] = []
        self.rows: list[tuple[Row, float, float]] = []

    def column(self, cost: float = 0.0) -> int:
        self.costs.append(cost)
        return len(self.costs) - 1

    def row(self, row: Row, low: float, high: float) -> None:
        self.rows.append((row, low, high))

    def solve(self, whole: int) -> np.ndarray:
        """Values of the columns; the first ``whole`` are zero or one."""
        from scipy.optimize import Bounds, LinearConstraint, milp
        from scipy.sparse import coo_array

        entries = [(r, c, v) for r, (row, _, _) in enumerate(self.rows) for c, v in row.items()]
        at, columns, values = zip(*entries, strict=True)
        shape = (len(self.rows), len(self.costs))
        matrix = coo_array((values, (at, columns)), shape=shape).tocsr()
        limits = LinearConstraint(matrix, [low for _, low, _ in self.rows], self._highs())
        integrality = np.arange(len(self.costs)) < whole
        # In units of the largest cost: the solver's tolerances are absolute.
        unit = max(self.costs) or 1.0
        options = {"mip_rel_gap": 0.0}
        found = milp(
            np.array(self.costs) / unit,
            constraints=limits,
            integrality=integrality,
            bounds=Bounds(0, 1),
            options=options,
        )
        if found.x is None:
            raise LayoutError(f"no placement: {found.message}")
        return np.asarray(found.x)

    def _highs(self) -> list[float]:
        return [high for _, _, high in self.rows]


def solve_integer(problem: Problem) -> dict[Node, Alternative]:
    """The choice of least cost.

    A column of zero or one for every alternative of every node. For every pair of a consumer
    and its tensor, shares of one over the pairs of their alternatives; a conversion is paid for
    the largest share that needs it.
    """
    program = _Program()
    chosen = {node: [program.column() for _ in ways] for node, ways in problem.candidates.items()}
    whole = len(program.costs)
    for columns in chosen.values():
        program.row(dict.fromkeys(columns, 1.0), 1, 1)
    for tensor in problem.graph.nodes:
        paid: dict[tuple[int, SpyreTensorLayout], int] = {}
        for consumer in problem.consumers[tensor]:
            _add_pair(problem, program, chosen, tensor, consumer, paid)
    values = program.solve(whole)
    return {
        node: problem.candidates[node][int(np.argmax(values[columns]))]
        for node, columns in chosen.items()
    }


def _add_pair(
    problem: Problem,
    program: _Program,
    chosen: dict[Node, list[int]],
    tensor: Node,
    consumer: Node,
    paid: dict[tuple[int, SpyreTensorLayout], int],
) -> None:
    makers, readers = chosen[tensor], chosen[consumer]
    shares = [[program.column() for _ in readers] for _ in makers]
    for first, column in enumerate(makers):
        program.row({column: -1.0, **dict.fromkeys(shares[first], 1.0)}, 0, 0)
    for second, column in enumerate(readers):
        program.row({column: -1.0, **{row[second]: 1.0 for row in shares}}, 0, 0)
    for first, made in enumerate(problem.candidates[tensor]):
        needing: dict[SpyreTensorLayout, Row] = {}
        for second, way in enumerate(problem.candidates[consumer]):
            for target in problem.targets(tensor, made.result, consumer, way):
                needing.setdefault(target, {})[shares[first][second]] = -1.0
        for target, row in needing.items():
            seconds = problem.seconds(tensor, made.result, target)
            if math.isinf(seconds):
                program.row(row, 0, 0)
                continue
            key = first, target
            if key not in paid:
                paid[key] = program.column(seconds)
            program.row({paid[key]: 1.0, **row}, 0, math.inf)
