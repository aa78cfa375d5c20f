"""The integer program without addresses: what to keep so that at no step too much is alive.

Variables are kept(buffer) and in-place(parent, child).  At the birth of every buffer, what is
alive takes at most the capacity, and a child in its parent's place takes nothing at its birth.
Addresses may still not exist; `spyrelab.tiling.lx.exact` finds that out and adds a cut.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.optimize import Bounds, LinearConstraint, milp

from spyrelab.tiling.lx.instance import Instance

__all__ = ["Master", "Selection"]

OPTIMAL, LIMIT, INFEASIBLE = 0, 1, 2


@dataclass(frozen=True)
class Selection:
    """What the master keeps.

    Attributes
    ----------
    kept : tuple of int or None
        None if nothing is possible, or if time ran out before anything was found.
    bound : int
        Sticks that no selection can exceed.
    """

    kept: tuple[int, ...] | None
    bound: int


class Master:
    """The program of one instance; cuts are added to it."""

    def __init__(self, instance: Instance) -> None:
        self.instance = instance
        self.rows: list[dict[int, float]] = []
        self.highs: list[float] = []
        self._capacity()
        self._in_place()
        self._clones()

    def best(self, seconds: float) -> Selection:
        """The most valuable selection that no cut forbids."""
        it = self.instance
        count = len(it) + len(it.links)
        gains = np.zeros(count)
        gains[: len(it)] = it.values
        low = np.zeros(count)
        low[: len(it)] = it.required
        found = milp(
            -gains,
            integrality=np.ones(count),
            bounds=Bounds(low, np.ones(count)),
            constraints=LinearConstraint(self._matrix(count), -np.inf, np.array(self.highs)),
            options={"time_limit": max(seconds, 0.01), "mip_rel_gap": 0.0},
        )
        if found.status == INFEASIBLE:
            return Selection(None, 0)
        bound = found.mip_dual_bound
        limit = it.total if bound is None or not math.isfinite(bound) else math.floor(1e-3 - bound)
        if found.x is None:
            return Selection(None, limit)
        kept = tuple(i for i in range(len(it)) if found.x[i] > 0.5)
        return Selection(kept, max(limit, it.value(kept)))

    def forbid(self, together: Iterable[int]) -> None:
        """Cut off every selection that keeps all of these."""
        members = list(together)
        self._row(dict.fromkeys(members, 1.0), len(members) - 1)

    def _row(self, row: dict[int, float], high: float) -> None:
        self.rows.append(row)
        self.highs.append(high)

    def _capacity(self) -> None:
        it = self.instance
        gcd = math.gcd(*it.sizes) if len(it) else 1
        # Rows are scaled to 1: tolerances are then far below a stick, and HiGHS takes them well.
        whole = it.capacity // gcd * gcd or 1
        for step in sorted(set(it.first)):
            alive = [i for i in range(len(it)) if it.first[i] <= step <= it.last[i]]
            row = {i: it.sizes[i] / whole for i in alive}
            for number, (_, child) in enumerate(it.links, len(it)):
                if it.first[child] == step:
                    row[number] = -it.sizes[child] / whole
            self._row(row, 1.0)

    def _in_place(self) -> None:
        it = self.instance
        for which in (0, 1):  # of a parent at most one child, of a child at most one parent
            for one in range(len(it)):
                mine = [n for n, link in enumerate(it.links, len(it)) if link[which] == one]
                if mine:
                    self._row({one: -1.0, **dict.fromkeys(mine, 1.0)}, 0.0)

    def _clones(self) -> None:
        it = self.instance
        for one in range(len(it)):
            # Those alive at its birth: a clique, and every clash is in one.
            clash = [i for i in it.rivals[one] if it.first[i] <= it.first[one] <= it.last[i]]
            if clash:
                self._row(dict.fromkeys([one, *clash], 1.0), 1.0)

    def _matrix(self, count: int) -> NDArray[np.float64]:
        places = [(r, c, v) for r, row in enumerate(self.rows) for c, v in row.items()]
        rows, columns, values = (list(t) for t in zip(*places, strict=True))
        shape = (len(self.rows), count)
        return sparse.csr_matrix((values, (rows, columns)), shape=shape)
