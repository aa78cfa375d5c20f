"""Chapter 7: paged attention in Triton and in Helion, hand-tuned and tuned by search."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from spyrelab.attention.effort import tile_visits
from spyrelab.attention.heuristics import GPU_ROWS, PointerConfig
from spyrelab.attention.scenarios import Scenario
from spyrelab.bench.attention import ATTENTION, PAGED_ATTENTION, scenario_of
from spyrelab.bench.case import Case, Chapter

__all__ = ["CHAPTER"]

TOLERANCE = 2.0**-7
REASON = "weights round to f16 before they meet the values, and the result rounds once"

CLASSES = {"decode": 1.0, "prefill": 0.0, "mixed": 0.5}
"""Part of the sequences that have one new token."""

BATCHES = (1, 4, 16)
LENGTHS = (128, 512, 2048)
LAYOUTS = ((16, "uniform"), (16, "ragged"), (64, "uniform"))
"""Tokens of a page, and how the lengths of contexts are spread."""

MOST_VISITS = 140_000
"""Tiles that the GPU-style kernel may visit where it is predicted: above takes many minutes."""

QUICK = (
    "decode-b4-s512-p16-ragged",
    "decode-b16-s2048-p16-uniform",
    "prefill-b4-s128-p16-ragged",
    "prefill-b1-s512-p16-uniform",
    "mixed-b4-s128-p16-ragged",
)
"""What a quick bench predicts; the others are its details."""

SPLITTING = ("triton-segmented", "helion-split")


def _no_torch(_: Mapping[str, Any], __: Mapping[str, Any]) -> Callable[[], object]:
    raise NotImplementedError("chapter 7 compares kernels on the card, checked against PyTorch")


def _cases() -> Iterator[Case]:
    for kind in CLASSES:
        for batch in BATCHES:
            for max_len in LENGTHS:
                for page, pattern in LAYOUTS:
                    if batch > 1 or (kind != "mixed" and pattern == "uniform"):
                        case = _case(kind, batch, max_len, page, pattern)
                        if not _too_long(case):
                            yield case


def _case(kind: str, batch: int, max_len: int, page: int, pattern: str) -> Case:
    shape = f"b{batch}-s{max_len}-p{page}-{pattern}"
    parameters = {
        "class": kind,
        "batch": batch,
        "max_len": max_len,
        "decode_share": CLASSES[kind],
        "page": page,
        "pattern": pattern,
    }
    return Case(
        PAGED_ATTENTION,
        shape,
        parameters,
        _no_torch,
        TOLERANCE,
        REASON,
        label=kind,
        implementations=_able(kind, scenario_of(parameters)),
        detail=f"{kind}-{shape}" not in QUICK,
    )


def _too_long(case: Case) -> bool:
    """The largest prefills: half a minute for one prediction of the fastest kernel."""
    sizes = case.parameters
    long = sizes["batch"] == BATCHES[-1] and sizes["max_len"] == LENGTHS[-1]
    return long and sizes["class"] != "decode" and sizes["pattern"] == "uniform"


def _able(kind: str, scenario: Scenario) -> tuple[str, ...]:
    """All, but for those that split contexts, which only decodes need, and the GPU-style kernel
    where its small tiles are too many to be predicted."""
    group = scenario.heads // scenario.kv_heads
    gpu = PointerConfig(max(1, GPU_ROWS // group), 16 if kind == "decode" else 32)
    left = set()
    if kind != "decode":
        left = {name for name in ATTENTION if name.startswith(SPLITTING)}
        if tile_visits(scenario, gpu) > MOST_VISITS:
            left.add("triton-pointer")
    return tuple(name for name in ATTENTION if name not in left)


CHAPTER = Chapter(
    "ch07",
    "paged attention in Triton and in Helion, hand-tuned and tuned by search",
    tuple(_cases()),
    tuple(ATTENTION),
)
