"""Arguments and memory of `run`: what is accepted, what is refused, what comes back."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from spyrelab import emulator
from spyrelab.emulator import ArgumentError
from spyrelab.ktir import parse
from spyrelab.machine import DeviceMemory
from tests.emulator.short_programs import ENGINES, X, copy, run, tile, view


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"x": X}, r"takes \(x, y\); missing: y"),
        ({"x": X, "y": X, "z": X}, r"takes \(x, y\); unknown: z"),
        ({"x": X, "yy": X}, r"missing: y; unknown: yy \(did you mean y\?\)"),
        ({"x": X, "y": X.astype(np.float32)}, r"'y'.*2-byte.*float32 of shape \(4,\).*4 bytes"),
        ({"x": X, "y": 7}, r"'y'.*2-byte.*the number 7"),
        ({"x": X, "y": "text"}, r"'y'.*expected a number.*got str"),
        ({"x": X, "y": X.astype(complex)}, r"'y'.*complex128"),
        ({"x": X, "y": np.array(["a"])}, r"'y'.*<U1"),
        ({"x": X, "y": None}, r"'y'.*NoneType"),
        ({"x": X, "y": X[:3]}, r"'y'.*reach 4 elements.*shape \(3,\) has 3"),
        ({"x": X[:0], "y": X}, r"'x'.*reach 4 elements.*shape \(0,\) has 0"),
        ({"x": X, "y": torch.zeros(4).to_sparse()}, r"'y'.*sparse_coo cannot be placed"),
        ({"x": X, "y": torch.zeros(4, dtype=torch.complex64).conj()}, r"'y'.*complex64"),
    ],
)
def test_wrong_arguments(engine: str, given: dict[str, Any], message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        run(copy(), engine, **given)


SCALARS = (
    "func.func @scalars(%y: index, %n: index, %h: f16) {\n" + view("w", "y", 1, "f16")
    + tile("b", "w", "0", 1, "f16", 1)
    + "%t = tensor.splat %h : tensor<1xf16>\n"
    "ktdp.store %t, %b : tensor<1xf16>, !ktdp.access_tile<1xindex>\nreturn\n}\n"
)  # fmt: skip


@pytest.mark.parametrize("engine", ["reference", "vm"])
def test_scalar_arguments(engine: str) -> None:
    y = np.zeros(1, np.float16)
    # A float argument is rounded to its type, an integer may stand for a float.
    assert run(SCALARS, engine, y=y, n=1, h=0.1).outputs["y"] == np.float16(0.1)
    assert run(SCALARS, engine, y=y, n=np.int64(1), h=2).outputs["y"] == 2
    with pytest.raises(ArgumentError, match=r"'n' is a scalar of type index; got 1\.5"):
        run(SCALARS, engine, y=y, n=1.5, h=0.1)
    with pytest.raises(ArgumentError, match=r"'n' is a scalar of type index.*\(4,\)"):
        run(SCALARS, engine, y=y, n=X, h=0.1)
    small = SCALARS.replace("%n: index", "%n: i8")
    for fits in (-128, 255):
        run(small, engine, y=y, n=fits, h=0.1)
    for wide in (-129, 256, 1 << 70):
        with pytest.raises(ArgumentError, match=rf"%n = {wide} does not fit i8"):
            run(small, engine, y=y, n=wide, h=0.1)


def test_unknown_names() -> None:
    with pytest.raises(ArgumentError, match="no engine 'fast'; there are: vm, reference, null"):
        run(copy(), "fast", x=X, y=X)
    with pytest.raises(ArgumentError, match=r"no function @other; the module has: copy"):
        run(copy(), x=X, y=X, function="other")


@pytest.mark.parametrize(("threads", "message"), [(0, "threads=0"), (-3, "threads=-3")])
def test_wrong_number_of_threads(threads: int, message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        run(copy(), x=X, y=X, threads=threads)


@pytest.mark.parametrize("text", ["two", "0", "1.5"])
def test_wrong_thread_setting(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setenv("SPYRELAB_THREADS", text)
    with pytest.raises(ArgumentError, match=text):
        run(copy(), x=X, y=X)


@pytest.mark.parametrize("engine", ["reference", "vm"])
@pytest.mark.parametrize(
    ("element", "dtype"),
    [
        ("f16", torch.float16),
        ("bf16", torch.bfloat16),
        ("!spyreop.df16", torch.bfloat16),
        ("f32", torch.float32),
        ("f8E4M3FN", torch.float8_e4m3fn),
        ("f8E5M2", torch.float8_e5m2),
        ("i1", torch.bool),
        ("i8", torch.int8),
        ("i16", torch.int16),
        ("i32", torch.int32),
        ("i64", torch.int64),
        ("index", torch.int64),
    ],
)
def test_torch_tensors(engine: str, element: str, dtype: torch.dtype) -> None:
    x = torch.tensor([0, 1, 0, 1]).to(dtype)
    y = torch.zeros(4).to(dtype)
    result = run(copy(element), engine, x=x, y=y).outputs["y"]
    assert torch.equal(torch.from_numpy(result).view(torch.uint8), x.view(torch.uint8))
    assert not y.to(torch.float32).any()


def test_only_views_that_stand_on_a_pointer_bound_its_array() -> None:
    """What lies behind an offset or in a branch is for the engines to check."""
    size = "%n = arith.constant 4 : index\n"
    known = "func.func @f(%x: index) {\n" + size + view("v", "x", "%n", "f16") + "return\n}\n"
    with pytest.raises(ArgumentError, match="reach 4 elements"):
        run(known, x=X[:3])
    end = "%c = arith.constant true\nscf.if %c {\n" + view("v", "x", 4, "f16") + "}\nreturn\n}\n"
    run("func.func @f(%x: index) {\n" + end, x=X[:3])
    moved = "%p = arith.addi %x, %n : index\n" + view("v", "p", 4, "f16") + "return\n}\n"
    run("func.func @f(%x: index) {\n" + size + moved, x=X[:3])


def test_layouts_of_arrays() -> None:
    x = np.arange(16, dtype=np.float16).reshape(4, 4)
    y = np.zeros(4, np.float16)
    assert run(copy(), x=x.T, y=y).outputs["y"].tolist() == [0, 4, 8, 12]
    assert run(copy(), x=x[::-1, 1], y=y[::-1]).outputs["y"].tolist() == [13, 9, 5, 1]
    swapped = run(copy(), x=x.astype(">f2"), y=y.astype(">f2")).outputs["y"]
    assert swapped.tolist() == [0, 1, 2, 3]
    negated = torch._neg_view(torch.arange(4, dtype=torch.float16))
    assert run(copy(), x=negated, y=y).outputs["y"].tolist() == [0, -1, -2, -3]
    shaped = run(copy(), x=x, y=np.zeros((2, 2), np.float16)).outputs
    assert shaped["x"].shape == (4, 4)
    assert shaped["y"].shape == (2, 2)


@pytest.mark.parametrize("engine", ["reference", "vm"])
def test_outputs_are_copies_of_arguments_and_memory(engine: str) -> None:
    x, y = X.copy(), np.full(4, 9, np.float16)
    seen = np.arange(3, dtype=np.int32)
    result = run(copy(), engine, memory={4096: seen, ("LX", 3, 8): seen}, x=x, y=y)
    assert set(result.outputs) == {"x", "y", 4096, ("LX", 3, 8)}
    assert result.outputs["y"].tolist() == X.tolist()
    assert y.tolist() == [9] * 4
    for key in (4096, ("LX", 3, 8)):
        assert result.outputs[key].tolist() == seen.tolist()
        assert not np.shares_memory(result.outputs[key], seen)
    assert result.outputs["y"].flags.writeable


SCRATCHPADS = (
    "func.func @own(%y: index) attributes {grid = [3]} {\n"
    "%core = ktdp.get_compute_tile_id : index\n%at = arith.constant 40 : index\n"
    "%p = arith.addi %y, %core : index\n"
    + view("own", "at", 1, "f16", "ct_local") + view("two", "at", 1, "f16", "ct_local, ct_id = 2")
    + view("w", "p", 1, "f16") + tile("a", "own", "0", 1, "f16", 1)
    + tile("c", "two", "0", 1, "f16", 1) + tile("b", "w", "0", 1, "f16", 1)
    + "%t = ktdp.load %a : !ktdp.access_tile<1xindex> -> tensor<1xf16>\n"
    "%s = ktdp.load %c : !ktdp.access_tile<1xindex> -> tensor<1xf16>\n"
    "%sum = arith.addf %t, %s : tensor<1xf16>\n"
    "ktdp.store %sum, %b : tensor<1xf16>, !ktdp.access_tile<1xindex>\nreturn\n}\n"
)  # fmt: skip


@pytest.mark.parametrize("engine", ["reference", "vm"])
def test_seeded_scratchpads(engine: str) -> None:
    memory = {("LX", core, 40): np.array([core + 1], np.float16) for core in range(3)}
    result = run(SCRATCHPADS, engine, memory=memory, y=np.zeros(3, np.float16))
    assert result.outputs["y"].tolist() == [4, 5, 6]
    assert result.counters.lx_read.tolist() == [2, 2, 4]
    assert result.counters.ring.tolist() == [2, 2, 0]


@pytest.mark.parametrize(
    ("memory", "message"),
    [
        ({0: X, 3: X}, r"memory\[3\]"),
        ({-1: X}, r"memory\[-1\]"),
        ({"x": X}, "memory key 'x'"),
        ({True: X}, "memory key True"),
        ({("LX", 32, 0): X}, r"\('LX', 32, 0\).*cores 0 to 31"),
        ({("LX", 0, -1): X}, r"\('LX', 0, -1\)"),
        ({("LX", 0, 1 << 20): X}, r"\('LX', 0, 1048576\)"),
        ({("L1", 0, 0): X}, r"\('L1', 0, 0\)"),
        ({("LX", 0): X}, r"\('LX', 0\)"),
        ({1 << 40: X}, "memory"),
        ({8: "text"}, "8.*got str"),
    ],
)
def test_wrong_memory(memory: dict[Any, Any], message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        run(copy(), memory=memory, x=X, y=X)


def test_scratchpad_entries_must_not_overlap() -> None:
    with pytest.raises(ArgumentError, match="LX"):
        run(copy(), memory={("LX", 1, 0): X, ("LX", 1, 3): X}, x=X, y=X)


PROMISE = (
    "func.func @rows(%y: index, %n: !ktdp.runtime_arg<index, granularity=4, upperbound=64>) {\n"
    "%v = ktdp.runtime_arg_extract value from %n "
    ": !ktdp.runtime_arg<index, granularity=4, upperbound=64> -> index\n"
    + view("w", "y", 1, "index") + tile("b", "w", "0", 1, "index", 1)
    + "%t = tensor.splat %v : tensor<1xindex>\n"
    "ktdp.store %t, %b : tensor<1xindex>, !ktdp.access_tile<1xindex>\nreturn\n}\n"
)  # fmt: skip


@pytest.mark.parametrize("engine", ENGINES)
def test_promises_of_runtime_arguments(engine: str) -> None:
    y = np.zeros(1, np.int64)
    result = run(PROMISE, engine, y=y, n=64)
    assert engine == "null" or result.outputs["y"].tolist() == [64]
    with pytest.raises(ArgumentError, match="%n = 68 is above its bound 64"):
        run(PROMISE, engine, y=y, n=68)
    with pytest.raises(ArgumentError, match="%n = 6 is no multiple of its granularity 4"):
        run(PROMISE, engine, y=y, n=6)


def test_misaligned_addresses_at_launch() -> None:
    program = emulator.lower(parse(copy()))
    with DeviceMemory(1 << 20) as device:
        at = device.allocate(64)
        with pytest.raises(ArgumentError, match=r"%x is no multiple of the element size 2"):
            program.launch({"x": at + 1, "y": at}, device)
        with pytest.raises(ArgumentError, match=r"takes \['x', 'y'\]"):
            program.launch({"x": at}, device)
