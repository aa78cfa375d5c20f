"""Plans compute what their operations say, whoever made them and wherever tensors stay."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from spyrelab.tiling import PLANNERS, LoopSpec, Plan, TilingError, plan, run
from spyrelab.tiling.blocks import Draft
from spyrelab.tiling.loops import each

SIZES = [(1, 1), (1, 1000), (3, 64), (7, 129), (63, 65), (128, 192), (129, 200), (512, 1024)]


def wide(array: NDArray[Any]) -> NDArray[np.float32]:
    return array.astype(np.float32)


def rounded(array: NDArray[Any]) -> NDArray[np.float16]:
    return array.astype(np.float16)


def chain(rows: int, columns: int) -> Draft:
    """``tanh((x + y) * w)``, and ``x + y`` once more."""
    draft = Draft()
    total = draft.op("add", draft.input("x", rows, columns), draft.input("y", rows, columns))
    scaled = draft.op("mul", total, draft.input("w", columns))
    draft.op("sub", draft.op("tanh", scaled), total)
    return draft


def arrays_of(draft: Draft, seed: int = 0) -> dict[str, NDArray[Any]]:
    rng = np.random.default_rng(seed)
    return {n: rounded(rng.standard_normal(v.size)) for n, v in draft.inputs.items()}


@pytest.mark.parametrize("planner", PLANNERS)
@pytest.mark.parametrize("size", SIZES)
def test_a_chain_of_pointwise_operations(planner: str, size: tuple[int, int]) -> None:
    draft = chain(*size)
    given = arrays_of(draft)
    total = rounded(wide(given["x"]) + wide(given["y"]))
    scaled = rounded(wide(total) * wide(given["w"]))
    expected = rounded(wide(rounded(np.tanh(wide(scaled)))) - wide(total))
    made = plan(draft.ops, planner)
    found = run(made, given, sanitize=True).outputs["t3"]
    np.testing.assert_allclose(wide(found), wide(expected), rtol=2e-3, atol=2e-3)
    if planner == "joint":
        assert set(made.resident) == {"t0", "t1", "t2"}


def test_resident_tensors_do_not_touch_device_memory() -> None:
    draft = chain(512, 1024)
    done = run(plan(draft.ops), arrays_of(draft))
    itemsize, tensor = 2, 512 * 1024
    assert done.total("ddr_write") == itemsize * tensor
    weights = done.total("ddr_read") - 2 * itemsize * tensor
    assert 0 < weights <= 32 * itemsize * 1024


def test_a_joint_plan_never_loses() -> None:
    for rows in (1, 100, 512):
        draft = chain(rows, 1000)
        assert plan(draft.ops, "joint").seconds <= plan(draft.ops, "per-op").seconds


def test_what_is_too_large_is_taken_in_turns() -> None:
    """64 MB per tensor: a core's part does not fit its scratchpad."""
    draft = chain(8192, 4096)
    made = plan(draft.ops)
    loops = [item for item in made.items if isinstance(item, LoopSpec)]
    assert loops and all(loop.count > 1 for loop in loops)
    assert set(made.resident) == {"t0", "t1", "t2"}


def test_a_plan_in_turns_computes_the_same() -> None:
    draft = chain(512, 2048)
    given = arrays_of(draft)
    whole = run(plan(draft.ops), given).outputs["t3"]
    cut = plan(draft.ops, cores=1)
    assert any(isinstance(item, LoopSpec) for item in cut.items)
    done = run(cut, given, sanitize=True)
    np.testing.assert_array_equal(done.outputs["t3"], whole)


def test_a_plan_is_text_that_makes_it_again() -> None:
    made = plan(chain(129, 200).ops)
    names = {"__builtins__": {}, **vars(__import__("spyrelab.tiling", fromlist=["x"]))}
    names |= vars(__import__("spyrelab.opspec.spec", fromlist=["x"])) | {"frozenset": frozenset}
    again: Plan = eval(repr(made), names)
    assert again == made


def test_every_operation_of_a_plan_is_settled() -> None:
    for spec, _ in each(plan(chain(129, 200).ops).items):
        assert all(parts >= 1 for _, parts in spec.iteration_space.values())


def test_a_tensor_that_is_wanted_afterwards_is_written() -> None:
    draft = chain(64, 128)
    given = arrays_of(draft)
    made = plan(draft.ops, live_out={"t0", "t3"})
    done = run(made, given, sanitize=True)
    assert set(done.outputs) == {"t0", "t3"}
    np.testing.assert_array_equal(done.outputs["t0"], rounded(wide(given["x"]) + wide(given["y"])))


def test_an_unknown_planner_is_refused() -> None:
    with pytest.raises(TilingError, match="joint"):
        plan(chain(4, 4).ops, "best")


def test_a_missing_input_is_named() -> None:
    draft = chain(4, 4)
    with pytest.raises(TilingError, match="w"):
        run(plan(draft.ops), {n: a for n, a in arrays_of(draft).items() if n != "w"})
