"""What the tests of KTIR text share: the sample programs and a frame for short bodies."""

from __future__ import annotations

from pathlib import Path

import pytest

from spyrelab.ktir import KtirError, Module, parse

SAMPLES = sorted((Path(__file__).parents[1] / "data" / "ktir_samples").glob("*.mlir"))
"""Complete programs; the comment at the top of each says what it shows."""

ARGUMENTS = (
    "%i: index, %j: index, %n: i32, %l: i64, %c: i1, %f: f32, %h: f16, "
    "%t: tensor<4x8xf16>, %u: tensor<4x8xf32>, %k: tensor<4x8xi32>, %v: tensor<8xf16>"
)
"""Values that every framed body may use."""


def frame(body: str, head: str = "") -> str:
    """A program around some operations; the first line of the body is line 3 (2 + head)."""
    opening = f"module {{\nfunc.func @f({ARGUMENTS}) attributes {{grid = [4]}} {{"
    return f"{head}{opening}\n{body}\nreturn\n}}\n}}\n"


def framed(body: str, head: str = "") -> Module:
    """The same, read."""
    return parse(frame(body, head))


def breaks(body: str, fragment: str) -> None:
    """The framed body reads well, and `verify` refuses one of its lines."""
    module = framed(body)
    with pytest.raises(KtirError) as caught:
        module.verify()
    error = caught.value
    assert fragment in error.message
    assert error.line is not None
    assert 3 <= error.line < 3 + body.count("\n") + 2
    assert error.source_line
