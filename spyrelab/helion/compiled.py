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
from torch._inductor.utils import convert_shape_to_inductor
from torch._inductor.virtualized import V

__all__ = ["install"]

aten = torch.ops.aten


class _LoopBody(GraphLowering):
    """What Helion lowers the body of a loop in.

    It is no graph for the card, although the graph that is compiled around it may be one.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._spyre = False


def _laid_out(result: Any, traced: Any) -> Any:
    """Results as buffers that operations read where they lie, and as torch was told they lie."""
    if isinstance(result, dict):
        return {key: _laid_out(item, traced and traced[key]) for key, item in result.items()}
    if isinstance(result, (list, tuple)):
        told = traced or [None] * len(result)
        return type(result)(_laid_out(*pair) for pair in zip(result, told, strict=True))
    if isinstance(result, ir.TensorBox) and isinstance(result.data, ir.Buffer):
        result = ir.TensorBox(ir.StorageBox(result.data))
    return _as_traced(result, traced)


def _as_traced(result: Any, traced: Any) -> Any:
    """A copy where a result lies otherwise than torch was told while it traced.

    Helion tells it that every result is contiguous; a kernel may follow its operand's strides.
    """
    if not isinstance(result, ir.TensorBox) or not isinstance(traced, torch.Tensor):
        return result
    told, lies = convert_shape_to_inductor(traced.stride()), result.get_stride()
    graph: Any = V.graph
    if graph.sizevars.statically_known_list_equals(told, lies) or not traced.is_contiguous():
        return result
    settings = {"memory_format": torch.contiguous_format}
    return graph.call_function(aten.clone.default, (result,), settings)


def _plain(value: Any) -> Any:
    """Lists and dicts as kernels know them; graphs hold some that cannot be changed."""
    if isinstance(value, list):
        return [_plain(item) for item in value]
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    return value


def _with_boxes(lower: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(lower)
    def lowered(*args: Any, **kwargs: Any) -> Any:
        kwargs["constant_args"] = _plain(kwargs["constant_args"])
        graph: Any = V.graph
        ours = graph.__dict__.get("_spyre")
        traced = graph.current_node.meta.get("val") if ours else None
        return _laid_out(lower(*args, **kwargs), traced)

    lowered._spyrelab = True  # type: ignore[attr-defined]
    return lowered


def _clone_in(plain: Callable[..., Any]) -> Callable[..., Any]:
    """Copies of what a kernel writes to: an operation of the card, not a loop."""

    @functools.wraps(plain)
    def clone(source: Any, **settings: Any) -> Any:
        graph: Any = V.graph
        if graph.__dict__.get("_spyre"):
            return graph.call_function(aten.clone.default, (source,), settings)
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
