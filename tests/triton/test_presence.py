"""Whether the other tests here run, and what happens without Triton."""

from __future__ import annotations

import subprocess
import sys

import pytest

_WITHOUT = (
    "import sys\n"
    "sys.modules['triton'] = None\n"
    "import spyrelab, spyrelab.triton\n"
    "assert not spyrelab.triton.is_installed()\n"
    "try:\n"
    "    spyrelab.triton.install()\n"
    "except spyrelab.triton.TritonError as error:\n"
    "    print(type(error).__name__, error)\n"
)


def test_triton_is_here():
    pytest.importorskip("triton", reason="Triton is not installed (it is on Linux)")


def test_without_triton_install_says_what_to_do():
    shown = subprocess.run([sys.executable, "-c", _WITHOUT], capture_output=True, text=True)
    assert shown.stdout.startswith("TritonVersionError Triton is not installed: pip install")
