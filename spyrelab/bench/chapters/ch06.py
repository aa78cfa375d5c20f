"""Chapter 6: modules of torch.nn on the card, eager and compiled."""

from __future__ import annotations

from collections.abc import Iterator

from spyrelab.bench.case import Case, Chapter, no_torch
from spyrelab.bench.compiled_modules import COMPILED_MODULES
from spyrelab.bench.inductor import COMPILED

__all__ = ["CHAPTER"]

TOLERANCE = 2.0**-7
REASON = "every operation rounds its result to f16; PyTorch computes in f32 on the same f16 values"

ROWS = (512, 16)
QUICK = ("adapter", "highway")
"""Modules that a quick bench compiles; the others are its details."""


def _cases() -> Iterator[Case]:
    for rows in ROWS:
        for name in COMPILED_MODULES:
            yield Case(
                COMPILED,
                f"{name}-{rows}x1024",
                {"module": name, "rows": rows},
                no_torch,
                TOLERANCE,
                REASON,
                detail=name not in QUICK or rows != ROWS[0],
            )


CHAPTER = Chapter(
    "ch06",
    "torch.compile: modules in eager mode, with their weights laid out, and compiled",
    tuple(_cases()),
    ("as-loaded", "laid-out", "compiled"),
)
"""The first two are eager; the second tells what of a gain is due to the layout of weights."""
