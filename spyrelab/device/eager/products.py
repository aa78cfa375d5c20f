"""Matrix products of ATen on the card."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch

from spyrelab.device.eager.kernel import enter
from spyrelab.device.eager.launch import run
from spyrelab.device.eager.results import prepared
from spyrelab.device.factories import allocate
from spyrelab.opspec import Unsupported

__all__ = ["register"]

_SCALED = (("addmm", 2, 2), ("baddbmm", 3, 3), ("addmv", 2, 1), ("addbmm", 3, 3), ("addr", 1, 1))
"""Operations with a bias, and the ranks of their factors."""
_FLOATS = (torch.float16, torch.bfloat16, torch.float32)


def register() -> None:
    """Enter all of them."""
    for which in ("", ".out"):
        enter(f"mm{which}", _product("mm", 2, 2))
        enter(f"bmm{which}", _product("bmm", 3, 3))
        enter(f"mv{which}", _product("mv", 2, 1))
        enter(f"dot{which}", _product("dot", 1, 1))
        enter(f"vdot{which}", _product("dot", 1, 1))
        for name, *ranks in _SCALED:
            enter(f"{name}{which}", _scaled(name, *ranks))
    for name, *ranks in _SCALED:
        enter(f"{name}_", _scaled_in_place(name, *ranks))


def _size(a: torch.Tensor, b: torch.Tensor, ranks: tuple[int, int]) -> tuple[int, ...]:
    """The result's size; Unsupported where torch has to say what is wrong."""
    fits = (a.dim(), b.dim()) == ranks and a.dtype == b.dtype and a.dtype in _FLOATS
    if not fits or a.shape[-1] != b.shape[-2 if b.dim() > 1 else -1]:
        raise Unsupported("operands that do not fit")
    if a.dim() == 3 and a.shape[0] != b.shape[0]:
        raise Unsupported("operands that do not fit")
    columns = tuple(b.shape[-1:]) if b.dim() > 1 else ()
    return (*a.shape[:-1], *columns)


def _scaled_size(
    op: str, a: torch.Tensor, b: torch.Tensor, ranks: tuple[int, int]
) -> tuple[int, ...]:
    """The size of ``a @ b`` as the operation sums it."""
    if op == "addr":
        if (a.dim(), b.dim()) != ranks or a.dtype != b.dtype or a.dtype not in _FLOATS:
            raise Unsupported("operands that do not fit")
        return (*a.shape, *b.shape)
    size = _size(a, b, ranks)
    return size[1:] if op == "addbmm" else size


def _product(op: str, *ranks: int) -> Callable[..., torch.Tensor]:
    def kernel(
        a: torch.Tensor, b: torch.Tensor, *, out: torch.Tensor | None = None
    ) -> torch.Tensor:
        size = _size(a, b, (ranks[0], ranks[1]))
        result = _target(out, size, a.dtype, op)
        if a.numel() == 0 or b.numel() == 0:
            return result.zero_()
        if result.numel():
            run(op, [a, b], [result])
        return result

    return kernel


def _scaled(op: str, *ranks: int) -> Callable[..., torch.Tensor]:
    def kernel(
        bias: torch.Tensor,
        a: torch.Tensor,
        b: torch.Tensor,
        *,
        beta: Any = 1,
        alpha: Any = 1,
        out: torch.Tensor | None = None,
    ) -> torch.Tensor:
        size = _scaled_size(op, a, b, (ranks[0], ranks[1]))
        if bias.dtype != a.dtype or bias.dim() > len(size):
            raise Unsupported("a bias that does not fit")
        result = _target(out, size, a.dtype, op)
        factors = [] if beta == 1 and alpha == 1 else [float(beta), float(alpha)]
        if a.numel() == 0 or b.numel() == 0:
            return result.copy_(bias * beta) if beta else result.zero_()
        if result.numel():
            run(op, [bias.expand(size), a, b, *factors], [result])
        return result

    return kernel


def _scaled_in_place(op: str, *ranks: int) -> Callable[..., torch.Tensor]:
    compute = _scaled(op, *ranks)

    def kernel(
        own: torch.Tensor, a: torch.Tensor, b: torch.Tensor, *, beta: Any = 1, alpha: Any = 1
    ) -> torch.Tensor:
        if own.shape != _scaled_size(op, a, b, (ranks[0], ranks[1])):
            raise Unsupported("operands that do not fit")
        return own.copy_(compute(own, a, b, beta=beta, alpha=alpha))

    return kernel


def _target(
    out: torch.Tensor | None, size: Sequence[int], dtype: torch.dtype, name: str
) -> torch.Tensor:
    return allocate(size, None, dtype) if out is None else prepared(out, size, dtype, name)
