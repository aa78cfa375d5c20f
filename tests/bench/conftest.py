"""A chapter of tiny cases, with implementations that are right, wrong, broken or interrupted."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from spyrelab.bench import registry, session
from spyrelab.bench.case import Case, Chapter
from spyrelab.bench.chapters.ch01 import CHAPTER
from spyrelab.bench.implementations import IMPLEMENTATIONS, Ready, Workload
from spyrelab.emulator import Counters
from spyrelab.errors import SpyreLabError

ADD = next(case for case in CHAPTER.cases if case.name == "vector_add-4096")


def tiny_case(n: int, **options: Any) -> Case:
    return replace(ADD, shape=str(n), parameters={"n": n, "cores": 2}, **options)


@contextmanager
def specification(workload: Workload) -> Iterator[Ready]:
    """What the kernel has to give, with made-up counters."""
    counters = Counters.zeros(2)
    counters.ddr_read[:] = 100
    counters.lx_peak[:] = 128, 256
    yield Ready(lambda: counters, lambda: workload.expected)


@contextmanager
def wrong(workload: Workload) -> Iterator[Ready]:
    """One element is off."""
    result = workload.expected.copy()
    result[-1] += 0.1
    yield Ready(lambda: None, lambda: result)


@contextmanager
def broken(workload: Workload) -> Iterator[Ready]:
    raise SpyreLabError("no such kernel")
    yield


@contextmanager
def interrupted(workload: Workload) -> Iterator[Ready]:
    """The user presses Ctrl-C in the second case."""

    def call() -> None:
        if workload.case.shape == "130":
            raise KeyboardInterrupt

    yield Ready(call, lambda: workload.expected)


@pytest.fixture
def tiny(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Chapter]:
    """Make the harness know one chapter, ``ch01``, of cases ``vector_add-70`` and ``-130``."""
    extra = {"vm": specification, "wrong": wrong, "broken": broken, "interrupted": interrupted}

    def install(*implementations: str, **options: Any) -> Chapter:
        cases = (tiny_case(70, **options), tiny_case(130))
        chapter = Chapter("ch01", "tiny", cases, implementations or ("torch", "vm", "reference"))
        for name in implementations or ("vm",):
            if name in extra:
                monkeypatch.setitem(IMPLEMENTATIONS, name, extra[name])
        monkeypatch.setattr(registry, "all_chapters", lambda: {"ch01": chapter})
        monkeypatch.setattr(session, "_warm_up", lambda jobs: None)
        return chapter

    return install


@pytest.fixture
def close() -> Callable[[Any, Any], bool]:
    return lambda a, b: bool(np.allclose(a, b))
