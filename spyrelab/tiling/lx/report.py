"""How the solvers compare: a table of bytes avoided and solve times."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from statistics import mean, median

from spyrelab.tiling.lx.problem import Problem
from spyrelab.tiling.lx.solution import Solution, check
from spyrelab.tiling.lx.solver import Method, solve

__all__ = ["Row", "compare", "summary"]

HEURISTICS = tuple(m for m in Method if m is not Method.EXACT)


@dataclass(frozen=True)
class Row:
    """One problem, answered by every method."""

    family: str
    problem: Problem
    solutions: dict[Method, Solution]

    @property
    def proven(self) -> bool:
        """Whether the exact answer is proven."""
        return self.solutions[Method.EXACT].proven

    def ratio(self, method: Method) -> float:
        """Bytes avoided, relative to the exact answer."""
        most = self.solutions[Method.EXACT].avoided
        return self.solutions[method].avoided / most if most else 1.0

    @property
    def share(self) -> float:
        """Bytes that the exact answer avoids, relative to keeping everything."""
        return self.solutions[Method.EXACT].avoided / max(self.problem.total, 1)

    @property
    def gap(self) -> float:
        """How far the exact answer may be from the best, relative to the bound."""
        exact = self.solutions[Method.EXACT]
        return 1 - exact.avoided / exact.bound if exact.bound else 0.0


def compare(problems: Iterable[tuple[str, Problem]], time_limit: float = 10.0) -> list[Row]:
    """Answer every problem by every method, and check every answer."""
    return [
        Row(family, problem, {m: check(solve(problem, m, time_limit)) for m in Method})
        for family, problem in problems
    ]


def summary(rows: Iterable[Row]) -> str:
    """A table: per family the mean ratio to the proven optimum, times, and what is unproven.

    Problems without a proof count in no ratio; they are listed below the table.
    """
    rows = list(rows)
    families = list(dict.fromkeys(row.family for row in rows))
    head = [
        f"{'':<21}{'mean bytes avoided / exact':>44}{'of all':>8}{'':>10}{'median ms':>30}{'s':>9}",
        f"{'family':<12}{'problems':>9}"
        + "".join(f"{m.value:>11}" for m in HEURISTICS)
        + f"{'kept':>8}{'unproven':>10}{'greedy':>10}{'default':>10}{'exact':>10}{'longest':>9}",
    ]
    lines = [_line(family, [r for r in rows if r.family == family]) for family in families]
    lines.append(_line("all", rows))
    open_ones = [
        f"not proven: {r.problem.name}, at most {r.gap:.1%} from the best"
        for r in rows
        if not r.proven
    ]
    return "\n".join([*head, *lines, *open_ones])


def _line(family: str, rows: list[Row]) -> str:
    proven = [row for row in rows if row.proven]
    ratios = "".join(
        f"{mean(r.ratio(m) for r in proven):>11.4f}" if proven else f"{'-':>11}" for m in HEURISTICS
    )
    times = "".join(
        f"{1e3 * median(r.solutions[m].seconds for r in rows):>10.2f}"
        for m in (Method.GREEDY, Method.DEFAULT, Method.EXACT)
    )
    longest = max(r.solutions[Method.EXACT].seconds for r in rows)
    return (
        f"{family:<12}{len(rows):>9}{ratios}{mean(r.share for r in rows):>8.1%}"
        f"{len(rows) - len(proven):>10}{times}{longest:>9.2f}"
    )
