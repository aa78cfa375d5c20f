"""Chapter 4: transfers, restickify and products under different layouts, and placements."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from spyrelab.bench.case import Case, Chapter, no_torch
from spyrelab.bench.layouts import PLACEMENT, PRODUCT, PRODUCTS, RESTICKIFY, TRANSFER
from spyrelab.kernels import Kernel
from spyrelab.layout.graph_examples import GRAPHS

__all__ = ["CHAPTER"]

EXACT = "elements are moved, not computed"
ROUNDED_ONCE = "computed in f32 and rounded to f16 once; sums may be in another order"
F16_STEP = 2.0**-10

QUICK_GRAPHS = (
    "attention_block",
    "branches_with_channels_first",
    "chain_of_transposed_sums",
    "ladder_of_diamonds",
    "transposed_weights",
)
"""The graphs that a quick bench places; the others are its details."""


def _case(
    kernel: Kernel,
    shape: str,
    parameters: Mapping[str, Any],
    implementations: tuple[str, ...],
    **options: Any,
) -> Case:
    settings = {"tolerance": 0.0, "reason": EXACT, **options}
    return Case(kernel, shape, parameters, no_torch, implementations=implementations, **settings)


def _transfers() -> Iterator[Case]:
    sizes: Sequence[tuple[tuple[int, ...], tuple[str, ...]]] = (
        ((512, 1024), ("rows", "columns", "linear")),
        ((500, 1000), ("rows",)),
        ((4, 512, 512), ("rows", "columns")),
        ((4096,), ("sparse",)),
    )
    for size, layouts in sizes:
        for layout in layouts:
            shape = "x".join(map(str, size))
            parameters = {"size": size, "layout": layout}
            yield _case(TRANSFER, f"{shape}-{layout}", parameters, ("copy", "pack", "unpack"))


def _restickifies() -> Iterator[Case]:
    ends: Sequence[tuple[tuple[int, ...], str, str, bool]] = (
        ((512, 1024), "rows", "columns", False),
        ((512, 1024), "columns", "rows", True),
        ((512, 1024), "rows", "linear", False),
        ((512, 1024), "linear", "rows", True),
        ((500, 1000), "rows", "columns", False),
        ((4, 512, 512), "rows", "columns", True),
        ((4096,), "sparse", "rows", False),
        ((4096,), "rows", "sparse", True),
    )
    for size, source, target, detail in ends:
        shape = f"{'x'.join(map(str, size))}-{source}-{target}"
        parameters = {"size": size, "source": source, "target": target}
        yield _case(RESTICKIFY, shape, parameters, ("eager", "restickify"), detail=detail)


def _products() -> Iterator[Case]:
    for name in PRODUCTS:
        shape = f"512x1024x1024-{name}"
        options = {"tolerance": F16_STEP, "reason": ROUNDED_ONCE}
        yield _case(PRODUCT, shape, {"product": name}, ("eager",), **options)


def _placements() -> Iterator[Case]:
    for name in GRAPHS:
        detail = name not in QUICK_GRAPHS
        yield _case(PLACEMENT, name, {"graph": name}, ("greedy", "exact"), detail=detail)


CHAPTER = Chapter(
    "ch04",
    "layouts: transfers, restickify, products and placements",
    (*_transfers(), *_restickifies(), *_products(), *_placements()),
    ("copy", "pack", "unpack", "eager", "restickify", "greedy", "exact"),
)
