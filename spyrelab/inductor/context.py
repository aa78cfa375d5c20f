"""Entering our parts into Inductor, for graphs that a tensor of the device occurs in.

Other graphs see none of it: every wrapped function asks first whether the graph is ours.
"""

from __future__ import annotations

import functools
from typing import Any

from torch._inductor import compile_fx as inductor
from torch._inductor import graph as lowering
from torch._inductor.codegen.common import (
    DeviceOpOverrides,
    register_backend_for_device,
    register_device_op_overrides,
)
from torch._subclasses.fake_tensor import FakeTensorMode

from spyrelab.inductor import config, internals
from spyrelab.inductor.decompositions import decompositions
from spyrelab.inductor.graphs import compiling, is_compiling, touches_device
from spyrelab.inductor.grouping import GroupRuns
from spyrelab.inductor.lowerings import lower
from spyrelab.inductor.naming import resolve_names
from spyrelab.inductor.observing import watchers
from spyrelab.inductor.scheduling import SpyreScheduling
from spyrelab.inductor.weights import lay_out_weights
from spyrelab.inductor.wrapper import SpyreWrapper

__all__ = ["install"]


def _settings() -> dict[str, Any]:
    return {
        # One operation of ATen stays one node, as eager runs it: no rewriting of arithmetic.
        "pattern_matcher": False,
        "joint_graph_constant_folding": False,
        # A small constant would else become a loop.
        "always_keep_tensor_constants": True,
        "reorder_for_locality": False,
        "layout_optimization": False,
        "comprehensive_padding": False,
        # Nobody may reuse a buffer without knowing its device layout.
        "allow_buffer_reuse": False,
        "memory_planning": False,
        # Random numbers come from the device's own generator, as in eager.
        "fallback_random": True,
        # There is no graph of launches to capture and no kernel to tune.
        "triton.cudagraphs": False,
        "graph_partition": False,
        "max_autotune": False,
        "coordinate_descent_tuning": False,
        "cpp_wrapper": False,
        # Generated code holds no kernel that a pool of processes would compile.
        "compile_threads": 1,
        "alignment_asserts": False,
        "_post_fusion_custom_pass": GroupRuns(),
    }


class _Overrides(DeviceOpOverrides):
    """Statements about streams and devices, of which a single card has none."""

    def import_get_raw_stream_as(self, name: str) -> str:
        return f"{name} = lambda index: 0"

    def set_device(self, device_idx: int) -> str:
        return "pass"

    def synchronize(self) -> str:
        return "pass"

    def device_guard(self, device_idx: int) -> str:
        return "spyre.nothing()"

    def current_stream(self) -> str:
        return "None"


def _wrap_compile_fx() -> None:
    plain: Any = inductor.compile_fx

    @functools.wraps(plain)
    def compile_fx(model: Any, inputs: Any, *args: Any, **kwargs: Any) -> Any:
        # Inductor enters its settings by calling itself again.
        if is_compiling() or not touches_device(model, inputs):
            return plain(model, inputs, *args, **kwargs)
        kwargs["config_patches"] = {**(kwargs.get("config_patches") or {}), **_settings()}
        kwargs["decompositions"] = decompositions()
        resolve_names(model)
        lay_out_weights(model, inputs)
        with compiling(inputs):
            return plain(model, inputs, *args, **kwargs)

    inductor.compile_fx = compile_fx  # type: ignore[assignment]


def _is_ours(graph: Any) -> bool:
    known = graph.__dict__.get("_spyre")
    if known is None:
        # Others lower single operations in graphs of their own, outside any compilation.
        compiled = isinstance(graph.fake_mode, FakeTensorMode)
        known = graph.__dict__["_spyre"] = compiled and touches_device(graph.orig_gm)
        for seen in watchers if known else ():
            shown = graph.orig_gm.print_readable(print_output=False, include_stride=True)
            seen.graphs.append(shown)
    return bool(known)


def _wrap_lowering() -> None:
    plain: Any = lowering.GraphLowering.call_function
    module: Any = lowering
    unsupported = module.fallback_node_due_to_unsupported_type

    def call_function(self: Any, target: Any, args: Any, kwargs: Any) -> Any:
        if not _is_ours(self):
            return plain(self, target, args, kwargs)
        return lower(target, args, kwargs, functools.partial(plain, self))

    def fallback_node(node: Any, *args: Any, **kwargs: Any) -> bool:
        if _is_ours(internals.V.graph):
            return False
        return bool(unsupported(node, *args, **kwargs))

    lowering.GraphLowering.call_function = call_function  # type: ignore[method-assign]
    module.fallback_node_due_to_unsupported_type = fallback_node


def install() -> None:
    """Enter everything; once, when Inductor is imported."""
    internals.check()
    register_device_op_overrides("spyre", _Overrides())
    settings: Any = config
    register_backend_for_device(
        "spyre", SpyreScheduling, SpyreWrapper, device_custom_config=settings
    )
    _wrap_compile_fx()
    _wrap_lowering()
