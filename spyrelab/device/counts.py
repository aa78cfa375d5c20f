"""The ledger of operations: how often each ran on the device, and how often it left it."""

from __future__ import annotations

from spyrelab.device.eager.recording import active

__all__ = ["fallback", "fallback_reasons", "native", "op_counts", "reset_op_counts"]

_COUNTS: dict[str, list[int]] = {}
_REASONS: dict[str, dict[str, int]] = {}


def native(name: str) -> None:
    """Count one run of ``aten::...`` by a kernel on the device."""
    recorder = active()
    if recorder is not None:
        recorder.natives.append(name)
        return
    found = _COUNTS.get(name)
    if found is None:
        found = _COUNTS.setdefault(name, [0, 0])
    found[0] += 1


def fallback(name: str, reason: str = "no kernel") -> None:
    """Count one run of ``aten::...`` on the CPU, and why it was there."""
    reasons = _REASONS.setdefault(name, {})
    reasons[reason] = reasons.get(reason, 0) + 1
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


def fallback_reasons() -> dict[str, dict[str, int]]:
    """Why operations left the device since the last reset, and how often.

    Returns
    -------
    dict
        ``{"aten::nonzero": {"no kernel": 1}, ...}``.
    """
    return {name: dict(reasons) for name, reasons in _REASONS.items()}


def reset_op_counts() -> None:
    """Start counting again from nothing."""
    _COUNTS.clear()
    _REASONS.clear()
