"""The transcendental functions, compiled: the same sources over the compiled primitives.

``native_functions.exp`` is `spyrelab.emulator.functions.exp` with its global names bound to
`spyrelab.emulator.native_primitives`, so the two give the same bits.
"""

from __future__ import annotations

from types import FunctionType, ModuleType
from typing import Any

from spyrelab.emulator import functions, functions_wide
from spyrelab.emulator.native_primitives import PRIMITIVES, inlined


def _compiled(module: ModuleType) -> dict[str, Any]:
    names = {**vars(module), **PRIMITIVES}
    for name, value in vars(module).items():
        if isinstance(value, FunctionType) and value.__module__ == module.__name__:
            source = FunctionType(value.__code__, names, name, value.__defaults__)
            names[name] = inlined(source)
    return names


SINGLE = _compiled(functions)
WIDE = _compiled(functions_wide)
