"""What crosses the memory port: little more than inputs, weights and outputs, each once."""

from __future__ import annotations

import math

import numpy as np
import pytest

from spyrelab.opspec.spec import OpSpec
from spyrelab.tiling import Plan, plan, run
from spyrelab.tiling.blocks import BLOCKS, Draft, _whole, block
from spyrelab.tiling.digits import unfolded
from spyrelab.tiling.pieces import pieces_of
from tests.tiling.test_attention_plans import attend, heads_of, torch_attention

MOST = 1.25
"""Of the least bytes, for blocks that fit."""


@pytest.mark.parametrize("name", BLOCKS)
@pytest.mark.parametrize("rows", [16, 512])
def test_blocks_that_fit(name: str, rows: int) -> None:
    made = block(name, rows, 1024)
    joint = plan(made.ops)
    assert made.least_bytes <= joint.port_bytes <= MOST * made.least_bytes
    assert joint.seconds <= plan(made.ops, "per-op").seconds


def operations(made: Plan) -> list[str]:
    return [spec.op for bundle in made.bundles for spec in bundle.specs]


@pytest.mark.parametrize(
    ("name", "moved"), [("norm_linear", "all_gather"), ("highway", "copy"), ("mlp", "all_gather")]
)
def test_what_is_moved_is_what_was_computed(name: str, moved: str) -> None:
    made = block(name, 512, 1024)
    arrays, shapes = made.arrays(), {view.name: view.size for view in made.outputs}
    plans = [plan(made.ops, planner) for planner in ("per-op", "joint")]
    assert moved not in operations(plans[0])
    assert moved in operations(plans[1])
    found = [run(each, arrays, shapes=shapes, sanitize=True, exact=True) for each in plans]
    for view in made.outputs:
        per_op, joint = (done.outputs[view.name] for done in found)
        np.testing.assert_array_equal(joint, per_op)


def attention(rows: int, count: int, depth: int, causal: bool = True) -> Draft:
    """One projection to queries, keys and values, attention, projection."""
    draft, hidden = Draft(), count * depth
    x = draft.input("x", rows, hidden)
    mixed = draft.op("mm", x, draft.input("w", hidden, 3 * hidden), size=(rows, 3 * hidden))
    parts = [mixed.columns(n * hidden, (n + 1) * hidden) for n in range(3)]
    out = _whole("mixed", (rows, hidden), "f16")
    heads = [heads_of(part, 1, count) for part in (*parts, out)]
    draft.ops.append(attend(*heads, causal=causal))
    draft.op("mm", out, draft.input("wo", hidden, hidden), size=(rows, hidden))
    return draft


def test_attention_that_fits() -> None:
    draft = attention(512, 16, 64)
    result = draft.steps[-1].result
    made = plan(draft.ops, live_out={result.name})
    least = 2 * sum(math.prod(v.size) for v in (*draft.inputs.values(), result))
    assert least <= made.port_bytes <= MOST * least
    assert made.seconds <= plan(draft.ops, "per-op", live_out={result.name}).seconds


def test_a_projection_in_pieces_computes_the_same() -> None:
    rows, count, depth = 256, 8, 64
    draft = attention(rows, count, depth)
    out, hidden = draft.steps[-1].result.name, count * depth
    rng = np.random.default_rng(0)
    arrays = {
        name: (rng.standard_normal(view.size) / math.sqrt(hidden if name != "x" else 1)).astype(
            np.float16
        )
        for name, view in draft.inputs.items()
    }
    torch = pytest.importorskip("torch")
    wide = {name: torch.from_numpy(array).float() for name, array in arrays.items()}
    mixed = (wide["x"] @ wide["w"]).half().float()
    parts = [
        part.reshape(1, rows, count, depth).transpose(1, 2) for part in mixed.split(hidden, dim=1)
    ]
    seen = torch_attention(*parts, causal=True).transpose(1, 2).reshape(rows, hidden)
    wanted = (seen.half().float() @ wide["wo"]).numpy()
    graph = pieces_of(draft.ops, {out})
    assert len(graph) == len(draft.ops) + 2
    for ops in (draft.ops, graph):
        done = run(plan(ops, live_out={out}), arrays, sanitize=True, exact=True, threads=1)
        np.testing.assert_allclose(done.outputs[out].astype(np.float32), wanted, 8e-3, 8e-3)


def test_columns_that_overlap_stay_together() -> None:
    draft = Draft()
    both = draft.op("mm", draft.input("x", 64, 64), draft.input("w", 64, 256), size=(64, 256))
    draft.op("neg", both.columns(0, 128))
    draft.op("neg", both.columns(64, 256))
    assert pieces_of(draft.ops, {"t1", "t2"}) == draft.ops


def test_what_outlives_the_plan_stays_together() -> None:
    draft = Draft()
    both = draft.op("mm", draft.input("x", 64, 64), draft.input("w", 64, 256), size=(64, 256))
    draft.op("neg", both.columns(0, 128))
    draft.op("neg", both.columns(128, 256))
    assert len(pieces_of(draft.ops, {"t1", "t2"})) == 4
    assert pieces_of(draft.ops, {"t0", "t1", "t2"}) == draft.ops


def flat(spec: OpSpec) -> list[tuple[str, ...]]:
    return [tuple(map(str, arg.coordinates)) for arg in spec.args]


def test_a_linear_tensor_is_seen_in_the_dimensions_that_are_walked() -> None:
    text = """OpSpec("copy", {"d0": (6, 0), "d1": (4, 0), "d2": (8, 0)}, (
        TensorArg("x", is_input=True, dtype="f16", device_size=[192], stride_map=[1],
                  coordinates=["8*d0 + 48*d1 + d2"]),
        TensorArg("y", is_input=False, dtype="f16", device_size=[192], stride_map=[1],
                  coordinates=["32*d0 + 8*d1 + d2"])))"""
    names = vars(__import__("spyrelab.opspec.spec", fromlist=["x"]))
    (made,) = unfolded([eval(text, dict(names))])
    assert flat(made) == [("d1", "d0", "d2"), ("d0", "d1", "d2")]
    assert [arg.device_size for arg in made.args] == [(4, 6, 8), (6, 4, 8)]
    assert [arg.stride_map for arg in made.args] == [(48, 8, 1), (32, 8, 1)]


def test_an_index_that_carries_is_left_alone() -> None:
    text = """OpSpec("copy", {"d0": (5, 0), "d1": (4, 0), "d2": (3, 0)}, (
        TensorArg("x", is_input=True, dtype="f16", device_size=[24], stride_map=[1],
                  coordinates=["4*d0 + d1 + d2"]),
        TensorArg("y", is_input=False, dtype="f16", device_size=[60], stride_map=[1],
                  coordinates=["12*d0 + 3*d1 + d2"])))"""
    names = vars(__import__("spyrelab.opspec.spec", fromlist=["x"]))
    (made,) = unfolded([eval(text, dict(names))])
    assert flat(made) == [("4*d0 + d1 + d2",), ("d0", "d1", "d2")]
