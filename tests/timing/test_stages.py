"""How many sets of buffers a loop asks for, and what the loads of its next turn wait for."""

from __future__ import annotations

import pytest

from spyrelab.ktir import F16, F32, Builder, Module, dumps, parse
from spyrelab.timing import Estimate, estimate

TURNS, ROWS, DEPTH = 32, 64, 128


def product(stages: int | None) -> Module:
    b = Builder("product", (32,))
    pointers = b.pointers("a", "c", "o")
    core = b.compute_tile_id()
    left, right = (b.view(p, (32 * 64, TURNS * DEPTH), F16) for p in pointers[:2])
    zero = b.full((ROWS, ROWS), 0.0, F32)
    turns = b.loop(0, TURNS * DEPTH, DEPTH, carry=(zero,), names="k")
    with turns as (k, total):
        one = b.load(left[core * ROWS, k], shape=(ROWS, DEPTH))
        other = b.load(right[core * ROWS, k], shape=(ROWS, DEPTH))
        b.yield_(b.matmul(one, b.transpose(other, (1, 0)), total))
    b.store(turns.results[0], b.view(pointers[2], (32 * ROWS, ROWS), F32)[core * ROWS, 0])
    module = b.build()
    loop = next(o for o in module.function(None).body.operations if o.name == "scf.for")
    if stages is not None:
        loop.attributes["spyrelab.num_stages"] = stages
    return parse(dumps(module))


def busy(made: Estimate) -> list[float]:
    """Seconds of work of each engine of core 0, without what engines that overlap lose."""
    spent: dict[str, float] = {}
    for segment in made.schedule.segments:
        work = max(float(segment.step.seconds[0]), segment.step.port_seconds)
        spent[segment.step.engine] = spent.get(segment.step.engine, 0.0) + work * segment.repeats
    return list(spent.values())


def test_two_buffers_are_what_a_loop_has_that_says_nothing() -> None:
    silent, two, three = (estimate(product(n)).seconds for n in (None, 2, 3))
    assert silent == two == three


def test_with_one_buffer_loads_and_arithmetic_take_turns() -> None:
    one, two = (estimate(product(n)) for n in (1, 2))
    launch = one.card.constants.launch_seconds
    assert one.seconds - launch >= 0.99 * sum(busy(one))
    assert two.seconds - launch < 0.9 * sum(busy(two))
    assert one.counts.keys() == two.counts.keys()
    assert one.schedule.port_bytes == pytest.approx(two.schedule.port_bytes)
