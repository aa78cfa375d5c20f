"""Tensors joined among other operations."""

from __future__ import annotations

import numpy as np
import pytest

from spyrelab.tiling import plan, run
from spyrelab.tiling.blocks import Draft


@pytest.mark.parametrize("planner", ["per-op", "joint"])
@pytest.mark.parametrize("rows", [33, 129])
@pytest.mark.parametrize("widths", [(64, 64), (32, 32), (48, 130, 64), (2, 65)])
@pytest.mark.parametrize("dim", [0, 1])
def test_joined_between_pointwise_operations(
    planner: str, rows: int, widths: tuple[int, ...], dim: int
) -> None:
    draft, rng = Draft(), np.random.default_rng(0)
    sizes = [(rows, n) if dim else (n, rows) for n in widths]
    given = [draft.input(f"x{n}", *size) for n, size in enumerate(sizes)]
    whole = (rows, sum(widths)) if dim else (sum(widths), rows)
    parts = [draft.op("neg", view) for view in given]
    draft.op("abs", draft.op("cat", *parts, size=whole, dim=dim))
    arrays = {f"x{n}": rng.standard_normal(s).astype(np.float16) for n, s in enumerate(sizes)}
    made = plan(draft.ops, planner)
    name = draft.steps[-1].result.name
    found = run(made, arrays, sanitize=True, exact=True, threads=1).outputs[name]
    np.testing.assert_array_equal(found, np.abs(np.concatenate(list(arrays.values()), dim)))
