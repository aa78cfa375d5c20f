"""Writes by index that reduce, and reads and writes by flat position, composed of others."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch

from spyrelab.device.eager.kernel import enter
from spyrelab.device.eager.recording import promise
from spyrelab.device.eager.results import prepared
from spyrelab.device.transfer import to_host
from spyrelab.opspec import Unsupported

__all__ = ["register"]

Optional = torch.Tensor | None


def register() -> None:
    """Enter all of them."""
    enter("take", _take)
    enter("take.out", _take)
    enter("put_", _put)
    for which in (".two", ".two_out"):
        enter(f"scatter_reduce{which}", _scatter_reduce)
    enter("scatter_reduce_.two", _in_place(_scatter_reduce))
    for which in ("", ".out"):
        enter(f"index_reduce{which}", _index_reduce)
    enter("index_reduce_", _in_place(_index_reduce))
    for which in ("reduce", "value_reduce"):
        enter(f"scatter.{which}", _scatter_named)
        enter(f"scatter.{which}_out", _scatter_named)
        enter(f"scatter_.{which}", _in_place(_scatter_named))
    enter("isin.Tensor_Tensor", _is_in)
    enter("isin.Tensor_Tensor_out", _is_in)


def _in_place(compute: Callable[..., torch.Tensor]) -> Any:
    def kernel(x: torch.Tensor, *args: Any, **kwargs: Any) -> torch.Tensor:
        return x.copy_(compute(x, *args, **kwargs))

    return kernel


def _into(out: Optional, result: torch.Tensor) -> torch.Tensor:
    if out is None:
        return result
    return prepared(out, result.shape, result.dtype, "out").copy_(result)


def _numbers(x: torch.Tensor, index: torch.Tensor) -> None:
    if x.dtype in (torch.float64, torch.uint8, torch.bool) or x.dtype.is_complex:
        raise Unsupported(f"{x.dtype} elements")
    if index.dtype not in (torch.int64, torch.int32) or index.device.type != "spyre":
        raise Unsupported("an index that is no whole number on the card")


def _places(x: torch.Tensor, index: torch.Tensor) -> torch.Tensor:
    """Flat positions, none of them negative."""
    _numbers(x, index)
    if x.numel() == 0 or index.numel() == 0 or index.dtype != torch.int64:
        raise Unsupported("positions in nothing")
    count = x.numel()
    if promise(index, -count, count):
        return (index % count).reshape(-1)
    host = to_host(index, shared=True)
    if int(host.min()) < -count or int(host.max()) >= count:
        raise Unsupported("a position out of range: torch says which")
    return (index % count).reshape(-1)


def _take(x: torch.Tensor, index: torch.Tensor, *, out: Optional = None) -> torch.Tensor:
    if index.numel() == 0:
        return _into(out, torch.empty(index.shape, dtype=x.dtype, device=x.device))
    taken = x.reshape(-1).index_select(0, _places(x, index)).reshape(index.shape)
    return _into(out, taken)


def _put(
    x: torch.Tensor, index: torch.Tensor, source: torch.Tensor, accumulate: bool = False
) -> torch.Tensor:
    if source.dtype != x.dtype or source.numel() != index.numel():
        raise Unsupported("a source that does not fit: torch says why")
    if index.numel() == 0:
        return x
    places, values = _places(x, index), source.reshape(-1)
    flat = x.reshape(-1).clone()
    if accumulate:
        flat.index_add_(0, places, values)
    else:
        flat.scatter_(0, places, values)
    return x.copy_(flat.reshape(x.shape))


_NAMES = {"sum": "add", "add": "add", "prod": "multiply", "multiply": "multiply",
          "mean": "mean", "amax": "amax", "amin": "amin"}  # fmt: skip


def _scatter_named(
    x: torch.Tensor,
    dim: int,
    index: torch.Tensor,
    source: Any,
    *,
    reduce: str,
    out: Optional = None,
) -> torch.Tensor:
    if reduce not in ("add", "multiply"):
        raise Unsupported("a reduction that torch refuses")
    if not isinstance(source, torch.Tensor):
        source = torch.full(index.shape, source, dtype=x.dtype, device=x.device)
    return _scatter_reduce(x, dim, index, source, reduce, out=out)


def _index_reduce(
    x: torch.Tensor,
    dim: int,
    index: torch.Tensor,
    source: torch.Tensor,
    reduce: str,
    *,
    include_self: bool = True,
    out: Optional = None,
) -> torch.Tensor:
    if index.dim() > 1 or source.dim() != x.dim():
        raise Unsupported("a source that does not fit")
    if not x.dim():
        flat = _index_reduce(
            x.view(1), 0, index.reshape(-1), source.reshape(1), reduce, include_self=include_self
        )
        return _into(out, flat.reshape(()))
    along = dim % x.dim()
    size = [1] * x.dim()
    size[along] = index.numel()
    if [*source.shape[:along], *source.shape[along + 1 :]] != [
        *x.shape[:along], *x.shape[along + 1 :]
    ] or source.shape[along] != index.numel():  # fmt: skip
        raise Unsupported("a source that does not fit: torch says why")
    wide = index.reshape(size).expand(source.shape)
    return _scatter_reduce(x, along, wide, source, reduce, include_self=include_self, out=out)


def _scatter_reduce(
    x: torch.Tensor,
    dim: int,
    index: torch.Tensor,
    source: torch.Tensor,
    reduce: str,
    *,
    include_self: bool = True,
    out: Optional = None,
) -> torch.Tensor:
    _numbers(x, index)
    kind = _NAMES.get(reduce)
    if kind is None or source.dtype != x.dtype or index.dim() != x.dim() != source.dim():
        raise Unsupported("a source that does not fit: torch says why")
    if x.dim() == 0:
        own, places, part = (t.reshape(1) for t in (x, index, source))
        flat = _scatter_reduce(own, 0, places, part, reduce, include_self=include_self)
        return _into(out, flat.reshape(()))
    along = dim % x.dim()
    if any(i > s for i, s in zip(index.shape, source.shape, strict=True)):
        raise Unsupported("a source that is too small: torch says so")
    if any(i > n for d, (i, n) in enumerate(zip(index.shape, x.shape, strict=True)) if d != along):
        raise Unsupported("an index that is too large: torch says so")
    if index.numel() == 0 or x.numel() == 0:
        return _into(out, x.clone())
    if promise(index, 0, x.shape[along]):
        return _into(out, _reduced(x, along, index, source, kind, include_self))
    host = to_host(index, shared=True)
    if int(host.min()) < 0 or int(host.max()) >= x.shape[along]:
        raise Unsupported("an index out of range: torch says which")
    return _into(out, _reduced(x, along, index, source, kind, include_self))


def _reduced(
    x: torch.Tensor,
    along: int,
    index: torch.Tensor,
    source: torch.Tensor,
    kind: str,
    include_self: bool,
) -> torch.Tensor:
    """One layer of at most one element per place after another: all of them keep their order."""
    total = x.to(torch.float32, copy=True) if x.is_floating_point() else x.clone()
    parts = source[tuple(slice(n) for n in index.shape)].to(total.dtype)
    counts = torch.zeros(x.shape, dtype=total.dtype, device=x.device)
    counts.scatter_add_(along, index, torch.ones_like(parts))
    if not include_self:
        total = total.masked_fill(counts > 0, _NEUTRAL[kind](total.dtype))
    if kind in ("add", "mean"):
        total = total.scatter_add(along, index, parts)
    else:
        for step in range(index.shape[along]):
            place, part = index.narrow(along, step, 1), parts.narrow(along, step, 1)
            corner = total[
                tuple(slice(None if d == along else n) for d, n in enumerate(place.shape))
            ]
            corner.scatter_(along, place, _JOIN[kind](corner.gather(along, place), part))
    if kind == "mean":
        counts = (counts + int(include_self)).clamp_min(1)
        floats = total.is_floating_point()
        total = total / counts if floats else total.div(counts, rounding_mode="floor")
    return total.to(x.dtype)


def _corner(size: Sequence[int], along: int) -> tuple[slice, ...]:
    """What an index of this size can reach."""
    return tuple(slice(None if d == along else n) for d, n in enumerate(size))


def _lowest(dtype: torch.dtype) -> float | int:
    return float("-inf") if dtype.is_floating_point else torch.iinfo(dtype).min


def _highest(dtype: torch.dtype) -> float | int:
    return float("inf") if dtype.is_floating_point else torch.iinfo(dtype).max


_NEUTRAL: dict[str, Callable[[torch.dtype], float | int]] = {
    "add": lambda _: 0,
    "mean": lambda _: 0,
    "multiply": lambda _: 1,
    "amax": _lowest,
    "amin": _highest,
}
_JOIN: dict[str, Callable[[torch.Tensor, torch.Tensor], torch.Tensor]] = {
    "multiply": torch.mul,
    "amax": torch.maximum,
    "amin": torch.minimum,
}


def _is_in(
    elements: torch.Tensor,
    tests: torch.Tensor,
    *,
    assume_unique: bool = False,
    invert: bool = False,
    out: Optional = None,
) -> torch.Tensor:
    if elements.dtype != tests.dtype or elements.device != tests.device:
        raise Unsupported("elements that do not fit")
    found = (elements.unsqueeze(-1) == tests.reshape(-1)).any(-1)
    return _into(out, ~found if invert else found)
