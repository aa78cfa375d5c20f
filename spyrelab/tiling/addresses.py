"""Scratchpad addresses for the tensors of a bundle that stay on the cores."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from spyrelab.opspec import element_type
from spyrelab.tiling.buffers import holding
from spyrelab.tiling.cost import Costs
from spyrelab.tiling.cut import Slicing
from spyrelab.tiling.loops import replaced
from spyrelab.tiling.search import Choice

__all__ = ["addresses_of"]


def addresses_of(choices: Sequence[Choice], live_out: frozenset[str], costs: Costs) -> list[Choice]:
    """The choices of one bundle with an address for every resident operand."""
    sizes: dict[str, int] = {}
    first: dict[str, int] = {}
    last: dict[str, int] = {}
    for step, choice in enumerate(choices):
        turns = {choice.tiled: choice.turns} if choice.turns > 1 else None
        slicing = Slicing.of(choice.spec, turns)
        for arg in choice.spec.args:
            if arg.name in choice.resident:
                nbytes = holding(slicing, arg, False).nbytes(element_type(arg.dtype).itemsize)
                sizes[arg.name] = max(sizes.get(arg.name, 0), nbytes)
                first.setdefault(arg.name, step)
                last[arg.name] = step
    places = _first_fit(sizes, first, last)
    return [
        choice._replace(
            spec=replaced(
                choice.spec,
                args=tuple(replace(a, lx_address=places.get(a.name)) for a in choice.spec.args),
            )
        )
        for choice in choices
    ]


def _first_fit(
    sizes: dict[str, int], first: dict[str, int], last: dict[str, int]
) -> dict[str, int]:
    found: dict[str, int] = {}
    for name in sorted(sizes, key=lambda n: -sizes[n]):
        address = 0
        others = sorted(
            (found[o], found[o] + sizes[o])
            for o in found
            if first[o] <= last[name] and first[name] <= last[o]
        )
        for low, high in others:
            if address + sizes[name] <= low:
                break
            address = max(address, high)
        found[name] = address
    return found
