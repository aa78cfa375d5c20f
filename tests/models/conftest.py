"""What every test of models shares: which families run, and a ledger that starts at zero.

CI runs four families. SPYRELAB_MODELS=all runs all of them, SPYRELAB_MODELS=gpt2,resnet some.
"""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest
import torch

from spyrelab.models import FAMILIES

ASKED = os.environ.get("SPYRELAB_MODELS", "llama,bert,vit,mixtral")
CHOSEN = list(FAMILIES) if ASKED == "all" else ASKED.split(",")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "family" in metafunc.fixturenames:
        metafunc.parametrize("family", CHOSEN)


@pytest.fixture(autouse=True)
def fresh_ledger() -> Iterator[None]:
    torch.spyre.reset_op_counts()
    with torch.spyre.fallback("count"):
        yield
