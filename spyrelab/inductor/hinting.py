"""Wishes of the user for operations, written round them inside the compiled function.

They ride on torch's annotations of graph nodes, so that they reach the operations that the lines
inside become, forward and backward.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from torch.fx import traceback

__all__ = ["hint", "hint_of"]

_KEY = "spyrelab_hint"


def hint(
    *, num_tiles: Mapping[str, int] | None = None, work_div: Mapping[str, int] | None = None
) -> Any:
    """A context for some lines of a compiled function.

    >>> with spyrelab.hint(work_div={"M": 8}, num_tiles={"N": 4}):  # doctest: +SKIP
    ...     y = x @ w

    Parameters
    ----------
    num_tiles
        One dimension, and in how many turns of a loop to take it.
    work_div
        Into how many parts cores share a dimension. Products have dimensions B, M, N and K,
        other operations d0, d1, ...
    """
    return traceback.annotate({_KEY: {"num_tiles": num_tiles or {}, "work_div": work_div or {}}})


def hint_of(node: Any) -> Mapping[str, Any] | None:
    """The wishes for a node of a graph."""
    found: Mapping[str, Any] | None = (node.meta.get("custom") or {}).get(_KEY)
    return found
