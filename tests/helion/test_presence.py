"""Whether Helion is there, and what happens when it is another one."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import subprocess
import sys

import pytest

from spyrelab.helion import HelionVersionError, install, internals


def test_helion_is_installed():
    if importlib.util.find_spec("helion") is None:
        pytest.skip("Helion is not installed: the other tests of this directory do not run")


def test_the_package_loads_neither_helion_nor_triton():
    code = (
        "import sys, spyrelab, spyrelab.helion;"
        "print(sorted({'helion', 'triton'} & set(sys.modules)), spyrelab.helion.Tuning.__name__)"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.split() == ["[]", "Tuning"]


def test_a_helion_of_another_series_is_refused(monkeypatch):
    monkeypatch.setattr(internals, "version", lambda name: "1.6.0")
    with pytest.raises(HelionVersionError, match=r"helion 1\.6\.0 is installed.*pip install"):
        install()


def test_a_missing_helion_is_named(monkeypatch):
    def version(name):
        raise importlib.metadata.PackageNotFoundError(name)

    monkeypatch.setattr(internals, "version", version)
    with pytest.raises(HelionVersionError, match="not installed: pip install"):
        install()


def test_a_name_that_moved_is_named(monkeypatch):
    needed = {"helion.nowhere:gone": "tuning", "helion:kernel.absent": "kernels"}
    monkeypatch.setattr(internals, "_NEEDED", needed)
    monkeypatch.setattr(internals, "version", lambda name: "1.5.1")
    with pytest.raises(HelionVersionError, match=r"helion\.nowhere:gone \(tuning\), helion:kernel"):
        install()


HIDDEN = """
import torch, spyrelab
from spyrelab.triton import errors, internals

internals._NEEDED["triton.gone.away"] = "says hello"
for _ in range(2):
    try:
        from helion.runtime import get_num_sm
    except errors.TritonVersionError as error:
        print("refused" if "triton.gone.away (says hello)" in str(error) else error)
del internals._NEEDED["triton.gone.away"]

from helion.runtime import get_num_sm
from helion.autotuner.base_search import BaseSearch
print(get_num_sm(torch.device("spyre")) == 32 and hasattr(BaseSearch.__init__, "_spyrelab"))
"""


def test_an_import_that_fails_leaves_nothing_half_done():
    done = subprocess.run([sys.executable, "-c", HIDDEN], capture_output=True, text=True)
    assert done.stdout.split() == ["refused", "refused", "True"], done.stdout + done.stderr[-2000:]
