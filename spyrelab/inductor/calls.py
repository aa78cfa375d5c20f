"""A run of operations, as generated code spells it: plain values whose repr evaluates."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch.utils._pytree import tree_map_only

__all__ = ["Call", "Of", "settled"]


@dataclass(frozen=True)
class Of:
    """A strided view of a named tensor; ``offset`` counts from that tensor's own first element."""

    name: str
    size: tuple[Any, ...]
    stride: tuple[Any, ...]
    offset: Any = 0

    def of(self, tensors: Mapping[str, torch.Tensor]) -> torch.Tensor:
        """The view."""
        whole = tensors[self.name]
        offset: Any = whole.storage_offset()
        if not self.offset and whole.shape == self.size and whole.stride() == self.stride:
            return whole
        return torch.as_strided(whole, self.size, self.stride, offset + self.offset)


def settled(tensor: torch.Tensor, size: tuple[int, ...], stride: tuple[int, ...]) -> torch.Tensor:
    """A result with the strides that tracing foresaw: itself, or else a copy.

    What is only conjugated or negated when read becomes so here: programs read what lies in memory.
    """
    tensor = tensor.resolve_conj().resolve_neg()
    if tensor.stride() == stride or 0 in size:
        return tensor
    pairs = zip(size, tensor.stride(), stride, strict=True)
    if all(extent == 1 or found == wanted for extent, found, wanted in pairs):
        return tensor
    made = torch.empty_strided(size, stride, dtype=tensor.dtype, device=tensor.device)
    return made.copy_(tensor)


@dataclass(frozen=True)
class Call:
    """An operation of ATen on views of named tensors.

    Attributes
    ----------
    op : str
        Such as ``"aten.add.Tensor"``.
    results : tuple of Of
        Name, size and strides of each result in order; None for one that is no tensor.
    hint : mapping or None
        What the user wishes for it.
    """

    op: str
    args: tuple[Any, ...]
    kwargs: Mapping[str, Any]
    results: tuple[Of | None, ...]
    hint: Mapping[str, Any] | None = None

    @property
    def overload(self) -> Any:
        """The operation itself."""
        found: Any = torch.ops
        for part in self.op.split("."):
            found = getattr(found, part)
        return found

    def run(self, tensors: dict[str, torch.Tensor]) -> None:
        """Do it, and add the results to ``tensors``."""
        args, kwargs = tree_map_only(Of, lambda view: view.of(tensors), (self.args, self.kwargs))
        made = self.overload(*args, **kwargs)
        leaves = torch.utils._pytree.tree_leaves(made)
        for result, value in zip(self.results, leaves, strict=True):
            if result is not None:
                tensors[result.name] = settled(value, result.size, result.stride)
