"""Running a model, forward and perhaps backward, on either device."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch

from spyrelab.models.families import Inputs, Sample

__all__ = ["Results", "compiled", "graph_breaks", "moved", "round_to", "run"]


@dataclass(frozen=True, eq=False)
class Results:
    """What a model returned, and its parameters' gradients by name (none after a forward run)."""

    outputs: list[torch.Tensor]
    gradients: dict[str, torch.Tensor]


def round_to(sample: Sample, dtype: torch.dtype) -> None:
    """Round weights and inputs, in place, to what ``dtype`` can hold; they stay float32."""
    sample.model.to(dtype).to(torch.float32)
    for name, value in sample.inputs.items():
        if value.is_floating_point():
            sample.inputs[name] = value.to(dtype).to(torch.float32)


def moved(inputs: Inputs, dtype: torch.dtype) -> Inputs:
    """Copies on the card; floats in ``dtype``."""
    return {
        name: value.to("spyre", dtype if value.is_floating_point() else value.dtype)
        for name, value in inputs.items()
    }


def run(
    model: torch.nn.Module, call: Callable[..., Any], inputs: Inputs, backward: bool
) -> Results:
    """Call a model.

    Parameters
    ----------
    model : Module
        Whose gradients are asked for with ``backward``: of the first output, weighed with
        fixed random numbers and summed up.
    call : callable
        The model itself, or what was compiled from it.
    """
    with torch.set_grad_enabled(backward):
        returned = call(**inputs)
    outputs = [value for value in returned.values() if isinstance(value, torch.Tensor)]
    if not backward:
        return Results(outputs, {})
    first = outputs[0]
    weights = torch.randn(first.shape, generator=torch.Generator().manual_seed(1))
    torch.autograd.backward(first, weights.to(first.device, first.dtype))
    named = model.named_parameters()
    return Results(outputs, {name: p.grad for name, p in named if p.grad is not None})


def compiled(model: torch.nn.Module) -> Callable[..., Any]:
    """`torch.compile` with its default options, from a clean slate."""
    torch.compiler.reset()
    graph_breaks().clear()
    made: Callable[..., Any] = torch.compile(model)
    return made


def graph_breaks() -> Counter[str]:
    """Why torch.compile left a graph, and how often; its own counter, not a copy."""
    from torch._dynamo.utils import counters  # no public name exists

    logging.getLogger("torch._dynamo").setLevel(logging.ERROR)
    found: Counter[str] = counters["graph_break"]
    return found
