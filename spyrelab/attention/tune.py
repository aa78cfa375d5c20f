"""``python -m spyrelab.attention.tune``: search configurations for the buckets, by predicted time.

Trials go to a directory as they come, one file per kernel and bucket; the same command goes on
after an interruption.  The winners go to ``data/tuned.json`` of this package, or to another file.
Trials of older code or of another card are refused: ``--fresh`` does away with them.
Nothing depends on chance or on the speed of the host but the seconds that are noted.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

import spyrelab.helion
import spyrelab.triton
from spyrelab.attention.batch import PagedBatch
from spyrelab.attention.effort import tile_visits
from spyrelab.attention.heuristics import (
    PointerConfig,
    SegmentedConfig,
    SpyreConfig,
    SpyreConfigs,
    helion_config,
    pointer_candidates,
    segmented_candidates,
    spyre_candidates,
    spyre_configs,
)
from spyrelab.attention.implementations import IMPLEMENTATIONS, Implementation, implementation
from spyrelab.attention.scenarios import BUCKETS, Bucket
from spyrelab.attention.tuned import FILE, config_to
from spyrelab.helion.history import Trial, key_of

__all__ = ["HISTORY", "Search", "candidates", "history_of", "main", "takes", "tune_bucket"]

HISTORY = Path(__file__).parent / "data" / "tuning"
"""Where the trials are that the winners came from."""

MOST_VISITS = 20_000
"""Tiles that a GPU-style candidate may visit: whoever visits more is slow, and to predict too."""

LEAST_CANDIDATES = 8
"""Where all visit more than that, so many that visit least are tried."""

SPLITTING = ("triton-segmented", "helion-split")
"""Kernels that cut contexts, which only batches of decodes need."""


def takes(name: str, bucket: Bucket) -> bool:
    """Whether a kernel is meant for the batches of a bucket."""
    return name not in SPLITTING or bucket in (Bucket.DECODE_SHORT, Bucket.DECODE_LONG)


def candidates(name: str, batch: PagedBatch) -> Iterator[Any]:
    """Every configuration that is tried for a Triton kernel, in order."""
    if name == "triton-spyre":
        yield from _spyre_grid(batch)
        return
    found: list[PointerConfig | SegmentedConfig] = (
        [*pointer_candidates(batch)] if name == "triton-pointer" else [*segmented_candidates(batch)]
    )
    few = [config for config in found if tile_visits(batch, config) <= MOST_VISITS]
    if len(few) < LEAST_CANDIDATES:
        few = sorted(found, key=lambda config: tile_visits(batch, config))[:LEAST_CANDIDATES]
    yield from few


def _spyre_grid(batch: PagedBatch) -> Iterator[SpyreConfigs]:
    """Each part over its whole grid, the other as the heuristic has it: they share no launch."""
    start = spyre_configs(batch)
    lens = [n for n in batch.host_query_lens if n]
    kinds = (any(n == 1 for n in lens), any(n > 1 for n in lens))
    yield start
    if kinds[0]:
        for part in spyre_candidates(batch, decode=True):
            yield SpyreConfigs(part, start.prefill)
    if kinds[1]:
        for part in spyre_candidates(batch, decode=False):
            yield SpyreConfigs(start.decode, part)


class Search:
    """The search of a kernel for one bucket.

    Parameters
    ----------
    budget : int
        Most configurations for a Helion kernel; a Triton kernel's grid is tried whole.
    history : Path
        File of trials.
    """

    def __init__(self, kernel: Implementation, bucket: Bucket, budget: int, history: Path) -> None:
        self.kernel, self.bucket, self.budget = kernel, bucket, budget
        self.history = history

    def run(self) -> dict[str, Any]:
        """The winner, as `data/tuned.json` has it."""
        batch = BUCKETS[self.bucket].build("spyre")
        found = self._helion(batch) if self.kernel.language == "helion" else self._triton(batch)
        trials = [*{key_of(trial.config): trial for trial in found}.values()]
        ran = [trial for trial in trials if math.isfinite(trial.milliseconds)]
        best = min(ran, key=lambda trial: trial.milliseconds)
        return {
            "config": best.config,
            "microseconds": round(best.milliseconds * 1e3, 6),
            "tried": len(trials),
            "skipped": len(trials) - len(ran),
            "seconds": round(sum(trial.seconds for trial in trials), 1),
        }

    def _helion(self, batch: PagedBatch) -> Sequence[Trial]:
        module: Any = import_module(f"spyrelab.attention.{self.kernel.module}")
        kernel = getattr(module, self.kernel.name.removeprefix("helion-") + "_kernel")
        given = module.arguments(batch, batch.empty_output())
        made = spyrelab.helion.tune(kernel, given, budget=self.budget, history=self.history)
        # A search does not start where a kernel's author would.
        by_hand = helion_config(batch, combine=self.kernel.name == "helion-split")
        more = spyrelab.helion.tune(kernel, given, configs=[by_hand], history=self.history)
        return *made.trials, *more.trials

    def _triton(self, batch: PagedBatch) -> Sequence[Trial]:
        from spyrelab.helion.devices import card_name
        from spyrelab.helion.log import Log

        attend, out = self.kernel.load(), batch.empty_output()
        log = Log(self.history, f"{self.kernel.name} {self.bucket} {card_name()}")

        def tried(config: Any) -> Trial:
            found = config_to(config)
            if key_of(found) not in log.known:
                start = time.perf_counter()
                spent, reason = _predicted(partial(attend, batch, out, config))
                log.add(Trial(found, spent, reason, round(time.perf_counter() - start, 3)))
            return log.known[key_of(found)]

        trials = [tried(config) for config in candidates(self.kernel.name, batch)]
        if self.kernel.name == "triton-spyre":
            trials.append(tried(_joined(trials, spyre_configs(batch))))
        return trials


def _predicted(call: Callable[[], object]) -> tuple[float, str]:
    from triton.runtime.autotuner import OutOfResources

    from spyrelab.helion.provider import reason_of

    try:
        with spyrelab.triton.dry() as asked:
            call()
    except OutOfResources as error:
        return math.inf, reason_of(error)
    return asked.milliseconds, ""


def _joined(trials: Sequence[Trial], start: SpyreConfigs) -> SpyreConfigs:
    """The best of each part: they were tried one at a time, and run in launches of their own."""
    known = config_to(start)
    joined = {}
    for part, other in (("decode", "prefill"), ("prefill", "decode")):
        alone = [trial for trial in trials if trial.config[other] == known[other]]
        joined[part] = min(alone, key=lambda trial: trial.milliseconds).config[part]
    return SpyreConfigs(**{part: SpyreConfig(**found) for part, found in joined.items()})


def tune_bucket(name: str, bucket: Bucket, budget: int, directory: Path) -> dict[str, Any]:
    """Search for one kernel and bucket; trials are kept in ``directory``."""
    history = history_of(name, bucket, directory)
    return Search(implementation(name), bucket, budget, history).run()


def history_of(name: str, bucket: Bucket, directory: Path = HISTORY) -> Path:
    """The file of the trials for a kernel and a bucket; ``spyrelab.helion.log.read`` reads it."""
    return directory / f"{name}-{bucket}.jsonl"


def main(arguments: Sequence[str] | None = None) -> int:
    """The command."""
    args = _parser().parse_args(arguments)
    spyrelab.triton.install()
    target, directory = Path(args.output), Path(args.history)
    for kernel in args.kernel or [i.name for i in IMPLEMENTATIONS]:
        for bucket in args.bucket or list(Bucket):
            if takes(kernel, bucket):
                if args.fresh:
                    history_of(kernel, bucket, directory).unlink(missing_ok=True)
                found = tune_bucket(kernel, bucket, args.budget, directory)
                _merge(target, kernel, bucket, found)
                sys.stderr.write(f"{kernel} {bucket}: {found['microseconds']:,.1f} us\n")
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m spyrelab.attention.tune")
    names = [i.name for i in IMPLEMENTATIONS]
    parser.add_argument("--kernel", action="append", choices=names, help="default: all")
    parser.add_argument("--bucket", action="append", choices=list(Bucket), type=Bucket)
    parser.add_argument("--budget", type=int, default=40, help="of a Helion search")
    parser.add_argument("--history", default=str(HISTORY), help="directory of trials")
    parser.add_argument("--fresh", action="store_true", help="try everything anew")
    parser.add_argument("-o", "--output", default=str(Path(__file__).parent / FILE))
    return parser


def _merge(target: Path, kernel: str, bucket: str, found: dict[str, Any]) -> None:
    document: dict[str, Any] = {"winners": {}}
    if target.exists():
        document = json.loads(target.read_text(encoding="utf-8"))
    document["winners"].setdefault(kernel, {})[str(bucket)] = found
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(json.dumps(document, indent=1, sort_keys=True) + "\n", encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
