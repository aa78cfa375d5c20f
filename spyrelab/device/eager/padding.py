"""Padding by reflection and replication on the card: gathers along one dimension after another."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch

from spyrelab.device.eager.kernel import enter
from spyrelab.device.eager.results import prepared
from spyrelab.device.factories import allocate
from spyrelab.device.fallback import to_device
from spyrelab.opspec import Unsupported

__all__ = ["register"]

Source = Callable[[int, int], int]


def _reflected(place: int, extent: int) -> int:
    place = abs(place)
    return place if place < extent else 2 * (extent - 1) - place


def _replicated(place: int, extent: int) -> int:
    return min(max(place, 0), extent - 1)


def register() -> None:
    """Enter all of them, forward and backward."""
    for name, source in (("reflection", _reflected), ("replication", _replicated)):
        for rank in (1, 2, 3):
            full = f"{name}_pad{rank}d"
            enter(full, _padding(rank, source))
            enter(f"{full}.out", _padding(rank, source))
            enter(f"{full}_backward", _gradient(rank, source))
            enter(f"{full}_backward.grad_input", _gradient(rank, source))


def _tables(
    x: torch.Tensor, padding: Sequence[int], rank: int, source: Source
) -> dict[int, list[int]]:
    """For each padded dimension the places that its elements come from."""
    if x.dim() not in (rank + 1, rank + 2) or x.numel() == 0 or len(padding) != 2 * rank:
        raise Unsupported("padding that does not fit")
    found = {}
    for number in range(rank):
        low, high = padding[2 * number], padding[2 * number + 1]
        dim, extent = x.dim() - 1 - number, x.shape[x.dim() - 1 - number]
        if extent + low + high < 1 or (source is _reflected and max(low, high) >= extent):
            raise Unsupported("padding that torch refuses")
        if low or high:
            found[dim] = [source(i, extent) for i in range(-low, extent + high)]
    return found


def _padding(rank: int, source: Source) -> Any:
    def kernel(
        x: torch.Tensor, padding: Sequence[int], *, out: torch.Tensor | None = None
    ) -> torch.Tensor:
        if x.dim() == rank + 2 and x.shape[0] == 0 and 0 not in x.shape[1:]:
            return _padding_of_nothing(x, padding, rank, source, out)
        tables = _tables(x, padding, rank, source)
        result = x
        for dim, table in tables.items():
            result = result.index_select(dim, to_device(torch.tensor(table, device="cpu")))
        if out is not None:
            return prepared(out, result.shape, x.dtype, "padding").copy_(result)
        return result if tables else x.clone()

    return kernel


def _padding_of_nothing(
    x: torch.Tensor,
    padding: Sequence[int],
    rank: int,
    source: Source,
    out: torch.Tensor | None,
) -> torch.Tensor:
    """An empty batch, padded."""
    like = torch.empty((1, *x.shape[1:]), device="meta")
    size = list(x.shape)
    for dim, table in _tables(like, padding, rank, source).items():
        size[dim] = len(table)
    return allocate(size, None, x.dtype) if out is None else prepared(out, size, x.dtype, "padding")


def _gradient(rank: int, source: Source) -> Any:
    def kernel(
        grad: torch.Tensor,
        x: torch.Tensor,
        padding: Sequence[int],
        *,
        grad_input: torch.Tensor | None = None,
    ) -> torch.Tensor:
        tables = _tables(x, padding, rank, source)
        slope = grad.to(torch.float32, copy=not tables)
        for dim, table in tables.items():
            size = [*slope.shape[:dim], x.shape[dim], *slope.shape[dim + 1 :]]
            whole = torch.zeros(size, dtype=slope.dtype, device=slope.device)
            slope = whole.index_add_(dim, to_device(torch.tensor(table, device="cpu")), slope)
        slope = slope.to(grad.dtype)
        if grad_input is None:
            return slope
        return prepared(grad_input, x.shape, x.dtype, "padding").copy_(slope)

    return kernel
