"""What only shows from one process to the next: caches and chance."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent

TUNED = """
import helion, json, os, torch, spyrelab
from spyrelab.helion import provider, tune
from spyrelab.helion.examples import matmul
from torch._dynamo.utils import counters

generator = torch.Generator().manual_seed(1)
x = torch.randn(64, 256, generator=generator).half().to("spyre")
y = torch.randn(256, 128, generator=generator).half().to("spyre")
found = tune(matmul, (x, y), budget=12)

asked = []
predict = provider.predict
provider.predict = lambda call: asked.append(1) or predict(call)
configs = [helion.Config(block_sizes=[m, 64, 64]) for m in (16, 64)]
search = lambda bound, args, **ignored: helion.autotuner.LocalAutotuneCache(
    helion.autotuner.FiniteSearch(bound, args, configs))
wanted = x.cpu().float() @ y.cpu().float()

def tuned():
    asked.clear()
    kernel = helion.kernel(autotuner_fn=search)(matmul.fn)
    with spyrelab.record() as seen:
        product = kernel(x, y)
    error = float((product.cpu().float() - wanted).abs().max())
    return {"backend": kernel.settings.backend, "predicted": len(asked),
            "launches": len(seen.kernels), "error": error}

plain = tuned()
os.environ["HELION_BACKEND"] = "spyre"
print(json.dumps({
    "config": dict(found.config), "ms": found.milliseconds,
    "order": [t.milliseconds for t in found.trials],
    "plain": plain, "named": tuned(),
}))
"""


def start(code, cache, **environment):
    settings = {name: str(cache / name) for name in ("TRITON_CACHE_DIR", "HELION_CACHE_DIR")}
    return subprocess.Popen(
        [sys.executable, "-c", code],
        cwd=ROOT,
        env={**os.environ, **settings, **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def answer(process):
    out, err = process.communicate(timeout=300)
    assert process.returncode == 0, err[-3000:]
    return json.loads(out.splitlines()[-1])


def test_processes_agree(tmp_path):
    first = answer(start(TUNED, tmp_path, PYTHONHASHSEED="1"))
    second = answer(start(TUNED, tmp_path, PYTHONHASHSEED="2"))

    # The same course and winner whatever the hashes.
    assert first["order"] == second["order"]
    assert (first["config"], first["ms"]) == (second["config"], second["ms"])

    # What was tuned by a process stays known; a backend of another name has a cache of its own.
    for name, backend in (("plain", "triton"), ("named", "spyre")):
        assert first[name]["backend"] == second[name]["backend"] == backend
        assert (first[name]["predicted"], second[name]["predicted"]) == (2, 0)
        for found in (first[name], second[name]):
            assert found["launches"] == 1 and found["error"] < 0.04
