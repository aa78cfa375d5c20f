"""Hints: wishes that are met, and what is said of those that cannot be."""

from __future__ import annotations

from typing import Any

import pytest

from spyrelab.machine import SPYRE
from spyrelab.tiling import Hint, LoopSpec, TilingError, hints_of, plan
from spyrelab.tiling.blocks import Draft, block

MLP = block("mlp", 256, 512).ops


def test_wishes_reach_the_operations_that_have_the_dimension() -> None:
    found = hints_of(MLP, {"num_tiles": {"M": 4}, "work_div": {"N": 8, "d1": 2}})
    assert found == (Hint({"N": 8}, 4, "M"), Hint({"d1": 2}), Hint({"N": 8}, 4, "M"))


def test_parts_are_as_asked() -> None:
    made = plan(MLP, hints={"work_div": {"M": 8, "N": 4}}, width=4)
    for bundle in made.bundles:
        for spec in bundle.specs:
            if "M" in spec.iteration_space:
                assert (spec.iteration_space["M"][1], spec.iteration_space["N"][1]) == (8, 4)


def test_turns_are_as_asked() -> None:
    made = plan(MLP, hints={"num_tiles": {"M": 4}}, width=4)
    loops = [item for item in made.items if isinstance(item, LoopSpec)]
    tiled = [
        (s.op, t, loop.count) for loop in loops for s, t in zip(loop.body, loop.tiled, strict=True)
    ]
    assert [entry for entry in tiled if entry[0] == "addmm"] == [("addmm", "M", 4)] * 2


@pytest.mark.parametrize(
    ("wishes", "said"),
    [
        ({"work_div": {"N": 64}}, "32 is legal"),
        ({"work_div": {"K": 3}}, "2 or 4"),
        ({"work_div": {"M": 16, "N": 4}}, "exceed 32 cores.*N in 2"),
        ({"num_tiles": {"M": 3}}, "2 or 4"),
        ({"num_tiles": {"K": 2}}, "1 is legal"),
        ({"num_tiles": {"M": 2, "N": 2}}, "one dimension"),
        ({"num_tiles": {"Q": 2}}, "no operation has a dimension Q.*d0"),
        ({"tiles": {"M": 2}}, "num_tiles, work_div"),
    ],
)
def test_what_cannot_be_met_says_what_can(wishes: dict[str, Any], said: str) -> None:
    with pytest.raises(TilingError, match=said):
        plan(MLP, hints=wishes)


def test_an_unknown_dimension_of_a_hint_is_named() -> None:
    with pytest.raises(TilingError, match=r"addmm has no dimension X: it has M, N, K"):
        plan(MLP, hints=[Hint({"X": 2})])


def test_too_small_a_share_names_the_operation_and_what_it_needs() -> None:
    with pytest.raises(TilingError, match=r"operation 0, addmm, .* at least ([\d,]+) B") as caught:
        plan(MLP, work_bytes=512)
    least = int(str(caught.value).split("at least ")[1].split(" B")[0].replace(",", ""))
    assert plan(MLP, "per-op", work_bytes=least).seconds > 0
    with pytest.raises(TilingError, match="addmm"):
        plan(MLP, "per-op", work_bytes=least - SPYRE.stick_bytes)


def test_more_than_there_is_cannot_be_left_to_tiles() -> None:
    with pytest.raises(TilingError, match="work_bytes"):
        plan(MLP, work_bytes=SPYRE.lx_bytes)


def test_an_update_that_reads_elsewhere_is_refused() -> None:
    draft = Draft()
    x = draft.input("x", 64, 64)
    draft.op("add", x, x.turned(), into=x)
    with pytest.raises(TilingError, match="operation 0, add, reads x"):
        plan(draft.ops)
