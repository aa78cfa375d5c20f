"""Messages about generated code name the line of the kernel that it was generated from."""

from __future__ import annotations

import linecache
from pathlib import Path

import helion
import helion.language as hl
import pytest
import torch

import spyrelab
from spyrelab.emulator import SanitizerError
from spyrelab.errors import SpyreLabError
from spyrelab.ktir.ir import CallSiteLocation, FileLocation, FusedLocation, NameLocation
from spyrelab.triton import kernel as loaded
from spyrelab.triton.kernel import decode, encode
from spyrelab.triton.ttir.origins import origin_of, to_origins
from spyrelab.triton.ttir.tree import TtirOperation

FILE = Path(__file__)
GENERATED = '''\
import triton

@triton.jit
def _helion_kernel(x):
    # src[test_places.py:7]: for tile in hl.tile(rows):
    # src[test_places.py:8]:     values = x[tile]
    # src[test_places.py:7-9]: ...
    for offset in tl.range(0, 64, 8):
        # src[nowhere.py:8]: values = x[tile]
        values = tl.load(x)

def plain(x):
    return x
'''  # fmt: skip


@helion.kernel(autotune_effort="none")
def gather(x: torch.Tensor, rows: torch.Tensor) -> torch.Tensor:
    out = torch.empty_like(x)
    for tile in hl.tile(rows.size(0)):
        at = rows[tile]
        out[tile] = x[at] + 1
    return out


@helion.kernel(autotune_effort="none")
def double(x: torch.Tensor) -> torch.Tensor:
    out = torch.empty_like(x)
    for tile in hl.tile(x.size(0)):
        out[tile] = x[tile] * 2
    return out


def line_of(text):
    """Where a line of this file is."""
    lines = FILE.read_text().splitlines()
    return f'"{FILE}":{lines.index(text) + 1}:'


@pytest.fixture
def generated(tmp_path):
    path = tmp_path / "generated.py"
    path.write_text(GENERATED)
    linecache.checkcache()
    return str(path)


@pytest.mark.parametrize(
    ("line", "wanted"),
    [
        (4, 7),  # the kernel as a whole: what it begins with
        (3, 7),
        (8, 7),  # a loop
        (10, 8),
        (1, None),
        (12, None),
        (99, None),
    ],
)
def test_comments_tell_where_lines_are_from(generated, line, wanted):
    found = origin_of(generated, line)
    assert (found and found.line) == wanted


def test_a_line_in_full_where_the_file_is_loaded(generated):
    assert origin_of(generated, 10) == FileLocation("nowhere.py", 8, 1)
    # Another text stands on that line of this file, so it is not this file that was meant.
    assert origin_of(generated, 8) == FileLocation("test_places.py", 7, 1)


def test_every_kind_of_place_is_followed(generated):
    there, elsewhere = FileLocation(generated, 10, 3), FileLocation("other.py", 1, 1)
    places = [
        NameLocation("values", there),
        CallSiteLocation(elsewhere, there),
        FusedLocation((there, elsewhere)),
        None,
    ]
    inner = [TtirOperation(name="tt.load", location=place) for place in places]
    for operation in inner:
        to_origins(operation)
    origin = FileLocation("nowhere.py", 8, 1)
    assert [operation.location for operation in inner] == [
        NameLocation("values", origin),
        CallSiteLocation(elsewhere, origin),
        FusedLocation((origin, elsewhere)),
        None,
    ]


def test_errors_of_the_compiler_name_the_kernels_line():
    with pytest.raises(SpyreLabError, match="points to f64") as raised:
        double(torch.ones(8, dtype=torch.float64).to("spyre"))
    assert str(FILE) in str(raised.value)


def test_the_sanitizer_names_it_and_says_the_same_of_a_kept_kernel(monkeypatch):
    x, rows = torch.ones(8).to("spyre"), torch.arange(3, 11).to("spyre")
    said, decoded = [], []

    def counted(binary):
        decoded.append(1)
        return decode(binary)

    monkeypatch.setattr(loaded, "decode", counted)
    for stages in (1, 2):  # two compilations of one kernel
        config = {"block_sizes": [8], "num_stages": stages}
        with pytest.raises(SanitizerError) as raised, spyrelab.sanitize():
            gather.bind((x, rows)).compile_config(config, allow_print=False)(x, rows)
        said.append(str(raised.value))
        # The next one is as in another process, which finds the binary in Triton's cache.
        assert len(decoded) == stages - 1
        monkeypatch.setattr(loaded, "remember", lambda binary, kernel: kernel)
        monkeypatch.setattr(loaded, "_loaded", {})
    assert line_of("        out[tile] = x[at] + 1") in said[0]
    assert "the loaded index 8 lies outside" in said[0]
    assert said[0] == said[1]


def test_a_binary_keeps_places_and_no_positions_in_its_own_text():
    from spyrelab.helion.source import translate_kernel
    from spyrelab.ktir import walk

    made = translate_kernel(double, (torch.ones(8).to("spyre"),)).translation
    (function,) = decode(encode(made)).module.functions
    found = list(walk(function.body.operations))
    assert {operation.position for operation in found} == {None} and function.position is None
    assert any(line_of("        out[tile] = x[tile] * 2") in str(o.location) for o in found)
