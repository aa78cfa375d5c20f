"""The list of kernels, which can be read without Triton or Helion."""

from __future__ import annotations

import subprocess
import sys

import pytest

from spyrelab.attention import AttentionError
from spyrelab.attention.implementations import IMPLEMENTATIONS, implementation

PROBE = """
import sys
from spyrelab.attention.implementations import IMPLEMENTATIONS
assert all(i.source_lines() for i in IMPLEMENTATIONS)
print(sorted({"triton", "helion"} & set(sys.modules)))
"""


def test_naming_kernels_loads_neither_language() -> None:
    command = [sys.executable, "-c", PROBE]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout == "[]\n"


def test_source_lines_count_statements_of_device_functions() -> None:
    lines = {i.name: i.source_lines() for i in IMPLEMENTATIONS}
    assert 40 < lines["helion-first"] < lines["helion-split"] < lines["triton-segmented"] < 200
    assert lines["helion-first"] < lines["triton-pointer"] < lines["triton-segmented"]


def test_an_unknown_kernel_is_refused() -> None:
    with pytest.raises(AttentionError, match="'flash' is none of triton-pointer"):
        implementation("flash")
