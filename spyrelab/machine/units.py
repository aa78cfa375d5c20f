"""Numbers with units, as a person reads them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

__all__ = ["format_quantity"]

_DECIMAL = ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"))
_BINARY = ((1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB"))
_SECONDS = ((1.0, "s"), (1e-3, "ms"), (1e-6, "us"), (1e-9, "ns"), (1e-12, "ps"))


def format_quantity(value: Any, unit: str) -> str:
    """Return ``value`` with a unit and a fitting prefix.

    Examples
    --------
    >>> format_quantity(2097152, "bytes/core"), format_quantity(1.1e9, "Hz")
    ('2 MiB/core', '1.1 GHz')
    >>> format_quantity(6.88e-07, "s"), format_quantity(32, "cores")
    ('0.688 us', '32 cores')
    """
    if isinstance(value, Mapping):
        return ", ".join(f"{key} {item:g}" for key, item in value.items()) + f" {unit}"
    if isinstance(value, bool) or not isinstance(value, int | float):
        return f"{value} {unit}".strip()
    base, _, per = unit.partition("/")
    rest = f"/{per}" if per else ""
    if base == "bytes" and isinstance(value, int):
        return _format_bytes(value) + rest
    if base == "s":
        return _format_seconds(value) + rest
    if base == "bytes":
        return _scale(value, "B") + rest
    if abs(value) >= 1e4 and base:
        return _scale(value, base) + rest
    return f"{value:g} {unit}".strip()


def _format_bytes(value: int) -> str:
    for size, name in _BINARY:
        if value >= size and value % size == 0:
            return f"{value // size} {name}"
    return f"{value} bytes"


def _scale(value: float, base: str) -> str:
    for size, prefix in _DECIMAL:
        if abs(value) >= size:
            return f"{value / size:g} {prefix}{base}"
    return f"{value:g} {base}"


def _format_seconds(value: float) -> str:
    for size, name in _SECONDS:
        if abs(value) >= size / 2:  # 0.688 us reads better than 688 ns
            return f"{value / size:.4g} {name}"
    return f"{value:g} s"
