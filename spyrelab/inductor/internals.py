"""Private names of Inductor and Dynamo that compiling relies on, checked when first used.

torch promises nothing about these. Where a release moves one, this page says which.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

import torch
from torch._inductor.virtualized import V as _V

from spyrelab.device.errors import TorchVersionError

__all__ = ["V", "check"]

V: Any = _V
"""Inductor's current graph, fake mode and node."""

_NEEDED = {
    "torch._dynamo.guards:GuardBuilder.TENSOR_MATCH": "puts device layouts into guards",
    "torch._dynamo.device_interface:register_interface_for_device": "tells Dynamo of the device",
    "torch._dynamo.trace_rules:add": "keeps Dynamo out of the device",
    "torch._inductor.codecache:FxGraphHashDetails": "puts device layouts into cache keys",
    "torch._inductor.codegen.common:register_backend_for_device": "tells Inductor of the device",
    "torch._inductor.codegen.wrapper:PythonWrapperCodegen.define_kernel": "writes bundles",
    "torch._inductor.codegen.wrapper:SubgraphPythonWrapperCodegen": "writes subgraphs",
    "torch._inductor.compile_fx:compile_fx": "sees each graph first",
    "torch._inductor.config:_post_fusion_custom_pass": "groups operations into bundles",
    "torch._inductor.custom_graph_pass:CustomSchedulerPass": "base class of that pass",
    "torch._inductor.graph:GraphLowering.call_function": "makes one node of each operation",
    "torch._inductor.graph:fallback_node_due_to_unsupported_type": "leaves types to us",
    "torch._inductor.ir:FallbackKernel.create": "base class of our nodes",
    "torch._inductor.ir:MultiOutput": "results of our nodes",
    "torch._inductor.ir:ReinterpretView": "views of results",
    "torch._inductor.ir:as_storage_and_layout": "finds what a view is of",
    "torch._inductor.runtime.benchmarking:register_benchmarker": "times kernels of the user",
    "torch._inductor.scheduler:BaseScheduling": "base class of our scheduling",
    "torch._inductor.scheduler:FusedSchedulerNode": "base class of a run of operations",
    "torch._inductor.scheduler:init_group_node": "fills in such a run",
    "torch._inductor.utils:convert_shape_to_inductor": "sizes as Inductor writes them",
    "torch.utils._triton:has_triton": "lets Dynamo see Triton kernels of the user",
    "torch.utils._python_dispatch:_disable_current_modes": "records outside of tracing",
}
"""``module:name``: what it is needed for."""


def check() -> None:
    """Look for every name.

    Raises
    ------
    TorchVersionError
        Some are gone.
    """
    missing = []
    for path, purpose in _NEEDED.items():
        module, _, name = path.partition(":")
        try:
            found: Any = import_module(module)
            for part in name.split("."):
                found = getattr(found, part)
        except (ImportError, AttributeError):
            missing.append(f"{path} ({purpose})")
    if missing:
        raise TorchVersionError(
            f"torch {torch.__version__} no longer has {', '.join(missing)}; torch.compile on device"
            " 'spyre' was written for torch 2.13: install that, or mend spyrelab/inductor"
        )
