"""LX planning: which buffers stay in a core's scratchpad, and at which addresses.

>>> buffers = lifetimes([Step("exp", ["x"], ["e"]), Step("sum", ["e"], ["s"])], {...})
>>> solution = solve(Problem(buffers, default_capacity()), "exact")
>>> solution.avoided, solution.proven
"""

from spyrelab.tiling.lx.lifetimes import Step, clones, lifetimes
from spyrelab.tiling.lx.problem import Buffer, Kind, Problem, default_capacity
from spyrelab.tiling.lx.solution import Solution, check, faults
from spyrelab.tiling.lx.solver import Method, place, solve
from spyrelab.tiling.lx.working_set import least_at, least_bytes

__all__ = [
    "Buffer",
    "Kind",
    "Method",
    "Problem",
    "Solution",
    "Step",
    "check",
    "clones",
    "default_capacity",
    "faults",
    "least_at",
    "least_bytes",
    "lifetimes",
    "place",
    "solve",
]
