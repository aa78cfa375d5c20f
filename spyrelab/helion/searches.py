"""Helion's own searches on the card: on predicted time, with a fixed seed, the same each time."""

from __future__ import annotations

import copy
import functools
from collections.abc import Callable, Sequence
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

from helion.autotuner import FiniteSearch, base_search, local_cache
from helion.runtime import settings as helion_settings

from spyrelab.helion.backend import predict_all
from spyrelab.helion.devices import card_name, is_card
from spyrelab.helion.provider import PredictedProvider
from spyrelab.helion.search_space import without_choice

__all__ = ["SEED", "ListedSearch", "patch_searches"]

SEED = 0


class ListedSearch(FiniteSearch):  # type: ignore[misc]  # Helion's classes are untyped here
    """Tries given configurations, be it only one."""

    def __init__(self, kernel: Any, args: Any, configs: Sequence[Any]) -> None:
        base_search.BaseSearch.__init__(self, kernel, args)
        self.config_gen = self.config_spec.create_config_generation(
            overrides=kernel.settings.autotune_config_overrides or None
        )
        self.configs = list(configs)


def patch_searches() -> None:
    """Give searches for the card our benchmark; those for other devices stay as they are."""
    _after(base_search.BaseSearch, _predict)
    _after(base_search.PopulationBasedSearch, _select_once)
    _wrap_settings()
    _wrap_cache()


def _after(kind: Any, change: Callable[[Any], None]) -> None:
    """Do something to every new search of a kind whose kernel runs on the card."""
    plain = kind.__init__
    if hasattr(plain, "_spyrelab"):
        return

    @functools.wraps(plain)
    def made(self: Any, kernel: Any, *args: Any, **kwargs: Any) -> None:
        plain(self, kernel, *args, **kwargs)
        if is_card(kernel.env.device):
            change(self)

    made._spyrelab = True  # type: ignore[attr-defined]
    kind.__init__ = made


def _predict(search: Any) -> None:
    search._benchmark_provider_cls = PredictedProvider
    # The kernel keeps its own settings: it may be tuned for another device as well.
    search.settings = copy.copy(search.settings)
    search.settings.autotune_benchmark_fn = predict_all
    search.settings.autotune_precompile = None
    fixed = without_choice(search.config_spec, search.settings.autotune_config_overrides or {})
    search.settings.autotune_config_overrides = fixed


def _select_once(search: Any) -> None:
    # Predictions have no noise, so nothing is measured again.
    search.final_selection = None
    search.rebenchmark = lambda members, **settings: None


def _wrap_settings() -> None:
    kind: Any = helion_settings.Settings
    plain = kind.__init__
    if hasattr(plain, "_spyrelab"):
        return

    @functools.wraps(plain)
    def made(self: Any, **given: Any) -> None:
        import os

        asked = "autotune_random_seed" in given or "HELION_AUTOTUNE_RANDOM_SEED" in os.environ
        plain(self, **given)
        if not asked and is_card():
            self.autotune_random_seed = SEED

    made._spyrelab = True  # type: ignore[attr-defined]
    kind.__init__ = made


def _wrap_cache() -> None:
    kind: Any = local_cache.LocalAutotuneCache
    plain = kind._generate_key
    if hasattr(plain, "_spyrelab"):
        return

    @functools.wraps(plain)
    def generate(self: Any) -> Any:
        if not is_card(self.kernel.env.device):
            return plain(self)
        with _nameless_device():
            return plain(self)

    generate._spyrelab = True  # type: ignore[attr-defined]
    kind._generate_key = generate


@contextmanager
def _nameless_device() -> Any:
    """Keys of tuned configurations know a few kinds of devices by name, and one without.

    Such a device may lack a driver's version, so the card passes as one; its own name, which
    changes with every number of the machine, is part of the key.
    """
    stand_in = SimpleNamespace(type="mtia", index=0)
    with (
        patch.object(local_cache, "extract_device", lambda *args: stand_in),
        patch.object(local_cache, "get_device_name", lambda *args: card_name()),
    ):
        yield
