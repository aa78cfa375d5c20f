"""What is easily wrong at the edges: nothing, numbers without dimensions, whole numbers, truth."""

from __future__ import annotations

import math

import pytest
import torch


def _both(compute: object, *hosts: torch.Tensor) -> None:
    assert callable(compute)
    with torch.spyre.fallback("error"):
        found = compute(*(host.to("spyre") for host in hosts))
    expected = compute(*hosts)
    torch.testing.assert_close(found.cpu(), expected, equal_nan=True)
    assert found.stride() == expected.stride() or expected.numel() < 2


@pytest.mark.parametrize(
    ("name", "value"), [("sum", 0.0), ("prod", 1.0), ("mean", math.nan), ("nansum", 0.0)]
)
def test_reductions_of_nothing(name: str, value: float) -> None:
    _both(lambda x: getattr(torch, name)(x), torch.empty(0, 3))
    _both(lambda x: getattr(torch, name)(x, 0), torch.empty(0, 3))
    empty = torch.empty(0, 3, device="spyre")
    assert getattr(torch, name)(empty).item() == pytest.approx(value, nan_ok=True)
    with pytest.raises(IndexError):
        empty.amax(0)


def test_products_over_nothing() -> None:
    _both(torch.mm, torch.empty(3, 0), torch.empty(0, 4))
    _both(torch.addmm, torch.randn(4), torch.empty(3, 0), torch.empty(0, 4))
    _both(lambda x, a, b: torch.addmm(x, a, b, beta=0), torch.full((3, 4), math.nan),
          torch.randn(3, 2), torch.randn(2, 4))  # fmt: skip


def test_numbers_without_dimensions() -> None:
    x = torch.tensor(2.5)
    for compute in (
        lambda t: t.softmax(0), lambda t: t.cumsum(0), lambda t: t.sort().values,
        lambda t: t.kthvalue(1).values, lambda t: t.argmax(), lambda t: t.logcumsumexp(0),
    ):  # fmt: skip
        _both(compute, x)
    zero = torch.tensor([0])
    _both(lambda t, i: t.gather(0, i), x, zero)
    _both(lambda t, i: t.index_select(0, i), x, zero)
    _both(lambda t, i: t.scatter(0, i[0], 1.5), x, zero)


@pytest.mark.parametrize("dtype", [torch.int8, torch.int16, torch.int32, torch.int64])
def test_whole_numbers(dtype: torch.dtype) -> None:
    x = torch.randint(-9, 9, (7, 70), dtype=dtype)
    for compute in (
        lambda t: t.sum(1), lambda t: t.amax(0), lambda t: t.cumsum(0), lambda t: (t > 3).any(1),
        lambda t: (t > -9).all(0), lambda t: t.where(t > 0, 2), lambda t: t // 3,
        lambda t: t.t().contiguous(), lambda t: t == 4, lambda t: t.argmax(1), lambda t: t * 2.5,
        lambda t: t << 1, lambda t: (t != 0).sum(),
    ):  # fmt: skip
        _both(compute, x)


def test_equal_reads_every_element() -> None:
    x = torch.randn(5, 70, device="spyre")
    y = x.clone()
    with torch.spyre.fallback("error"):
        assert torch.equal(x, y)
        y[4, 69] += 1
        assert not torch.equal(x, y)
        assert not torch.equal(x, y[:4])


def test_an_out_of_the_wrong_size_is_resized_with_a_warning() -> None:
    x = torch.randn(5, 70, device="spyre")
    out = torch.empty(3, device="spyre")
    with pytest.warns(UserWarning, match="was resized"):
        torch.sum(x, 1, out=out)
    torch.testing.assert_close(out.cpu(), x.cpu().sum(1))


def test_moments_without_freedom_warn() -> None:
    with pytest.warns(UserWarning, match="degrees of freedom"):
        assert torch.randn(1, device="spyre").var().isnan().item()


def test_types_that_programs_do_not_know_are_still_moved() -> None:
    for dtype in (torch.float64, torch.uint8, torch.complex64):
        x = torch.arange(12).reshape(3, 4).to(dtype)
        with torch.spyre.fallback("error"):
            assert x.to("spyre").t().contiguous().cpu().equal(x.t().contiguous())
            assert torch.full((3,), 7, dtype=dtype, device="spyre").cpu().tolist() == [7, 7, 7]


def test_copies_to_the_host_may_ask_not_to_wait() -> None:
    x = torch.randn(3, 70, device="spyre")
    assert x.to("cpu", torch.float64, non_blocking=True).equal(x.cpu().double())


def test_lazy_modules_move_before_they_know_their_sizes() -> None:
    for module in (torch.nn.LazyLinear(3), torch.nn.LazyConv1d(3, 2), torch.nn.LazyBatchNorm1d()):
        moved = module.to("spyre")
        x = torch.randn(2, 4, 5)
        result = moved(x.to("spyre"))
        assert result.device.type == "spyre"
        torch.testing.assert_close(result.cpu(), moved.to("cpu")(x), rtol=1e-4, atol=1e-4)


def test_constants_of_kernels_ignore_the_default_device_and_type() -> None:
    x = torch.randn(1, 2, 5, 6)
    expected = torch.nn.functional.interpolate(x, (7, 4), mode="bilinear")
    torch.set_default_device("spyre")
    torch.set_default_dtype(torch.float64)
    try:
        found = torch.nn.functional.interpolate(x.to("spyre"), (7, 4), mode="bilinear")
        pooled = torch.nn.functional.adaptive_avg_pool2d(x.to("spyre"), (3, 4))
    finally:
        torch.set_default_device(None)
        torch.set_default_dtype(torch.float32)
    torch.testing.assert_close(found.cpu(), expected)
    torch.testing.assert_close(pooled.cpu(), torch.nn.functional.adaptive_avg_pool2d(x, (3, 4)))


def test_results_never_share_memory_with_operands() -> None:
    x = torch.randn(1, 2, 5, 6, device="spyre")
    index = torch.zeros(1, 2, 5, 6, dtype=torch.int64, device="spyre")
    before = x.clone()
    for compute in (
        lambda: torch.nn.functional.pad(x, (0, 0, 0, 0), "reflect"),
        lambda: torch.nn.functional.channel_shuffle(x, 1),
        lambda: torch.nn.functional.interpolate(x, (5, 6)),
        lambda: x.scatter_reduce(0, index, x, "amax"),
        lambda: torch.ops.aten.reflection_pad2d_backward(x, x, [0, 0, 0, 0]),
        lambda: x.flip([]), lambda: x.roll(0, 1), lambda: torch.take(x, index),
    ):  # fmt: skip
        compute().fill_(7.0)
        assert torch.equal(x, before)
