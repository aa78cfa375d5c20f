"""Four stages of softmax, RMS norm and the attention core: what crosses the port, exactly.

Formulas count f16 elements; a row statistic over the last dimension occupies a stick of 64.
"""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from spyrelab.tiling import LoopSpec, Outcome, TilingError, run
from spyrelab.tiling.blocks import Draft, View
from spyrelab.tiling.lx import check
from spyrelab.tiling.stages import Stage, Staged, stages

STICK = 64
SIZES = [(96, 192), (512, 1024), (2048, 1024), (640, 320)]


def softmax_of(draft: Draft, x: View, axis: int) -> View:
    """Five operations; the statistics stand alone in sticks if they are of rows."""
    size = [1 if d == axis else extent for d, extent in enumerate(x.size)]
    options: dict[str, Any] = {
        "size": size,
        "sparse": axis == len(size) - 1,
        "dims": (axis,),
        "keepdim": True,
    }
    powers = draft.op("exp", draft.op("sub", x, draft.op("amax", x, **options)))
    return draft.op("div", powers, draft.op("sum", powers, **options))


def softmax(rows: int, cols: int, axis: int) -> Draft:
    draft = Draft()
    softmax_of(draft, draft.input("x", rows, cols), axis)
    return draft


def rms_norm(rows: int, cols: int) -> Draft:
    draft = Draft()
    x, w = draft.input("x", rows, cols), draft.input("w", cols)
    mean = draft.op(
        "mean", draft.op("square", x), size=(rows, 1), sparse=True, dims=(1,), keepdim=True
    )
    scale = draft.op("rsqrt", draft.op("add", mean, 1e-6, sparse=True), sparse=True)
    draft.op("mul", draft.op("mul", x, scale), w)
    return draft


def attention(heads: int, rows: int, keys: int, depth: int) -> Draft:
    draft = Draft()
    q, k = draft.input("q", heads, rows, depth), draft.input("k", heads, depth, keys)
    scores = draft.op("bmm", q, k, size=(heads, rows, keys))
    weights = softmax_of(draft, draft.op("mul", scores, depth**-0.5), 2)
    draft.op("bmm", weights, draft.input("v", heads, keys, depth), size=(heads, rows, depth))
    return draft


def arrays_of(draft: Draft) -> dict[str, NDArray[Any]]:
    rng = np.random.default_rng(0)
    return {
        n: (rng.standard_normal(v.size) / 2).astype(np.float16) for n, v in draft.inputs.items()
    }


def elements(done: Outcome) -> int:
    """f16 elements that cross the port."""
    return (done.total("ddr_read") + done.total("ddr_write")) // 2


def ran(draft: Draft, made: tuple[Staged, ...]) -> list[Outcome]:
    """All stages; every one gives the same bits, and keeps to its scratchpad."""
    given = arrays_of(draft)
    done = [run(staged.plan, given, sanitize=True) for staged in made]
    first, *others = (next(iter(outcome.outputs.values())) for outcome in done)
    for other in others:
        np.testing.assert_array_equal(other, first)
    for staged in made:
        check(staged.solution)
    return done


@pytest.mark.parametrize(("axis", "along"), [(0, "d1"), (1, "d0")])
@pytest.mark.parametrize("size", SIZES)
def test_softmax(size: tuple[int, int], axis: int, along: str) -> None:
    """Through DDR amax reads MN; sub 2MN; exp 2MN; sum MN; div 2MN; statistics four times."""
    rows, cols = size
    matrix = rows * cols
    statistics = 4 * cols if axis == 0 else 4 * STICK * rows
    draft = softmax(rows, cols, axis)
    made = stages(draft.ops, along)
    done = ran(draft, made)
    x = arrays_of(draft)["x"].astype(np.float32)
    powers = np.exp(x - x.max(axis, keepdims=True))
    right = powers / powers.sum(axis, keepdims=True)
    np.testing.assert_allclose(done[0].outputs["t4"], right, rtol=4e-3, atol=2e-4)
    found = [elements(outcome) for outcome in done]
    assert [staged.stage for staged in made] == list(Stage)
    assert found[0] == 8 * matrix + statistics
    assert found[-1] == 2 * matrix
    assert found == sorted(found, reverse=True)


def test_softmax_of_a_matrix_that_fits_once() -> None:
    """Room for one matrix: the powers (three uses) stay, and before them a copy of x (one)."""
    rows, cols = 512, 1024
    draft = softmax(rows, cols, 1)
    done = ran(draft, stages(draft.ops, "d0"))
    assert [elements(outcome) // (rows * cols) for outcome in done] == [8, 4, 2, 2]
    assert elements(done[1]) == 4 * rows * cols


def test_softmax_of_a_matrix_that_does_not_fit() -> None:
    """Only statistics stay, until a loop makes tiles of it."""
    rows, cols = 2048, 1024
    draft = softmax(rows, cols, 1)
    made = stages(draft.ops, "d0")
    done = ran(draft, made)
    assert [elements(outcome) // (rows * cols) for outcome in done] == [8, 8, 8, 2]
    assert elements(done[1]) == elements(done[2]) == 8 * rows * cols
    (loop,) = made[-1].items
    assert isinstance(loop, LoopSpec) and loop.count == made[-1].turns == 4


@pytest.mark.parametrize("size", SIZES)
def test_rms_norm(size: tuple[int, int]) -> None:
    """Square 2MN; mean MN; two products 4MN and w; six times a statistic."""
    rows, cols = size
    draft = rms_norm(rows, cols)
    found = [elements(outcome) for outcome in ran(draft, stages(draft.ops, "d0"))]
    assert found[0] == 7 * rows * cols + 6 * STICK * rows + cols
    assert found[-1] == 2 * rows * cols + cols


@pytest.mark.parametrize("size", [(4, 128, 256, 64), (8, 256, 512, 64), (2, 64, 1024, 128)])
def test_the_attention_core(size: tuple[int, int, int, int]) -> None:
    """Scores are written, scaled (2), normalised (8) and read: 12 times, and four statistics."""
    heads, rows, keys, depth = size
    draft = attention(*size)
    along = ["B"] + ["d0"] * 6 + ["B"]
    found = [elements(outcome) for outcome in ran(draft, stages(draft.ops, along))]
    ends = heads * (2 * rows * depth + 2 * keys * depth)
    assert found[0] == heads * (12 * rows * keys + 4 * STICK * rows) + ends
    assert found[-1] == ends


@pytest.mark.parametrize("cores", [2, 8, 32])
def test_more_cores_move_as_much(cores: int) -> None:
    rows, cols = 2048, 1024
    draft = softmax(rows, cols, 1)
    made = stages(draft.ops, "d0", cores)
    done = ran(draft, made)
    assert elements(done[0]) == 8 * rows * cols + 4 * STICK * rows
    assert elements(done[-1]) == 2 * rows * cols
    assert done[-1].counters[0].ddr_read.size == cores


def test_a_small_scratchpad_takes_more_turns() -> None:
    draft = softmax(256, 512, 1)
    turns = [
        stages(draft.ops, "d0", capacity=room)[-1].turns for room in (1 << 20, 1 << 17, 1 << 14)
    ]
    assert turns == [1, 4, 32] and all(a < b for a, b in itertools.pairwise(turns))


def test_what_cannot_be_cut_is_refused() -> None:
    draft = softmax(96, 192, 1)
    with pytest.raises(TilingError, match="d7"):
        stages(draft.ops, "d7")
    with pytest.raises(TilingError, match="3 parts"):
        stages(draft.ops, "d1", 4)
    with pytest.raises(TilingError, match="enough"):
        stages(draft.ops, "d0", capacity=256)
