"""Tensors that a kernel finds by addresses in a table, not among its arguments."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from spyrelab.device.allocations import ENTRIES, Entry
from spyrelab.device.memory import MEMORY
from spyrelab.device.relayout import make_linear
from spyrelab.triton.binding import Leaf, Pointer

__all__ = ["settle_addresses"]

_WIDE = ("i64", "u64")


def settle_addresses(
    leaves: Sequence[Leaf],
    pointers: Mapping[int, Pointer],
    args: tuple[Any, ...],
    relaid: Callable[[Leaf, Entry], None],
) -> None:
    """Lay out in the host's order every allocation that an argument holds an address in.

    Parameters
    ----------
    leaves, args
        The kernel's arguments: numbers and tensors of 64 bits may be addresses.
    pointers
        Where the tensors lie, by the number of the argument.
    relaid : callable
        Told of each allocation that was laid out anew.
    """
    tiled = [(base, entry) for base, entry in ENTRIES.items() if entry.form.tiled]
    if not tiled:
        return
    for number, leaf in enumerate(leaves):
        addresses = _addresses(leaf, pointers.get(number), args)
        for base, entry in tiled:
            within = (addresses >= base) & (addresses < base + entry.form.host_bytes)
            if within.any() and entry.form.tiled:
                make_linear(entry)
                relaid(leaf, entry)


def _addresses(leaf: Leaf, pointer: Pointer | None, args: tuple[Any, ...]) -> Any:
    """What an argument holds that may be addresses."""
    if leaf.kind in _WIDE:
        return np.array([leaf.find(args)])
    if pointer is None or leaf.kind.removeprefix("*").removeprefix("k") not in _WIDE:
        return np.empty(0, np.int64)
    held = MEMORY.device.bytes[pointer.address : pointer.address + pointer.nbytes // 8 * 8]
    return held.view(np.int64)
