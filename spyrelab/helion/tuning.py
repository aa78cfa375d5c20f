"""Tuning a Helion kernel on predicted time."""

from __future__ import annotations

import os
import random
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from spyrelab.helion.errors import TuningError
from spyrelab.helion.history import Trial, Tuning
from spyrelab.helion.installation import install
from spyrelab.helion.log import Log
from spyrelab.helion.search_space import without_choice
from spyrelab.helion.subjects import subject_of
from spyrelab.ktir.errors import did_you_mean

__all__ = ["tune"]

_EFFORT = "full"
"""Whose population sizes Helion's searches take; the budget ends them."""

_LEAST_POPULATION = 10


def tune(
    kernel: Any,
    args: Sequence[Any],
    *,
    budget: int = 100,
    search: str = "LFBOTreeSearch",
    configs: Sequence[Any] | None = None,
    seed: int = 0,
    history: str | os.PathLike[str] | None = None,
    progress: bool | None = None,
) -> Tuning:
    """Find the configuration of a kernel that takes the card least time.

    Nothing is run: each configuration is compiled, and its launches are predicted. The same
    arguments and seed give the same answer. The kernel keeps the winner for arguments like these.

    Parameters
    ----------
    kernel : helion.Kernel
    args
        What it is called with; tensors on the card.
    budget : int
        Most configurations to try.
    search : str
        One of Helion's: LFBOTreeSearch, PatternSearch, RandomSearch, ...
    configs
        Try these and no others; ``search`` does not matter then.
    seed : int
    history : path, optional
        A file that trials are written to as they come. The same call goes on from it after an
        interruption, and comes to the same answer.
    progress : bool, optional
        Show a bar; default on a terminal or in a notebook.

    Raises
    ------
    TuningError
        No configuration can run, or what is asked for makes no sense.
    """
    install()
    given = tuple(args)
    if isinstance(budget, bool) or not isinstance(budget, int) or budget < 1:
        raise TuningError(f"budget={budget!r}: a number of configurations, at least one")
    if not isinstance(seed, int):
        raise TuningError(f"seed={seed!r}: a whole number")
    known = None if configs is None else _configs(configs)[:budget]
    kind = None if known is not None else _kind(search)
    bound = _bound(kernel, given)
    log = Log(history, subject_of(kernel, given))
    with _settled(bound, seed):
        try:
            chosen = _search(bound, given, kind, known, budget)
        except Exception as error:
            raise TuningError(f"{search} cannot search for {kernel.name}: {error}") from error
        return _run(chosen, bound, log, budget, progress)


def _configs(given: Sequence[Any]) -> list[Any]:
    from helion import Config

    try:
        found = [c if isinstance(c, Config) else Config(**c) for c in given]
    except TypeError as error:
        raise TuningError(f"configs: each is a helion.Config or a dict: {error}") from error
    if not found:
        raise TuningError("configs is empty: there is nothing to try")
    return found


def _kind(name: str) -> Any:
    from helion.autotuner import search_algorithms

    # The others ask a language model over the network, or take a list.
    known = [n for n in search_algorithms if not n.startswith("LLM") and n != "FiniteSearch"]
    if name not in known:
        raise TuningError(
            f"search={name!r} is none that runs here;"
            f" {did_you_mean(str(name), known) or 'there are ' + ', '.join(known)}"
        )
    return search_algorithms[name]


def _bound(kernel: Any, args: tuple[Any, ...]) -> Any:
    from helion import Kernel

    if not isinstance(kernel, Kernel):
        raise TuningError(f"{kernel!r} is no Helion kernel: decorate it with @helion.kernel()")
    from torch import Tensor

    for place, arg in enumerate(args):
        if isinstance(arg, Tensor) and arg.device.type != "spyre":
            raise TuningError(
                f"argument {place} of {kernel.name} is on {str(arg.device)!r}; move it to 'spyre'"
            )
    try:
        bound = kernel.bind(args)
    except Exception as error:
        raise TuningError(f"{kernel.name} does not take these arguments: {error}") from error
    if bound.env.device.type != "spyre":
        raise TuningError(f"{kernel.name} runs on {bound.env.device}, not on the card")
    return bound


def _search(
    bound: Any, args: tuple[Any, ...], kind: Any, known: list[Any] | None, budget: int
) -> Any:
    import inspect

    from helion.autotuner.effort_profile import get_effort_profile

    if known is not None:
        from spyrelab.helion.searches import ListedSearch

        return ListedSearch(bound, args, known)
    given = kind.get_kwargs_from_profile(get_effort_profile(_EFFORT), bound.settings)
    taken = inspect.signature(kind.__init__).parameters
    given = {key: value for key, value in given.items() if key in taken}
    if "count" in taken:
        given["count"] = budget
    for first in {"initial_population", "population_size"} & given.keys():
        # Chance finds less than search: two thirds of the budget are left to that.
        given[first] = min(given[first], max(budget // 3, _LEAST_POPULATION))
    return kind(bound, args, **given)


@contextmanager
def _settled(bound: Any, seed: int) -> Iterator[None]:
    """Settings of a run: all chance from one seed, and neither talk nor a clock."""
    settings = bound.settings
    wanted = {
        "autotune_random_seed": seed,
        "autotune_progress_bar": False,
        "autotune_log_level": 0,
        "autotune_budget_seconds": None,
        "autotune_config_overrides": without_choice(
            bound.config_spec, settings.autotune_config_overrides or {}
        ),
    }
    before = {name: getattr(settings, name) for name in wanted}
    state = random.getstate()
    for name, value in wanted.items():
        setattr(settings, name, value)
    try:
        yield
    finally:
        random.setstate(state)
        for name, value in before.items():
            setattr(settings, name, value)


def _run(search: Any, bound: Any, log: Log, budget: int, progress: bool | None) -> Tuning:
    from helion import Config
    from helion.exc import NoConfigFound

    from spyrelab.helion.provider import BudgetSpentError

    name = bound.kernel.name
    asked: list[Trial] = []
    plain = search._benchmark_provider_cls
    count = min(budget, len(getattr(search, "configs", range(budget))))
    with _bar(name, count, progress) as advance:

        def watch(trial: Trial) -> None:
            asked.append(trial)
            advance(trial)

        def provider(**given: Any) -> Any:
            made = plain(**given)
            made.log, made.budget, made.watch = log, budget, watch
            return made

        search._benchmark_provider_cls = provider
        try:
            search.autotune(skip_cache=True)
        except BudgetSpentError:
            pass
        except KeyboardInterrupt as error:
            if log.path is not None:
                error.add_note(f"{len(log.known)} trials are kept in {log.path}; call tune again")
            raise
        except (AssertionError, NoConfigFound) as error:
            # What Helion raises where nothing can run; Tuning.of says so.
            if any(not trial.is_skipped for trial in asked) or not asked:
                raise TuningError(f"the search for {name} broke off: {error!r}") from error
        except Exception as error:
            raise TuningError(f"the search for {name} broke off: {error!r}") from error
    found = Tuning.of(name, tuple(asked))
    bound.set_config(Config(**found.config))
    return found


@contextmanager
def _bar(name: str, count: int, wanted: bool | None) -> Iterator[Callable[[Trial], None]]:
    """A progress bar on stderr; what it is told moves it."""
    console = Console(stderr=True)
    shown = (sys.stderr.isatty() or console.is_jupyter) if wanted is None else wanted
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
    )
    best = float("inf")
    with Progress(*columns, console=console, disable=not shown) as bar:
        task = bar.add_task(f"tuning {name}", total=count)

        def watch(trial: Trial) -> None:
            nonlocal best
            best = min(best, trial.milliseconds)
            bar.update(task, advance=1, description=f"tuning {name}: best {best * 1e3:,.1f} us")

        yield watch
