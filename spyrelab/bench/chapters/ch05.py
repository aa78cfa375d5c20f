"""Chapter 5: blocks of models, planned one operation at a time and together."""

from __future__ import annotations

from collections.abc import Iterator

from spyrelab.bench.case import Case, Chapter, no_torch
from spyrelab.bench.tiling import BLOCK
from spyrelab.tiling.blocks import BLOCKS

__all__ = ["CHAPTER"]

TOLERANCE = 2.0**-8
REASON = "intermediates are rounded to f16 in other places of a sum than PyTorch's f32"

ROWS = (16, 512)
QUICK = ("mlp", "highway", "convolution")
"""Blocks that a quick bench plans; the others are its details."""


def _blocks(hidden: int) -> Iterator[Case]:
    for name in BLOCKS:
        for rows in ROWS:
            parameters = {"block": name, "rows": rows, "hidden": hidden}
            detail = name not in QUICK or rows != ROWS[-1]
            yield Case(
                BLOCK,
                f"{name}-{rows}x{hidden}",
                parameters,
                no_torch,
                implementations=("per-op", "joint"),
                tolerance=TOLERANCE,
                reason=REASON,
                detail=detail,
            )


CHAPTER = Chapter(
    "ch05",
    "blocks of models: plans for one operation at a time, and for all together",
    tuple(_blocks(1024)),
    ("per-op", "joint"),
)
