"""Numbers as a person reads them."""

from __future__ import annotations

from typing import Any

import pytest

from spyrelab.machine.units import format_quantity


@pytest.mark.parametrize(
    ("value", "unit", "expected"),
    [
        (2 << 20, "bytes/core", "2 MiB/core"),
        (128 << 30, "bytes", "128 GiB"),
        (1_589_376, "bytes/core", "1589376 bytes/core"),
        (128, "bytes/cycle/core", "128 bytes/cycle/core"),
        (204.8e9, "bytes/s", "204.8 GB/s"),
        (1.1e9, "Hz", "1.1 GHz"),
        (0.688e-6, "s", "0.688 us"),
        (5.7e-3, "s", "5.7 ms"),
        (7.5e-10, "s/byte", "0.75 ns/byte"),
        (0.0, "s", "0 s"),
        (0.5, "", "0.5"),
        (8573157376.0, "", "8.57316e+09"),
        (False, "", "False"),
        ("1-6-9", "bits", "1-6-9 bits"),
        ({"f16": 1024}, "MAC/cycle", "f16 1024 MAC/cycle"),
    ],
)
def test_quantities(value: Any, unit: str, expected: str) -> None:
    assert format_quantity(value, unit) == expected
