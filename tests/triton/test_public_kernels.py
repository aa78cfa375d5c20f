"""Kernels that do what well-known public ones do, in the way that those do it."""

from __future__ import annotations

import pytest
import torch
import triton
import triton.language as tl
from triton.runtime import driver

from spyrelab.triton.errors import ArgumentError, WrongDeviceError

# ---- as many programs as the device is said to hold ----------------------------------------


@triton.jit
def row_softmax(out, x, rows, n, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    for row in tl.range(tl.program_id(0), rows, tl.num_programs(0), num_stages=2):
        values = tl.load(x + row * n + at, mask=at < n, other=-float("inf"))
        values = tl.exp(values - tl.max(values, axis=0))
        tl.store(out + row * n + at, values / tl.sum(values, axis=0), mask=at < n)


@pytest.mark.parametrize("warps", [4, 8, 32])
def test_occupancy_is_computed_from_registers_and_scratchpad(warps):
    properties = driver.active.utils.get_device_properties(driver.active.get_current_device())
    x = torch.randn(75, 100, generator=torch.Generator().manual_seed(0))
    placed = x.to("spyre")
    out = torch.empty_like(placed)
    kernel = row_softmax.warmup(out, placed, 75, 100, BLOCK=128, num_warps=warps, grid=(1,))
    kernel._init_handles()
    threads = properties["warpSize"] * warps
    programs = properties["max_num_regs"] // (kernel.n_regs * threads)
    programs = min(programs, properties["max_shared_mem"] // kernel.metadata.shared)
    programs = min(properties["multiprocessor_count"] * programs, 75)
    assert programs >= properties["multiprocessor_count"]
    kernel[(programs, 1, 1)](out, placed, 75, 100, 128)
    torch.testing.assert_close(out.cpu(), x.softmax(1))


# ---- gradients that programs add up under a lock -------------------------------------------


@triton.jit
def locked_sums(x, sums, locks, n, GROUPS: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    lock = locks + row % GROUPS
    been = lock + GROUPS
    total = tl.load(x + row * n + at, mask=at < n, other=0.0)
    place = sums + row % GROUPS * n + at
    while tl.atomic_cas(lock, 0, 1) == 1:
        pass
    if tl.load(been) == 0:  # the first one overwrites what was there
        tl.atomic_xchg(been, 1)
    else:
        total += tl.load(place, mask=at < n)
    tl.store(place, total, mask=at < n)
    tl.debug_barrier()
    tl.atomic_xchg(lock, 0)


def test_locks_of_groups():
    x = torch.randint(-9, 9, (37, 50), generator=torch.Generator().manual_seed(0)).float()
    sums = torch.full((4, 50), float("nan"), device="spyre")
    locks = torch.zeros(8, dtype=torch.int32, device="spyre")
    locked_sums[(37,)](x.to("spyre"), sums, locks, 50, GROUPS=4, BLOCK=64)
    assert torch.equal(sums.cpu(), torch.stack([x[group::4].sum(0) for group in range(4)]))


# ---- experts: rows by a table, a matrix per block of rows ----------------------------------


@triton.jit
def experts(
    x, weights, out, order, expert_of, gates, used, rows, n, k,
    TOP: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr,
):  # fmt: skip
    block, column = tl.program_id(0), tl.program_id(1)
    if block * BM >= tl.load(used):
        return
    pair = tl.load(order + block * BM + tl.arange(0, BM)).to(tl.int64)
    real = pair < rows
    expert = tl.load(expert_of + block).to(tl.int64)
    columns = (column * BN + tl.arange(0, BN)) % n
    inner = tl.arange(0, BK)
    left = x + pair[:, None] // TOP * k + inner[None, :]
    right = weights + expert * n * k + columns[None, :] * k + inner[:, None]
    total = tl.zeros((BM, BN), tl.float32)
    for step in range(0, tl.cdiv(k, BK)):
        rest = k - step * BK
        a = tl.load(left, mask=real[:, None] & (inner[None, :] < rest), other=0.0)
        total += tl.dot(a, tl.load(right, mask=inner[:, None] < rest, other=0.0))
        left += BK
        right += BK
    total *= tl.load(gates + pair, mask=real, other=0.0)[:, None]
    columns = column * BN + tl.arange(0, BN)
    held = real[:, None] & (columns[None, :] < n)
    tl.store(out + pair[:, None] * n + columns[None, :], total.to(tl.float16), mask=held)


def test_mixture_of_experts():
    tokens, count, top, k, n, block = 13, 4, 2, 40, 48, 16
    rng = torch.Generator().manual_seed(0)
    x = torch.randn(tokens, k, generator=rng).half()
    weights = torch.randn(count, n, k, generator=rng).mul(0.3).half()
    gates, chosen = torch.randn(tokens, count, generator=rng).softmax(-1).topk(top)
    order, expert_of = [], []
    for expert in range(count):
        found = (chosen.ravel() == expert).nonzero().ravel().tolist()
        found += [tokens * top] * (-len(found) % block)
        order += found
        expert_of += [expert] * (len(found) // block)
    used = len(order)
    order += [tokens * top] * block
    expert_of += [-1]
    tables = [torch.tensor(t, dtype=torch.int32).to("spyre") for t in (order, expert_of, [used])]
    out = torch.zeros(tokens, top, n, dtype=torch.float16, device="spyre")
    experts[(len(expert_of), triton.cdiv(n, 32))](
        x.to("spyre"), weights.to("spyre"), out, *tables[:2], gates.to("spyre"), tables[2],
        tokens * top, n, k, TOP=top, BM=block, BN=32, BK=32,
    )  # fmt: skip
    expected = torch.einsum("tk,tjnk->tjn", x.float(), weights.float()[chosen]) * gates[..., None]
    # Sums in f32, rounded to half once.
    torch.testing.assert_close(out.cpu(), expected.half(), rtol=2e-3, atol=1e-3)


# ---- weights of four bits, eight in a word -------------------------------------------------


@triton.jit
def four_bits(
    x, packed, scales, zeros, out, n, k,
    GROUP: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr,
):  # fmt: skip
    rows, columns = tl.arange(0, BM), tl.program_id(0) * BN + tl.arange(0, BN)
    total = tl.zeros((BM, BN), tl.float32)
    for start in range(0, k, BK):
        inner = start + tl.arange(0, BK)
        words = tl.load(packed + inner[:, None] // 8 * n + columns[None, :])
        codes = (words >> (inner % 8 * 4)[:, None]) & 15
        zero = tl.load(zeros + start // GROUP * (n // 8) + columns // 8)
        zero = (zero >> (columns % 8 * 4)) & 15
        scale = tl.load(scales + inner[:, None] // GROUP * n + columns[None, :])
        weights = ((codes - zero[None, :]) * scale).to(tl.float16)
        total += tl.dot(tl.load(x + rows[:, None] * k + inner[None, :]), weights)
    tl.store(out + rows[:, None] * n + columns[None, :], total)


def packed(codes: torch.Tensor, axis: int) -> torch.Tensor:
    words = sum(
        part << 4 * i for i, part in enumerate(codes.unflatten(axis, (-1, 8)).unbind(axis + 1))
    )
    return words.to(torch.int32)


def test_weights_of_four_bits():
    rows, n, k, group = 16, 64, 128, 64
    rng = torch.Generator().manual_seed(0)
    codes = torch.randint(0, 16, (k, n), generator=rng)
    zeros = torch.randint(0, 16, (k // group, n), generator=rng)
    scales = torch.rand(k // group, n, generator=rng).half()
    x = torch.randn(rows, k, generator=rng).half()
    out = torch.zeros(rows, n, device="spyre")
    arguments = [t.to("spyre") for t in (x, packed(codes, 0), scales, packed(zeros, 1))]
    four_bits[(n // 32,)](*arguments, out, n, k, GROUP=group, BM=rows, BN=32, BK=32)
    wide = (codes - zeros.repeat_interleave(group, 0)) * scales.repeat_interleave(group, 0)
    torch.testing.assert_close(out.cpu(), x.float() @ wide.float(), rtol=1e-4, atol=1e-3)


# ---- the greatest of a row with their places, as one key ------------------------------------


@triton.jit
def greatest(x, values, places, n, COUNT: tl.constexpr, BLOCK: tl.constexpr):
    row, at = tl.program_id(0), tl.arange(0, BLOCK)
    found = tl.load(x + row * n + at, mask=at < n, other=-float("inf"))
    bits = found.to(tl.uint32, bitcast=True)
    ordered = tl.where((bits >> 31) != 0, ~bits, bits | 0x80000000)
    keys = (ordered.to(tl.uint64) << 32) | (0xFFFFFFFF - at.to(tl.uint64))
    best = tl.topk(keys, COUNT)
    high = (best >> 32).to(tl.uint32)
    high = tl.where((high >> 31) != 0, high & 0x7FFFFFFF, ~high)
    out = row * COUNT + tl.arange(0, COUNT)
    tl.store(values + out, high.to(tl.float32, bitcast=True))
    tl.store(places + out, (0xFFFFFFFF - (best & 0xFFFFFFFF)).to(tl.int32))


def test_greatest_values_and_their_places():
    x = torch.randn(5, 100, generator=torch.Generator().manual_seed(0))
    values = torch.zeros(5, 8, device="spyre")
    places = torch.zeros(5, 8, dtype=torch.int32, device="spyre")
    greatest[(5,)](x.to("spyre"), values, places, 100, COUNT=8, BLOCK=128)
    expected = x.topk(8)
    assert torch.equal(values.cpu(), expected.values)
    assert torch.equal(places.cpu(), expected.indices.int())


# ---- pointers that are only read, launches in a chain ---------------------------------------


@triton.jit
def copy(x: tl.const, out, WAIT: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    if WAIT:
        tl.extra.cuda.gdc_wait()
    tl.store(out + at, tl.load(x + at))
    if WAIT:
        tl.extra.cuda.gdc_launch_dependents()


@pytest.mark.parametrize("waits", [False, True])
def test_constant_pointers_and_dependent_launches(waits):
    x = torch.arange(16.0)
    out = torch.zeros(16, device="spyre")
    copy[(1,)](x.to("spyre"), out, waits, BLOCK=16, launch_pdl=waits)
    assert torch.equal(out.cpu(), x)


# ---- whatever wrappers give to a launch ---------------------------------------------------


@triton.jit
def doubled(x, out, n, stride, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, 2 * tl.load(x + at * stride, mask=at < n), mask=at < n)


class Walk:
    """An address and a type: as much of a tensor as kernels need."""

    def __init__(self, tensor, offset=0):
        self.tensor, self.offset, self.dtype = tensor, offset, tensor.dtype

    def data_ptr(self):
        return self.tensor.data_ptr() + self.offset * self.tensor.element_size()


def test_objects_that_only_have_an_address():
    x = torch.randn(4, 100, generator=torch.Generator().manual_seed(0))
    placed = x.to("spyre")
    out = torch.zeros(400, device="spyre")
    doubled[(4,)](Walk(placed, 399), Walk(out), 400, -1, BLOCK=128)
    torch.testing.assert_close(out.cpu(), 2 * x.flatten().flip(0))


def test_a_launch_of_a_compiled_kernel_with_too_few_arguments():
    x = torch.ones(8, device="spyre")
    kernel = doubled.warmup(x, x, 8, 2, BLOCK=8, grid=(1,))
    with pytest.raises(ArgumentError, match=r"'stride' is missing: .* has 3 arguments"):
        kernel[(1, 1, 1)](x, x, 8)


def test_an_address_outside_of_every_tensor():
    x = torch.ones(8, device="spyre")
    with pytest.raises(WrongDeviceError, match=r"'x' points to 0x.*, which lies in no tensor"):
        doubled[(1,)](Walk(torch.ones(8)), x, 8, 1, BLOCK=8)


# ---- outputs of experts, added up over as many at a time as a tuner tries -----------------


@triton.jit
def summed_rows(x, out, order, n, EACH: tl.constexpr, ROWS: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    total = tl.zeros([BLOCK], tl.float32)
    for tile in tl.range(tl.cdiv(EACH, ROWS)):
        row = (tile * ROWS + tl.arange(0, ROWS)).to(tl.uint32)
        first = tl.program_id(0).to(tl.int64) * EACH
        token = tl.load(order + (first + row), mask=row < EACH, other=0).to(tl.int64)
        inside = (row[:, None] < EACH) & (at[None, :] < n)
        values = tl.load(x + token[:, None] * n + at[None, :], mask=inside, other=0.0)
        total += tl.sum(values, axis=0)
    tl.store(out + tl.program_id(0) * n + at, total, mask=at < n)


@pytest.mark.parametrize("rows", [1, 2, 4])
def test_rows_through_a_table_a_few_at_a_time(rows):
    x = torch.randn(6, 40, generator=torch.Generator().manual_seed(0))
    order = torch.tensor([[4, 2, 5], [0, 3, 3]], dtype=torch.int32)
    out = torch.zeros(2, 40, device="spyre")
    summed_rows[(2,)](x.to("spyre"), out, order.to("spyre"), 40, EACH=3, ROWS=rows, BLOCK=64)
    torch.testing.assert_close(out.cpu(), x[order.long()].sum(1))
