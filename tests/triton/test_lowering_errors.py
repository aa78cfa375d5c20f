"""What cannot be done is refused with a line of the kernel; what is done badly is said."""

from __future__ import annotations

import inspect
from typing import Any

import pytest
import torch
import triton
import triton.language as tl

from spyrelab.ktir import dumps, parse
from spyrelab.triton.arguments import AccessKind, Role
from spyrelab.triton.errors import UnsupportedKernelError
from spyrelab.triton.lowering import translate
from tests.triton.translated import translate_kernel


def line_of(fn: Any, text: str) -> int:
    """The line of a kernel's source that holds a text."""
    lines, first = inspect.getsourcelines(fn.fn)
    return next(first + number for number, line in enumerate(lines) if text in line)


@triton.jit
def doubles(x, out):
    at = tl.arange(0, 16)
    wide = tl.load(x + at).to(tl.float64) * 1.5
    tl.store(out + at, wide.to(tl.float32))


@triton.jit
def assembly(x, out):
    at = tl.arange(0, 16)
    value = tl.load(x + at)
    y = tl.inline_asm_elementwise("mov.b32 $0, $1;", "=r,r", [value], tl.int32, True, 1)
    tl.store(out + at, y)


@triton.jit
def spinning(flag, out):
    while tl.atomic_add(flag, 0) == 0:
        pass
    tl.store(out, 1)


@triton.jit
def volatile(flag, out):
    value = tl.load(flag, volatile=True)
    while value == 0:
        value = tl.load(flag, volatile=True)
    tl.store(out, 1)


INT, FLOAT = torch.int32, torch.float32


@pytest.mark.parametrize(
    ("fn", "text", "message", "types"),
    [
        (doubles, "wide = ", "64-bit floats", {"x": FLOAT, "out": FLOAT}),
        (assembly, "inline_asm", "no assembly", {"x": INT, "out": INT}),
        (spinning, "while", "waits for another program", {"flag": INT, "out": INT}),
        (volatile, "while", "waits for another program", {"flag": INT, "out": INT}),
    ],
)
def test_refused_with_a_line(
    fn: Any, text: str, message: str, types: dict[str, torch.dtype]
) -> None:
    args = {name: torch.zeros(16, dtype=dtype) for name, dtype in types.items()}
    with pytest.raises(UnsupportedKernelError, match=message) as caught:
        translate_kernel(fn, args)
    assert caught.value.place.startswith(f"{__file__}:{line_of(fn, text)}:")
    assert caught.value.advice


@triton.jit
def scattered(x, where, out, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    value = tl.load(x + tl.load(where + at) * 2)
    tl.store(where + at, at)
    tl.store(out + at, value)


def test_gathers_are_noted_with_advice() -> None:
    args = {"x": torch.zeros(64), "where": torch.zeros(16, dtype=INT), "out": torch.zeros(16)}
    translation = translate_kernel(scattered, args, BLOCK=16)
    (note,) = [note for note in translation.notes if note.kind is AccessKind.GATHER]
    assert note.place.startswith(f"{__file__}:{line_of(scattered, 'value = ')}:")
    assert (note.operation, note.argument) == ("load", "x")
    assert note.why
    assert note.advice


def test_arguments_say_where_they_come_from() -> None:
    args = {"x": torch.zeros(64), "where": torch.zeros(16, dtype=INT), "out": torch.zeros(16)}
    translation = translate_kernel(scattered, args, BLOCK=16)
    function = translation.module.function()
    assert [a.name for a in translation.arguments] == [v.name for v in function.arguments]
    roles = [(a.role, a.number, a.item_bytes) for a in translation.arguments]
    assert roles[:3] == [(Role.POINTER, n, 4) for n in range(3)]
    assert roles[3:6] == [(Role.GRID, axis, 1) for axis in range(3)]
    assert roles[6:] == [(Role.EXTENT, 0, 4)]
    assert translation.types == {0: "f32", 1: "i32", 2: "f32"}


def test_operations_carry_lines() -> None:
    args = {"x": torch.zeros(64), "where": torch.zeros(16, dtype=INT), "out": torch.zeros(16)}
    module = translate_kernel(scattered, args, BLOCK=16).module
    text = dumps(module)
    assert parse(text) == module
    store = next(line for line in text.splitlines() if "ktdp.store" in line)
    assert f'{__file__}":{line_of(scattered, "tl.store(where")}' in store


def test_unknown_kernel() -> None:
    text = '"builtin.module"() ({\n}) : () -> ()'
    with pytest.raises(UnsupportedKernelError, match="no kernel"):
        translate(text, "nothing")
