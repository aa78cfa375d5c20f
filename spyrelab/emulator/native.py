"""How the VM's own functions are compiled."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from numba import njit


def machine_code(makes_arrays: bool = False, **options: Any) -> Callable[[Callable[..., Any]], Any]:
    """A compiled function without reference counts, exceptions of arithmetic or the GIL.

    Such a function allocates nothing and owns no array: counting references of the slices
    that it passes on would cost more than a small tile operation.  One that makes arrays of
    addresses must keep counting (``makes_arrays``).
    """
    return njit(  # type: ignore[call-overload]
        nogil=True, error_model="numpy", cache=True, _nrt=makes_arrays, **options
    )
