"""What every test of the device shares: it is registered, counted from zero, and may fall back."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator

import pytest
import torch


@pytest.fixture(autouse=True)
def fresh_ledger() -> Iterator[None]:
    torch.spyre.reset_op_counts()
    with torch.spyre.fallback("count"):
        yield


@pytest.fixture(scope="session")
def run_python() -> Callable[[str], str]:
    """Run a program in a process of its own, and return what it prints."""

    def run(code: str, *, code_expected: int = 0) -> str:
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
        assert done.returncode == code_expected, done.stderr
        assert "Traceback" not in done.stderr or code_expected, done.stderr
        return done.stdout

    return run
