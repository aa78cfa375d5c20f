"""Wishes of the user for operations, written round them inside the compiled function.

They ride on torch's annotations of graph nodes, so that they reach the operations that the lines
inside become, forward and backward.
"""

from __future__ import annotations

import operator
from collections.abc import Mapping
from typing import Any

from torch.fx import traceback

from spyrelab.inductor.errors import CompileError

__all__ = ["hint", "hint_of", "put_hint"]

_KEY = "spyrelab_hint"
_KINDS = ("num_tiles", "work_div")


def hint(
    *, num_tiles: Mapping[str, int] | None = None, work_div: Mapping[str, int] | None = None
) -> Any:
    """A context for some lines of a compiled function; one inside another adds to it.

    Dynamo takes no graph break inside: it then leaves the whole function to eager, which ignores
    hints.

    >>> with spyrelab.hint(work_div={"M": 8}, num_tiles={"N": 4}):  # doctest: +SKIP
    ...     y = x @ w

    Parameters
    ----------
    num_tiles
        One dimension, and in how many turns of a loop to take it.
    work_div
        Into how many parts cores share a dimension. Products have dimensions B, M, N and K,
        other operations d0, d1, ...; `spyrelab.name_dims` gives others.

    Raises
    ------
    CompileError
        What is wished for is no mapping from names to positive whole numbers.
    """
    return traceback.annotate({**_keys("num_tiles", num_tiles), **_keys("work_div", work_div)})


def _keys(kind: str, wanted: Mapping[str, int] | None) -> dict[str, int]:
    """An annotation for every wish: those of a context inside replace only their own."""
    if wanted is not None and not isinstance(wanted, Mapping):
        raise CompileError(f"{kind} = {wanted!r}: give names of dimensions, such as {{'M': 8}}")
    made = {}
    for name, count in (wanted or {}).items():
        whole = isinstance(count, int) and not isinstance(count, bool)
        if not isinstance(name, str) or not whole or count < 1:
            raise CompileError(
                f"{kind} = {wanted!r}: a dimension has a name, and is cut into a positive whole"
                " number of pieces"
            )
        # A number that Dynamo has made a symbol of: the plan is for its value.
        made[f"{_KEY}.{kind}.{name}"] = operator.index(count)
    return made


def hint_of(node: Any) -> Mapping[str, Any] | None:
    """The wishes for a node of a graph."""
    found: dict[str, dict[str, int]] = {kind: {} for kind in _KINDS}
    for key, count in (node.meta.get("custom") or {}).items():
        if isinstance(key, str) and key.startswith(f"{_KEY}."):
            _, kind, name = key.split(".", 2)
            found[kind][name] = count
    return found if any(found.values()) else None


def put_hint(node: Any, wishes: Mapping[str, Any]) -> None:
    """Replace the wishes for a node of a graph."""
    others = {
        key: value
        for key, value in node.meta["custom"].items()
        if not (isinstance(key, str) and key.startswith(f"{_KEY}."))
    }
    mine = {f"{_KEY}.{kind}.{name}": n for kind in wishes for name, n in wishes[kind].items()}
    node.meta["custom"] = {**others, **mine}
