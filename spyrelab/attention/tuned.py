"""Configurations that a search has found, one per kernel and bucket, and how they are reused.

The file was written by ``python -m spyrelab.attention.tune``.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from functools import cache
from importlib.resources import files
from typing import Any

from spyrelab.attention.batch import PagedBatch
from spyrelab.attention.errors import AttentionError
from spyrelab.attention.heuristics import (
    PointerConfig,
    SegmentedConfig,
    SpyreConfig,
    SpyreConfigs,
    helion_bucket,
)
from spyrelab.attention.scenarios import BUCKETS, Bucket

__all__ = ["FILE", "Winner", "config_from", "config_to", "fitted", "winner", "winners"]

FILE = "data/tuned.json"

Config = Any
"""A configuration of a kernel's own kind."""


@dataclass(frozen=True)
class Winner:
    """What a search found.

    Attributes
    ----------
    config : mapping
        As JSON has it; :func:`config_from` makes it one of the kernel's kind.
    microseconds : float
        Predicted for the bucket's own scenario.
    tried, skipped : int
        Configurations, and those of them that cannot run.
    seconds : float
        What the host took to compile and to predict all of them.
    """

    config: Mapping[str, Any]
    microseconds: float
    tried: int
    skipped: int
    seconds: float


@cache
def winners() -> Mapping[tuple[str, Bucket], Winner]:
    """All winners by the kernel's name and the bucket."""
    text = files("spyrelab.attention").joinpath(FILE).read_text(encoding="utf-8")
    found = json.loads(text)["winners"]
    return {
        (name, Bucket(bucket)): Winner(**item)
        for name, by_bucket in found.items()
        for bucket, item in by_bucket.items()
    }


def winner(name: str, bucket: Bucket) -> Winner:
    """The winner for a kernel and a bucket.

    Raises
    ------
    AttentionError
        Nothing was tuned there.
    """
    found = winners().get((name, bucket))
    if found is None:
        raise AttentionError(
            f"{name} was not tuned for {bucket}: python -m spyrelab.attention.tune --kernel {name}"
            f" --bucket {bucket}"
        )
    return found


def config_from(name: str, found: Mapping[str, Any]) -> Config:
    """A configuration of the kind that the kernel ``name`` takes."""
    if name == "triton-pointer":
        return PointerConfig(**found)
    if name == "triton-segmented":
        return SegmentedConfig(**found)
    if name == "triton-spyre":
        return SpyreConfigs(SpyreConfig(**found["decode"]), SpyreConfig(**found["prefill"]))
    return dict(found)


def config_to(config: Config) -> dict[str, Any]:
    """The same as JSON has it."""
    return dict(config) if isinstance(config, Mapping) else asdict(config)


def fitted(name: str, bucket: Bucket, batch: PagedBatch) -> Config:
    """The winner of a bucket for another batch of its kind.

    A tile keeps its number of tokens where pages are larger or smaller, and a block of queries
    is no longer than the longest query.
    """
    config = config_from(name, winner(name, bucket).config)
    tuned_page = BUCKETS[bucket].page
    if isinstance(config, SpyreConfigs):
        parts = [_fit_pages(part, tuned_page, batch.page) for part in _parts(config)]
        return SpyreConfigs(*parts)
    if isinstance(config, Mapping):
        queries, pages, *others = config["block_sizes"]
        queries = min(queries, helion_bucket(batch))
        pages = max(1, pages * tuned_page // batch.page)
        return {**config, "block_sizes": [queries, pages, *others]}
    return config


def _parts(config: SpyreConfigs) -> tuple[SpyreConfig, SpyreConfig]:
    return config.decode, config.prefill


def _fit_pages(config: SpyreConfig, tuned_page: int, page: int) -> SpyreConfig:
    """The same tokens a step: fewer pages a tile first, then fewer tiles."""
    pages, tiles = config.pages * tuned_page, config.tiles
    while pages % page and tiles > 1:
        pages, tiles = pages * 2, tiles // 2
    return replace(config, pages=max(1, pages // page), tiles=tiles)
