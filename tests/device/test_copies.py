"""Copies between host and device and on the device, over shapes that sticks do not like."""

from __future__ import annotations

import itertools

import pytest
import torch

SIZES = [0, 1, 3, 63, 64, 65, 127, 129]
DTYPES = [
    torch.float32, torch.float16, torch.bfloat16, torch.float64, torch.int8, torch.uint8,
    torch.int16, torch.int32, torch.int64, torch.bool, torch.complex64, torch.complex128,
    torch.float8_e4m3fn, torch.float8_e5m2, torch.uint16, torch.complex32,
]  # fmt: skip


def numbers(*size: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    count = torch.Size(size).numel()
    if dtype is torch.uint16:
        return torch.arange(count, dtype=torch.int32).to(dtype).reshape(size)
    base = torch.arange(count, dtype=torch.float64) % 97 - 40
    if dtype.is_complex:
        return torch.complex(base, -base).to(dtype).reshape(size)
    return base.to(dtype).reshape(size)


def same(a: torch.Tensor, b: torch.Tensor) -> bool:
    if a.dtype != b.dtype or a.shape != b.shape:
        return False
    if a.dtype in (torch.float8_e4m3fn, torch.float8_e5m2):
        return a.contiguous().view(torch.uint8).equal(b.contiguous().view(torch.uint8))
    if a.dtype is torch.complex32:
        return torch.view_as_real(a.resolve_conj()).equal(torch.view_as_real(b.resolve_conj()))
    return a.equal(b)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_there_and_back(dtype: torch.dtype) -> None:
    for rows, columns in itertools.product(SIZES, SIZES):
        x = numbers(rows, columns, dtype=dtype)
        y = x.to("spyre")
        assert y.dtype == dtype and y.shape == x.shape and y.stride() == x.stride()
        assert same(y.cpu(), x), (rows, columns)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("size", [(), (1,), (65,), (2, 3, 5), (2, 1, 3, 66), (3, 0, 4)], ids=str)
def test_ranks(size: tuple[int, ...], dtype: torch.dtype) -> None:
    x = numbers(*size, dtype=dtype)
    assert same(x.to("spyre").cpu(), x)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.int64], ids=str)
@pytest.mark.parametrize("rows", SIZES)
def test_host_views_arrive_as_they_look(rows: int, dtype: torch.dtype) -> None:
    x = numbers(rows + 2, 131, dtype=dtype)
    for view in (x.t(), x[2:], x[:, 1:130], x[:, ::3], x[:1].expand(rows + 2, 131), x.t()[5:, 1:]):
        assert same(view.to("spyre").cpu(), view)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.int64], ids=str)
@pytest.mark.parametrize("columns", [1, 63, 64, 65, 129])
def test_device_to_device(columns: int, dtype: torch.dtype) -> None:
    x = numbers(6, columns, dtype=dtype)
    y = x.to("spyre")
    assert same(y.clone().cpu(), x)
    assert same(y.t().contiguous().cpu(), x.t())
    assert same(y[1:, :].clone().cpu(), x[1:])
    assert same(y[:, columns // 2 :].contiguous().cpu(), x[:, columns // 2 :])
    assert same(y.half().cpu(), x.half())
    z = torch.zeros(columns, 6, device="spyre", dtype=dtype)
    z.t().copy_(y)
    assert same(z.cpu(), x.t())
    z.copy_(y[0, :1])
    assert same(z.cpu(), x[0, :1].expand(columns, 6))


@pytest.mark.parametrize("old", [torch.float32, torch.float16, torch.int32, torch.bool], ids=str)
@pytest.mark.parametrize("new", [torch.float64, torch.bfloat16, torch.int8, torch.bool], ids=str)
def test_conversion_on_the_way(old: torch.dtype, new: torch.dtype) -> None:
    x = numbers(5, 70, dtype=old)
    assert same(x.to("spyre", new).cpu(), x.to(new))
    assert same(x.to("spyre").to("cpu", new), x.to(new))
    assert same(x.to("spyre").to(new).cpu(), x.to(new))


def test_copies_keep_the_order_of_dimensions() -> None:
    x = torch.randn(2, 3, 4, 5).to(memory_format=torch.channels_last)
    y = x.to("spyre")
    assert y.is_contiguous(memory_format=torch.channels_last)
    assert y.cpu().equal(x)
    assert y.clone().stride() == x.stride()
    assert y.contiguous().cpu().equal(x)


def test_gaps_and_overlaps_in_the_base() -> None:
    gaps = torch.empty_strided((3, 4), (10, 2), device="spyre")
    gaps.copy_(torch.arange(12.0).reshape(3, 4))
    assert gaps.cpu().equal(torch.arange(12.0).reshape(3, 4))
    overlap = torch.empty_strided((3, 4), (0, 1), device="spyre")
    overlap[0] = torch.arange(4.0)
    assert overlap.cpu().equal(torch.arange(4.0).expand(3, 4))


def test_single_elements() -> None:
    x = torch.randn(3, 70)
    y = x.to("spyre")
    assert y[2, 65].item() == x[2, 65].item()
    y[1, 64] = 5
    assert y[1, 64].item() == 5
    assert y[0, 0].tolist() == x[0, 0].item()
    assert torch.tensor(True, device="spyre").item() is True
    with pytest.raises(RuntimeError):
        y.item()


def test_printing_reads_the_tensor_once_and_counts_nothing() -> None:
    x = torch.randn(3, 5)
    y = x.to("spyre")
    torch.spyre.reset_op_counts()
    assert repr(y) == repr(x)[:-1] + ", device='spyre:0')"
    assert torch.spyre.op_counts() == {}


def test_padding_is_never_read(monkeypatch: pytest.MonkeyPatch) -> None:
    from spyrelab.device.allocations import entry_of
    from spyrelab.device.memory import MEMORY

    x = torch.randn(5, 65).half()
    y = torch.empty(5, 65, device="spyre", dtype=torch.float16)
    entry = entry_of(y)
    memory = MEMORY.device.bytes[entry.address : entry.address + entry.form.device_bytes]
    memory[:] = 0xFF  # NaN everywhere
    y.t().copy_(x.t())
    assert y.cpu().equal(x)
    torch.testing.assert_close(y.sum().cpu(), y.cpu().sum())
    assert memory[-2:].tolist() == [0xFF, 0xFF]


def test_a_fresh_copy_has_zeros_for_padding() -> None:
    from spyrelab.device.allocations import entry_of
    from spyrelab.device.memory import MEMORY

    for _ in range(3):
        y = torch.full((3, 65), -1.0).to("spyre")
        entry = entry_of(y)
        memory = MEMORY.device.f32[
            entry.address // 4 : (entry.address + entry.form.device_bytes) // 4
        ]
        assert (memory == -1).sum() == 3 * 65
        assert (memory == 0).sum() == len(memory) - 3 * 65
