"""Are the outputs of two runs of a chapter the same?

Emulated numbers are deterministic, so text has to agree exactly, addresses in memory aside.
Pictures are compared as a reader sees them: another build of the font renderer moves the edges of
letters by a fraction of a pixel, which changes many bytes of a PNG and nothing that matters.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Iterator
from io import BytesIO
from typing import Any

import numpy as np
from numpy.typing import NDArray

from spyrelab.book.notebook import Notebook

__all__ = ["UNCOMPARED", "compare", "same_picture"]

UNCOMPARED = frozenset({"volatile", "exercise"})
"""Tags of cells whose outputs may differ: wall-clock times, and a reader's own answers."""

ADDRESS = re.compile(r"0x[0-9a-fA-F]{6,}")

BLOCK = 4
"""Pictures are averaged over squares of this many pixels before they are compared."""

TOLERANCE = 24.0
"""Grey levels, of 255, that such a square may differ by: below one letter or line more or less."""

SHARE = 0.002
"""Share of the squares that may differ by more."""


def compare(expected: Notebook, found: Notebook) -> list[str]:
    """Describe each cell whose outputs differ; cells tagged `UNCOMPARED` are passed over."""
    problems = []
    for number, (one, other) in enumerate(zip(expected.cells, found.cells, strict=True), 1):
        if one.cell_type != "code" or UNCOMPARED & set(one.metadata.get("tags", [])):
            continue
        what = _difference(list(_parts(one)), list(_parts(other)))
        if what:
            problems.append(f"cell {number} ({next(iter(one.source.splitlines()), '')}): {what}")
    return problems


def _parts(cell: Any) -> Iterator[tuple[str, str]]:
    """Outputs as (kind, text), neighbouring pieces of one stream joined."""
    stream, text = "", ""
    for output in cell.get("outputs", []):
        if output.output_type == "stream" and output.name == stream:
            text += output.text
            continue
        if stream:
            yield stream, text
        stream, text = "", ""
        if output.output_type == "stream":
            stream, text = output.name, output.text
        elif output.output_type == "error":
            yield "error", f"{output.ename}: {output.evalue}"
        else:
            yield from sorted((kind, str(data)) for kind, data in output.data.items())
    if stream:
        yield stream, text


def _difference(expected: list[tuple[str, str]], found: list[tuple[str, str]]) -> str:
    kinds = [kind for kind, _ in expected], [kind for kind, _ in found]
    if kinds[0] != kinds[1]:
        return f"outputs were {_list(kinds[0])} and are {_list(kinds[1])}"
    for (kind, one), (_, other) in zip(expected, found, strict=True):
        if kind == "image/png":
            if not same_picture(base64.b64decode(one), base64.b64decode(other)):
                return "the picture changed"
        elif _scrub(one) != _scrub(other):
            return _first_change(_scrub(one), _scrub(other))
    return ""


def _list(kinds: list[str]) -> str:
    return ", ".join(kinds) or "none"


def _scrub(text: str) -> str:
    return ADDRESS.sub("0x...", text)


def _first_change(expected: str, found: str) -> str:
    lines = expected.splitlines(), found.splitlines()
    for one, other in zip(*lines, strict=False):
        if one != other:
            return f"was {one.strip()!r}, is {other.strip()!r}"
    return f"had {len(lines[0])} lines of output, has {len(lines[1])}"


def same_picture(expected: bytes, found: bytes) -> bool:
    """Whether two PNGs of the same size look alike."""
    if expected == found:
        return True
    one, other = _grey_blocks(expected), _grey_blocks(found)
    if one.shape != other.shape:
        return False
    return bool((np.abs(one - other).max(axis=-1) > TOLERANCE).mean() <= SHARE)


def _grey_blocks(data: bytes) -> NDArray[np.float64]:
    """Mean colour of each square of the picture: [rows, columns, 3]."""
    from PIL import Image

    pixels = np.asarray(Image.open(BytesIO(data)).convert("RGB"), np.float64)
    high, wide = (-(-extent // BLOCK) * BLOCK for extent in pixels.shape[:2])
    padding = ((0, high - pixels.shape[0]), (0, wide - pixels.shape[1]), (0, 0))
    padded = np.pad(pixels, padding, mode="edge")
    blocks = padded.reshape(high // BLOCK, BLOCK, wide // BLOCK, BLOCK, 3)
    return np.asarray(blocks.mean(axis=(1, 3)))
