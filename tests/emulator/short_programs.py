"""Frames for short programs, for tests of whole runs."""

from __future__ import annotations

from typing import Any

import numpy as np

from spyrelab import emulator
from spyrelab.ktir import parse

ENGINES = ("reference", "vm", "null")
X = np.arange(4, dtype=np.float16)


def view(name: str, pointer: str, size: int | str, element: str, space: str = "global") -> str:
    known = isinstance(size, int)
    head = "(d)" if known else "(d)[n]"
    last = f"-d + {size - 1}" if known else "-d + n - 1"
    return (
        f"%{name} = ktdp.construct_memory_view %{pointer}, sizes: [{size}], strides: [1] "
        f"{{coordinate_set = affine_set<{head} : (d >= 0, {last} >= 0)>, "
        f"memory_space = #ktdp.memory_space<{space}>}} "
        f": memref<{size if known else '?'}x{element}>\n"
    )


def tile(name: str, base: str, start: str, size: int, element: str, of: int | str) -> str:
    return (
        f"%{name} = ktdp.construct_access_tile %{base}[{start}] {{access_tile_set = "
        f"affine_set<(d) : (d >= 0, -d + {size - 1} >= 0)>}} : memref<{of}x{element}> -> "
        f"!ktdp.access_tile<{size}xindex>\n"
    )


def copy(element: str = "f16", size: int = 4, arguments: str = "%x: index, %y: index") -> str:
    """``y[:size] = x[:size]``."""
    kind = f"!ktdp.access_tile<{size}xindex>"
    return (
        f"func.func @copy({arguments}) {{\n"
        + view("v", "x", size, element) + view("w", "y", size, element)
        + tile("a", "v", "0", size, element, size) + tile("b", "w", "0", size, element, size)
        + f"%t = ktdp.load %a : {kind} -> tensor<{size}x{element}>\n"
        + f"ktdp.store %t, %b : tensor<{size}x{element}>, {kind}\nreturn\n}}\n"
    )  # fmt: skip


def run(text: str, engine: str = "vm", memory: Any = None, **options: Any) -> emulator.Run:
    named = ("sanitize", "exact", "threads", "cores", "machine", "function")
    given = {k: options.pop(k) for k in list(options) if k in named}
    return emulator.run(parse(text), options, memory=memory, engine=engine, **given)
