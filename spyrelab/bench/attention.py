"""Paged attention in Triton and Helion: predicted time on the card of kernels that are right.

A kernel is first run on the emulator and compared with plain torch, in the configuration that is
then timed: on the case's own batch, or where that has too much work, on a small one of its kind.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from spyrelab.attention.bound import bound_seconds, distinct_bytes
from spyrelab.attention.effort import key_visits
from spyrelab.attention.heuristics import (
    helion_config,
    helion_segments,
    pointer_config,
    segmented_config,
    spyre_configs,
)
from spyrelab.attention.implementations import IMPLEMENTATIONS as KERNELS
from spyrelab.attention.implementations import implementation
from spyrelab.attention.reference import paged_attention
from spyrelab.attention.scenarios import RAGGED, UNIFORM, Scenario, bucket_of
from spyrelab.attention.tuned import config_to, fitted, winner
from spyrelab.bench.implementations import Implementation, Prediction, Ready, Workload
from spyrelab.errors import UsageError
from spyrelab.kernels import Kernel
from spyrelab.kernels.arrays import Array
from spyrelab.ktir import Module
from spyrelab.timing.result import UNITS

if TYPE_CHECKING:
    from spyrelab.attention.batch import PagedBatch
    from spyrelab.triton import Dry

__all__ = ["ATTENTION", "PAGED_ATTENTION", "TUNED", "checked_on", "scenario_of"]


def _no_single_program(**parameters: Any) -> Module:
    raise UsageError("this bench case is about no single program of the card")


def _no_arguments(**parameters: Any) -> dict[str, Array]:
    raise UsageError("this bench case takes no arrays")


def _no_meaning(**parameters: Any) -> Array:
    raise UsageError("this bench case is checked by its implementations")


PAGED_ATTENTION = Kernel("paged_attention", _no_single_program, _no_meaning, _no_arguments)

TUNED = "-tuned"
"""End of the names of implementations whose configuration a search has found."""

MOST_CHECKED = 8_000_000
"""Pairs of a query and a key, over all heads, of the largest batch that is checked itself."""

PATTERNS = {"uniform": UNIFORM, "ragged": RAGGED}

SMALL = {
    "decode": ((1, 1, 1), (290, 17, 129)),
    "prefill": ((40, 7, 70), (40, 7, 70)),
    "mixed": ((1, 40, 1, 70), (290, 70, 33, 70)),
}
"""New tokens and contexts that stand in for a batch: blocks and last pages are filled in part."""


def scenario_of(parameters: Mapping[str, Any]) -> Scenario:
    """The batch that a case is about."""
    sizes = {key: parameters[key] for key in ("batch", "max_len", "decode_share", "page")}
    return Scenario.of(**sizes, pattern=PATTERNS[parameters["pattern"]])


def checked_on(scenario: Scenario, kind: str) -> Scenario:
    """The batch on which a kernel is run and compared before it is timed on a scenario."""
    if key_visits(scenario) <= MOST_CHECKED:
        return scenario
    queries, contexts = SMALL[kind]
    return Scenario(query_lens=queries, kv_lens=contexts, page=scenario.page)


@lru_cache(maxsize=2)
def _on_card(scenario: Scenario) -> PagedBatch:
    return scenario.build("spyre")


@lru_cache(maxsize=2)
def _expected(scenario: Scenario) -> Array:
    return paged_attention(scenario.build()).numpy()


def _hand_tuned(name: str, batch: PagedBatch) -> Any:
    """The heuristic's configuration, spelled out."""
    made = {
        "triton-pointer": pointer_config,
        "triton-segmented": segmented_config,
        "triton-spyre": spyre_configs,
    }
    if name in made:
        return made[name](batch)
    return helion_config(batch, combine=name == "helion-split")


def _attending(name: str, tuned: bool) -> Implementation:
    @contextmanager
    def ready(workload: Workload) -> Iterator[Ready]:
        import spyrelab.triton

        spyrelab.triton.install()
        attend = implementation(name).load()
        scenario = scenario_of(workload.case.parameters)
        small = checked_on(scenario, workload.case.parameters["class"])
        batch = _on_card(scenario)
        config = fitted(name, bucket_of(scenario), batch) if tuned else _hand_tuned(name, batch)
        result = attend(_on_card(small), config=config).cpu().float().numpy()
        with spyrelab.triton.dry() as asked:
            attend(batch, config=config)
        extra = {
            **_about(name, scenario, config, tuned),
            **_against_bound(batch, asked.seconds),
            "checked": "this batch" if small == scenario else f"reduced: {small.kv_lens} tokens",
        }
        if name == "helion-split":
            extra["segments"] = helion_segments(batch)
        prediction = _predicted(asked, extra)
        yield Ready(lambda: None, lambda: result, _expected(small), prediction, timed=False)

    return ready


def _about(name: str, scenario: Scenario, config: Any, tuned: bool) -> dict[str, Any]:
    kernel = implementation(name)
    about = {
        "language": kernel.language,
        "tuned": tuned,
        "source_lines": kernel.source_lines(),
        "config": config_to(config),
    }
    if tuned:
        bucket = bucket_of(scenario)
        found = winner(name, bucket)
        about |= {"bucket": str(bucket), "tried": found.tried, "skipped": found.skipped}
        about |= {"tuning_s": found.seconds}
    return about


def _against_bound(batch: PagedBatch, seconds: float) -> dict[str, Any]:
    bound = bound_seconds(batch)
    return {
        "bound_us": round(bound * 1e6, 6),
        "bound_share": round(bound / seconds, 6),
        "distinct_bytes": distinct_bytes(batch),
    }


def _predicted(asked: Dry, extra: Mapping[str, Any]) -> Prediction:
    launches = asked.launches
    estimates = [launch.estimate for launch in launches]
    spent = math.fsum(float(made.seconds) for made in estimates)
    moved = (made.counts.get(n) for made in estimates for n in ("ddr_read", "ddr_write"))
    busy = {unit: math.fsum(made.busy_seconds(unit) for made in estimates) for unit in UNITS}
    busiest = max(busy, key=lambda unit: busy[unit])
    longest = max(launches, key=lambda launch: launch.estimate.seconds)
    return Prediction(
        round(asked.seconds * 1e6, 6),
        cycles=sum(made.cycles for made in estimates),
        utilization=round(busy[busiest] / spent, 6),
        ddr_bytes=sum(int(counts.sum()) for counts in moved if counts is not None),
        lx_peak=max(launch.lx_peak for launch in launches),
        extra={
            **extra,
            "busiest": busiest,
            "bottleneck": longest.estimate.bottleneck,
            "port_bytes": round(math.fsum(made.port_bytes for made in estimates)),
            "launches": [[one.name, round(one.estimate.seconds * 1e6, 6)] for one in launches],
        },
    )


ATTENTION: dict[str, Implementation] = {
    f"{kernel.name}{TUNED if tuned else ''}": _attending(kernel.name, tuned)
    for kernel in KERNELS
    for tuned in (False, True)
}
"""Implementations by name: every kernel hand-tuned, and as its search has left it."""
