"""Being Triton's device, alone or beside others."""

from __future__ import annotations

import subprocess
import sys

import pytest
import torch
import triton
from triton.backends import Backend, backends
from triton.backends.driver import DriverBase
from triton.runtime.driver import driver

import spyrelab.triton
from spyrelab.triton.compiler import SpyreBackend
from spyrelab.triton.driver import SpyreDriver
from spyrelab.triton.errors import TritonVersionError
from tests.triton import kernels

CODE = (
    "import triton\nfrom triton.runtime.driver import driver\nprint(type(driver.active).__name__)"
)


class OtherDriver(DriverBase):
    @classmethod
    def is_active(cls):
        return True

    def map_python_to_cpp_type(self, ty):
        return ty

    def get_current_target(self):
        raise NotImplementedError

    def get_active_torch_device(self):
        return torch.device("cpu")

    def get_benchmarker(self):
        raise NotImplementedError

    def get_current_device(self):
        return 0


def run(code, **environment):
    import os

    shown = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        env={**os.environ, **environment},
    )
    return shown.stdout.strip() or shown.stderr


def test_the_entry_point_makes_the_card_the_device():
    assert run(CODE) == "SpyreDriver"
    assert run("import torch\n" + CODE) == "SpyreDriver"


def test_importing_triton_loads_nothing_of_ours_that_is_heavy():
    code = (
        "import sys, triton\n"
        "print([m for m in ('torch', 'numba', 'spyrelab.emulator', 'spyrelab.ktir')"
        " if m in sys.modules])"
    )
    assert run(code) == "[]"


def test_importing_spyrelab_does_not_load_triton():
    code = "import sys, torch, spyrelab, spyrelab.triton\nprint('triton' in sys.modules)"
    assert run(code) == "False"


def test_install_without_an_entry_point():
    code = (
        "import spyrelab.triton, triton\n"
        "from triton.backends import backends\n"
        "backends.pop('spyre', None)\n"
        "spyrelab.triton.install(); spyrelab.triton.install()\n"
        "print(sorted(backends), spyrelab.triton.is_installed())"
    )
    assert run(code) == "['amd', 'nvidia', 'spyre'] True"


def test_another_driver_comes_first_unless_we_are_asked_for(monkeypatch):
    assert SpyreDriver.is_active()
    monkeypatch.setitem(backends, "other", Backend(SpyreBackend, OtherDriver))
    assert not SpyreDriver.is_active()
    monkeypatch.setenv("TRITON_DEFAULT_BACKEND", "spyre")
    assert SpyreDriver.is_active()
    monkeypatch.setenv("TRITON_DEFAULT_BACKEND", "nvidia")
    assert not SpyreDriver.is_active()


def test_kernels_of_the_card_are_apart_from_those_of_other_drivers():
    x = torch.randn(64, device="spyre")
    out = torch.empty_like(x)
    kernels.add.device_caches[0] = "of another driver"
    try:
        kernels.add[(1,)](x, x, out, 64, BLOCK=64)
    finally:
        del kernels.add.device_caches[0]
    assert torch.equal(out.cpu(), x.cpu() * 2)


def test_install_takes_over_and_can_be_undone():
    other = OtherDriver()
    driver.set_active(other)
    assert not spyrelab.triton.is_installed()
    spyrelab.triton.install()
    ours = driver.active
    assert spyrelab.triton.is_installed() and isinstance(ours, SpyreDriver)
    spyrelab.triton.install()
    assert driver.active is ours
    driver.set_active(other)
    assert driver.active is other


def test_two_packages_cannot_share_the_name(monkeypatch):
    monkeypatch.setitem(backends, "spyre", Backend(OtherDriver, OtherDriver))
    with pytest.raises(TritonVersionError, match="two cannot share the name; uninstall one"):
        spyrelab.triton.install()


def test_exactly_one_class_is_found_in_each_module():
    from triton.backends import _find_concrete_subclasses
    from triton.backends.compiler import BaseBackend

    from spyrelab.triton import compiler
    from spyrelab.triton import driver as module

    assert _find_concrete_subclasses(compiler, BaseBackend) is SpyreBackend
    assert _find_concrete_subclasses(module, DriverBase) is SpyreDriver


def test_the_device_describes_itself():
    active = driver.active
    properties = active.utils.get_device_properties(active.get_current_device())
    assert properties["multiprocessor_count"] == 32
    assert properties["max_shared_mem"] == 2 << 20
    assert active.get_active_torch_device() == torch.device("spyre", 0)
    assert active.get_device_interface() is torch.get_device_module("spyre")
    assert active.get_current_target().backend == "spyre"
    with pytest.raises(spyrelab.triton.TritonError):
        active.map_python_to_cpp_type("i32")


def test_only_binaries_may_be_stored(monkeypatch, tmp_path):
    monkeypatch.setenv("TRITON_STORE_BINARY_ONLY", "1")
    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path))
    x = torch.randn(48, device="spyre")
    out = torch.empty_like(x)
    kernel = triton.JITFunction(kernels.add.fn)
    compiled = kernel[(1,)](x, x, out, 48, BLOCK=64)
    assert torch.equal(out.cpu(), x.cpu() * 2)
    assert "hsaco" in compiled.asm and "ttir" not in compiled.asm
