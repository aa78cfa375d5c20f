"""Who takes part in a future, found once for all programs that ask the same."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from spyrelab.emulator.groups import Exchange, resolve
from spyrelab.ktir import Operation

__all__ = ["resolved"]

_MOST = 4096
_known: dict[Any, Exchange] = {}


def resolved(produce: Operation, consume: Operation, grid: Sequence[int]) -> Exchange:
    """What `spyrelab.emulator.groups.resolve` says.

    Raises
    ------
    LoweringError
    """
    key = _asked(produce), _asked(consume), tuple(grid)
    if key not in _known:
        if len(_known) >= _MOST:
            _known.clear()
        _known[key] = resolve(produce, consume, grid)
    return _known[key]


def _asked(operation: Operation) -> Any:
    types = tuple(value.type for value in operation.results)
    return operation.name, types, tuple(operation.attributes.items())
