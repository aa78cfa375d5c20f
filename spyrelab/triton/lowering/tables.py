"""Histograms, picking along an axis, and library functions."""

from __future__ import annotations

from typing import Any

from spyrelab.ktir.builder import Scalar, Tensor
from spyrelab.triton.libdevice_table import recipe_of
from spyrelab.triton.lowering.errors import unsupported
from spyrelab.triton.lowering.functions import lower_blocks
from spyrelab.triton.lowering.kernel import Kernel, tensor_shape
from spyrelab.triton.lowering.registry import lowers
from spyrelab.triton.ttir import TtirOperation, element_type

__all__ = ["histogram"]


@lowers("tt.histogram")
def histogram(kernel: Kernel, operation: TtirOperation) -> None:
    source, *rest = kernel.elements(kernel.values(operation))
    (bins,) = tensor_shape(operation.result.type)
    dtype = element_type(operation.result.type)
    counts = kernel.b.histogram(source, bins, rest[0] if rest else None, dtype)
    kernel.define(operation.result, kernel.wrapped(counts))


@lowers("tt.gather")
def gather(kernel: Kernel, operation: TtirOperation) -> None:
    """``tl.gather``: elements of a tensor along an axis."""
    source, indices = kernel.elements(kernel.values(operation))
    taken = kernel.b.take(source, indices, operation.attributes["axis"])
    kernel.define(operation.result, kernel.wrapped(taken))


@lowers("tt.extern_elementwise")
def library_function(kernel: Kernel, operation: TtirOperation) -> None:
    b = kernel.b
    operands: list[Any] = kernel.elements(kernel.values(operation))
    wide = next((x for x in operands if isinstance(x, Tensor)), None)
    if wide is not None:
        operands = [b.splat(x, wide.shape) if isinstance(x, Scalar) else x for x in operands]
    result = recipe_of(operation.attributes["symbol"])(b, operands)
    kernel.define(operation.result, kernel.wrapped(result))


@lowers("tt.map_elementwise")
def map_elementwise(kernel: Kernel, operation: TtirOperation) -> None:
    """A scalar function of every element: done for all at once, both sides of its branches."""
    if operation.attributes.get("pack", 1) != 1:
        raise unsupported(
            "tl.map_elementwise of several elements at once", operation.location, "use pack=1"
        )
    blocks = operation.regions[0]
    for argument, value in zip(blocks[0].arguments, kernel.values(operation), strict=True):
        kernel.define(argument, value)
    shape = tensor_shape(operation.results[0].type)
    kernel.mapped = shape
    values = lower_blocks(kernel, blocks)
    kernel.mapped = None
    for result, value in zip(operation.results, values, strict=True):
        element = kernel.element(value)
        if isinstance(element, Scalar):
            element = kernel.b.splat(element, shape)
        kernel.define(result, kernel.wrapped(element))
