"""What holds of every plan: addresses, device tensors, reach, text, and who is never slower."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from spyrelab.machine import SPYRE
from spyrelab.opspec import element_type
from spyrelab.tiling import Bundle, Plan, plan
from spyrelab.tiling.blocks import BLOCKS, Draft, block
from spyrelab.tiling.buffers import holding
from spyrelab.tiling.candidates import span_bytes, split_of, splits
from spyrelab.tiling.cut import Slicing
from spyrelab.tiling.loops import each
from spyrelab.tiling.lower import WORK_BYTES
from spyrelab.tiling.signature import is_pointwise
from tests.tiling.programs import Program, programs

LIMITS = settings(
    max_examples=20, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck)
)


def lives(bundle: Bundle) -> Iterator[tuple[str, int, int, int, int, bool]]:
    """Name, first and last step, address, end, and whether it may take another's place."""
    found: dict[str, tuple[str, int, int, int, int, bool]] = {}
    for step, (spec, turns) in enumerate(each(bundle.items)):
        for arg in spec.args:
            if arg.lx_address is None:
                continue
            held = holding(Slicing.of(spec, turns), arg, whole=not turns)
            end = arg.lx_address + held.nbytes(element_type(arg.dtype).itemsize)
            mine = (arg.name, step, step, arg.lx_address, end, is_pointwise(spec.op))
            name, first, _, low, high, takes = found.get(arg.name, mine)
            assert low == arg.lx_address, "a tensor has one address"
            found[arg.name] = name, first, step, low, max(end, high), takes
    yield from found.values()


def check_addresses(made: Plan, room: int) -> None:
    for bundle in made.bundles:
        known = list(lives(bundle))
        for name, first, last, low, high, takes in known:
            assert high <= room, f"{name} ends at {high}, beyond {room}"
            assert low % SPYRE.stick_bytes == 0
            for other, born, dies, start, end, _ in known:
                if other == name or dies < first or last < born or end <= low or high <= start:
                    continue
                assert start == low, f"{name} and {other} overlap"
                assert (takes and dies == first) or last == born, f"{name} overwrites {other}"


def check_bundles(made: Plan) -> None:
    for bundle in made.bundles:
        names = {a.name for spec in bundle.specs for a in spec.args if a.lx_address is None}
        assert len(names) <= SPYRE.bundle_tensors or len(bundle.specs) == 1
        for spec in bundle.specs:
            assert split_of(spec).cores <= SPYRE.cores


@LIMITS
@given(programs(), st.sampled_from([SPYRE.lx_bytes, 512 << 10]))
def test_plans_of_random_programs(program: Program, lx_bytes: int) -> None:
    machine = SPYRE.replace(lx_bytes=lx_bytes)
    joint = plan(program.ops, machine=machine, live_out=program.wanted, width=6)
    alone = plan(program.ops, "per-op", machine=machine, live_out=program.wanted)
    assert joint.seconds <= alone.seconds
    for made in (joint, alone):
        check_addresses(made, machine.lx_front_end_bytes - WORK_BYTES)
        check_bundles(made)


@pytest.mark.parametrize("name", ["gated_mlp", "attention_core", "highway"])
def test_plans_of_blocks(name: str) -> None:
    joint = plan(block(name, 128, 512).ops, width=8)
    check_addresses(joint, SPYRE.lx_front_end_bytes - WORK_BYTES)
    check_bundles(joint)
    again = plan(joint.bundles[0].specs, "per-op", live_out=joint.live_out)
    assert again.seconds > 0, "settled operations are planned anew"


def test_a_dying_operand_gives_its_place() -> None:
    draft = Draft()
    x = draft.op("tanh", draft.op("neg", draft.input("x", 64, 512)))
    draft.op("sigmoid", x)
    (bundle,) = plan(draft.ops).bundles
    inside = {name: low for name, _, _, low, _, _ in lives(bundle)}
    assert inside == {"t0": 0, "t1": 0}


def test_every_core_stays_within_its_reach() -> None:
    """A weight of 512 MiB: no core may touch more than half of it from end to end."""
    draft = Draft()
    draft.op("mm", draft.input("x", 64, 16384), draft.input("w", 16384, 16384), size=(64, 16384))
    (spec,) = draft.ops
    found = splits(spec)
    assert found and all(span_bytes(spec, split) <= SPYRE.span_bytes for split in found)


@pytest.mark.parametrize("name", sorted(BLOCKS))
def test_the_parts_of_a_bundle_add_up(name: str) -> None:
    """Each operation alone, and all in one launch: overlap and reuse make up the difference."""
    from spyrelab.tiling.cost import Costs

    costs = Costs()
    for bundle in plan(block(name, 64, 512).ops, width=6).bundles:
        parts = sum(costs.seconds(spec, turns) for spec, turns in each(bundle.items))
        assert bundle.seconds == pytest.approx(parts + costs.launch, rel=0.25)
