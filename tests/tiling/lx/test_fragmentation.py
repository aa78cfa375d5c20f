"""Problems in which enough is free at every step, but in pieces.

The reference is an independent formulation: one integer program with addresses, in which of two
buffers that meet one lies below the other, unless one is left out.
"""

from __future__ import annotations

from itertools import combinations
from random import Random

import numpy as np
import pytest
from scipy.optimize import Bounds, LinearConstraint, milp

from spyrelab.tiling.lx import Buffer, Problem, check, least_at, least_bytes, place, solve
from spyrelab.tiling.lx.master import Master

STICK = 128

# Found by search among random dense packings: 7 sticks are alive at every step.
LIVES = (
    (2, 0, 0), (3, 0, 1), (1, 0, 1), (1, 0, 1), (2, 1, 1), (3, 2, 2), (1, 3, 3), (2, 3, 3),
    (3, 2, 3), (2, 4, 4), (2, 4, 5), (1, 2, 6), (1, 5, 6), (1, 6, 6), (2, 4, 7), (1, 5, 7),
    (1, 6, 7), (3, 7, 7),
)  # fmt: skip


def in_pieces(capacity: int, uses: int = 1) -> Problem:
    buffers = (
        Buffer(f"b{i}", size * STICK, first, last, uses)
        for i, (size, first, last) in enumerate(LIVES)
    )
    return Problem(tuple(buffers), capacity * STICK)


def by_disjunctions(problem: Problem) -> int:
    """The most bytes avoided; for problems without children and clones."""
    buffers, room = problem.buffers, problem.capacity / STICK
    count = len(buffers)
    pairs = [(i, j) for i, j in combinations(range(count), 2) if buffers[i].meets(buffers[j])]
    # Columns: kept, address, and for each pair whether the first lies below.
    rows, highs = [], []
    for number, (i, j) in enumerate(pairs):
        for low, high, sign in ((i, j, 1), (j, i, -1)):
            row = np.zeros(2 * count + len(pairs))
            row[count + low], row[count + high] = 1, -1
            row[low] = row[high] = 2 * room
            row[2 * count + number] = sign * 2 * room
            rows.append(row)
            size = buffers[low].size / STICK
            highs.append(4 * room - size + (2 * room if sign > 0 else 0))
    top = np.array([room - b.size / STICK for b in buffers])
    found = milp(
        np.array([-b.avoided / STICK for b in buffers] + [0] * (count + len(pairs))),
        integrality=np.ones(2 * count + len(pairs)),
        bounds=Bounds(0, np.concatenate([np.ones(count), top, np.ones(len(pairs))])),
        constraints=LinearConstraint(np.array(rows), -np.inf, np.array(highs)),
    )
    assert found.status == 0
    return round(-found.fun) * STICK


def dense(seed: int, capacity: int, steps: int) -> Problem:
    """At every step exactly the capacity is alive, before some lives are stretched."""
    random = Random(seed)
    alive = [(size, 0) for size in pieces(random, capacity)]
    lives: list[tuple[int, int, int]] = []
    for step in range(1, steps):
        random.shuffle(alive)
        ends = random.randint(1, len(alive))
        lives += [(size, first, step - 1) for size, first in alive[:ends]]
        freed = sum(size for size, _ in alive[:ends])
        alive = alive[ends:] + [(size, step) for size in pieces(random, freed)]
    lives += [(size, first, steps - 1) for size, first in alive]
    buffers = (
        Buffer(f"b{i}", size * STICK, first, last + (random.random() < 0.2), random.randint(1, 3))
        for i, (size, first, last) in enumerate(lives)
    )
    return Problem(tuple(buffers), capacity * STICK)


def pieces(random: Random, total: int) -> list[int]:
    found = []
    while total:
        found.append(random.randint(1, min(3, total)))
        total -= found[-1]
    return found


def test_enough_at_every_step_is_not_enough() -> None:
    problem = in_pieces(7)
    assert max(least_at(problem, step) for step in range(8)) == 7 * STICK
    assert least_bytes(problem) == 8 * STICK
    assert len(check(place(in_pieces(8))).kept) == len(LIVES)
    assert by_disjunctions(problem) < problem.total


def test_a_cut_closes_the_gap(monkeypatch: pytest.MonkeyPatch) -> None:
    cuts: list[list[int]] = []
    forbid = Master.forbid

    def watched(self: Master, together: list[int]) -> None:
        cuts.append(list(together))
        forbid(self, together)

    monkeypatch.setattr(Master, "forbid", watched)
    problem = in_pieces(7)
    found = check(solve(problem, "exact"))
    assert cuts, "the program without addresses was packed at once"
    assert found.proven
    assert found.avoided == by_disjunctions(problem)


@pytest.mark.parametrize("seed", range(12))
def test_exact_agrees_with_disjunctions(seed: int) -> None:
    problem = dense(seed, 4 + seed % 3, 4)
    found = check(solve(problem, "exact"))
    assert found.proven
    assert found.avoided == by_disjunctions(problem)
