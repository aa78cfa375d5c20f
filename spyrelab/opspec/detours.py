"""Copies by way of linear memory: between digits that do not fit, and from scattered views.

In a linear temporary every view has one stride per dimension, so that what no program can do in
one go, such as a reshape across sticks, becomes two plain copies.
"""

from __future__ import annotations

from spyrelab.layout.access import Access, Digit
from spyrelab.layout.tensor_layout import SpyreTensorLayout
from spyrelab.opspec.chain import Chain, Link
from spyrelab.opspec.compile import Compiled
from spyrelab.opspec.operand import Input, Operand
from spyrelab.opspec.registry import composite
from spyrelab.opspec.views import Scattered, Shifted, place

__all__ = ["compile_detour", "whole_of"]

_WORTHWHILE = 16
"""How many times more elements the tensor may have than a scattered view of it: a table costs
about so much more per element than a copy."""


@composite("copy")
def compile_detour(
    op: str, inputs: tuple[Input, ...], outputs: tuple[Operand, ...]
) -> Compiled | None:
    """A copy in several steps; None where a table of offsets does it better.

    `spyrelab.opspec.compile` asks for it when one step is not possible.
    """
    (source,), (target,) = inputs, outputs
    if not isinstance(source, Operand):
        return None
    chain = Chain(inputs, outputs)
    from_view, to_view = (isinstance(o.access, Scattered) for o in (source, target))
    if from_view != to_view:
        return _beside_a_tensor(chain, chain.inputs[0] if from_view else chain.outputs[0])
    if not from_view and (_is_linear(source) or _is_linear(target)):
        return None
    middle = chain.temporary(source.size, source.dtype, linear=not from_view)
    chain.add("copy", chain.inputs, [middle])
    chain.add("copy", [middle], chain.outputs)
    return chain.finish()


def _beside_a_tensor(chain: Chain, view: Link) -> Compiled | None:
    """Copy from or to a scattered view, in a linear double of the tensor around it."""
    found = _doubled(chain, view)
    if found is None:
        return None
    whole, part, double = found
    if view is chain.inputs[0]:
        chain.add("copy", [part], chain.outputs)
    else:
        chain.add("copy", chain.inputs, [part])
        chain.add("copy", [double], [whole])
    return chain.finish()


def _is_linear(operand: Operand) -> bool:
    access = operand.access
    return isinstance(access, Access) and all(len(axis) == 1 for axis in access.axes)


def _doubled(chain: Chain, link: Link) -> tuple[Link, Link, Link] | None:
    """Copy the tensor around a view into a temporary.

    Returns the tensor, the view in the temporary, and the tensor in the temporary.
    """
    assert isinstance(link.operand, Operand)
    view, dtype = link.operand.access, link.operand.dtype
    found = whole_of(view) if isinstance(view, Scattered) else None
    if found is None or not isinstance(view, Scattered):
        return None
    whole, strides = found
    span = 1 + sum((n - 1) * step for n, step in zip(whole.size, strides, strict=True))
    temporary = chain.temporary((span,), dtype, linear=True)
    tensor = Link(Operand(dtype, whole), link.slot)
    double = Link(Operand(dtype, _strided(whole.size, strides)), temporary.slot)
    chain.add("copy", [tensor], [double])
    part = Link(Operand(dtype, _strided(view.size, view.stride, view.offset)), temporary.slot)
    return tensor, part, double


def _strided(size: tuple[int, ...], stride: tuple[int, ...], offset: int = 0) -> Access | Shifted:
    """A view of linear memory; an offset is the second index of one dimension more."""
    axes = tuple((Digit(n, step if n > 1 else 0),) for n, step in zip(size, stride, strict=True))
    if not offset:
        return Access(size, axes)
    around = Access((2, *size), ((Digit(2, offset),), *axes))
    return Shifted(around, (1, *[0] * len(size)))


def whole_of(view: Scattered) -> tuple[Access, tuple[int, ...]] | None:
    """The tensor that a view is a part of: its access from the start, and its host strides.

    None where it has far more elements than the view, or where its layout does not tell.
    """
    layout = view.layout
    used = view.offset + sum((n - 1) * s for n, s in zip(view.size, view.stride, strict=True))
    elements = 1
    for extent, step in zip(view.size, view.stride, strict=True):
        elements *= extent if step else 1
    if layout.numel > _WORTHWHILE * elements:
        return None
    size, stride = _host_dimensions(layout, used)
    found = place(layout, size, stride, 0)
    if not isinstance(found.access, Access) or found.start:
        return None
    reach = sum((n - 1) * step for n, step in zip(size, stride, strict=True))
    return (found.access, stride) if reach >= used else None


def _host_dimensions(
    layout: SpyreTensorLayout, used: int
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Extents and strides of the host tensor, as far as its last ``used`` element."""
    lane = layout.stride_map[-1] if layout.stride_map else 0
    stick = layout.device_size[-1] if layout.device_size else 1
    size: list[int] = []
    stride: list[int] = []
    tiles = 1
    for level in layout.levels:
        if level.stride == lane * stick and lane > 0:
            tiles = level.size
        elif level.stride == lane:
            above = min((s for s in stride if s > lane), default=None)
            extent = min(tiles * level.size, used // lane + 1)
            size.append(extent if above is None else min(extent, above // lane))
            stride.append(lane)
        else:
            size.append(level.size)
            stride.append(level.stride)
    return tuple(size), tuple(stride)
