"""Which graphs concern the device, and what is known of the inputs of the one being compiled."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch.utils._pytree import tree_leaves

__all__ = ["Compilation", "compiling", "current", "is_compiling", "touches_device"]


def _is_device(value: Any) -> bool:
    if isinstance(value, torch.Tensor):
        return value.device.type == "spyre"
    if isinstance(value, torch.device):
        return value.type == "spyre"
    return isinstance(value, str) and value.partition(":")[0] == "spyre"


def touches_device(graph: torch.fx.GraphModule, inputs: Sequence[Any] = ()) -> bool:
    """Whether a tensor of the device occurs anywhere: as an input, a parameter, or made inside."""
    if any(_is_device(value) for value in inputs):
        return True
    for node in graph.graph.nodes:
        seen = node.meta.get("val", node.meta.get("example_value"))
        if any(isinstance(v, torch.Tensor) and _is_device(v) for v in tree_leaves(seen)):
            return True
        if any(_is_device(v) for v in tree_leaves((node.args, node.kwargs))):
            return True
    tensors = (*graph.parameters(), *graph.buffers())
    return any(_is_device(tensor) for tensor in tensors)


@dataclass(frozen=True)
class Compilation:
    """What is known when a graph is compiled.

    Attributes
    ----------
    inputs : tuple
        Form and offset of each real input that is on the device, by position; else None.
    """

    inputs: tuple[Any, ...] = ()

    @property
    def layouts(self) -> tuple[Any, ...]:
        """What of the inputs generated code depends on."""
        return tuple(
            known and (known[0].size, known[0].stride, known[0].layout, known[1])
            for known in self.inputs
        )


_state = threading.local()


def current() -> Compilation:
    """What this thread compiles."""
    return getattr(_state, "compilation", None) or Compilation()


def is_compiling() -> bool:
    """Whether this thread is compiling a graph for the device."""
    return getattr(_state, "compilation", None) is not None


@contextlib.contextmanager
def compiling(inputs: Sequence[Any]) -> Iterator[None]:
    """Know these inputs while a graph is compiled."""
    before = getattr(_state, "compilation", None)
    _state.compilation = Compilation(tuple(_known(value) for value in inputs))
    try:
        yield
    finally:
        _state.compilation = before


def _known(value: Any) -> Any:
    from torch._subclasses import FakeTensor

    if not isinstance(value, torch.Tensor) or value.device.type != "spyre":
        return None
    if isinstance(value, FakeTensor):
        return None
    from spyrelab.device.allocations import entry_of

    return entry_of(value).form, value.storage_offset()
