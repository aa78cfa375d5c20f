"""Tensors that are joined, turned, rolled, cut to a triangle, or made from nothing."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import torch

from spyrelab.device.eager.kernel import enter
from spyrelab.device.eager.launch import run
from spyrelab.device.eager.results import Promotion, prepared, result_type
from spyrelab.device.factories import allocate
from spyrelab.opspec import Unsupported

__all__ = ["register"]


def register() -> None:
    """Enter all of them."""
    for which in ("", ".out"):
        enter(f"cat{which}", _cat)
        enter(f"tril{which}", _triangle("tril"))
        enter(f"triu{which}", _triangle("triu"))
    enter("tril_", _triangle_in_place("tril"))
    enter("triu_", _triangle_in_place("triu"))
    enter("flip", _flip)
    enter("roll", _roll)
    enter("arange.start_out", _arange)
    enter("linspace.out", _linspace)
    enter("logspace.out", _logspace)
    enter("eye.m_out", _eye)
    enter("_efficientzerotensor", _zeros)
    enter("channel_shuffle", _shuffled)


def _cat(
    tensors: Sequence[torch.Tensor], dim: int = 0, *, out: torch.Tensor | None = None
) -> torch.Tensor:
    used = [t for t in tensors if t.shape != (0,)]
    if not used or any(t.device.type != "spyre" for t in tensors):
        raise Unsupported("nothing to join")
    rank = used[0].dim()
    if rank == 0 or not -rank <= dim < rank or any(t.dim() != rank for t in used):
        raise Unsupported("tensors that do not fit")
    along = dim % rank
    size = list(used[0].shape)
    for tensor in used[1:]:
        rest = [n for d, n in enumerate(tensor.shape) if d != along]
        if rest != [n for d, n in enumerate(size) if d != along]:
            raise Unsupported("tensors that do not fit")
        size[along] += tensor.shape[along]
    dtype = result_type(tensors, Promotion.DEFAULT)
    result = allocate(size, None, dtype) if out is None else prepared(out, size, dtype, "cat")
    whole = [t for t in used if t.numel()]
    if whole:
        run("cat", whole, [result], dim=along)
    return result


def _triangle(op: str) -> Any:
    def kernel(
        x: torch.Tensor, diagonal: int = 0, *, out: torch.Tensor | None = None
    ) -> torch.Tensor:
        if x.dim() < 2:
            raise Unsupported("a triangle of a vector")
        if out is None:
            result = allocate(x.shape, None, x.dtype)
        else:
            result = prepared(out, x.shape, x.dtype, op)
        if x.numel():
            run(op, [x], [result], diagonal=int(diagonal))
        return result

    return kernel


def _triangle_in_place(op: str) -> Any:
    compute = _triangle(op)

    def kernel(x: torch.Tensor, diagonal: int = 0) -> torch.Tensor:
        return x.copy_(compute(x, diagonal))

    return kernel


def _flip(x: torch.Tensor, dims: Sequence[int]) -> torch.Tensor:
    rank = x.dim()
    if rank == 0 or any(not -rank <= d < rank for d in dims):
        raise Unsupported("a dimension that does not exist")
    turned = tuple(d % rank for d in dims)
    if len(set(turned)) != len(turned):
        raise Unsupported("a dimension named twice")
    if not turned:
        return x.clone()
    result = allocate(x.shape, None, x.dtype)
    if x.numel():
        run("flip", [x], [result], dims=turned)
    return result


def _roll(x: torch.Tensor, shifts: Sequence[int], dims: Sequence[int] = ()) -> torch.Tensor:
    moves = [shifts] if isinstance(shifts, int) else list(shifts)
    along = [dims] if isinstance(dims, int) else list(dims)
    if not along:
        if len(moves) != 1:
            raise Unsupported("shifts without dimensions")
        return _roll(x.reshape(-1), moves, [0]).reshape(x.shape)
    rank = x.dim()
    if len(moves) != len(along) or rank == 0 or any(not -rank <= d < rank for d in along):
        raise Unsupported("shifts that do not fit")
    wrapped = tuple(d % rank for d in along)
    if len(set(wrapped)) != len(wrapped):
        raise Unsupported("a dimension named twice")
    result = allocate(x.shape, None, x.dtype)
    if x.numel():
        run("roll", [x], [result], shifts=tuple(moves), dims=wrapped)
    return result


def _arange(start: Any, end: Any, step: Any = 1, *, out: torch.Tensor) -> torch.Tensor:
    if step == 0 or not math.isfinite(start) or not math.isfinite(end) or (end - start) / step < 0:
        raise Unsupported("a range that torch refuses")
    count = math.ceil((end - start) / step)
    if out.shape != (count,):
        out = prepared(out, (count,), out.dtype, "arange")
    floats = out.is_floating_point()
    if out.dtype in (torch.float64, torch.uint8, torch.int8, torch.int16, torch.bool):
        raise Unsupported("a range that is rounded")
    if floats and max(abs(start), abs(end)) >= 1 << 24:
        raise Unsupported("a range beyond the whole numbers of float32")
    if not floats and not all(isinstance(v, int) for v in (start, step)):
        raise Unsupported("a range of fractions as whole numbers")
    kind = float if floats else int
    if count:
        run("arange", [kind(start), kind(step)], [out])
    return out


def _linspace(start: Any, end: Any, steps: int, *, out: torch.Tensor) -> torch.Tensor:
    if not isinstance(start, int | float) or not isinstance(end, int | float) or steps < 0:
        raise Unsupported("ends that are no numbers")
    if not out.is_floating_point() or out.dtype == torch.float64:
        raise Unsupported(f"a range of {out.dtype}")
    if out.shape != (steps,):
        out = prepared(out, (steps,), out.dtype, "linspace")
    if steps == 1:
        return out.fill_(start)
    if steps:
        run("linspace", [float(start), float(end)], [out], steps=steps)
    return out


def _logspace(
    start: Any, end: Any, steps: int, base: float = 10.0, *, out: torch.Tensor
) -> torch.Tensor:
    if not out.is_floating_point() or out.dtype == torch.float64 or base <= 0:
        raise Unsupported(f"a range of {out.dtype}")
    powers = torch.linspace(start, end, steps, dtype=torch.float32, device=out.device)
    if out.shape != (steps,):
        out = prepared(out, (steps,), out.dtype, "logspace")
    if steps:
        run("pow", [float(base), powers], [out])
    return out


def _zeros(
    size: Sequence[int],
    dtype: torch.dtype | None = None,
    layout: Any = None,
    device: Any = None,
    pin_memory: bool | None = None,
) -> torch.Tensor:
    """What automatic differentiation takes for "no gradient", as ordinary zeros."""
    return allocate(size, None, dtype or torch.get_default_dtype()).zero_()


def _shuffled(x: torch.Tensor, groups: int) -> torch.Tensor:
    if x.dim() < 3 or groups < 1 or x.shape[1] % groups:
        raise Unsupported("channels that torch refuses to shuffle")
    parts = x.reshape(x.shape[0], groups, x.shape[1] // groups, *x.shape[2:])
    return parts.transpose(1, 2).clone(memory_format=torch.contiguous_format).view(x.shape)


def _eye(n: int, m: int, *, out: torch.Tensor) -> torch.Tensor:
    if n < 0 or m < 0:
        raise Unsupported("a negative size")
    if out.shape != (n, m):
        out = prepared(out, (n, m), out.dtype, "eye")
    if out.numel():
        run("eye", [], [out])
    return out
