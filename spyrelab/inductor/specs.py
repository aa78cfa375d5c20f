"""Recorded steps as OpSpecs, and whether a bundle can hold them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from spyrelab.device.eager.launch import layout_in, operand_in
from spyrelab.inductor.recorded import Recorded, Step, Storage, View
from spyrelab.layout import Access, Located
from spyrelab.opspec import OpSpecError, Unsupported
from spyrelab.opspec.spec import OpSpec
from spyrelab.tiling import Tensor, TilingError, lower_bundle, spec_of
from spyrelab.tiling.cost import structure

__all__ = ["alone_in", "problem_of", "spec_of_step"]


def alone_in(recorded: Recorded) -> set[str]:
    """Storages whose writers cannot be planned: inputs, and those that several steps write."""
    once: set[str] = set()
    alone = {view.name for view in recorded.inputs}
    for step in recorded.steps:
        for view in step.outputs:
            (alone if view.name in once else once).add(view.name)
    return alone


def spec_of_step(step: Step, storages: Mapping[str, Storage], alone: set[str]) -> OpSpec | None:
    """A step as something to plan: what it makes is a whole tensor that nothing else writes."""
    for view in step.outputs:
        held = storages[view.name]
        whole = (held.size, held.stride, held.dtype) == (view.size, view.stride, view.dtype)
        if not whole or view.offset or view.name in alone:
            return None
    try:
        inputs = [_tensor(v, storages) if isinstance(v, View) else v for v in step.inputs]
        outputs = [_tensor(view, storages) for view in step.outputs]
    except Unsupported:
        return None
    tensors = [value for value in outputs if value is not None]
    operands = [value for value in inputs if value is not None]
    if len(operands) < len(inputs) or len(tensors) < len(outputs):
        return None
    return spec_of(step.op, operands, tensors, step.attributes)


def _tensor(view: View, storages: Mapping[str, Storage]) -> Tensor | None:
    form = storages[view.name].form
    operand, start = operand_in(form, view.dtype, view.size, view.stride, view.offset)
    layout = layout_in(form, view.dtype)
    if not isinstance(operand.access, Access):
        return None
    located = Located(operand.access, start // view.dtype.itemsize)
    return Tensor(view.name, layout, located, operand.dtype)


_MOST = 4096
_problems: dict[Any, Exception | None] = {}


def problem_of(spec: OpSpec | None) -> Exception | None:
    """Why an operation cannot be part of a bundle as it is; asked once per structure."""
    if spec is None:
        return None
    key = structure(spec)
    if key not in _problems:
        if len(_problems) >= _MOST:
            _problems.clear()
        _problems[key] = _problem(spec)
    return _problems[key]


def _problem(spec: OpSpec) -> Exception | None:
    space = {symbol: (extent, 1) for symbol, (extent, _) in spec.iteration_space.items()}
    try:
        lower_bundle([replace(spec, iteration_space=space)])
    except (OpSpecError, TilingError) as error:
        # The error is kept, but what it was raised from need not be.
        return error.with_traceback(None)
    return None
