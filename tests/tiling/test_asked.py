"""What nobody can plan is refused before anything is searched, and says why."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from spyrelab.machine import SPYRE
from spyrelab.opspec.spec import OpSpec
from spyrelab.tiling import Hint, TilingError, lower_bundle, plan
from spyrelab.tiling.blocks import block

OPS = block("mlp", 256, 512).ops
FIRST = OPS[0]


def renamed(spec: OpSpec, before: str, after: str) -> OpSpec:
    args = (replace(arg, name=after) if arg.name == before else arg for arg in spec.args)
    return replace(spec, args=tuple(args))


def emptied(spec: OpSpec) -> OpSpec:
    return replace(spec, iteration_space=dict.fromkeys(spec.iteration_space, (0, 0)))


ASKED: list[tuple[Any, dict[str, Any], str]] = [
    ([1, 2], {}, "operation 0 is a int, no OpSpec"),
    ([replace(FIRST, op="nope")], {}, "operation 0, nope, is none that the card knows"),
    ([replace(FIRST, args=())], {}, "it has no output"),
    ([replace(FIRST, args=(FIRST.args[0], FIRST.args[-1]))], {}, "has 2 operands, not 3"),
    ([emptied(FIRST)], {}, "M, N, K has no indices"),
    ([renamed(FIRST, "x", "b1")], {}, "one tensor has one layout"),
    (OPS, {"live_out": "t0"}, "give a collection of names"),
    (OPS, {"hints": [Hint()] * 9}, "9 hints for 3 operations"),
    (OPS, {"width": 0}, "at least one plan"),
    (OPS, {"cores": 33}, "the machine has 1 to 32"),
    (OPS, {"cores": 0}, "the machine has 1 to 32"),
    (OPS, {"work_bytes": 0}, "the front end may use"),
    (OPS, {"work_bytes": 100}, "give work_bytes = 9088 or more"),
    (
        OPS,
        {"machine": SPYRE.replace(lx_bytes=2048), "work_bytes": 1024},
        "operation 0, addmm, does not fit the scratchpad of 2,048 B, however it is cut",
    ),
]


@pytest.mark.parametrize("planner", ["joint", "per-op"])
@pytest.mark.parametrize(("ops", "given", "message"), ASKED)
def test_what_cannot_be_planned(
    ops: Any, given: dict[str, Any], message: str, planner: str
) -> None:
    with pytest.raises(TilingError, match=message):
        plan(ops, planner, **given)


def test_what_cannot_be_lowered() -> None:
    with pytest.raises(TilingError, match="no operation"):
        lower_bundle([])
    space = {symbol: (extent, 32) for symbol, (extent, _) in FIRST.iteration_space.items()}
    with pytest.raises(TilingError, match="32,768 parts for 32 cores"):
        lower_bundle([replace(FIRST, iteration_space=space)])
