"""What a search is about: trials of one subject are worth nothing for another."""

from __future__ import annotations

import hashlib
import inspect
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import torch

from spyrelab.helion.devices import card_name

__all__ = ["subject_of"]

_SETTINGS = ("backend", "dot_precision", "fast_math", "index_dtype", "static_shapes")


def subject_of(kernel: Any, args: Sequence[Any]) -> str:
    """The kernel by name, and a hash of its source, its arguments and the card.

    Of tensors of numbers only shape and type matter; of indices the values do too, because the
    time depends on lengths and page tables.
    """
    settings = {name: str(getattr(kernel.settings, name, None)) for name in _SETTINGS}
    made = hashlib.sha256(f"{inspect.getsource(kernel.fn)}{settings}{card_name()}".encode())
    for part in _parts(args):
        made.update(part)
    return f"{kernel.name} {made.hexdigest()[:16]}"


def _parts(value: Any) -> Iterator[bytes]:
    if isinstance(value, torch.Tensor):
        yield f"{value.dtype} {tuple(value.shape)} {value.stride()}".encode()
        if not value.is_floating_point():
            yield value.cpu().contiguous().numpy().tobytes()
    elif isinstance(value, Mapping):
        yield from _parts([list(pair) for pair in value.items()])
    elif isinstance(value, (list, tuple)):
        yield f"{type(value).__name__} {len(value)}".encode()
        for item in value:
            yield from _parts(item)
    else:
        yield repr(value).encode()
