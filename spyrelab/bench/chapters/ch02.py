"""Chapter 2: predicted times against published ones, and what a prediction costs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from spyrelab.bench.case import Case, Chapter, no_torch
from spyrelab.bench.predictions import BEST_SPLIT
from spyrelab.bench.published import measured_splits
from spyrelab.kernels import CATALOGUE

__all__ = ["CHAPTER"]

F16_STEP = 2.0**-10
ROUNDED_ONCE = "computed in f32 and rounded to f16 once; sums may be in another order"
TIMES = ("roofline", "schedule", "measured")
HOST = ("roofline", "schedule", "vm")


def _case(kernel: str, shape: str, parameters: Mapping[str, Any], **options: Any) -> Case:
    chosen = CATALOGUE[kernel]
    return Case(chosen, shape, parameters, no_torch, F16_STEP, ROUNDED_ONCE, **options)


def _products() -> Iterator[Case]:
    """Per shape a summary over its splits, then every split that was measured."""
    for (b, m, n, k), splits in measured_splits().items():
        # As in chapter 1: rows x depth x columns.
        shape, extents = f"{m}x{k}x{n}", {"b": b, "m": m, "n": n, "k": k}
        yield _case("matmul", shape, extents, label=BEST_SPLIT, implementations=TIMES)
        for split in splits:
            cut = "".join(f"{axis}{part}" for axis, part in zip("mnk", split[1:], strict=True))
            parameters = {**extents, "split": split}
            one = {"implementations": TIMES, "detail": True}
            yield _case("matmul", f"{shape}-{cut}", parameters, **one)


def _loop(iterations: int) -> Case:
    """One core, a stick per iteration: the time of an estimate, and of a run."""
    parameters = {"n": 64 * iterations, "cores": 1, "tile": 64}
    return _case("vector_add", str(iterations), parameters, label="loop", implementations=HOST)


def _estimate() -> Case:
    """A large product: an estimate against running it."""
    parameters = {"b": 1, "m": 512, "n": 4096, "k": 4096, "split": (1, 4, 8, 1)}
    return _case("matmul", "512x4096x4096", parameters, label="estimate", implementations=HOST)


CHAPTER = Chapter(
    "ch02",
    "time: predictions against the card, and how fast they are made",
    (*_products(), _loop(100), _loop(10_000), _estimate()),
    ("roofline", "schedule", "measured", "vm"),
)
