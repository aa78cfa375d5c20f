"""Patches of images as columns and back: views and additions on the card."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence

import torch

from spyrelab.device.eager.kernel import enter
from spyrelab.device.eager.results import prepared
from spyrelab.opspec import Unsupported

__all__ = ["register"]

Pair = Sequence[int]


def register() -> None:
    """Enter im2col and col2im."""
    for which in ("", ".out"):
        enter(f"im2col{which}", _to_columns)
        enter(f"col2im{which}", _from_columns)


def _places(size: Pair, kernel: Pair, dilation: Pair, padding: Pair, stride: Pair) -> list[int]:
    if any(len(given) != 2 for given in (size, kernel, dilation, padding, stride)):
        raise Unsupported("patches that do not fit")
    found = [
        (n + 2 * p - d * (k - 1) - 1) // s + 1
        for n, k, d, p, s in zip(size, kernel, dilation, padding, stride, strict=True)
    ]
    if min(found) < 1:
        raise Unsupported("patches that do not fit: torch says so")
    return found


def _slices(
    kernel: Pair, dilation: Pair, stride: Pair, places: Pair
) -> Iterator[tuple[tuple[int, ...], tuple[slice, ...]]]:
    """Each element of the kernel, and where it lies in the padded image."""
    for at in itertools.product(*map(range, kernel)):
        yield (
            at,
            tuple(
                slice(i * d, i * d + (n - 1) * s + 1, s)
                for i, d, s, n in zip(at, dilation, stride, places, strict=True)
            ),
        )


def _to_columns(
    x: torch.Tensor,
    kernel: Pair,
    dilation: Pair,
    padding: Pair,
    stride: Pair,
    *,
    out: torch.Tensor | None = None,
) -> torch.Tensor:
    if x.dim() not in (3, 4) or 0 in x.shape[-3:]:
        raise Unsupported("patches of nothing")
    wide = x if x.dim() == 4 else x.unsqueeze(0)
    places = _places(wide.shape[2:], kernel, dilation, padding, stride)
    padded = _padded(wide, padding)
    columns = torch.empty((*wide.shape[:2], *kernel, *places), dtype=x.dtype, device=x.device)
    for (i, j), (rows, others) in _slices(kernel, dilation, stride, places):
        columns[:, :, i, j].copy_(padded[:, :, rows, others])
    size = (*x.shape[:-3], x.shape[-3] * kernel[0] * kernel[1], places[0] * places[1])
    if out is None:
        return columns.reshape(size)
    return prepared(out, size, x.dtype, "im2col").copy_(columns.reshape(size))


def _padded(x: torch.Tensor, padding: Pair) -> torch.Tensor:
    if not any(padding):
        return x
    rows, columns = padding
    return torch.constant_pad_nd(x, [columns, columns, rows, rows], 0.0)


def _from_columns(
    columns: torch.Tensor,
    size: Pair,
    kernel: Pair,
    dilation: Pair,
    padding: Pair,
    stride: Pair,
    *,
    out: torch.Tensor | None = None,
) -> torch.Tensor:
    if columns.dim() not in (2, 3) or columns.numel() == 0:
        raise Unsupported("patches of nothing")
    wide = columns if columns.dim() == 3 else columns.unsqueeze(0)
    places = _places(size, kernel, dilation, padding, stride)
    area = kernel[0] * kernel[1]
    if wide.shape[1] % area or wide.shape[2] != places[0] * places[1]:
        raise Unsupported("patches that do not fit: torch says so")
    channels = wide.shape[1] // area
    parts = wide.reshape(wide.shape[0], channels, *kernel, *places)
    extents = [n + 2 * p for n, p in zip(size, padding, strict=True)]
    whole = torch.zeros(
        (wide.shape[0], channels, *extents), dtype=torch.float32, device=columns.device
    )
    for (i, j), (rows, others) in _slices(kernel, dilation, stride, places):
        whole[:, :, rows, others] += parts[:, :, i, j]
    (top, left), (height, width) = padding, size
    result = whole[:, :, top : top + height, left : left + width].to(columns.dtype)
    result = result.contiguous() if columns.dim() == 3 else result[0].contiguous()
    if out is None:
        return result
    return prepared(out, result.shape, columns.dtype, "col2im").copy_(result)
