"""Helion's kernels inside code that torch.compile compiles for the card."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from typing import Any
from unittest.mock import patch

import helion._compiler.inductor_lowering as device_code
import torch
from torch._inductor import ir
from torch._inductor.graph import GraphLowering
from torch._inductor.lowering import lowerings
from torch._inductor.virtualized import V
from torch.utils._pytree import tree_map

__all__ = ["install"]


class _LoopBody(GraphLowering):
    """What Helion lowers the body of a loop in.

    It is no graph for the card, although the graph that is compiled around it may be one.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._spyre = False


def _boxed(result: Any) -> Any:
    """A kernel's result as a buffer that operations read where it lies."""
    if isinstance(result, ir.TensorBox) and isinstance(result.data, ir.Buffer):
        return ir.TensorBox(ir.StorageBox(result.data))
    return result


def _with_boxes(lower: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(lower)
    def lowered(*args: Any, **kwargs: Any) -> Any:
        results = lower(*args, **kwargs)
        return tree_map(_boxed, results, is_leaf=lambda item: isinstance(item, ir.IRNode))

    lowered._spyrelab = True  # type: ignore[attr-defined]
    return lowered


def _clone_in(plain: Callable[..., Any]) -> Callable[..., Any]:
    """Copies of what a kernel writes to: an operation of the card, not a loop."""

    @functools.wraps(plain)
    def clone(source: Any, **settings: Any) -> Any:
        graph: Any = V.graph
        if graph.__dict__.get("_spyre"):
            return graph.call_function(torch.ops.aten.clone.default, (source,), settings)
        return plain(source, **settings)

    clone._spyrelab = True  # type: ignore[attr-defined]
    return clone


def _tuned_while_compiling(plain: Callable[..., Any]) -> Callable[..., Any]:
    """A kernel without a configuration is tuned when its code is written.

    Tuning finds the kernel's own record by its arguments, which Helion does not look up while
    torch traces; but nothing is traced any more.
    """

    @functools.wraps(plain)
    def finalize(*args: Any, **kwargs: Any) -> Any:
        with patch.object(torch.compiler, "_is_compiling_flag", False):
            return plain(*args, **kwargs)

    finalize._spyrelab = True  # type: ignore[attr-defined]
    return finalize


def install() -> None:
    """Enter into Helion's template for Inductor, once that is loaded."""
    from helion._compiler._dynamo.higher_order_ops import (
        helion_kernel_wrapper_functional,
        helion_kernel_wrapper_mutation,
    )

    template: Any = sys.modules["helion._compiler._inductor.template_buffer"]
    if not hasattr(template.clone, "_spyrelab"):
        template.clone = _clone_in(template.clone)
    buffer: Any = template.HelionTemplateBuffer
    if not hasattr(buffer._finalize_codegen, "_spyrelab"):
        buffer._finalize_codegen = _tuned_while_compiling(buffer._finalize_codegen)
    device_code.GraphLowering = _LoopBody
    for operator in (helion_kernel_wrapper_functional, helion_kernel_wrapper_mutation):
        if not hasattr(lowerings[operator], "_spyrelab"):
            lowerings[operator] = _with_boxes(lowerings[operator])
