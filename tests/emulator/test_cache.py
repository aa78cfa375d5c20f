"""The compiled VM comes from its cache, and never from that of other sources."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import numba
import pytest

from spyrelab import emulator, ktir
from spyrelab.emulator.cache import cache_directory, configure, source_hash
from spyrelab.emulator.vm import run_cores
from spyrelab.errors import UsageError

PACKAGE = Path(emulator.__file__).parent
EMPTY = "func.func @empty() { return }"

COUNT_COMPILATIONS = f"""
from numba.core import event
from spyrelab import emulator, ktir

class Counter(event.Listener):
    compiled = 0
    def on_start(self, event): Counter.compiled += 1
    def on_end(self, event): pass

with event.install_listener("numba:compile", Counter()):
    emulator.run(ktir.parse("{EMPTY}"), {{}})
print(Counter.compiled)
"""

# `_begin` in vm.py calls `copy_run` in vm_copy.py.
BEGIN_A_CORE = """
import numpy as np
from spyrelab.emulator import vm
from spyrelab.emulator.vm_frame import Field

frame = np.ones(len(Field), np.int64)
integers, floats = np.full(4, 7, np.int64), np.zeros(1, np.float32)
arena = np.zeros(64, np.int64)
vm._begin(0, frame, np.zeros(4, np.float32), arena, integers, floats)
print(arena[0])
"""


def run_python(code: str, folder: Path | None = None, **environment: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=folder,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.strip()


def test_every_source_counts(tmp_path: Path) -> None:
    copy = tmp_path / "emulator"
    shutil.copytree(PACKAGE, copy, ignore=shutil.ignore_patterns("__pycache__"))
    seen = {source_hash(copy)}
    assert seen == {source_hash()}
    for path in sorted(copy.rglob("*.py")):
        path.write_text(path.read_text() + "\n# edited\n")
        assert source_hash(copy) not in seen, path
        seen.add(source_hash(copy))
    (copy / "new.py").write_text("")
    assert source_hash(copy) not in seen


def test_numba_keeps_the_vm_in_our_directory() -> None:
    emulator.run(ktir.parse(EMPTY), {})
    assert Path(numba.config.CACHE_DIR) == cache_directory()
    assert cache_directory() in Path(run_cores.stats.cache_path).parents


def test_a_second_process_compiles_nothing() -> None:
    emulator.run(ktir.parse(EMPTY), {})
    assert run_python(COUNT_COMPILATIONS) == "0"


def test_an_edited_callee_in_another_file_is_not_served_stale(tmp_path: Path) -> None:
    package = tmp_path / "spyrelab"
    shutil.copytree(PACKAGE.parent, package, ignore=shutil.ignore_patterns("__pycache__"))
    places = {"PYTHONPATH": str(tmp_path), "SPYRELAB_CACHE": str(tmp_path / "cache")}
    assert run_python(BEGIN_A_CORE, tmp_path, **places) == "7"
    source = package / "emulator" / "vm_copy.py"
    before = source.read_text()
    edited = before.replace("target[i] = source[i]\n", "target[i] = source[i] + 1\n", 1)
    assert edited != before
    source.write_text(edited)
    assert run_python(BEGIN_A_CORE, tmp_path, **places) == "8"
    source.write_text(before)
    assert run_python(BEGIN_A_CORE, tmp_path, **places) == "7"


def test_where_the_cache_lies(monkeypatch, tmp_path: Path) -> None:
    monkeypatch.setenv("SPYRELAB_CACHE", str(tmp_path))
    assert cache_directory() == tmp_path / source_hash()
    monkeypatch.delenv("SPYRELAB_CACHE")
    monkeypatch.setattr(sys, "prefix", sys.base_prefix)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "user"))
    assert cache_directory() == tmp_path / "user" / "spyrelab" / source_hash()


def test_a_cache_that_cannot_be_written_is_refused(monkeypatch, tmp_path: Path) -> None:
    """numba would fall back to a cache that serves edited helpers stale."""
    (tmp_path / "file").touch()
    monkeypatch.setenv("SPYRELAB_CACHE", str(tmp_path / "file"))
    with pytest.raises(UsageError, match=r"file/.* cannot keep .*; set SPYRELAB_CACHE to a folder"):
        configure()
