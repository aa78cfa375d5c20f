"""Kernels are compiled afresh in every run; without Helion there is nothing to test."""

from __future__ import annotations

import importlib.util

import pytest

PRESENT = importlib.util.find_spec("helion") is not None

if not PRESENT:  # test_presence.py says so
    collect_ignore_glob = ["test_[!p]*.py"]


@pytest.fixture(scope="session", autouse=True)
def fresh_caches(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        for name in ("TRITON_CACHE_DIR", "HELION_CACHE_DIR", "TORCHINDUCTOR_CACHE_DIR"):
            patch.setenv(name, str(tmp_path_factory.mktemp(name.lower())))
        patch.setenv("HELION_PRINT_OUTPUT_CODE", "0")
        yield


@pytest.fixture(autouse=True)
def card():
    if not PRESENT:
        yield
        return
    from triton.runtime.driver import driver

    import spyrelab.triton

    before = driver._active
    spyrelab.triton.install()
    yield
    driver.set_active(before)
