"""What is entered into torch, when, and for whom."""

from __future__ import annotations

import logging
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch

from spyrelab.inductor import internals
from tests.inductor.compare import device

PROGRAM = """
import torch
from torch._dynamo.utils import counters
x = torch.randn(8, 32, device="spyre", requires_grad=True)
w = torch.randn(32, 16).to("spyre")
torch.compile(lambda x, w: torch.softmax(x @ w, -1).square())(x, w).sum().backward()
print(counters["inductor"]["fxgraph_cache_hit"], counters["inductor"]["fxgraph_cache_miss"])
"""


def run(program: str, **environment: str) -> str:
    import os

    done = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        env={**os.environ, "CXX": "/bin/false", **environment},
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_importing_torch_imports_no_compiler() -> None:
    program = (
        "import sys, torch, spyrelab; torch.ones(2, device='spyre') + 1;"
        "print([m for m in ('torch._dynamo', 'torch._inductor.compile_fx') if m in sys.modules])"
    )
    assert run(program) == "[]"


def test_a_second_process_finds_the_graphs_of_the_first(tmp_path: Path) -> None:
    cache = {"TORCHINDUCTOR_CACHE_DIR": str(tmp_path)}
    assert run(PROGRAM, **cache) == "0 2"
    assert run(PROGRAM, **cache) == "2 0"


def test_graphs_without_the_device_are_left_to_inductor() -> None:
    with pytest.raises(torch._inductor.exc.InductorError, match=r"C\+\+"):
        torch.compile(lambda x: x.exp() + 1)(torch.ones(3))


def test_a_moved_name_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    internals.check()
    monkeypatch.setitem(internals._NEEDED, "torch._inductor.ir:Gone", "something")
    with pytest.raises(ImportError, match=r"Gone \(something\).*spyrelab/inductor"):
        internals.check()


def test_a_fallback_is_one_line(caplog: Any) -> None:
    with caplog.at_level(logging.WARNING, logger="spyrelab.inductor"):
        torch.compile(lambda x: torch.linalg.inv(x) + 1)(device(4, 4))
    (line,) = [r.getMessage() for r in caplog.records if r.name == "spyrelab.inductor"]
    assert line.startswith("aten.linalg_inv_ex.default (File")
    assert "test_registration.py" in line
    assert "each call moves 132 bytes" in line


def test_dynamo_leaves_all_that_an_eager_operation_runs_alone() -> None:
    x = device(1, 4, 64)
    torch.nn.functional.scaled_dot_product_attention(x, x, x)
    seen = {
        name.split(".")[1]
        for name, module in list(sys.modules.items())
        if name.startswith("spyrelab.")
        and (file := getattr(module, "__file__", None))
        and not torch._dynamo.trace_rules.check_file(file).skipped
    }
    others = {"attention", "bench", "book", "cli", "commands", "grade", "inductor", "models"}
    assert seen <= others
