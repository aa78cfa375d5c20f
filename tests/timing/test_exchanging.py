"""Who takes part in a future is found once for programs that ask the same."""

from __future__ import annotations

from spyrelab.emulator.groups import exchanges, resolve
from spyrelab.ktir.builder import Builder, TileGroups
from spyrelab.ktir.ir import Module
from spyrelab.ktir.types import F16
from spyrelab.timing.exchanging import resolved


def summing(cores: int, members: int, extent: int) -> Module:
    """Groups of cores that fold tiles of so many elements."""
    b = Builder("summing", (cores,))
    (pointer,) = b.pointers("x")
    view = b.view(pointer, sizes=(cores, extent), dtype=F16)
    core = b.compute_tile_id()
    tile = b.load(view[core, 0], shape=(1, extent))
    total = b.produce_reduce(tile, TileGroups.adjacent(cores // members, members), everyone=True)
    b.store(total, view[core, 0])
    return b.build()


def test_the_same_question_is_answered_once() -> None:
    answers = []
    for shape in ((8, 4, 64), (8, 4, 64), (8, 4, 128), (8, 2, 64)):
        function = summing(*shape).function()
        ((produce, consume),) = exchanges(function).items()
        answers.append(resolved(produce, consume, function.grid))
        assert answers[-1] == resolve(produce, consume, function.grid)
    first, again, *others = answers
    assert again is first
    assert all(other is not first for other in others)
