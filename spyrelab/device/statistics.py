"""Memory statistics, under the names of torch.cuda."""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from spyrelab.device.memory import CardMemory

__all__ = [
    "empty_cache",
    "max_memory_allocated",
    "max_memory_reserved",
    "mem_get_info",
    "memory_allocated",
    "memory_reserved",
    "memory_stats",
    "memory_summary",
    "nested_memory_stats",
    "reset_accumulated_memory_stats",
    "reset_peak_memory_stats",
]

_base = {"count": 0, "bytes": 0, "failures": 0}


def _card() -> CardMemory:
    """The card's memory, after a look for storages that have died."""
    from spyrelab.device.memory import MEMORY  # numba takes a second to load

    MEMORY.reap()
    return MEMORY


def memory_allocated(device: Any = None) -> int:
    """Bytes of device memory that tensors take now, padding included."""
    return _card().device.allocated_bytes


def max_memory_allocated(device: Any = None) -> int:
    """Most bytes that tensors ever took at once, since the start or the last reset.

    Memory is given back when the allocator next looks, so this may exceed what was in use.
    """
    return _card().device.peak_bytes


def memory_reserved(device: Any = None) -> int:
    """The same as `memory_allocated`: nothing is cached."""
    return memory_allocated(device)


def max_memory_reserved(device: Any = None) -> int:
    """The same as `max_memory_allocated`."""
    return max_memory_allocated(device)


def reset_peak_memory_stats(device: Any = None) -> None:
    """Let `max_memory_allocated` start again from what is taken now."""
    _card().device.reset_peak()


def reset_accumulated_memory_stats(device: Any = None) -> None:
    """Let the counts of allocations start again from zero."""
    card = _card()
    _base["count"] = card.device.total_allocation_count
    _base["bytes"] = card.device.total_allocated_bytes
    _base["failures"] = card.failures


def mem_get_info(device: Any = None) -> tuple[int, int]:
    """Free and total bytes of device memory."""
    memory = _card().device
    return memory.free_bytes, memory.ddr_bytes


def empty_cache() -> None:
    """Give the pages of freed memory back to the host."""
    _card().device.trim()


def nested_memory_stats() -> dict[str, dict[str, dict[str, int]]]:
    """Statistics as torch.accelerator nests them."""
    memory = _card().device
    live, count = memory.allocated_bytes, memory.allocation_count
    made = memory.total_allocation_count - _base["count"]
    taken = memory.total_allocated_bytes - _base["bytes"]
    in_bytes = {"current": live, "peak": memory.peak_bytes, "allocated": taken}
    in_bytes["freed"] = taken - live if taken >= live else 0
    blocks = {"current": count, "peak": count, "allocated": made, "freed": max(made - count, 0)}
    names = ("allocated_bytes", "reserved_bytes", "active_bytes", "requested_bytes")
    found = {name: {"all": dict(in_bytes)} for name in names}
    found |= {name: {"all": dict(blocks)} for name in ("allocation", "segment", "active")}
    return found


def memory_stats(device: Any = None) -> OrderedDict[str, Any]:
    """Statistics of the allocator, by dotted names such as ``allocated_bytes.all.current``."""
    flat = {
        f"{name}.{pool}.{what}": value
        for name, pools in nested_memory_stats().items()
        for pool, values in pools.items()
        for what, value in values.items()
    }
    flat["num_ooms"] = _card().failures - _base["failures"]
    return OrderedDict(sorted(flat.items()))


def memory_summary(device: Any = None, abbreviated: bool = False) -> str:
    """The statistics as a small table."""
    free, total = mem_get_info(device)
    memory = _card().device
    rows = [
        ("allocated", memory.allocated_bytes),
        ("most allocated at once", memory.peak_bytes),
        ("free", free),
        ("largest free block", memory.largest_hole),
        ("total", total),
    ]
    if not abbreviated:
        rows.append(("allocated since the start", memory.total_allocated_bytes))
    lines = [f"{name:<28}{count / (1 << 20):>14,.2f} MiB" for name, count in rows]
    lines.append(f"{'live allocations':<28}{memory.allocation_count:>14,}")
    return "\n".join(["SpyreLab device memory, device 0", *lines])
