"""What views are of, now: passes of torch give some nodes other strides than tracing saw.

The views after such a node still say what tracing saw, so they are traced once more.
"""

from __future__ import annotations

import operator
from typing import Any

import torch
from torch._dispatch.python import enable_python_dispatcher
from torch.fx.node import map_arg

from spyrelab.inductor.internals import V

__all__ = ["retraced", "traced"]


def _known() -> dict[torch.fx.Node, Any]:
    found: dict[torch.fx.Node, Any] = V.graph.__dict__.setdefault("_spyre_traced", {})
    return found


def traced(node: Any) -> Any:
    """The tensor without elements, or number, that a node of the current graph stands for."""
    if not isinstance(node, torch.fx.Node):
        return node
    known = _known()
    if node in known:
        return known[node]
    if node.target is operator.getitem and node.args[0] in known:
        source: Any = node.args[0]
        return known[source][node.args[1]]
    return node.meta.get("val")


def retraced(node: torch.fx.Node) -> Any:
    """The same for a view, of what its operand stands for now."""
    target: Any = node.target
    args, kwargs = map_arg((node.args, node.kwargs), traced)
    with V.fake_mode, enable_python_dispatcher():
        made = target(*args, **kwargs)
    _known()[node] = made
    return made
