"""Chapter 3: what dispatch and copies cost, and how much of a module leaves the device."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from spyrelab.bench.case import Case, Chapter, no_torch
from spyrelab.bench.devices import COPY, DISPATCH, MODULE, OPERATIONS
from spyrelab.bench.torch_modules import MODULES
from spyrelab.kernels import Kernel

__all__ = ["CHAPTER"]

EXACT = "elements are moved, not computed"
ONE_OPERATION = "float32 on both sides; sums may be in another order"
MANY_OPERATIONS = "float32 on both sides; some ten operations, forward and backward"


def _case(
    kernel: Kernel, shape: str, tolerance: float, reason: str, detail: bool = False, **given: Any
) -> Case:
    return Case(kernel, shape, given, no_torch, tolerance, reason, detail=detail)


def _operations() -> Iterator[Case]:
    for name in OPERATIONS:
        yield _case(DISPATCH, f"{name}-64x64", 2.0**-20, ONE_OPERATION, operation=name)


def _copies() -> Iterator[Case]:
    sizes = (((512, 512), False), ((2048, 2048), True), ((500, 1000), True))
    for dtype, width in (("float16", 2), ("float32", 4), ("int64", 8)):
        for size, detail in sizes:
            shape = "x".join(map(str, size))
            for source, way in (("host", "to_device"), ("device", "to_host")):
                name = f"{way}-{dtype}-{shape}"
                given: dict[str, Any] = {"size": size, "dtype": dtype, "source": source}
                given["bytes"] = width * size[0] * size[1]
                yield _case(COPY, name, 0.0, EXACT, detail, **given)


def _modules() -> Iterator[Case]:
    for name in MODULES:
        yield _case(MODULE, name, 2.0**-14, MANY_OPERATIONS, module=name)


CHAPTER = Chapter(
    "ch03",
    "the device: dispatch, copies, and the fallback share of modules",
    (*_operations(), *_copies(), *_modules()),
    ("cpu", "spyre"),
)
"""Every case is one eager call; modules run forward and backward."""
