"""Model answers of chapter 3."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from spyrelab.device.eager.launch import run

LANES = 64


def address_of(
    allocations: dict[int, Any],
    pointer: int,
    offset: int,
    stride: tuple[int, ...],
    index: tuple[int, ...],
) -> int:
    """Back to the base, to row and column, to stick and lane."""
    found = allocations[pointer - 2 * offset]
    place = offset + sum(i * step for i, step in zip(index, stride, strict=True))
    row, column = divmod(place, found.columns)
    tile, lane = divmod(column, LANES)
    element = (tile * found.rows + row) * LANES + lane
    return int(found.address + 2 * element)


def fallback(op: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Copies by identity, so that an argument and its copy are known to belong together."""
    copies: dict[int, torch.Tensor] = {}

    def to_host(value: Any) -> Any:
        if isinstance(value, list | tuple):
            return [to_host(item) for item in value]
        if isinstance(value, torch.Tensor) and value.device.type == "spyre":
            return copies.setdefault(id(value), value.cpu())
        return value

    host_kwargs = {name: to_host(value) for name, value in kwargs.items()}
    results = op(*[to_host(value) for value in args], **host_kwargs)
    same = {}
    for place, argument in enumerate(op._schema.arguments):
        if argument.alias_info is not None and argument.alias_info.is_write:
            given = args[place] if place < len(args) else kwargs[argument.name]
            given.copy_(copies[id(given)])
            same[id(copies[id(given)])] = given

    def to_device(value: torch.Tensor) -> torch.Tensor:
        return same[id(value)] if id(value) in same else value.to("spyre")

    if isinstance(results, torch.Tensor):
        return to_device(results)
    return tuple(to_device(value) for value in results)


def swiglu(gate: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    """Two launches; the first one's result is only as large as the gate."""
    size = torch.broadcast_shapes(gate.shape, x.shape)
    out = torch.empty(size, dtype=x.dtype, device=x.device)
    if out.numel():
        active = torch.empty(gate.shape, dtype=gate.dtype, device=gate.device)
        run("silu", [gate], [active])
        run("mul", [active, x], [out])
    return out


def multiply_into(x: torch.Tensor, y: torch.Tensor, out: torch.Tensor) -> torch.Tensor:
    """Checks first, then the size, then the work."""
    if out.device.type != "spyre":
        raise RuntimeError(f"expected out on the device, it is on {out.device}")
    if not torch.can_cast(torch.result_type(x, y), out.dtype):
        raise RuntimeError(f"the product cannot be cast to {out.dtype}")
    size = torch.broadcast_shapes(x.shape, y.shape)
    if out.shape != size:
        out.resize_(size)
    run("mul", [x, y], [out])
    return out


def dropout(x: torch.Tensor, p: float, generator: torch.Generator | None = None) -> torch.Tensor:
    """The mask is drawn on the host, the rest happens on the card."""
    if generator is None:
        generator = torch.spyre.default_generators[0]  # type: ignore[attr-defined]
    keep = torch.rand(x.shape, generator=generator) >= p
    if p == 1:
        return torch.zeros_like(x)
    mask = keep.to(x.device)
    return torch.where(mask, x / (1 - p), 0.0)


def masked_mean(module: Any, x: torch.Tensor, keep: torch.Tensor) -> torch.Tensor:
    """A product with the mask instead of a choice of rows, and no float64."""
    weights = keep.to(x.dtype).unsqueeze(-1)
    return (module.project(x) * weights).sum(1) / weights.sum(1)


def device_us(function: Callable[[], object], repeats: int) -> float:
    """Two events round the calls."""
    begin, end = (torch.spyre.Event(enable_timing=True) for _ in range(2))  # type: ignore[attr-defined]
    function()
    begin.record()
    for _ in range(repeats):
        function()
    end.record()
    return begin.elapsed_time(end) * 1e3 / repeats
