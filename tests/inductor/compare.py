"""Compiled against eager, both on the device, bit for bit."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch.utils._pytree import tree_leaves


def device(*size: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    return torch.randn(*size, dtype=dtype).to("spyre")


def bits(value: Any) -> list[Any]:
    """Everything in a result that has bits, on the host."""
    leaves = tree_leaves(value)
    return [leaf.detach().cpu() if isinstance(leaf, torch.Tensor) else leaf for leaf in leaves]


def assert_same(found: Any, wanted: Any) -> None:
    for one, other in zip(bits(found), bits(wanted), strict=True):
        if isinstance(one, torch.Tensor):
            assert one.dtype == other.dtype
            assert one.shape == other.shape
            assert torch.equal(one.nan_to_num(1e30), other.nan_to_num(1e30))
        else:
            assert one == other


def check(function: Callable[..., Any], *args: Any, **options: Any) -> None:
    """``torch.compile(function)`` computes what ``function`` does, natively where that does."""
    wanted = function(*args)
    assert_same(torch.compile(function, **options)(*args), wanted)


def assert_close(found: Any, wanted: Any) -> None:
    """Equal but for sums in another order: a few roundings of the largest element."""
    for one, other in zip(bits(found), bits(wanted), strict=True):
        assert (one.dtype, one.shape) == (other.dtype, other.shape)
        if one.is_floating_point():
            bound = 8 * torch.finfo(one.dtype).eps * float(other.abs().max())
            torch.testing.assert_close(one, other, atol=bound, rtol=0)
        else:
            assert torch.equal(one, other)
