"""Graded tests of chapter 7: what a search has found."""

from __future__ import annotations

from functools import partial
from math import inf
from typing import Any

import numpy as np

from spyrelab.grade import WrongError, expect_close, expect_equal, task

decisive = partial(task, "ch07.8", "decisive")

Trials = list[tuple[dict[str, Any], float]]


def search(rng: Any, count: int, broken: bool) -> Trials:
    """Trials of three settings whose factors are known."""
    factors: dict[str, dict[Any, float]] = {
        "block_sizes": {(32, 4): 1.0, (32, 1): 2.5, (8, 4): 1.5},
        "indexing": {"tensor_descriptor": 1.0, "pointer": 1.2},
        "num_stages": {3: 1.0, 1: 1.75, 2: 1.3},
    }
    made: Trials = []
    for _ in range(count):
        config = {k: list(v)[int(rng.integers(0, len(v)))] for k, v in factors.items()}
        time = 40.0
        for name, value in config.items():
            time *= factors[name][value] * (1 + 0.01 * float(rng.random()))
        kept = {k: list(v) if isinstance(v, tuple) else v for k, v in config.items()}
        made.append((kept, inf if broken and rng.random() < 0.3 else round(time, 4)))
    return made


def expect_decisive(impl: Any, trials: Trials) -> None:
    found = impl.decisive([(dict(config), time) for config, time in trials])
    best = min(time for _, time in trials)
    winner = next(config for config, time in trials if time == best)
    wanted: dict[str, float] = {}
    for name in winner:
        rest = {k: v for k, v in winner.items() if k != name}
        times = [
            time
            for config, time in trials
            if config[name] != winner[name]
            and {k: v for k, v in config.items() if k != name} == rest
            and time < inf
        ]
        if times:
            wanted[name] = min(times) / best
    if not isinstance(found, dict):
        raise WrongError(f"expected a dict, got a {type(found).__name__}")
    expect_equal(sorted(found), sorted(wanted), f"settings, for {len(trials)} trials")
    for name, ratio in wanted.items():
        expect_close(
            np.array([found[name]], float), np.array([ratio]), rtol=1e-9, what=f"result[{name!r}]"
        )


@decisive(
    hints=[
        "Who differs from the winner in one setting only? Whoever differs in two says nothing "
        "about either.",
        "winner, best = min(trials, key=lambda trial: trial[1]); for every trial, list the names "
        "where config[name] != winner[name], and take it if there is exactly one.",
    ]
)
def test_neighbours_of_the_winner(impl: Any, rng: Any) -> None:
    """Searches that try nearly everything."""
    base = {"a": 1, "b": [2, 2], "c": "x"}
    expect_decisive(impl, [({**base, "a": 2}, 3.0), (base, 2.0), ({**base, "a": 3, "b": [1]}, 9.0)])
    expect_decisive(impl, search(rng, 80, broken=False))


@decisive(
    hints=[
        "Some trials could not run, and a setting may have several other values.",
        "Leave out infinite times, and keep the least ratio of each setting.",
    ]
)
def test_trials_that_do_not_run(impl: Any, rng: Any) -> None:
    """Searches with configurations that do not fit, and few of which are neighbours."""
    base = {"a": 1, "b": 2}
    expect_decisive(impl, [(base, 2.0), ({**base, "a": 2}, inf), ({**base, "b": 1}, 3.0)])
    for count in (12, 60):
        expect_decisive(impl, [*search(rng, count, broken=True), (base_of(), 41.0)])


def base_of() -> dict[str, Any]:
    return {"block_sizes": [32, 4], "indexing": "tensor_descriptor", "num_stages": 3}
