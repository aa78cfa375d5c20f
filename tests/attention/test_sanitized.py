"""The sanitizer is silent on the Triton kernels, and finds what is planted in them."""

from __future__ import annotations

import importlib.util
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import spyrelab
from spyrelab.attention import triton_kernels
from spyrelab.attention.implementations import IMPLEMENTATIONS, implementation
from spyrelab.emulator import SanitizerError
from tests.attention.conftest import small

NAMES = [i.name for i in IMPLEMENTATIONS if i.language == "triton"]
FOLDER = Path(triton_kernels.__file__).parent


def line_of(path: Path, text: str) -> int:
    lines = path.read_text().splitlines()
    return next(number for number, line in enumerate(lines, 1) if text in line)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("batch", ["mixed", "prefix"])
def test_nothing_is_found_in_the_kernels(triton_device: str, name: str, batch: str) -> None:
    placed = small(batch, window=24, soft_cap=3.0).build().to(triton_device)
    attend = implementation(name).load()
    with spyrelab.sanitize():
        out = attend(placed)
    assert out.cpu().isfinite().all()


READS = {"triton-pointer": "pointer.py", "triton-segmented": "segmented.py"}
"""Kernels that read pages through pointers: a descriptor reads zeros outside of its shape."""


@pytest.mark.parametrize("name", READS)
def test_a_page_out_of_range_is_found_where_it_is_read(triton_device: str, name: str) -> None:
    batch = small("prefix").build()
    table = batch.block_table.clone()
    table[1, 0] = batch.key_cache.shape[0] + 3
    placed = replace(batch, block_table=table).to(triton_device)
    attend = implementation(name).load()
    with pytest.raises(SanitizerError) as raised, spyrelab.sanitize():
        attend(placed)
    places = re.findall(rf"{READS[name]}\W*:(\d+)", str(raised.value))
    assert places, raised.value
    source = (FOLDER / READS[name]).read_text().splitlines()
    assert re.search("(key|value)_cache|keys|values", source[int(places[0]) - 1])


def test_a_missing_mask_is_found_where_it_is_missing(triton_device: str, tmp_path: Path) -> None:
    text = (FOLDER / "pointer.py").read_text()
    masked = "tl.load(query + at_query, mask=q_mask, other=0.0)"
    assert masked in text
    path = tmp_path / "unmasked.py"
    path.write_text(text.replace(masked, "tl.load(query + at_query)"))
    spec: Any = importlib.util.spec_from_file_location("unmasked", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    placed = small("prefix").build().to(triton_device)
    with pytest.raises(SanitizerError) as raised, spyrelab.sanitize():
        module.attend(placed)
    assert f'unmasked.py":{line_of(path, "tl.load(query + at_query)")}' in str(raised.value)
