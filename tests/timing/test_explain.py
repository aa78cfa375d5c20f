"""What `explain` says, and that it does not contradict itself or the model."""

from __future__ import annotations

import re
from itertools import pairwise

import pytest

from spyrelab import kernels
from spyrelab.ktir import parse
from spyrelab.timing import best_split, estimate, split_times
from spyrelab.viz.events import bandwidth, engine_events
from spyrelab.viz.perfetto import trace_events
from tests.emulator.sanitizer_programs import load, over, program, store
from tests.timing.test_exact_counts import BODY, looping


def test_advice_is_for_as_many_cores() -> None:
    text = estimate(kernels.matmul(1, 512, 4096, 4096, split=(1, 1, 4, 1))).explain()
    best = best_split(1, 512, 4096, 4096, cores=4)
    split = " ".join(f"{axis}{part}" for axis, part in zip("bmnk", best.split, strict=True))
    assert split in text or "No other split over 4 cores" in text


def test_advice_for_one_core_names_one_core() -> None:
    text = estimate(kernels.matmul(1, 512, 4096, 4096, split=(1, 1, 1, 1))).explain()
    assert "on 1 core." in text
    assert "No other split over 1 core " in text


def test_types_without_a_rate_get_no_split() -> None:
    text = estimate(kernels.matmul(1, 256, 512, 512, split=(1, 4, 8, 1), dtype="f32")).explain()
    assert "splits are not compared" in text
    assert not re.search(r"The split b\d", text)


def test_parts_that_cannot_grow_are_not_asked_for() -> None:
    text = estimate(kernels.matmul(1, 2048, 4096, 4096, split=(1, 32, 1, 1))).explain()
    assert "more parts of m" not in text
    assert "own rate is the limit" not in text


def test_turns_of_loops_are_a_bottleneck() -> None:
    made = estimate(kernels.pointwise("x * 2", (32 * 1000, 64), tile=64))
    assert made.bottleneck == "turns"
    assert "start of loop turns" in made.explain()


def test_small_programs_are_told_in_small_units() -> None:
    text = estimate(kernels.softmax(8, 64, cores=1)).explain()
    assert "goes to the launch: that bounds it" in text
    assert "Cores ask for 2.0 KB" in text


@pytest.mark.parametrize("shape", [(1, 512, 4096, 4096), (4, 128, 1024, 2048), (1, 64, 512, 512)])
def test_a_choice_costs_what_the_estimate_says(shape: tuple[int, int, int, int]) -> None:
    for choice in split_times(*shape)[::7]:
        made = estimate(kernels.matmul(*shape, split=choice.split))
        assert choice.seconds == pytest.approx(made.seconds, rel=5e-4)


def test_a_scratchpad_that_overflows_is_told() -> None:
    module = parse(
        program(over("X", "x", 1 << 21), load("v", "X", "%c0", 1 << 21, 1 << 21),
                store("v", "X", "%c0", 1 << 21, 1 << 21))
    )  # fmt: skip
    made = estimate(module)
    assert made.lx_overflow is not None
    assert "scratchpad" in made.explain()
    assert estimate(kernels.softmax(64, 64)).lx_overflow is None


def test_nested_loops_do_not_overlap() -> None:
    text = (
        "scf.for %o = %c0 to %c64 step %c1 {\nscf.for %q = %c0 to %c128 step %c1 {\n"
        "%i = arith.muli %q, %c64 : index\n" + BODY + "}\n}\n"
    )
    events = engine_events(estimate(looping(text, cores=1)))
    for one, other in pairwise(events):
        if (one.core, one.engine) == (other.core, other.engine):
            assert one.end <= other.start * (1 + 1e-9)


def test_collapsed_loops_do_not_overlap() -> None:
    made = estimate(kernels.softmax(100_000, 5_000))
    events = engine_events(made, most=2_000)
    assert any(event.times > 1 for event in events)
    for one, other in pairwise(events):
        if (one.core, one.engine) == (other.core, other.engine):
            assert one.end <= other.start * (1 + 1e-9)


def test_the_port_is_not_drawn_faster_than_it_is() -> None:
    made = estimate(kernels.matmul(1, 512, 4096, 4096, split=(1, 4, 4, 2)))
    _, rates = bandwidth(made)
    assert rates.max() <= made.card.constants.ddr_bytes_per_second * 1.001


def test_partial_sums_are_drawn_as_flows() -> None:
    made = estimate(kernels.matmul(1, 512, 4096, 4096, split=(1, 4, 4, 2)))
    phases = [event["ph"] for event in trace_events(made)]
    assert phases.count("s") == phases.count("f") == 32
