"""Which operations of ATen are taken apart before the device sees them: none.

Eager runs each of them whole, so compiled code does too, and computes the same bits; nothing is
computed in f32 and rounded at another place. What torch itself takes apart in every mode
(``linear``, ``layer_norm``, ...) has become these operations before.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

__all__ = ["decompositions"]


def decompositions() -> dict[Any, Callable[..., Any]]:
    """The table for AOTAutograd."""
    return {}
