"""Pooling of ATen on the card."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import torch

from spyrelab.device.eager.kernel import enter
from spyrelab.device.eager.launch import run
from spyrelab.device.eager.resampling import resampled
from spyrelab.device.eager.results import prepared
from spyrelab.device.factories import allocate
from spyrelab.device.fallback import to_device
from spyrelab.device.transfer import to_host
from spyrelab.opspec import Unsupported

__all__ = ["register"]


def register() -> None:
    """Enter all of them."""
    for rank in (2, 3):
        enter(f"max_pool{rank}d_with_indices", _maxima(rank))
        enter(f"max_pool{rank}d_with_indices.out", _maxima(rank))
        enter(f"max_pool{rank}d_with_indices_backward", _maxima_backward(rank))
        enter(f"max_pool{rank}d_with_indices_backward.grad_input", _maxima_backward(rank))
        enter(f"avg_pool{rank}d", _means(rank))
        enter(f"avg_pool{rank}d.out", _means(rank))
        enter(f"_adaptive_avg_pool{rank}d", _adaptive(rank))
        enter(f"_adaptive_avg_pool{rank}d_backward", _adaptive_backward(rank))
        enter(f"adaptive_avg_pool{rank}d.out", _adaptive(rank))
        enter(f"adaptive_max_pool{rank}d", _adaptive_maxima(rank))
        enter(f"adaptive_max_pool{rank}d.out", _adaptive_maxima(rank))
        enter(f"max_unpool{rank}d", _unpooled(rank))
        enter(f"max_unpool{rank}d.out", _unpooled(rank))


def _entries(values: Any, rank: int) -> tuple[int, ...]:
    given = (values,) if isinstance(values, int) else tuple(values)
    if len(given) not in (1, rank):
        raise Unsupported("entries that do not fit")
    return given * rank if len(given) == 1 else given


def _batched(x: torch.Tensor, rank: int, empty: bool = False) -> torch.Tensor:
    """With a batch dimension; ``empty`` lets a batch of nothing pass."""
    nothing = 0 in (x.shape[1:] if empty and x.dim() == rank + 2 else x.shape)
    if x.dim() not in (rank + 1, rank + 2) or nothing or not x.is_floating_point():
        raise Unsupported("pooling of nothing, or of numbers that are no floats")
    return x if x.dim() == rank + 2 else x.unsqueeze(0)


def _extents(
    size: Sequence[int],
    kernel: Sequence[int],
    stride: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int],
    ceil_mode: bool,
) -> tuple[int, ...]:
    found = []
    for n, k, s, p, d in zip(size, kernel, stride, padding, dilation, strict=True):
        span = n + 2 * p - d * (k - 1) - 1
        extent = (span + (s - 1 if ceil_mode else 0)) // s + 1
        if ceil_mode and (extent - 1) * s >= n + p:
            extent -= 1
        if extent < 1 or 2 * p > k:
            raise Unsupported("a window that does not fit")
        found.append(extent)
    return tuple(found)


def _maxima(rank: int) -> Any:
    def kernel(
        x: torch.Tensor,
        kernel_size: Any,
        stride: Any = (),
        padding: Any = 0,
        dilation: Any = 1,
        ceil_mode: bool = False,
        *,
        out: torch.Tensor | None = None,
        indices: torch.Tensor | None = None,
    ) -> tuple[torch.Tensor, torch.Tensor]:
        wide = _batched(x, rank, empty=True)
        window = _entries(kernel_size, rank)
        steps = _entries(stride, rank) if stride else window
        edges, gaps = _entries(padding, rank), _entries(dilation, rank)
        extents = _extents(wide.shape[2:], window, steps, edges, gaps, ceil_mode)
        size = (*x.shape[: x.dim() - rank], *extents)
        values = _target(out, size, x.dtype)
        places = _target(indices, size, torch.int64)
        if x.numel() == 0:
            return values, places
        run(
            f"max_pool{rank}d_with_indices",
            [wide],
            [values.view(*wide.shape[:2], *extents), places.view(*wide.shape[:2], *extents)],
            kernel_size=window,
            stride=steps,
            padding=edges,
            dilation=gaps,
        )
        return values, places

    return kernel


def _target(out: torch.Tensor | None, size: Sequence[int], dtype: torch.dtype) -> torch.Tensor:
    return allocate(size, None, dtype) if out is None else prepared(out, size, dtype, "pooling")


def _maxima_backward(rank: int) -> Any:
    def kernel(
        grad: torch.Tensor,
        x: torch.Tensor,
        kernel_size: Any,
        stride: Any,
        padding: Any,
        dilation: Any,
        ceil_mode: bool,
        indices: torch.Tensor,
        *,
        grad_input: torch.Tensor | None = None,
    ) -> torch.Tensor:
        wide = _batched(x, rank)
        slope, places = _batched(grad, rank), indices.view(_batched(grad, rank).shape)
        result = _target(grad_input, x.shape, x.dtype)
        window = _entries(kernel_size, rank)
        run(
            f"max_pool{rank}d_with_indices_backward",
            [slope, places],
            [result.view(wide.shape)],
            kernel_size=window,
            stride=_entries(stride, rank) if stride else window,
            padding=_entries(padding, rank),
            dilation=_entries(dilation, rank),
        )
        return result

    return kernel


def _means(rank: int) -> Any:
    def kernel(
        x: torch.Tensor,
        kernel_size: Any,
        stride: Any = (),
        padding: Any = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
        divisor_override: int | None = None,
        *,
        out: torch.Tensor | None = None,
    ) -> torch.Tensor:
        wide = _batched(x, rank, empty=True)
        window = _entries(kernel_size, rank)
        steps, edges = _entries(stride, rank) if stride else window, _entries(padding, rank)
        extents = _extents(wide.shape[2:], window, steps, edges, (1,) * rank, ceil_mode)
        result = _target(out, (*x.shape[: x.dim() - rank], *extents), x.dtype)
        if x.numel() == 0:
            return result
        run(
            f"avg_pool{rank}d",
            [wide],
            [result.view(*wide.shape[:2], *extents)],
            kernel_size=window,
            stride=steps,
            padding=edges,
            count_include_pad=count_include_pad,
            divisor_override=divisor_override,
        )
        return result

    return kernel


def _adaptive(rank: int) -> Any:
    def kernel(
        x: torch.Tensor, output_size: Any, *, out: torch.Tensor | None = None
    ) -> torch.Tensor:
        extents = _entries(output_size, rank)
        if x.numel() == 0 and x.dim() in (rank + 1, rank + 2) and min(x.shape[-rank:]) > 0:
            return _target(out, (*x.shape[: x.dim() - rank], *extents), x.dtype)
        wide = _batched(x, rank)
        if min(extents) < 1:
            raise Unsupported("a result of nothing")
        result = _target(out, (*x.shape[: x.dim() - rank], *extents), x.dtype)
        if any(n % m for n, m in zip(wide.shape[2:], extents, strict=True)):
            pairs = zip(wide.shape[2:], extents, strict=True)
            return result.copy_(resampled(x, [_shares(n, m) for n, m in pairs]))
        run(f"adaptive_avg_pool{rank}d", [wide], [result.view(*wide.shape[:2], *extents)])
        return result

    return kernel


def _adaptive_backward(rank: int) -> Any:
    def kernel(grad: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
        _batched(grad, rank)
        pairs = zip(x.shape[x.dim() - rank :], grad.shape[x.dim() - rank :], strict=True)
        return resampled(grad, [_shares(n, m).T for n, m in pairs])

    return kernel


@lru_cache(maxsize=1 << 8)
def _shares(extent: int, target: int) -> torch.Tensor:
    """The matrix of an adaptive mean along one dimension."""
    made = torch.zeros(extent, target, dtype=torch.float32, device="cpu")
    for place in range(target):
        begin, end = _interval(place, extent, target)
        made[begin:end, place] = 1.0 / (end - begin)
    return made


def _interval(place: int, extent: int, target: int) -> tuple[int, int]:
    """Where an adaptive window begins and ends."""
    return place * extent // target, -(-(place + 1) * extent // target)


def _adaptive_maxima(rank: int) -> Any:
    def kernel(
        x: torch.Tensor,
        output_size: Any,
        *,
        out: torch.Tensor | None = None,
        indices: torch.Tensor | None = None,
    ) -> tuple[torch.Tensor, torch.Tensor]:
        wide, extents = _batched(x, rank), _entries(output_size, rank)
        size = (*x.shape[: x.dim() - rank], *extents)
        values, places = _target(out, size, x.dtype), _target(indices, size, torch.int64)
        table = _windows(tuple(wide.shape[2:]), extents)
        flat = wide.reshape(*wide.shape[:2], -1)
        taken = flat.index_select(2, to_device(table.reshape(-1)))
        top, which = taken.reshape(*flat.shape[:2], *table.shape).max(-1)
        wanted = to_device(table).expand(*flat.shape[:2], *table.shape)
        found = wanted.gather(-1, which.unsqueeze(-1)).squeeze(-1)
        values.copy_(top.reshape(size))
        places.copy_(found.reshape(size))
        return values, places

    return kernel


@lru_cache(maxsize=1 << 8)
def _windows(size: tuple[int, ...], extents: tuple[int, ...]) -> torch.Tensor:
    """The elements of each adaptive window, as many for all: the last one is repeated."""
    rows = []
    for place in itertools.product(*map(range, extents)):
        spans = [_interval(i, n, m) for i, n, m in zip(place, size, extents, strict=True)]
        rows.append([_flat(at, size) for at in itertools.product(*(range(*s) for s in spans))])
    longest = max(map(len, rows))
    return torch.tensor([row + row[-1:] * (longest - len(row)) for row in rows], device="cpu")


def _flat(place: Sequence[int], size: Sequence[int]) -> int:
    number = 0
    for index, extent in zip(place, size, strict=True):
        number = number * extent + index
    return number


def _unpooled(rank: int) -> Any:
    def kernel(
        x: torch.Tensor,
        indices: torch.Tensor,
        output_size: Sequence[int],
        *_: Any,
        out: torch.Tensor | None = None,
    ) -> torch.Tensor:
        wide = _batched(x, rank)
        if indices.shape != x.shape or len(output_size) != rank or min(output_size) < 1:
            raise Unsupported("positions that do not fit")
        size = (*x.shape[: x.dim() - rank], *output_size)
        places = to_host(indices, shared=True)
        if int(places.min()) < 0 or int(places.max()) >= math.prod(output_size):
            raise Unsupported("a position out of range: torch says which")
        result = _target(out, size, x.dtype).zero_()
        flat = (*wide.shape[:2], -1)
        run("scatter", [indices.reshape(flat), x.reshape(flat)], [result.view(flat)], dim=2)
        return result

    return kernel
