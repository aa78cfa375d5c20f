"""How a Helion kernel is run here: with a given configuration, and never with a search."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import helion

__all__ = ["run"]


def run(kernel: Any, arguments: tuple[Any, ...], config: Mapping[str, Any]) -> Any:
    """Call a Helion kernel with a configuration; what it leaves open is Helion's default.

    A bare call of the kernel would start the autotuner.
    """
    bound = kernel.bind(arguments)
    compiled = bound.compile_config(helion.Config(**config), allow_print=False)
    return compiled(*arguments)
