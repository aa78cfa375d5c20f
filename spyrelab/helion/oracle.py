"""Helion's reference mode (``HELION_INTERPRET=1``) on devices without products of mixed types.

It multiplies with ``torch.mm(..., out_dtype=...)``, which has kernels on one vendor's cards only.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

__all__ = ["register_products"]

aten = torch.ops.aten
_libraries: list[torch.library.Library] = []


def _mm(a: Any, b: Any, dtype: torch.dtype) -> Any:
    return aten.mm.default(a.to(dtype), b.to(dtype))


def _bmm(a: Any, b: Any, dtype: torch.dtype) -> Any:
    return aten.bmm.default(a.to(dtype), b.to(dtype))


def _addmm(c: Any, a: Any, b: Any, dtype: torch.dtype, *, beta: Any = 1, alpha: Any = 1) -> Any:
    return aten.addmm.default(c.to(dtype), a.to(dtype), b.to(dtype), beta=beta, alpha=alpha)


def _baddbmm(c: Any, a: Any, b: Any, dtype: torch.dtype, *, beta: Any = 1, alpha: Any = 1) -> Any:
    return aten.baddbmm.default(c.to(dtype), a.to(dtype), b.to(dtype), beta=beta, alpha=alpha)


_PRODUCTS: dict[str, Callable[..., Any]] = {
    "mm.dtype": _mm,
    "bmm.dtype": _bmm,
    "addmm.dtype": _addmm,
    "baddbmm.dtype": _baddbmm,
}


def register_products() -> None:
    """Compute them in the wider type, on the CPU and on the card, where torch has no kernel."""
    if _libraries:
        return
    library: Any = torch.library.Library("aten", "IMPL")  # type: ignore[no-untyped-call]
    for name, product in _PRODUCTS.items():
        for key in ("CPU", "PrivateUse1"):
            if not torch._C._dispatch_has_kernel_for_dispatch_key(f"aten::{name}", key):
                library.impl(name, product, key)
    _libraries.append(library)
