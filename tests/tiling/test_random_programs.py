"""Random programs: whatever a planner decides, the numbers are those of the operations alone."""

from __future__ import annotations

import os

import numpy as np
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from spyrelab.machine import SPYRE
from spyrelab.tiling import PLANNERS, plan, run
from tests.tiling.programs import Program, alone, by_torch, floats, logical, programs

EXAMPLES = int(os.environ.get("SPYRELAB_TILING_EXAMPLES", "60"))
EPSILON = {"f16": 2.0**-10, "bf16": 2.0**-7, "f32": 2.0**-23}

LIMITS = settings(
    max_examples=EXAMPLES // 2,
    deadline=None,
    derandomize="SPYRELAB_TILING_EXAMPLES" not in os.environ,
    suppress_health_check=list(HealthCheck),
)
PLACES = st.tuples(
    st.sampled_from([1, 2, 5, 32]),
    st.sampled_from([256 << 10, 256 << 10, 32 << 10]),
    st.sampled_from([SPYRE.lx_bytes, 512 << 10]),
)


def check(program: Program, place: tuple[int, int, int], planner: str) -> None:
    """Plan, run, compare."""
    cores, work_bytes, lx_bytes = place
    machine = SPYRE.replace(lx_bytes=lx_bytes)
    made = plan(
        program.ops,
        planner,
        machine=machine,
        live_out=program.wanted,
        work_bytes=work_bytes,
        cores=cores,
        width=8,
    )
    arrays = program.arrays()
    done = run(
        made, arrays, work_bytes, shapes=program.shapes, sanitize=True, exact=True, threads=1
    )
    names = sorted(program.wanted)
    own = logical(program, alone(program.ops, arrays, program.dtype), names)
    expected = by_torch(program, arrays)
    # Every operation rounds once; sums are reordered, and what follows them carries that on.
    steps = 4 * EPSILON[program.dtype] * (8 + 4 * len(program.ops))
    for name in names:
        found, mine = floats(done.outputs[name], program.dtype), floats(own[name], program.dtype)
        right = floats(expected[name], program.dtype)
        if program.sums:
            scale = max(1.0, np.abs(mine).max())
            np.testing.assert_allclose(found, mine, rtol=steps, atol=steps * scale)
        else:
            np.testing.assert_array_equal(found, mine)
        scale = max(1.0, np.abs(right).max())
        np.testing.assert_allclose(found, right, rtol=2 * steps, atol=2 * steps * scale)


@LIMITS
@given(programs(exact=True), PLACES, st.sampled_from(PLANNERS))
def test_without_sums_every_bit_is_the_same(
    program: Program, place: tuple[int, int, int], planner: str
) -> None:
    check(program, place, planner)


@LIMITS
@given(programs(), PLACES, st.sampled_from(PLANNERS))
def test_with_sums_rounding_differs_at_most(
    program: Program, place: tuple[int, int, int], planner: str
) -> None:
    check(program, place, planner)
