"""Every test compiles from nothing, without a C++ compiler."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import torch


@pytest.fixture(autouse=True)
def fresh(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("CXX", "/bin/false")
    torch._dynamo.reset()
    torch.manual_seed(0)
    from spyrelab.inductor import config

    with (
        config.patch(planner="none"),
        torch._inductor.config.patch(force_disable_caches=True, **{"cpp.cxx": ("/bin/false",)}),
    ):
        yield
    torch._dynamo.reset()
