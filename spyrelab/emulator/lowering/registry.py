"""Table of lowering rules: operation name to function."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from spyrelab.ktir import Operation

if TYPE_CHECKING:
    from spyrelab.emulator.lowering.lowering import Lowering

Rule = Callable[["Lowering", Operation], None]
RULES: dict[str, Rule] = {}


def lowers(*names: str) -> Callable[[Rule], Rule]:
    """Register a function as the lowering rule of operations."""

    def register(rule: Rule) -> Rule:
        for name in names:
            RULES[name] = rule
        return rule

    return register
