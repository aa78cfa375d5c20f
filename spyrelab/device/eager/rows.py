"""Softmax, scans and ordering of ATen on the card: whatever goes along one dimension."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch

from spyrelab.device.eager.kernel import enter
from spyrelab.device.eager.launch import run
from spyrelab.device.eager.longs import sort_longs
from spyrelab.device.eager.reductions import demand, kept_size, target
from spyrelab.device.factories import allocate
from spyrelab.opspec import Unsupported

__all__ = ["register"]


def register() -> None:
    """Enter all of them."""
    for name in ("_softmax", "_log_softmax"):
        enter(name, _softmax(name[1:]))
        enter(f"{name}.out", _softmax(name[1:]))
        enter(f"{name}_backward_data", _softmax_backward(f"{name[1:]}_backward"))
        enter(f"{name}_backward_data.out", _softmax_backward(f"{name[1:]}_backward"))
    for name in ("cumsum", "cumprod"):
        enter(name, _scan(name))
        enter(f"{name}.out", _scan(name))
    enter("_logcumsumexp", _scan("logcumsumexp"))
    for name in ("cummax", "cummin"):
        enter(f"_{name}_helper", _extreme_scan(name))
    for full in ("sort", "sort.stable", "sort.values", "sort.values_stable"):
        enter(full, _sort)
    enter("topk", _topk)
    enter("topk.values", _topk)
    enter("kthvalue", _kth)
    enter("kthvalue.values", _kth)
    enter("median", _median)
    for which in ("dim", "dim_values"):
        enter(f"median.{which}", _median_along)
        enter(f"nanmedian.{which}", _nanmedian_along)
    enter("nanmedian", _nanmedian)


def _one_dim(x: torch.Tensor, dim: int) -> int:
    span = max(x.dim(), 1)
    if not -span <= dim < span:
        raise Unsupported("a dimension that does not exist")
    return dim % span


def _vector(x: torch.Tensor) -> torch.Tensor:
    """A number as a vector of one element; anything else as it is."""
    return x if x.dim() else x.view(1)


def _kept(result: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    """A result reduced along one dimension, as a reduction of ``_vector(x)`` gives it."""
    return result if x.dim() else result.view(())


def _softmax(op: str) -> Callable[..., torch.Tensor]:
    def kernel(
        x: torch.Tensor, dim: int, half_to_float: bool, *, out: torch.Tensor | None = None
    ) -> torch.Tensor:
        if not x.is_floating_point():
            raise Unsupported(f"softmax of {x.dtype}")
        along = _one_dim(x, dim)
        kind = torch.float32 if half_to_float else x.dtype
        result = target(out, x.shape, kind, op)
        if x.numel():
            run(op, [_vector(x)], [_vector(result)], dim=along)
        return result

    return kernel


def _softmax_backward(op: str) -> Callable[..., torch.Tensor]:
    def kernel(
        grad: torch.Tensor,
        output: torch.Tensor,
        dim: int,
        input_dtype: torch.dtype,
        *,
        out: torch.Tensor | None = None,
        grad_input: torch.Tensor | None = None,
    ) -> torch.Tensor:
        given = out if out is not None else grad_input
        result = target(given, grad.shape, input_dtype, op)
        if grad.numel():
            operands = [_vector(grad), _vector(output)]
            run(op, operands, [_vector(result)], dim=_one_dim(grad, dim))
        return result

    return kernel


def _scan(op: str) -> Callable[..., torch.Tensor]:
    def kernel(
        x: torch.Tensor,
        dim: int,
        *,
        dtype: torch.dtype | None = None,
        out: torch.Tensor | None = None,
    ) -> torch.Tensor:
        along = _one_dim(x, dim)
        whole = torch.int64 if not x.is_floating_point() else x.dtype
        kind = dtype or (out.dtype if out is not None else whole)
        if kind.is_floating_point != x.is_floating_point() or x.dtype == torch.uint8:
            raise Unsupported("a scan that changes kind")
        result = target(out, x.shape, kind, op)
        if x.numel():
            run(op, [_vector(x)], [_vector(result)], dim=along)
        return result

    return kernel


def _extreme_scan(op: str) -> Callable[..., None]:
    def kernel(x: torch.Tensor, values: torch.Tensor, indices: torch.Tensor, dim: int) -> None:
        demand(x)
        run(op, [_vector(x)], [_vector(values), _vector(indices)], dim=_one_dim(x, dim))

    return kernel


def _pair(
    x: torch.Tensor, size: Sequence[int], given: dict[str, torch.Tensor], name: str
) -> list[torch.Tensor]:
    outs = [given.get("values"), given.get("indices")]
    kinds = (x.dtype, torch.int64)
    return [target(o, size, k, name) for o, k in zip(outs, kinds, strict=True)]


def _sort(x: torch.Tensor, *args: Any, **kwargs: Any) -> tuple[torch.Tensor, ...]:
    given: dict[str, torch.Tensor] = {
        k: kwargs.pop(k) for k in ("values", "indices") if k in kwargs
    }
    kwargs.pop("stable", None)
    dim, descending = (*args, -1, False)[0:2] if args else (-1, False)
    if len(args) == 1:
        dim, descending = args[0], False
    dim, descending = kwargs.get("dim", dim), kwargs.get("descending", descending)
    demand(x, empty=True)
    results = _pair(x, x.shape, given, "sort")
    if x.numel() == 0:
        return tuple(results)
    given_x, outs, along = _vector(x), [_vector(r) for r in results], _one_dim(x, dim)
    if x.dtype == torch.int64:
        sort_longs(given_x, along, bool(descending), outs)
    else:
        run("sort", [given_x], outs, dim=along, descending=bool(descending))
    return tuple(results)


def _topk(
    x: torch.Tensor,
    k: int,
    dim: int = -1,
    largest: bool = True,
    sorted: bool = True,
    **given: torch.Tensor,
) -> tuple[torch.Tensor, ...]:
    del sorted  # sorted results are right either way
    demand(x)
    along = _one_dim(x, dim)
    if not 0 < k <= _vector(x).shape[along]:
        raise Unsupported("k outside the dimension")
    size = [k if d == along else n for d, n in enumerate(x.shape)]
    results = _pair(x, size, given, "topk")
    if x.dtype == torch.int64:
        for result, whole in zip(results, x.sort(dim, largest), strict=True):
            result.copy_(whole.narrow(along, 0, k) if x.dim() else whole)
        return tuple(results)
    run("topk", [_vector(x)], [_vector(r) for r in results], dim=along, k=k, largest=largest)
    return tuple(results)


def _kth(
    x: torch.Tensor, k: int, dim: int = -1, keepdim: bool = False, **given: torch.Tensor
) -> tuple[torch.Tensor, ...]:
    demand(x)
    along = _one_dim(x, dim)
    if not 0 < k <= _vector(x).shape[along]:
        raise Unsupported("k outside the dimension")
    results = _pair(x, kept_size(x, (along,), keepdim), given, "kthvalue")
    run("kthvalue", [_vector(x)], [_kept(r, x) for r in results], dims=(along,), k=k)
    return tuple(results)


def _median(x: torch.Tensor) -> torch.Tensor:
    demand(x)
    result = allocate((), None, x.dtype)
    run("median", [x], [result], dims=tuple(range(x.dim())))
    return result


def _median_along(
    x: torch.Tensor, dim: int, keepdim: bool = False, **given: torch.Tensor
) -> tuple[torch.Tensor, ...]:
    demand(x)
    along = _one_dim(x, dim)
    results = _pair(x, kept_size(x, (along,), keepdim), given, "median")
    run("median", [_vector(x)], [_kept(r, x) for r in results], dims=(along,))
    return tuple(results)


def _nanmedian(x: torch.Tensor) -> torch.Tensor:
    demand(x)
    if not x.is_floating_point():
        return _median(x)
    return _nanmedian_along(x.reshape(-1), 0)[0]


def _nanmedian_along(
    x: torch.Tensor, dim: int, keepdim: bool = False, **given: torch.Tensor
) -> tuple[torch.Tensor, ...]:
    """The lower middle of what is not NaN: NaNs come last when sorted."""
    if not x.is_floating_point():
        return _median_along(x, dim, keepdim, **given)
    demand(x)
    along = _one_dim(x, dim)
    results = _pair(x, kept_size(x, (along,), keepdim), given, "nanmedian")
    wide = _vector(x)
    ordered, order = wide.sort(along)
    count = (wide == wide).sum(along, keepdim=True)
    middle = ((count - 1) // 2).clamp_min(0)
    for result, source in zip(results, (ordered, order), strict=True):
        result.copy_(source.gather(along, middle).reshape(result.shape))
    return tuple(results)
