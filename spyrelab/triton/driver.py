"""Triton's driver for the card."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from triton.backends.compiler import GPUTarget as _Target
from triton.backends.driver import DriverBase

__all__ = ["SpyreDriver"]

CARD = 1 << 20
"""The card's number: no other driver has it, and Triton keeps kernels by this number."""


_REGISTERS = 64
"""Registers of a thread, of which there are none: kernels divide `max_num_regs` by this number,
times their threads, to see how many programs a core holds, and it leaves room for 32 warps."""


class SpyreUtilities:
    """What Triton asks about the card, and how it hands over a binary."""

    def get_device_properties(self, device: int) -> dict[str, int]:
        """Sizes and rates, in the words of GPUs."""
        from spyrelab.machine import SPYRE

        return {
            "max_shared_mem": SPYRE.lx_bytes,
            "multiprocessor_count": SPYRE.cores,
            "max_num_regs": 1 << 16,
            "warpSize": 32,
            "sm_clock_rate": round(SPYRE.clock_hz / 1e3),
            "mem_clock_rate": round(SPYRE.ddr_peak_bytes_per_second / 2e3),
            "mem_bus_width": 8,
        }

    def load_binary(self, name: str, binary: bytes, shared: int, device: int) -> tuple[Any, ...]:
        """A kernel that can be launched: module, function, registers, spills, threads."""
        from spyrelab.triton.kernel import load

        kernel = load(binary)
        return kernel, kernel, _REGISTERS, 0, 1 << 30

    def unload_module(self, module: Any) -> None:
        """Nothing is held."""


class SpyreDriver(DriverBase):  # type: ignore[misc]  # Triton has no types
    """The one card of this process."""

    def __init__(self) -> None:
        from spyrelab.triton import internals

        internals.check()
        super().__init__()
        self.utils = SpyreUtilities()

    @property
    def launcher_cls(self) -> Any:
        """What launches kernels."""
        from spyrelab.triton.launcher import SpyreLauncher

        return SpyreLauncher

    @classmethod
    def is_active(cls) -> bool:
        """Whether Triton is to choose the card: when asked to, or where nothing else is."""
        if os.environ.get("TRITON_DEFAULT_BACKEND"):
            return os.environ["TRITON_DEFAULT_BACKEND"] == "spyre"
        from triton.backends import backends

        others = (backend.driver for name, backend in backends.items() if name != "spyre")
        return not any(driver.is_active() for driver in others)

    def map_python_to_cpp_type(self, ty: str) -> str:
        """Only launchers written in C++ ask."""
        from spyrelab.triton.errors import TritonError

        raise TritonError("launchers of the card are not written in C++")

    def get_current_target(self) -> _Target:
        """The card."""
        return _Target("spyre", "aiu1", 32)

    def get_current_device(self) -> int:
        """Its number."""
        return CARD

    def set_current_device(self, device: int) -> None:
        """There is one card."""

    def get_current_stream(self, device: int | None = None) -> int:
        """All streams of the card are one queue."""
        return 0

    def get_active_torch_device(self) -> Any:
        """``torch.device("spyre:0")``."""
        import torch

        import spyrelab.device  # noqa: F401  # registers the name

        return torch.device("spyre", 0)

    def get_device_interface(self) -> Any:
        """``torch.spyre``; benchmarks see predicted time."""
        from spyrelab.triton.benchmarking import device_interface

        return device_interface()

    def get_benchmarker(self) -> Callable[..., Any]:
        """What tuners time configurations with: predictions, without running anything."""
        from spyrelab.triton.benchmarking import predict

        return predict

    def get_empty_cache_for_benchmark(self) -> None:
        """The card has no cache that outlives a launch."""

    def clear_cache(self, cache: None) -> None:
        """Nothing to clear."""
