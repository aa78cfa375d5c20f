"""Operations without a kernel of ours run on the CPU, counted, with every effect carried back."""

from __future__ import annotations

import contextlib
import warnings
from functools import cache
from typing import Any, NamedTuple

import torch

from spyrelab.device.errors import DeviceError
from spyrelab.device.factories import allocate
from spyrelab.device.forms import is_dense, require_distinct
from spyrelab.device.library import EVERY
from spyrelab.device.policy import leave_device
from spyrelab.device.random import GENERATOR, borrowed_default
from spyrelab.device.transfer import from_host, mark_written, place_of, to_host
from spyrelab.layout import contiguous_strides

__all__ = ["call", "register", "to_device"]

_HIDDEN_WRITES = {
    "aten::native_batch_norm": ("running_mean", "running_var"),
    "aten::_batch_norm_impl_index": ("running_mean", "running_var"),
    "aten::batch_norm_update_stats": ("running_mean", "running_var"),
}
"""Arguments that an operation writes without saying so in its schema."""

_MAY_MIX = (
    "aten::index",
    "aten::_index",
    "aten::_unsafe_index",
    "aten::_unsafe_masked_index",
    "aten::_ctc_loss",
    "aten::_use_cudnn_ctc_loss",
    "aten::_pack_padded",
    "aten::_pad_packed",
    "aten::segment_reduce",
    "aten::_segment_reduce",
    "aten::tensor_split",
    "aten::_nested",
)
"""Operations that take index or length tensors from the host, on CUDA too."""


_Moved = dict[int, tuple[torch.Tensor, torch.Tensor]]
"""Arguments by identity: the device tensor and its copy on the host."""


class _Plan(NamedTuple):
    """What an operation's schema says about its arguments."""

    name: str
    names: tuple[str, ...]
    written: frozenset[str]
    outs: frozenset[str]
    returns: tuple[str | None, ...]
    tensors: tuple[int, ...]
    generator: bool
    random: bool
    may_mix: bool


def register() -> None:
    """Enter the fallback for every operation of every library."""
    EVERY.fallback(call, "PrivateUse1")


def call(op: Any, *args: Any, **kwargs: Any) -> Any:
    """Run ``op`` on the CPU on copies of its arguments; write back what it writes.

    Raises
    ------
    FallbackError
        In mode ``"error"``.
    RuntimeError
        Operands on different devices; whatever the operation itself raises.
    """
    plan = _plan(op)
    _require_one_device(plan, args, kwargs)
    leave_device(plan.name)
    moved: _Moved = {}
    outs: dict[str, tuple[torch.Tensor, torch.Tensor]] = {}
    host_args = [_to_host(value, moved) for value in args]
    host_kwargs = {
        name: _fresh_out(name, value, outs) if name in plan.outs else _to_host(value, moved)
        for name, value in kwargs.items()
    }
    if plan.generator and _argument(plan, "generator", args, kwargs) is None:
        place = plan.names.index("generator")
        if place < len(host_args):
            host_args[place] = GENERATOR
        else:
            host_kwargs["generator"] = GENERATOR
    for place in plan.tensors:
        if place < len(host_args) and isinstance(host_args[place], int | float | complex):
            host_args[place] = _number(host_args[place], host_args)
    with borrowed_default() if plan.random else contextlib.nullcontext():
        result = op(*host_args, **host_kwargs)
    for value, host in outs.values():
        _write_out(value, host)
    for name in plan.written:
        _write_back(_argument(plan, name, args, kwargs), moved)
    return _results(plan, result, args, kwargs)


def to_device(value: Any) -> Any:
    """Copy CPU tensors, alone or in lists, to fresh device tensors in their default layout."""
    if isinstance(value, torch.Tensor):
        if value.device.type != "cpu":
            return value
        size, stride = tuple(value.shape), value.stride()
        steps = stride if is_dense(size, stride) else _compact(size, stride)
        made = allocate(size, steps, value.dtype)
        from_host(value, made, fresh=True)
        return made
    if isinstance(value, list | tuple):
        return type(value)(to_device(item) for item in value)
    return value


def _compact(size: tuple[int, ...], stride: tuple[int, ...]) -> tuple[int, ...]:
    """Strides without gaps, in the same order of dimensions; contiguous where some overlap."""
    if any(step == 0 and extent > 1 for step, extent in zip(stride, size, strict=True)):
        return contiguous_strides(size)
    order = sorted(range(len(size)), key=lambda d: -stride[d])
    dense = contiguous_strides([size[d] for d in order])
    return tuple(dense[order.index(d)] for d in range(len(size)))


@cache
def _plan(op: Any) -> _Plan:
    schema, name = op._schema, op.name()
    names = tuple(argument.name for argument in schema.arguments)
    written = {a.name for a in schema.arguments if a.alias_info and a.alias_info.is_write}
    outs = {a.name for a in schema.arguments if a.is_out and str(a.type) == "Tensor"}
    written -= outs
    written.update(_HIDDEN_WRITES.get(name, ()))
    sources: dict[str, str] = {}
    for argument in schema.arguments:
        if argument.alias_info and argument.alias_info.is_write:
            sources.update(dict.fromkeys(argument.alias_info.before_set, argument.name))
    returns: list[str | None] = []
    for returned in schema.returns:
        info = returned.alias_info
        if info is not None and not info.is_write:
            raise DeviceError(f"the view operation {name} has no kernel on device 'spyre'")
        found = next((sources[s] for s in info.before_set if s in sources), None) if info else None
        returns.append(found)
    seeded = torch.Tag.nondeterministic_seeded in op.tags
    takes = "generator" in names
    mixed = name.startswith(_MAY_MIX)
    kinds = [str(argument.type) for argument in schema.arguments]
    tensors = tuple(n for n, kind in enumerate(kinds) if kind in ("Tensor", "Optional[Tensor]"))
    random = seeded and not takes
    return _Plan(
        name, names, frozenset(written), frozenset(outs), tuple(returns), tensors, takes, random,
        mixed,
    )  # fmt: skip


def _argument(plan: _Plan, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    if name in kwargs:
        return kwargs[name]
    place = plan.names.index(name)
    return args[place] if place < len(args) else None


def _to_host(value: Any, moved: _Moved) -> Any:
    if isinstance(value, torch.Tensor):
        if value.device.type != "spyre":
            return value
        known = moved.get(id(value))
        if known is None:
            known = moved[id(value)] = (value, to_host(value, shared=True))
        return known[1]
    if isinstance(value, list | tuple):
        return type(value)(_to_host(item, moved) for item in value)
    if isinstance(value, torch.device) and value.type == "spyre":
        return torch.device("cpu")
    return value


def _number(value: Any, args: list[Any]) -> torch.Tensor:
    """A Python number, as which torch hands on a scalar operand, as a tensor again."""
    double = any(
        isinstance(other, torch.Tensor) and other.dtype in (torch.float64, torch.complex128)
        for other in args
    )
    dtype = None
    if double and isinstance(value, float | complex):
        dtype = torch.float64 if isinstance(value, float) else torch.complex128
    return torch.tensor(value, dtype=dtype, device="cpu")


def _fresh_out(
    name: str, value: Any, outs: dict[str, tuple[torch.Tensor, torch.Tensor]]
) -> torch.Tensor:
    """An empty tensor in place of an ``out=`` argument, whose contents nobody reads."""
    require_distinct(value)
    host = torch.empty(0, dtype=value.dtype, device="cpu")
    outs[name] = value, host
    return host


def _write_out(value: torch.Tensor, host: torch.Tensor) -> None:
    if value.shape != host.shape:
        if value.numel():
            warnings.warn(
                "An output with one or more elements was resized since it had shape"
                f" {list(value.shape)}, which does not match the required output shape"
                f" {list(host.shape)}. This behavior is deprecated, and in a future PyTorch"
                " release outputs will not be resized unless they have zero elements.",
                stacklevel=3,
            )
        value.resize_(host.shape)
    from_host(host, value)


def _write_back(value: Any, moved: _Moved) -> None:
    if isinstance(value, list | tuple):
        for item in value:
            _write_back(item, moved)
        return
    if not isinstance(value, torch.Tensor) or id(value) not in moved:
        return
    host = moved[id(value)][1]
    if host.shape != value.shape:
        value.resize_(host.shape)
        from_host(host, value, fresh=True)
        return
    if value.numel() == 0:
        return
    entry, place = place_of(value)
    if place.tiled:
        from_host(host, value)
    else:
        mark_written(entry, place)


def _results(plan: _Plan, result: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    if not plan.returns:
        return None
    values = result if len(plan.returns) > 1 else (result,)
    fixed = []
    for value, source in zip(values, plan.returns, strict=True):
        same = _argument(plan, source, args, kwargs) if source is not None else None
        fixed.append(same if source is not None else to_device(value))
    return tuple(fixed) if len(plan.returns) > 1 else fixed[0]


def _require_one_device(plan: _Plan, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    if plan.may_mix:
        return
    host, device = None, False
    for value in _tensors((*args, *kwargs.values())):
        if value.device.type == "spyre":
            device = True
        elif value.dim() > 0 or value.device.type != "cpu":
            host = value
    if host is not None and device:
        raise RuntimeError(
            "Expected all tensors to be on the same device, but found at least two devices,"
            f" spyre:0 and {host.device}! (when checking arguments of {plan.name})"
        )


def _tensors(values: Any) -> Any:
    for value in values:
        if isinstance(value, torch.Tensor):
            yield value
        elif isinstance(value, list | tuple):
            yield from _tensors(value)
