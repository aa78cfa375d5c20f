"""``torch.accelerator``: the C functions behind it want an allocator object that Python cannot
give, so they are replaced by ours when the accelerator is this device."""

from __future__ import annotations

from typing import Any

import torch

from spyrelab.device import statistics
from spyrelab.device.cards import check_device

__all__ = ["patch"]


def _synchronize(device: int = 0) -> None:
    check_device(torch.device("spyre", device) if isinstance(device, int) else device)


def _is_initialized(*args: Any) -> bool:
    return True


def _empty_cache(*args: Any) -> None:
    statistics.empty_cache()


def _stats(*args: Any) -> dict[str, Any]:
    return {**statistics.nested_memory_stats(), "num_ooms": 0}


def _reset_peak(*args: Any) -> None:
    statistics.reset_peak_memory_stats()


def _reset_accumulated(*args: Any) -> None:
    statistics.reset_accumulated_memory_stats()


def _memory_info(*args: Any) -> tuple[int, int]:
    return statistics.mem_get_info()


_REPLACED = {
    "_accelerator_synchronizeDevice": _synchronize,
    "_accelerator_isAllocatorInitialized": _is_initialized,
    "_accelerator_emptyCache": _empty_cache,
    "_accelerator_getDeviceStats": _stats,
    "_accelerator_resetPeakStats": _reset_peak,
    "_accelerator_resetAccumulatedStats": _reset_accumulated,
    "_accelerator_getMemoryInfo": _memory_info,
}


def patch() -> None:
    """Let torch.accelerator ask us."""
    for name, function in _REPLACED.items():
        setattr(torch._C, name, function)
