"""The table of the reference interpreter: one short function for every operation."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Handler = Callable[..., Any]

REFERENCE: dict[str, Handler] = {}
"""Meaning of every operation by name.

A handler is called with the running core, the operation and its operand values.  It returns the
result (a tuple for several, None for none).  A handler that runs regions or waits for other
cores is a generator function: it yields what it waits for and returns the results.
"""


def reference(*names: str) -> Callable[[Handler], Handler]:
    """Register a function as the meaning of the operations called ``names``."""

    def register(handler: Handler) -> Handler:
        for name in names:
            if name in REFERENCE:
                raise ValueError(f"{name} is defined twice")
            REFERENCE[name] = handler
        return handler

    return register
