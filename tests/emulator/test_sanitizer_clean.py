"""The sanitizer says nothing of the project's kernels and of the sample programs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from spyrelab import emulator
from spyrelab.kernels import CATALOGUE
from tests.emulator.test_engines import PROGRAMS, run_sample

ATTENTION = {"heads": 4, "kv_heads": 2, "head_dim": 32, "page_size": 16, "max_pages": 4}
CASES: list[tuple[str, dict[str, Any]]] = [
    *[("vector_add", {"n": n}) for n in (1, 63, 4096, 70001)],
    ("vector_add", {"n": 1003, "dtype": "f32", "cores": 7, "tile": 128}),
    *[("pointwise", {"expr": "x * 0.5 - y", "shape": s}) for s in ((5, 131), (3, 5, 7))],
    *[
        (name, {"rows": rows, "cols": cols})
        for name in ("softmax", "layer_norm", "rms_norm", "transpose", "row_reduce")
        for rows, cols in ((1, 1), (35, 200), (64, 512), (3, 9000))
    ],
    *[("row_reduce", {"rows": 9, "cols": 333, "kind": kind}) for kind in ("mean", "max", "min")],
    ("rotary", {"seq": 5, "heads": 3, "head_dim": 64}),
    *[("gather", {"count": 97, "table_rows": 50, "cols": 129, "index": i}) for i in ("i32", "i64")],
    *[
        ("matmul", {"b": b, "m": m, "n": n, "k": k, "split": split, "k_partners": partners})
        for b, m, n, k in ((1, 63, 64, 65), (2, 17, 33, 300))
        for split in ((1, 1, 1, 1), (1, 4, 8, 1), (1, 2, 4, 4), (2, 1, 4, 4), (1, 1, 1, 32))
        for partners in ("adjacent", "16 apart")
        if (partners == "adjacent" or split[3] > 1) and split[0] <= b
    ],
    *[("paged_attention", {"queries": 3, "context": c, **ATTENTION}) for c in (0, 1, 33, 64)],
    ("paged_attention", {"queries": 2, "context": 50, "block_pages": 1, **ATTENTION}),
]


def case_id(case: Any) -> str:
    return "-".join(map(str, case.values())) if isinstance(case, dict) else str(case)


@pytest.mark.parametrize(("name", "parameters"), CASES, ids=case_id)
def test_kernels(name: str, parameters: dict[str, Any]) -> None:
    kernel = CATALOGUE[name]
    module, arguments = kernel.build(**parameters), kernel.arguments(**parameters)
    plain = emulator.run(module, arguments)
    watched = emulator.run(module, arguments, sanitize="padding")
    faults = [finding for finding in watched.findings if not finding.is_lint]
    assert faults == []
    assert watched.counters == plain.counters
    # BLAS may sum in another order for another number of threads.
    kwargs = {"rtol": 1e-2, "atol": 1e-2}
    np.testing.assert_allclose(
        kernel.result(watched.outputs, **parameters),
        kernel.result(plain.outputs, **parameters),
        **kwargs,
    )


@pytest.mark.parametrize("path", PROGRAMS, ids=lambda path: path.stem)
def test_samples(path: Path) -> None:
    run = run_sample(path, "vm", sanitize=True)
    assert [finding for finding in run.findings if not finding.is_lint] == []
