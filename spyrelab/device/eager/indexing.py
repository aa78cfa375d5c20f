"""Indexed reads and writes of ATen on the card; indices are checked before anything is written."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

import torch

from spyrelab.device.eager.kernel import enter
from spyrelab.device.eager.launch import operand_of, run
from spyrelab.device.eager.recording import promise
from spyrelab.device.eager.results import broadcast, prepared
from spyrelab.device.factories import allocate
from spyrelab.device.transfer import to_host
from spyrelab.opspec import Unsupported
from spyrelab.opspec.indexing import index_ranges

__all__ = ["register"]


def register() -> None:
    """Enter all of them."""
    enter("embedding", _embedding)
    enter("embedding_dense_backward", _embedding_backward)
    for which in ("", ".out"):
        enter(f"index_select{which}", _index_select)
        enter(f"gather{which}", _gather)
        enter(f"index_copy{which}", _into("index_copy"))
        enter(f"index_add{which}", _index_add)
        enter(f"scatter_add{which}", _into("scatter_add"))
    enter("index.Tensor", _index)
    enter("index.Tensor_out", _index)
    enter("_unsafe_index.Tensor", _index)
    enter("index_put", _index_put)
    enter("index_put_", _index_put_in_place)
    enter("_index_put_impl_", _index_put_in_place)
    for which in ("src", "value"):
        enter(f"scatter.{which}", _into("scatter"))
        enter(f"scatter.{which}_out", _into("scatter"))
        enter(f"scatter_.{which}", _in_place("scatter"))
    enter("scatter_add_", _in_place("scatter_add"))
    enter("index_copy_", _in_place("index_copy"))
    enter("index_fill.int_Scalar", _index_fill)
    enter("index_fill_.int_Scalar", _index_fill_in_place)
    enter("index_fill.int_Tensor", _filled_with(_index_fill))
    enter("index_fill_.int_Tensor", _filled_with(_index_fill_in_place))


def _look(
    op: str, inputs: Sequence[Any], outputs: Sequence[torch.Tensor], **attributes: Any
) -> None:
    """Check the indices, then run."""
    given = [t for t in (*inputs, *outputs) if isinstance(t, torch.Tensor)]
    if any(t.numel() == 0 for t in given):
        _look_at_nothing(inputs, outputs)
        return
    operands = [operand_of(t)[0] if isinstance(t, torch.Tensor) else "f32" for t in inputs]
    results = [operand_of(t)[0] for t in outputs]
    ranges = index_ranges(op, tuple(operands), tuple(results), **attributes)
    for position, least, extent in ranges:
        if promise(inputs[position], least, extent):
            continue
        index = to_host(inputs[position], shared=True)
        low, high = int(index.min()), int(index.max())
        if low < least or high >= extent:
            raise Unsupported("an index out of range: torch says which")
    run(op, inputs, outputs, **attributes)


def _look_at_nothing(inputs: Sequence[Any], outputs: Sequence[torch.Tensor]) -> None:
    """Nothing to do where no index asks for anything; anything else is for torch to refuse."""
    whole = (torch.int64, torch.int32)
    indices = [t for t in inputs if isinstance(t, torch.Tensor) and t.dtype in whole]
    if not any(index.numel() == 0 for index in indices):
        raise Unsupported("an index of nothing")


def _demand(tensor: torch.Tensor, *indices: torch.Tensor) -> None:
    if tensor.dtype in (torch.float64, torch.uint8) or tensor.dtype.is_complex:
        raise Unsupported(f"{tensor.dtype} elements")
    for index in indices:
        if index.dtype not in (torch.int64, torch.int32) or index.device.type != "spyre":
            raise Unsupported("an index that is no whole number on the card")


def _dim(x: torch.Tensor, dim: int) -> int:
    if x.dim() == 0 or not -x.dim() <= dim < x.dim():
        raise Unsupported("a dimension that does not exist")
    return dim % x.dim()


def _vector(x: torch.Tensor) -> torch.Tensor:
    """A number as a vector of one element; anything else as it is."""
    return x if x.dim() else x.view(1)


def _embedding(
    weight: torch.Tensor,
    indices: torch.Tensor,
    padding_idx: int = -1,
    scale_grad_by_freq: bool = False,
    sparse: bool = False,
) -> torch.Tensor:
    _demand(weight, indices)
    if weight.dim() != 2:
        raise Unsupported("a table that is no matrix")
    result = allocate((*indices.shape, weight.shape[1]), None, weight.dtype)
    _look("embedding", [weight, indices], [result])
    return result


def _embedding_backward(
    grad: torch.Tensor,
    indices: torch.Tensor,
    num_weights: int,
    padding_idx: int,
    scale_grad_by_freq: bool,
) -> torch.Tensor:
    _demand(grad, indices)
    if scale_grad_by_freq:
        raise Unsupported("gradients scaled by frequency")
    result = allocate((num_weights, grad.shape[-1]), None, grad.dtype).zero_()
    attributes = {} if padding_idx < 0 else {"padding_idx": padding_idx}
    _look("embedding_dense_backward", [grad, indices], [result], **attributes)
    return result


def _index_select(
    x: torch.Tensor, dim: int, index: torch.Tensor, *, out: torch.Tensor | None = None
) -> torch.Tensor:
    _demand(x, index)
    source, places = _vector(x), _vector(index)
    along = _dim(source, dim)
    if places.dim() != 1:
        raise Unsupported("an index that is no vector")
    size = [places.shape[0] if d == along else n for d, n in enumerate(x.shape)]
    result = _target(out, size, x.dtype, "index_select")
    _look("index_select", [source, places], [_vector(result)], dim=along)
    return result


def _gather(
    x: torch.Tensor,
    dim: int,
    index: torch.Tensor,
    *,
    sparse_grad: bool = False,
    out: torch.Tensor | None = None,
) -> torch.Tensor:
    if index.numel() == 0:
        return _target(out, index.shape, x.dtype, "gather")
    _demand(x, index)
    source, places = _vector(x), _vector(index)
    along = _dim(source, dim)
    if places.dim() != source.dim() or _larger(places, source, along):
        raise Unsupported("an index that does not fit")
    result = _target(out, index.shape, x.dtype, "gather")
    _look("gather", [source, places], [result.view(places.shape)], dim=along)
    return result


def _larger(index: torch.Tensor, x: torch.Tensor, along: int) -> bool:
    pairs = zip(index.shape, x.shape, strict=True)
    return any(i > n for d, (i, n) in enumerate(pairs) if d != along)


def _target(
    out: torch.Tensor | None, size: Sequence[int], dtype: torch.dtype, name: str
) -> torch.Tensor:
    if out is None:
        return allocate(size, None, dtype)
    if out.dtype != dtype:
        raise Unsupported("a result of another type")
    return prepared(out, size, dtype, name)


def _indices(given: Sequence[torch.Tensor | None]) -> tuple[list[torch.Tensor], tuple[int, ...]]:
    """Index tensors and the dimensions that they index; truth masks are left to the host."""
    found = [(d, index) for d, index in enumerate(given) if index is not None]
    return [index for _, index in found], tuple(d for d, _ in found)


def _index(
    x: torch.Tensor, given: Sequence[torch.Tensor | None], *, out: torch.Tensor | None = None
) -> torch.Tensor:
    indices, dims = _indices(given)
    _demand(x, *indices)
    if not indices or len(given) > x.dim():
        raise Unsupported("an index of nothing")
    shape = broadcast(indices)
    kept = [n for d, n in enumerate(x.shape) if d not in dims]
    apart = any(b - a != 1 for a, b in itertools.pairwise(dims))
    begin = 0 if apart else dims[0]
    size = (*kept[:begin], *shape, *kept[begin:])
    result = _target(out, size, x.dtype, "index")
    _look("index", [x, *indices], [result], dims=dims)
    return result


def _index_put(
    x: torch.Tensor,
    given: Sequence[torch.Tensor | None],
    values: torch.Tensor,
    accumulate: bool = False,
) -> torch.Tensor:
    return _index_put_in_place(x.clone(), given, values, accumulate)


def _index_put_in_place(
    x: torch.Tensor,
    given: Sequence[torch.Tensor | None],
    values: torch.Tensor,
    accumulate: bool = False,
    unsafe: bool = False,
) -> torch.Tensor:
    indices, dims = _indices(given)
    if len(indices) == 1 and indices[0].dtype == torch.bool and not accumulate:
        return _put_where(x, indices[0], dims[0], values)
    _demand(x, *indices)
    if values.dtype != x.dtype or values.device.type != "spyre" or not indices:
        raise Unsupported("values that do not fit")
    _look("index_put", [*indices, values], [x], dims=dims, accumulate=accumulate)
    return x


def _put_where(x: torch.Tensor, mask: torch.Tensor, dim: int, value: torch.Tensor) -> torch.Tensor:
    """One number wherever a mask of the dimensions from ``dim`` on holds."""
    behind = x.dim() - dim - mask.dim()
    if behind < 0 or mask.shape != x.shape[dim : dim + mask.dim()] or value.numel() != 1:
        raise Unsupported("a mask that chooses where each of many values goes")
    if value.dtype != x.dtype or {mask.device.type, value.device.type} != {"spyre"}:
        raise Unsupported("values that do not fit")
    wide = mask.reshape((*mask.shape, *(1,) * behind))
    return x.copy_(torch.where(wide, value.reshape(()), x))


def _into(op: str) -> Any:
    write: Callable[..., torch.Tensor] = _in_place(op)

    def kernel(
        x: torch.Tensor,
        dim: int,
        index: torch.Tensor,
        source: Any,
        *,
        out: torch.Tensor | None = None,
    ) -> torch.Tensor:
        if out is None:
            return write(x.clone(), dim, index, source)
        if out is not x:
            prepared(out, x.shape, x.dtype, op).copy_(x)
        return write(out, dim, index, source)

    return kernel


def _in_place(op: str) -> Any:
    def kernel(x: torch.Tensor, dim: int, index: torch.Tensor, source: Any) -> torch.Tensor:
        if x.dim() == 0:
            given = _vector(source) if isinstance(source, torch.Tensor) else source
            kernel(x.view(1), dim, _vector(index), given)
            return x
        _demand(x, index)
        along = _dim(x, dim)
        if isinstance(source, torch.Tensor):
            if source.dtype != x.dtype or source.device.type != "spyre":
                raise Unsupported("a source that does not fit")
            if op == "index_copy" and (source.dim() != x.dim() or index.dim() != 1):
                raise Unsupported("a source that does not fit")
            if op == "scatter" and _repeats(index, along):
                raise Unsupported("several elements for one place: their order is the host's")
        elif not isinstance(source, bool | int | float):
            raise Unsupported("a source that is no number")
        else:
            source = float(source) if x.is_floating_point() else int(source)
        _look(op, [index, source], [x], dim=along)
        return x

    return kernel


def _repeats(index: torch.Tensor, along: int) -> bool:
    """Whether two elements of a scatter go to the same place."""
    ordered = to_host(index, shared=True).sort(along).values
    return bool((ordered.diff(dim=along) == 0).any())


def _index_add(
    x: torch.Tensor,
    dim: int,
    index: torch.Tensor,
    source: torch.Tensor,
    *,
    alpha: Any = 1,
    out: torch.Tensor | None = None,
) -> torch.Tensor:
    _demand(x, index)
    index = _vector(index)
    if x.dim() == 0 and source.dim() <= 1:
        flat = _index_add(x.view(1), dim, index, _vector(source), alpha=alpha)
        result = flat.view(())
        return result if out is None else _target(out, (), x.dtype, "index_add").copy_(result)
    along = _dim(x, dim)
    if source.dtype != x.dtype or source.dim() != x.dim() or index.dim() != 1:
        raise Unsupported("a source that does not fit")
    added = source if alpha == 1 else source * alpha
    if out is None:
        target = x.clone()
    else:
        target = out if out is x else prepared(out, x.shape, x.dtype, "index_add").copy_(x)
    _look("index_add", [index, added], [target], dim=along)
    return target


def _index_fill(x: torch.Tensor, dim: int, index: torch.Tensor, value: Any) -> torch.Tensor:
    return _index_fill_in_place(x.clone(), dim, index, value)


def _index_fill_in_place(
    x: torch.Tensor, dim: int, index: torch.Tensor, value: Any
) -> torch.Tensor:
    if x.dim() == 0:
        _index_fill_in_place(x.view(1), dim, _vector(index), value)
        return x
    index = _vector(index)
    _demand(x, index)
    along = _dim(x, dim)
    if index.dim() != 1 or not isinstance(value, bool | int | float):
        raise Unsupported("an index that is no vector")
    size = [index.shape[0] if d == along else n for d, n in enumerate(x.shape)]
    filled = allocate(size, None, x.dtype).fill_(value)
    _look("index_copy", [index, filled], [x], dim=along)
    return x


def _filled_with(fill: Any) -> Any:
    def kernel(x: torch.Tensor, dim: int, index: torch.Tensor, value: torch.Tensor) -> torch.Tensor:
        if value.dim():
            raise Unsupported("a value that is no number: torch says so")
        result: torch.Tensor = fill(x, dim, index, value.item())
        return result

    return kernel
