"""Reductions of ATen on the card."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import torch

from spyrelab.device.eager.kernel import enter
from spyrelab.device.eager.launch import run
from spyrelab.device.eager.results import prepared
from spyrelab.device.factories import allocate
from spyrelab.opspec import Unsupported

__all__ = ["demand", "kept_size", "register", "target", "whole_dims"]

_WHOLE = (torch.bool, torch.int8, torch.int16, torch.int32, torch.int64)


def register() -> None:
    """Enter all of them."""
    for name in ("sum", "mean", "nansum", "prod"):
        _enter_typed(name)
    for name in ("amax", "amin"):
        enter(name, _reduction(name))
        enter(f"{name}.out", _reduction(name))
    for name in ("any", "all"):
        for which in ("", ".dim", ".dims", ".out", ".dims_out", ".all_out"):
            enter(f"{name}{which}", _truth(name))
    for name in ("var", "std", "var_mean", "std_mean"):
        enter(f"{name}.correction", _moments(name))
    for which in ("", ".out"):
        enter(f"logsumexp{which}", _reduction("logsumexp", floats=True))
        enter(f"linalg_vector_norm{which}", _vector_norm)
        for name in ("argmax", "argmin"):
            enter(f"{name}{which}", _position(name))
    for full in ("Scalar", "out", "dtype_out", "ScalarOpt_dim", "ScalarOpt_dim_dtype"):
        enter(f"norm.{full}", _any_norm)
    enter("norm.ScalarOpt_dtype", _norm_of_all)
    enter("equal", _equal)
    enter("count_nonzero.dim_IntList", _count)
    for name in ("max", "min"):
        enter(name, _extreme(name))
        enter(f"{name}.dim", _extreme_along(name))
        enter(f"{name}.dim_{name}", _extreme_along(name))
    enter("aminmax", _both_extremes)


def _enter_typed(name: str) -> None:
    kernel = _reduction(name, whole_to_long=name != "mean", floats=name == "mean")
    names = {
        "sum": ("sum", "sum.dim_IntList", "sum.IntList_out", "sum.out"),
        "mean": ("mean", "mean.dim", "mean.out", "mean.dtype_out"),
        "nansum": ("nansum", "nansum.out"),
        "prod": ("prod", "prod.dim_int", "prod.int_out", "prod.out"),
    }
    for full in names[name]:
        enter(full, kernel)


# ---- sizes -------------------------------------------------------------------------------------


def whole_dims(x: torch.Tensor, dim: Any) -> tuple[int, ...]:
    """The reduced dimensions as sorted non-negative numbers; None and [] mean all of them.

    Raises
    ------
    Unsupported
        A dimension is out of range or named twice: torch says so better.
    """
    rank = x.dim()
    if dim is None or (not isinstance(dim, int) and len(dim) == 0):
        return tuple(range(rank))
    asked = [dim] if isinstance(dim, int) else list(dim)
    span = max(rank, 1)
    if any(not -span <= d < span for d in asked):
        raise Unsupported("a dimension that does not exist")
    dims = sorted({d % span for d in asked})
    if len(dims) != len(asked):
        raise Unsupported("a dimension named twice")
    return tuple(d for d in dims if d < rank)


def kept_size(x: torch.Tensor, dims: Sequence[int], keepdim: bool) -> tuple[int, ...]:
    """The size of a result reduced over ``dims``."""
    if keepdim:
        return tuple(1 if d in dims else n for d, n in enumerate(x.shape))
    return tuple(n for d, n in enumerate(x.shape) if d not in dims)


def demand(x: torch.Tensor, empty: bool = False) -> None:
    """Raise Unsupported for what no reduction takes; ``empty`` lets no elements pass."""
    if x.numel() == 0 and not empty:
        raise Unsupported("a reduction of nothing")
    if not x.is_floating_point() and x.dtype not in _WHOLE:
        raise Unsupported(f"{x.dtype} elements")


def target(
    out: torch.Tensor | None, size: Sequence[int], dtype: torch.dtype, name: str
) -> torch.Tensor:
    """The given ``out``, or a fresh tensor."""
    return allocate(size, None, dtype) if out is None else prepared(out, size, dtype, name)


_OF_NOTHING = {"sum": 0, "nansum": 0, "prod": 1, "mean": math.nan, "logsumexp": -math.inf,
               "any": 0, "all": 1, "count_nonzero": 0}  # fmt: skip


def _of_nothing(
    op: str, x: torch.Tensor, dims: Sequence[int], result: torch.Tensor
) -> torch.Tensor:
    """The reduction of a tensor without elements."""
    if result.numel() == 0:
        if op not in _OF_NOTHING and any(x.shape[d] == 0 for d in dims):
            raise Unsupported("a reduction of nothing: torch says so")
        return result
    if op not in _OF_NOTHING:
        raise Unsupported("a reduction of nothing")
    return result.fill_(_OF_NOTHING[op])


# ---- reductions --------------------------------------------------------------------------------


def _reduction(
    op: str, whole_to_long: bool = False, floats: bool = False
) -> Callable[..., torch.Tensor]:
    def kernel(
        x: torch.Tensor,
        dim: Any = None,
        keepdim: bool = False,
        *,
        dtype: torch.dtype | None = None,
        out: torch.Tensor | None = None,
    ) -> torch.Tensor:
        demand(x, empty=True)
        if floats and not (dtype or x.dtype).is_floating_point:
            raise Unsupported(f"{op} of whole numbers")
        dims = whole_dims(x, dim)
        given = out.dtype if out is not None and dtype is None else dtype
        kind = given or (torch.int64 if whole_to_long and not x.is_floating_point() else x.dtype)
        if not x.is_floating_point() and kind.is_floating_point:
            raise Unsupported("whole numbers reduced to floats")
        if x.is_floating_point() and not kind.is_floating_point:
            raise Unsupported("floats reduced to whole numbers")
        result = target(out, kept_size(x, dims, keepdim), kind, op)
        if result.dtype not in (torch.float16, torch.bfloat16, torch.float32, *_WHOLE):
            raise Unsupported(f"{result.dtype} results")
        if x.numel() == 0:
            return _of_nothing(op, x, dims, result)
        run(op, [x], [result], dims=dims)
        return result

    return kernel


def _truth(op: str) -> Callable[..., torch.Tensor]:
    def kernel(
        x: torch.Tensor, dim: Any = None, keepdim: bool = False, *, out: torch.Tensor | None = None
    ) -> torch.Tensor:
        demand(x, empty=True)
        dims = whole_dims(x, dim)
        result = target(out, kept_size(x, dims, keepdim), torch.bool, op)
        if result.dtype != torch.bool:
            raise Unsupported("a truth value as a number")
        if x.numel() == 0:
            return _of_nothing(op, x, dims, result)
        run(op, [x], [result], dims=dims)
        return result

    return kernel


def _moments(op: str) -> Callable[..., Any]:
    def kernel(
        x: torch.Tensor, dim: Any = None, *, correction: Any = None, keepdim: bool = False
    ) -> Any:
        demand(x, empty=True)
        if not x.is_floating_point():
            raise Unsupported("moments of whole numbers")
        dims = whole_dims(x, dim)
        size = kept_size(x, dims, keepdim)
        count = math.prod(x.shape[d] for d in dims)
        degrees = 1.0 if correction is None else float(correction)
        results = [allocate(size, None, x.dtype) for _ in range(2 if "mean" in op else 1)]
        if count <= degrees:
            _without_freedom(op, x, dims, count, results)
        elif results[0].numel():
            run(op, [x], results, dims=dims, correction=degrees)
        return tuple(results) if len(results) == 2 else results[0]

    return kernel


def _without_freedom(
    op: str, x: torch.Tensor, dims: tuple[int, ...], count: int, results: Sequence[torch.Tensor]
) -> None:
    """Moments where no degree of freedom is left."""
    if count > 1:
        raise Unsupported("more corrections than numbers")
    warnings.warn(
        f"{op}(): degrees of freedom is <= 0. Correction should be strictly less than the"
        " reduction factor (input numel divided by output numel).",
        stacklevel=4,
    )
    for result in results:
        result.fill_(math.nan)
    if len(results) == 2 and results[1].numel() and count == 1:
        run("mean", [x], [results[1]], dims=dims)


def _vector_norm(
    x: torch.Tensor,
    ord: Any = 2,
    dim: Any = None,
    keepdim: bool = False,
    *,
    dtype: torch.dtype | None = None,
    out: torch.Tensor | None = None,
) -> torch.Tensor:
    demand(x, empty=True)
    if not x.is_floating_point() or (dtype is not None and not dtype.is_floating_point):
        raise Unsupported("the norm of whole numbers")
    dims = whole_dims(x, dim)
    kind = dtype or x.dtype
    result = target(out, kept_size(x, dims, keepdim), kind, "linalg_vector_norm")
    if x.numel() == 0:
        finite = "sum" if 0 <= float(ord) < math.inf else "amax"
        return _of_nothing(finite, x, dims, result)
    run("norm", [x], [result], dims=dims, p=float(ord))
    return result


def _any_norm(
    x: torch.Tensor,
    p: Any = 2,
    dim: Any = None,
    keepdim: bool = False,
    *,
    dtype: torch.dtype | None = None,
    out: torch.Tensor | None = None,
) -> torch.Tensor:
    return _vector_norm(x, 2 if p is None else p, dim, keepdim, dtype=dtype, out=out)


def _norm_of_all(x: torch.Tensor, p: Any, *, dtype: torch.dtype) -> torch.Tensor:
    return _any_norm(x, p, dtype=dtype)


def _equal(x: torch.Tensor, y: torch.Tensor) -> bool:
    if x.shape != y.shape:
        return False
    if x.dtype != y.dtype or y.device.type != "spyre":
        raise Unsupported("tensors that cannot be compared: torch says why")
    demand(x, empty=True)
    if x.numel() == 0:
        return True
    same = allocate((), None, torch.bool)
    each = allocate(x.shape, None, torch.bool)
    run("eq", [x, y], [each])
    run("all", [each], [same], dims=tuple(range(x.dim())))
    return bool(same.item())


def _count(x: torch.Tensor, dim: Any) -> torch.Tensor:
    demand(x, empty=True)
    dims = whole_dims(x, dim)
    result = allocate(kept_size(x, dims, False), None, torch.int64)
    if x.numel() == 0:
        return _of_nothing("count_nonzero", x, dims, result)
    run("count_nonzero", [x], [result], dims=dims)
    return result


def _position(op: str) -> Callable[..., torch.Tensor]:
    def kernel(
        x: torch.Tensor,
        dim: int | None = None,
        keepdim: bool = False,
        *,
        out: torch.Tensor | None = None,
    ) -> torch.Tensor:
        demand(x)
        dims = whole_dims(x, dim)
        keep = keepdim if dim is not None else False
        size = (1,) * x.dim() if dim is None and keepdim else kept_size(x, dims, keep)
        result = target(out, size, torch.int64, op)
        run(op, [x], [result], dims=dims)
        return result

    return kernel


def _extreme(name: str) -> Callable[..., torch.Tensor]:
    def kernel(x: torch.Tensor) -> torch.Tensor:
        demand(x)
        result = allocate((), None, x.dtype)
        run(f"a{name}", [x], [result], dims=tuple(range(x.dim())))
        return result

    return kernel


def _extreme_along(name: str) -> Callable[..., Any]:
    def kernel(
        x: torch.Tensor, dim: int, keepdim: bool = False, **out: torch.Tensor
    ) -> tuple[torch.Tensor, ...]:
        demand(x)
        dims = whole_dims(x, dim)
        size = kept_size(x, dims, keepdim)
        given: list[torch.Tensor | None] = [*out.values()] or [None, None]
        kinds = (x.dtype, torch.int64)
        results = [target(o, size, k, name) for o, k in zip(given, kinds, strict=True)]
        run(f"{name}_dim", [x], results, dims=dims)
        return tuple(results)

    return kernel


def _both_extremes(
    x: torch.Tensor, *, dim: int | None = None, keepdim: bool = False
) -> tuple[torch.Tensor, ...]:
    demand(x, empty=True)
    dims = whole_dims(x, dim)
    size = kept_size(x, dims, keepdim)
    results = [allocate(size, None, x.dtype) for _ in range(2)]
    if x.numel() == 0:
        return tuple(_of_nothing("aminmax", x, dims, result) for result in results)
    run("aminmax", [x], results, dims=dims)
    return tuple(results)
