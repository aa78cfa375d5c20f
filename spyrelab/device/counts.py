"""The ledger of operations: how often each ran on the device, and how often it left it."""

from __future__ import annotations

__all__ = ["fallback", "native", "op_counts", "reset_op_counts"]

_COUNTS: dict[str, list[int]] = {}


def native(name: str) -> None:
    """Count one run of ``aten::...`` by a kernel on the device."""
    found = _COUNTS.get(name)
    if found is None:
        found = _COUNTS.setdefault(name, [0, 0])
    found[0] += 1


def fallback(name: str) -> None:
    """Count one run of ``aten::...`` on the CPU."""
    found = _COUNTS.get(name)
    if found is None:
        found = _COUNTS.setdefault(name, [0, 0])
    found[1] += 1


def op_counts() -> dict[str, dict[str, int]]:
    """Runs of every operation since the last reset, native and by fallback.

    Returns
    -------
    dict
        ``{"aten::add.Tensor": {"native": 3, "fallback": 0}, ...}``, most frequent first.
    """
    ordered = sorted(_COUNTS.items(), key=lambda item: (-sum(item[1]), item[0]))
    return {name: {"native": n, "fallback": f} for name, (n, f) in ordered}


def reset_op_counts() -> None:
    """Start counting again from nothing."""
    _COUNTS.clear()
