"""How the device gets into torch."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent


def run(code: str, path: Path | None = None, autoload: bool = True) -> str:
    environment = {**os.environ, "TORCH_DEVICE_BACKEND_AUTOLOAD": str(int(autoload))}
    roots = [str(ROOT)] + ([str(path)] if path else [])
    environment["PYTHONPATH"] = os.pathsep.join(roots)
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=environment
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@pytest.fixture
def installed(tmp_path: Path) -> Path:
    """A folder with the metadata of an installed distribution: its entry point alone."""
    folder = tmp_path / "spyrelab_entry-0.dist-info"
    folder.mkdir()
    (folder / "METADATA").write_text("Metadata-Version: 2.1\nName: spyrelab-entry\nVersion: 0\n")
    line = "[torch.backends]\nspyrelab_test = spyrelab.device:autoload\n"
    (folder / "entry_points.txt").write_text(line)
    return tmp_path


def test_torch_loads_the_device(installed: Path) -> None:
    assert (
        run("import torch; print(torch.ones(2, device='spyre').sum().item())", installed) == "2.0"
    )


def test_loading_it_first_does_not_load_it_twice(installed: Path) -> None:
    code = "import spyrelab.device, torch; print(torch.ones(2, device='spyre').sum().item())"
    assert run(code, installed) == "2.0"


@pytest.mark.parametrize("first", ["import torch, spyrelab", "import spyrelab, torch"])
def test_importing_spyrelab_in_either_order(first: str, installed: Path) -> None:
    assert run(f"{first}; print(torch.zeros(2, device='spyre').device)", installed) == "spyre:0"


def test_importing_spyrelab_after_torch_needs_no_installation() -> None:
    code = "import torch, spyrelab; print(torch.zeros(2, device='spyre').device)"
    assert run(code, autoload=False) == "spyre:0"


def test_loading_is_cheap_until_the_device_is_used(installed: Path) -> None:
    code = "import sys, torch; print('numba' in sys.modules, 'spyrelab.device' in sys.modules)"
    assert run(code, installed) == "False True"


def test_importing_spyrelab_imports_no_torch() -> None:
    assert run("import sys, spyrelab; print('torch' in sys.modules)") == "False"


@pytest.mark.parametrize(
    "use",
    [
        "torch.load(f, map_location='spyre')",
        "torch.UntypedStorage(4, device='spyre')",
        "torch.spyre.memory_allocated()",
        "torch.randperm(4, device='spyre')",
    ],
)
def test_whatever_comes_first_loads_the_rest(use: str) -> None:
    code = f"""
import io, torch, spyrelab
f = io.BytesIO(); torch.save(torch.ones(3), f); f.seek(0)
x = {use}
print(float(torch.ones(2, device="spyre").sum()))
"""
    assert run(code, autoload=False) == "2.0"


def test_a_torch_without_a_name_that_is_needed_says_which() -> None:
    code = """
import torch
del torch._neg_view
try:
    import spyrelab.device
except ImportError as error:
    print(error)
"""
    message = run(code, autoload=False)
    assert "torch._neg_view (reads negated views)" in message and "2.13" in message
