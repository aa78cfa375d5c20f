"""What `estimate` promises: exact counts, what shares and machines change, errors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from spyrelab import emulator, kernels
from spyrelab.ktir import parse
from spyrelab.machine import SPYRE
from spyrelab.timing import TimingError, UnknownValueError, estimate
from spyrelab.timing.nodes import Engine

PAGED = {
    "queries": 8,
    "heads": 8,
    "kv_heads": 2,
    "head_dim": 64,
    "page_size": 64,
    "max_pages": 8,
}
CASES: list[tuple[str, dict[str, Any]]] = [
    ("matmul", {"b": 1, "m": 64, "n": 256, "k": 256, "split": (1, 4, 4, 2)}),
    ("matmul", {"b": 4, "m": 48, "n": 192, "k": 96, "split": (2, 4, 2, 2)}),
    ("matmul", {"b": 1, "m": 50, "n": 200, "k": 100, "split": (1, 4, 4, 1)}),
    ("softmax", {"rows": 100, "cols": 300}),
    ("pointwise", {"expr": "x * 2 + y", "shape": (100, 300)}),
    ("layer_norm", {"rows": 64, "cols": 512}),
    ("rms_norm", {"rows": 70, "cols": 512}),
    ("transpose", {"rows": 100, "cols": 200}),
    ("row_reduce", {"rows": 100, "cols": 200}),
    ("gather", {"count": 70, "table_rows": 50, "cols": 64}),
    ("paged_attention", PAGED),
]
COUNTS = (
    *("ddr_read", "ddr_write", "lx_read", "lx_write", "ring"),
    *("ops_pt", "ops_sfp", "ops_special", "ops_move"),
)


def indices(arguments: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    return {name: array for name, array in arguments.items() if array.dtype.kind == "i"}


@pytest.mark.parametrize(
    ("name", "parameters"), CASES, ids=lambda v: v if isinstance(v, str) else ""
)
def test_counts_equal_the_emulators(name: str, parameters: dict[str, Any]) -> None:
    kernel = kernels.CATALOGUE[name]
    module, arguments = kernel.build(**parameters), kernel.arguments(**parameters)
    counters = emulator.run(module, arguments, engine="null").counters
    made = estimate(module, indices(arguments))
    cores = counters.cores
    for column in emulator.counters.Column:
        key = column.name.lower()
        if key in COUNTS:
            found = made.counts.get(key, np.zeros(cores, int))
            assert found.tolist() == counters.column(column).tolist(), key


def test_an_estimate_is_deterministic() -> None:
    module = kernels.softmax(4096, 1024)
    assert estimate(module).to_dict() == estimate(module).to_dict()


def test_a_loop_settles_to_what_running_it_gives() -> None:
    """Moving a loop on at once is the same as scheduling every iteration."""
    few = [
        estimate(kernels.pointwise("x + y", (32 * n, 4096), tile=4096)).seconds
        for n in (40, 41, 80)
    ]
    period = few[1] - few[0]
    assert few[2] - few[0] == pytest.approx(40 * period, rel=1e-3)


def test_missing_lengths_are_named() -> None:
    module = kernels.paged_attention(**PAGED)
    with pytest.raises(UnknownValueError, match="lengths"):
        estimate(module)
    lengths = np.full(8, 130, np.int32)
    short = estimate(module, {"lengths": lengths})
    assert estimate(module, {"lengths": lengths * 3}).cycles > short.cycles


def test_wrong_arguments_are_named() -> None:
    module = kernels.softmax(64, 64)
    with pytest.raises(TimingError, match="no argument 'y'"):
        estimate(module, {"y": 1})
    with pytest.raises(TimingError, match="no function @other"):
        estimate(module, function="other")
    with pytest.raises(TimingError, match="share"):
        estimate(module, lx_backend_fraction=3.0)


def test_a_bigger_share_is_never_slower() -> None:
    module = kernels.matmul(32, 64, 128, 576, split=(1, 32, 1, 1))
    times = [estimate(module, lx_backend_fraction=f).cycles for f in (0.1, 0.2, 0.5, 0.8, 1.0)]
    assert times == sorted(times, reverse=True)


def test_faster_machines_are_faster() -> None:
    module = kernels.matmul(1, 512, 4096, 4096, split=(1, 4, 8, 1))
    base = estimate(module).seconds
    assert estimate(module, machine=SPYRE.replace(clock_hz=2.2e9)).seconds < base
    wide = SPYRE.replace(ddr_read_bytes_per_second=400e9, ddr_write_bytes_per_second=200e9)
    assert estimate(module, machine=wide).seconds < base


def test_explain_says_what_would_help() -> None:
    text = estimate(kernels.matmul(1, 512, 4096, 4096, split=(1, 32, 1, 1))).explain()
    assert "load engine of a core" in text
    assert "m4 n8" in text
    passes = estimate(kernels.matmul(1, 512, 4096, 4096, split=(1, 1, 16, 2))).explain()
    assert "read 4 times" in passes


def test_a_program_without_tiles_costs_a_launch() -> None:
    module = parse("module {\n  func.func @idle() attributes {grid = [32]} {\n    return\n  }\n}\n")
    made = estimate(module)
    assert made.bottleneck == "launch"
    assert made.port_bytes == 0
    assert not [s for s in made.schedule.segments if s.step.engine is Engine.PT]
