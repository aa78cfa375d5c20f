"""`estimate`: the time of a program, without running it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from spyrelab.ktir import Function, Module
from spyrelab.machine import SPYRE, Machine
from spyrelab.timing.arguments import Arguments
from spyrelab.timing.bundles import BUNDLE_ATTRIBUTE, price_products
from spyrelab.timing.constants import CONSTANTS, Constants, for_machine
from spyrelab.timing.errors import TimingError, share, whole
from spyrelab.timing.products import count_turns, find_product, flatten, plan_product
from spyrelab.timing.result import Estimate
from spyrelab.timing.schedule import schedule
from spyrelab.timing.transfers import Card
from spyrelab.timing.walk import walk_function

__all__ = ["FRACTION_ATTRIBUTE", "estimate"]

FRACTION_ATTRIBUTE = "spyrelab.lx_backend_fraction"


def estimate(
    module: Module,
    args: Mapping[str, Any] | None = None,
    function: str | None = None,
    machine: Machine = SPYRE,
    lx_backend_fraction: float | None = None,
    *,
    cores: int | None = None,
    constants: Constants = CONSTANTS,
) -> Estimate:
    """Predict the profiled time of one launch; nothing is executed.

    Parameters
    ----------
    args : mapping, optional
        What trip counts and branches depend on: integers, and index arrays such as page
        tables and lengths.  Anything else may be left out.
    lx_backend_fraction : float, optional
        Share of the scratchpad that the back end may use; default the program's own
        attribute, else the machine's.
    cores : int, optional
        Number of cores for a function without a grid.

    Raises
    ------
    UnknownValueError
        A trip count or branch depends on an argument that is missing; the message names it.
    TimingError
        An unknown function or argument, a grid that the machine does not have.
    """
    chosen = _function(module, function)
    if cores is not None:
        cores = whole("cores", cores, machine.cores)
    grid = (cores,) if cores is not None and math.prod(chosen.grid) != cores else chosen.grid
    count = math.prod(grid)
    if not 1 <= count <= machine.cores:
        raise TimingError(f"@{chosen.name} needs {count} cores; the machine has {machine.cores}")
    fraction = _fraction(chosen, lx_backend_fraction, machine)
    card = Card(machine, for_machine(machine, constants), count, fraction)
    walked = walk_function(card, chosen, grid, Arguments(args))
    plan = None
    if chosen.attributes.get(BUNDLE_ATTRIBUTE):
        nodes = price_products(card, chosen, walked)
    else:
        product = find_product(chosen, walked)
        plan = plan_product(card, product, walked) if product is not None else None
        nodes = plan.nodes if plan is not None else walked.nodes
    counts: dict[str, np.ndarray] = {}
    for step, times in flatten(walked.nodes):
        for name, values in step.counts.items():
            if name not in counts:
                counts[name] = np.zeros(count, np.int64)
            counts[name] += values if times == 1 else values * times
    made = schedule(card, nodes)
    turns = count_turns(nodes)
    name = chosen.name
    return Estimate(name, card, made, counts, plan, module, name, walked.reasons, turns)


def _function(module: Module, name: str | None) -> Function:
    try:
        return module.function(name)
    except KeyError as error:
        raise TimingError(str(error.args[0])) from None


def _fraction(function: Function, given: float | None, machine: Machine) -> float:
    value = given
    if value is None:
        value = function.attributes.get(FRACTION_ATTRIBUTE, machine.lx_back_end_fraction)
    return max(share(value), 0.01)
