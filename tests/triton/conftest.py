"""Kernels are compiled afresh in every run, and Triton's device is the card."""

from __future__ import annotations

import importlib.util

import pytest

if importlib.util.find_spec("triton") is None:  # test_presence.py says so
    collect_ignore_glob = ["test_[!p]*.py"]


@pytest.fixture(scope="session", autouse=True)
def fresh_cache(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TRITON_CACHE_DIR", str(tmp_path_factory.mktemp("triton_cache")))
        yield


@pytest.fixture(autouse=True)
def card():
    if importlib.util.find_spec("triton") is None:
        yield
        return
    from triton.runtime.driver import driver

    import spyrelab.triton

    before = driver._active
    spyrelab.triton.install()
    yield
    driver.set_active(before)
