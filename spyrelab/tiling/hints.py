"""What the user asks of a plan: turns of loops and parts of splits, by the name of a dimension."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from spyrelab.machine import SPYRE, Machine
from spyrelab.opspec.spec import OpSpec
from spyrelab.tiling.candidates import legal_parts
from spyrelab.tiling.cut import granule, parts_of
from spyrelab.tiling.errors import TilingError
from spyrelab.tiling.signature import Role, signature_of

__all__ = ["Hint", "check_hints", "hints_of"]

Wishes = Mapping[str, Mapping[str, int]]
"""``{"num_tiles": {"M": 8}, "work_div": {"N": 4}}``"""

_KINDS = ("num_tiles", "work_div")


@dataclass(frozen=True)
class Hint:
    """Wishes for one operation.

    Attributes
    ----------
    parts : mapping of str to int
        Into how many parts cores share a symbol.
    turns : int
        Of the loop round the operation; 0: as the planner likes.
    tiled : str
        The symbol that the loop takes in steps.
    """

    parts: Mapping[str, int] = field(default_factory=dict)
    turns: int = 0
    tiled: str = ""


def hints_of(ops: Sequence[OpSpec], wishes: Wishes) -> tuple[Hint, ...]:
    """A hint for every operation, of the wishes that name its dimensions.

    Parameters
    ----------
    wishes
        ``num_tiles``: turns of a loop; ``work_div``: parts over cores; both by symbol.

    Raises
    ------
    TilingError
        A wish reaches no operation, or a loop would take two dimensions of one in steps.
    """
    strange = sorted(set(wishes) - set(_KINDS))
    if strange:
        raise TilingError(f"no hint is called {', '.join(strange)}: there are {', '.join(_KINDS)}")
    known = {symbol for spec in ops for symbol in spec.iteration_space}
    for kind, wanted in wishes.items():
        lost = [symbol for symbol in wanted if symbol not in known]
        if lost:
            raise TilingError(
                f"{kind}: no operation has a dimension {', '.join(lost)}; there are"
                f" {', '.join(sorted(known))}"
            )
    return tuple(_hint(spec, wishes) for spec in ops)


def _hint(spec: OpSpec, wishes: Wishes) -> Hint:
    tiles, parts = (
        {s: n for s, n in wishes.get(kind, {}).items() if s in spec.iteration_space}
        for kind in _KINDS
    )
    if len(tiles) > 1:
        raise TilingError(f"{spec.op}: a loop takes one dimension in steps, not {', '.join(tiles)}")
    for symbol, turns in tiles.items():
        return Hint(parts, turns, symbol)
    return Hint(parts)


def check_hints(ops: Sequence[OpSpec], hints: Sequence[Hint], machine: Machine = SPYRE) -> None:
    """Raise TilingError for a hint that cannot be met; it says the nearest values that can."""
    for spec, hint in zip(ops, hints, strict=False):
        symbols = {*hint.parts} | ({hint.tiled} if hint.tiled else set())
        strange = sorted(symbols - set(spec.iteration_space))
        if strange:
            raise TilingError(
                f"{spec.op} has no dimension {', '.join(strange)}: it has"
                f" {', '.join(spec.iteration_space)}"
            )
        for symbol, parts in hint.parts.items():
            _check_parts(spec, symbol, parts, machine)
        if math.prod(hint.parts.values()) > machine.cores:
            _raise_too_many(spec, hint, machine)
        if hint.turns:
            _check_turns(spec, hint)


def _check_parts(spec: OpSpec, symbol: str, parts: int, machine: Machine) -> None:
    found = signature_of(spec)
    if found is not None and found.roles[symbol] is Role.WHOLE:
        return
    legal = legal_parts(spec, symbol, machine.cores)
    if parts not in legal:
        extent = spec.iteration_space[symbol][0]
        raise TilingError(
            f"{spec.op}: {symbol} = {extent:,} cannot be shared by {parts} cores:"
            f" {_nearest(parts, legal)}"
        )


def _raise_too_many(spec: OpSpec, hint: Hint, machine: Machine) -> None:
    *others, last = hint.parts
    room = machine.cores // max(1, math.prod(hint.parts[symbol] for symbol in others))
    legal = [n for n in legal_parts(spec, last, machine.cores) if n <= room]
    wanted = " x ".join(f"{symbol} in {parts}" for symbol, parts in hint.parts.items())
    advice = f"with the others as they are, {last} in {legal[-1]}" if legal else "take fewer parts"
    raise TilingError(f"{spec.op}: {wanted} parts exceed {machine.cores} cores: {advice}")


def _check_turns(spec: OpSpec, hint: Hint) -> None:
    symbol = hint.tiled or next(iter(spec.iteration_space))
    extent = spec.iteration_space[symbol][0]
    found = signature_of(spec)
    unit = granule(spec.args, symbol, extent)
    piece = parts_of(extent, unit, hint.parts.get(symbol, 1))
    legal = [n for n in range(1, piece // unit + 1) if piece % (n * unit) == 0]
    if found is not None and found.roles[symbol] is not Role.FREE:
        legal = [1]
    if hint.tiled and hint.turns not in legal:
        raise TilingError(
            f"{spec.op}: a loop cannot take {symbol} = {extent:,} in {hint.turns} equal steps"
            f" ({unit} indices stay together): {_nearest(hint.turns, legal)}"
        )


def _nearest(wanted: int, legal: Sequence[int]) -> str:
    below = max((n for n in legal if n < wanted), default=None)
    above = min((n for n in legal if n > wanted), default=None)
    values = " or ".join(str(n) for n in (below, above) if n is not None)
    return f"the nearest legal values are {values}" if below and above else f"{values} is legal"
