"""Graded tests of chapter 3: addresses, the fallback and native kernels."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import torch

import spyrelab.device
from spyrelab.grade import WrongError, expect_close, expect_equal, task
from spyrelab.layout import SpyreTensorLayout, element_offsets

MACHINERY = (
    "torch",
    "spyrelab.emulator",
    "spyrelab.kernels",
    "spyrelab.layout",
    "spyrelab.timing",
)
"""What an answer on the device calls, directly or not."""
F16_STEP = 2.0**-10

aten: Any = torch.ops.aten
spyre: Any = torch.spyre  # type: ignore[attr-defined]
address_of = partial(task, "ch03.1", "address_of")
fallback = partial(task, "ch03.2", "fallback", may_use=MACHINERY)
swiglu = partial(task, "ch03.3", "swiglu", may_use=MACHINERY)


def expect_tensor(found: Any, expected: torch.Tensor, what: str, rtol: float = 0.0) -> None:
    """Fail unless the answer is a tensor of the device with these elements."""
    if not isinstance(found, torch.Tensor):
        raise WrongError(f"{what}: expected a tensor, got a {type(found).__name__}")
    expect_equal(found.device.type, "spyre", f"{what}: device")
    expect_equal(str(found.dtype), str(expected.dtype), f"{what}: dtype")
    wide = [t.detach().cpu().double().numpy() for t in (found, expected)]
    expect_close(wide[0], wide[1], rtol=rtol, atol=rtol, what=what)


def halves(rng: Any, *size: int) -> torch.Tensor:
    return torch.from_numpy(rng.standard_normal(size).astype(np.float16))


# ---- 1: where an element of a view lies --------------------------------------------------


def expect_addresses(impl: Any, given: Any, rng: Any, rows: int, columns: int, view: Any) -> None:
    """Compare the addresses of all elements of a view of a matrix on the device."""
    matrix = torch.empty(rows, columns, dtype=torch.float16, device="spyre")
    layout = SpyreTensorLayout.default((rows, columns), "f16")
    address = 128 * int(rng.integers(1, 1 << 20))
    allocations = {matrix.data_ptr() + 1 << 20: given.Allocation(0, 1, 1)}
    allocations[matrix.data_ptr()] = given.Allocation(address, rows, columns)
    seen = view(matrix)
    size, stride, offset = tuple(seen.shape), seen.stride(), seen.storage_offset()
    places = element_offsets(layout, size, stride, offset)
    for _ in range(20):
        index = tuple(int(rng.integers(extent)) for extent in size)
        found = impl.address_of(allocations, seen.data_ptr(), offset, stride, index)
        expected = address + 2 * int(places[index])
        expect_equal(found, expected, f"element {list(index)} of a view of [{rows}, {columns}]")


@address_of(
    hints=[
        "A row of up to 64 elements has one stick, however short it is. Where does row 1 begin?",
        "Element (row, column) of such a matrix is element row * 64 + column of device memory, "
        "two bytes each, after the address of the allocation.",
    ]
)
def test_address_in_one_stick(impl: Any, given: Any, rng: Any) -> None:
    """A matrix whose rows fit into a stick."""
    rows, columns = int(rng.integers(3, 40)), int(rng.integers(5, 60))
    expect_addresses(impl, given, rng, rows, columns, lambda x: x)


@address_of(
    hints=[
        "Which sticks come first: the rest of row 0, or the beginning of row 1?",
        "tile, lane = divmod(column, 64); the sticks of a tile are all rows, so the element is "
        "(tile * rows + row) * 64 + lane.",
    ]
)
def test_address_in_several_tiles(impl: Any, given: Any, rng: Any) -> None:
    """A matrix with several sticks a row."""
    rows, columns = int(rng.integers(3, 40)), int(rng.integers(130, 300))
    expect_addresses(impl, given, rng, rows, columns, lambda x: x)


@address_of(
    hints=[
        "A view shares the allocation. Which pointer is the key of the allocations, and which "
        "element of the matrix does the view begin with?",
        "The base is pointer - 2 * offset; offset + index . stride is the element in the order of "
        "the host, and divmod by the columns of the matrix gives row and column.",
    ]
)
def test_address_in_a_view(impl: Any, given: Any, rng: Any) -> None:
    """Slices, transposes, broadcasts and diagonals of a matrix."""
    rows, columns = int(rng.integers(20, 40)), int(rng.integers(130, 300))
    views = (
        lambda x: x[3:, 70:],
        lambda x: x.t()[::3, 1:],
        lambda x: x[2:3].expand(5, -1),
        lambda x: x[1:].diagonal(),
    )
    for view in views:
        expect_addresses(impl, given, rng, rows, columns, view)


# ---- 2: the fallback ---------------------------------------------------------------------


def call_fallback(impl: Any, op: Any, args: Any, kwargs: Any) -> Any:
    """The answer's result; the operation must not have reached the device."""
    spyre.reset_op_counts()
    result = impl.fallback(op, args, kwargs)
    done = [name for name in spyre.op_counts() if name.startswith(op.name().partition(".")[0])]
    if done:
        raise WrongError(f"{op} was called with tensors of the device, it counts {done[0]}")
    return result


@fallback(
    hints=[
        "Tensors hide in lists and in keyword arguments, too. And does the result come back?",
        "One function maps a value to the host (a tensor, a list of values, anything else), and "
        "another maps a result to the device.",
    ]
)
def test_fallback_of_functions(impl: Any, rng: Any) -> None:
    """Operations that write nothing."""
    x, y = halves(rng, 5, 70), halves(rng, 5, 70)
    on_card = [x.to("spyre"), y.to("spyre")]
    found = call_fallback(impl, aten.sinc.default, (on_card[0],), {})
    expect_tensor(found, torch.sinc(x), "sinc(x)", F16_STEP)
    found = call_fallback(impl, aten.cat.default, (on_card, 1), {})
    expect_tensor(found, torch.cat([x, y], 1), "cat([x, y], 1)")
    condition = (x > 0).to("spyre")
    named = {"self": on_card[0], "other": on_card[1]}
    found = call_fallback(impl, aten.where.self, (condition,), named)
    expect_tensor(found, torch.where(x > 0, x, y), "where(x > 0, self=x, other=y)")
    found = call_fallback(impl, aten.sort.default, (on_card[0], 1), {})
    expect_equal(type(found).__name__, "tuple", "sort(x, 1): type of the result")
    for part, expected in zip(found, torch.sort(x, 1), strict=True):
        expect_tensor(part, expected, "sort(x, 1)")


@fallback(
    hints=[
        "x.sinc_() has to change x. What was changed here is a copy of it.",
        "Walk over op._schema.arguments: where alias_info.is_write, copy_ the host's elements "
        "back, and return the argument itself instead of a new tensor.",
    ]
)
def test_fallback_writes_back(impl: Any, rng: Any) -> None:
    """Operations in place, also on views."""
    x, index = halves(rng, 6, 70), torch.tensor([0, 3])
    rows = halves(rng, 2, 70)
    expected = x.clone()
    expected.t()[::2].sinc_()
    expected.index_add_(0, index, rows)
    on_card = x.to("spyre")
    view = on_card.t()[::2]
    result = call_fallback(impl, aten.sinc_.default, (view,), {})
    expect_equal(result is view, True, "the result of sinc_(view) is the view itself")
    args = (on_card, 0, index.to("spyre"), rows.to("spyre"))
    result = call_fallback(impl, aten.index_add_.default, args, {})
    expect_equal(result is on_card, True, "the result of index_add_(x, ...) is x itself")
    expect_tensor(on_card, expected, "x after sinc_ of a view and index_add_", F16_STEP)


@fallback(
    hints=[
        "An out= is an argument that the operation writes, and it has a name instead of a place.",
        "Take it from kwargs by argument.name if there are fewer positional arguments.",
    ]
)
def test_fallback_into_outs(impl: Any, rng: Any) -> None:
    """Operations with out arguments."""
    x = halves(rng, 4, 33)
    out = torch.zeros(4, 33, dtype=torch.float16, device="spyre")
    result = call_fallback(impl, aten.sinc.out, (x.to("spyre"),), {"out": out})
    expect_equal(result is out, True, "the result of sinc(x, out=out) is out itself")
    expect_tensor(out, torch.sinc(x), "out after sinc(x, out=out)", F16_STEP)
    values, places = torch.zeros_like(out), torch.zeros(4, 33, dtype=torch.int64, device="spyre")
    outs = {"values": values, "indices": places}
    result = call_fallback(impl, aten.sort.values, (x.to("spyre"), 1), outs)
    same = isinstance(result, tuple) and result[0] is values and result[1] is places
    expect_equal(same, True, "the results of sort(x, 1, values=v, indices=i) are v and i")
    expect_tensor(values, torch.sort(x, 1).values, "v after sort(x, 1, values=v, indices=i)")


# ---- 3: a native kernel ------------------------------------------------------------------


def expect_swiglu(impl: Any, gate: torch.Tensor, x: torch.Tensor, launches: int = 2) -> None:
    """Compare with torch in float32; count launches, and what aten did."""
    expected = torch.nn.functional.silu(gate.float()).to(gate.dtype) * x
    wide = expected.cpu().to(gate.dtype)
    spyre.reset_op_counts()
    with spyrelab.record() as recorded:
        found = impl.swiglu(gate, x)
    counts = spyre.op_counts()
    what = f"swiglu of {list(gate.shape)} and {list(x.shape)} in {gate.dtype}"
    expect_tensor(found, wide, what, 2 * F16_STEP)
    left = [name for name, count in counts.items() if count["fallback"]]
    expect_equal(left, [], f"{what}: operations on the CPU")
    done = [name for name in counts if name not in ("aten::fill_.Scalar", "aten::zero_")]
    expect_equal(done, [], f"{what}: operations of aten that compute")
    ops = [kernel.op for kernel in recorded.kernels if kernel.op != "fill"]
    expect_equal(len(ops), launches, f"{what}: launches ({', '.join(ops)})")


@swiglu(
    hints=[
        "torch.nn.functional.silu is a kernel of somebody else; write one. Which programs have to "
        "be launched, and where do their results lie?",
        'out = torch.empty_like(x), then run("silu", [gate], [out]) and run("mul", [out, x], '
        "[out]).",
    ]
)
def test_swiglu_is_native(impl: Any, rng: Any) -> None:
    """Matrices of one size, in halves and floats."""
    gate, x = halves(rng, 9, 130), halves(rng, 9, 130)
    expect_swiglu(impl, gate.to("spyre"), x.to("spyre"))
    expect_swiglu(impl, gate.float().to("spyre"), x.float().to("spyre"))


@swiglu(
    hints=[
        "The two may broadcast against each other: the result has the size of neither, then.",
        "torch.broadcast_shapes(gate.shape, x.shape) is the size of the result; silu's result is "
        "only as large as the gate.",
    ]
)
def test_swiglu_broadcasts(impl: Any, rng: Any) -> None:
    """A gate for each row, and a row for each gate."""
    expect_swiglu(impl, halves(rng, 7, 1).to("spyre"), halves(rng, 7, 70).to("spyre"))
    expect_swiglu(impl, halves(rng, 7, 1).to("spyre"), halves(rng, 70).to("spyre"))


@swiglu(
    hints=[
        "What is the result of nothing? No program runs on an empty tensor.",
        "Return the empty result where out.numel() is 0, before anything is launched.",
    ]
)
def test_swiglu_of_nothing(impl: Any, rng: Any) -> None:
    """Tensors without elements."""
    none = torch.empty(0, 70, dtype=torch.float16, device="spyre")
    expect_swiglu(impl, none, none, launches=0)
    expect_swiglu(impl, none, halves(rng, 1, 70).to("spyre"), launches=0)
