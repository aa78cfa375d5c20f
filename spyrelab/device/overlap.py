"""Operands that lie in the memory that a program writes.

Cores run in no fixed order, so a program must not read an element that it writes elsewhere.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from typing import Any

import torch

import spyrelab.opspec.pointwise  # noqa: F401  # fills the table
from spyrelab.device.forms import is_dense, span
from spyrelab.opspec.expressions import TABLE

__all__ = ["Overlap", "overlap_of", "refuse_partial", "set_apart"]


class Overlap(Enum):
    """How the memory of two tensors meets."""

    NONE = "none"
    SAME = "same"
    PARTIAL = "partial"
    UNCLEAR = "unclear"
    """One of them has gaps: they may lie in each other's."""


def set_apart(op: str, inputs: Sequence[Any], outputs: Sequence[torch.Tensor]) -> Sequence[Any]:
    """Inputs of an operation, those copied that it would read after it has written them."""
    written = {_base(output): output for output in outputs}
    if not any(isinstance(given, torch.Tensor) and _base(given) in written for given in inputs):
        return inputs
    return [_apart(op, given, outputs) for given in inputs]


def refuse_partial(reads: Sequence[Any], written: torch.Tensor) -> None:
    """Raise as torch does where a pointwise result lies across one of its operands."""
    for given in reads:
        ours = isinstance(given, torch.Tensor) and given.device.type == "spyre"
        if ours and overlap_of(given, written) is Overlap.PARTIAL:
            raise RuntimeError(
                "unsupported operation: some elements of the input tensor and the written-to"
                " tensor refer to a single memory location. Please clone() the tensor before"
                " performing the operation."
            )


def overlap_of(read: torch.Tensor, written: torch.Tensor) -> Overlap:
    """How two tensors of the device meet, as torch's own tensor iterator sees it."""
    if _base(read) != _base(written) or not read.numel() or not written.numel():
        return Overlap.NONE
    first, last = _reach(read)
    start, end = _reach(written)
    if last <= start or end <= first:
        return Overlap.NONE
    if first == start and read.shape == written.shape and read.stride() == written.stride():
        return Overlap.SAME if read.dtype == written.dtype else Overlap.PARTIAL
    clear = is_dense(read.shape, read.stride()) and is_dense(written.shape, written.stride())
    return Overlap.PARTIAL if clear else Overlap.UNCLEAR


def _apart(op: str, given: Any, outputs: Sequence[torch.Tensor]) -> Any:
    if not isinstance(given, torch.Tensor):
        return given
    found = {overlap_of(given, output) for output in outputs} - {Overlap.NONE}
    harmless = {Overlap.SAME} if op in TABLE else set()
    return given if found <= harmless else given.detach().clone()


def _base(tensor: torch.Tensor) -> int:
    # A tensor without elements has the pointer 0 and meets nothing.
    offset: Any = tensor.storage_offset()
    return tensor.data_ptr() - offset * tensor.element_size()


def _reach(tensor: torch.Tensor) -> tuple[int, int]:
    first = tensor.data_ptr()
    return first, first + span(tensor.shape, tensor.stride()) * tensor.element_size()
