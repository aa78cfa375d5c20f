"""torch.compile for the device: PyTorch's own Inductor with the parts that are ours.

Importing this costs nothing. What Inductor needs to know is entered when Inductor itself is
imported, which torch does when something is first compiled.
"""

from __future__ import annotations

import sys
from importlib import import_module
from typing import Any

from spyrelab.arrival import watch
from spyrelab.inductor.hinting import hint
from spyrelab.inductor.naming import name_dims

__all__ = ["explain", "hint", "name_dims"]


def __getattr__(name: str) -> Any:
    if name == "explain":
        return import_module("spyrelab.inductor.explanation").explain
    raise AttributeError(f"module 'spyrelab.inductor' has no attribute {name!r}")


watch(
    {
        "torch._dynamo.device_interface": "spyrelab.inductor.interface",
        "torch._dynamo.guards": "spyrelab.inductor.guards",
        "torch._dynamo.trace_rules": "spyrelab.inductor.tracing",
        "torch._inductor.codecache": "spyrelab.inductor.cache",
        "torch._inductor.compile_fx": "spyrelab.inductor.context",
        "torch._inductor.runtime.benchmarking": "spyrelab.inductor.kernel_timing",
        "torch.utils._triton": "spyrelab.inductor.user_kernels",
    }
)
# Dynamo traces through these two, and does not follow a module's __getattr__.
sys.modules["spyrelab"].__dict__.update(hint=hint, name_dims=name_dims)
