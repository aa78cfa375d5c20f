"""The CPU fallback: counted, and with every effect of an operation carried back.

Operations on float64 always fall back: the card has no such type.
"""

from __future__ import annotations

import warnings

import pytest
import torch
from torch.nn import functional

from spyrelab.device.errors import FallbackError


def fallen(name: str) -> int:
    """Fallbacks of an operation, by whichever of its overloads torch took."""
    counts = torch.spyre.op_counts().items()
    return sum(entry["fallback"] for key, entry in counts if key.split(".")[0] == name)


def test_an_operation_without_a_kernel_is_counted_and_right() -> None:
    x = torch.randn(3, 70, dtype=torch.float64)
    assert torch.special.erfcx(x.to("spyre")).cpu().equal(torch.special.erfcx(x))
    assert fallen("aten::special_erfcx") == 1
    torch.spyre.reset_op_counts()
    assert torch.spyre.op_counts() == {}


def test_the_ledger_has_both_kinds() -> None:
    torch.special.erfcx(torch.zeros(3, device="spyre", dtype=torch.float64))
    for counts in torch.spyre.op_counts().values():
        assert set(counts) == {"native", "fallback"}


def test_fallback_can_be_forbidden_and_nothing_is_computed() -> None:
    x = torch.full((3,), 2.0, device="spyre", dtype=torch.float64)
    with torch.spyre.fallback("error"):
        with pytest.raises(FallbackError, match=r"aten::erfinv"):
            x.erfinv_()
        assert fallen("aten::erfinv") + fallen("aten::erfinv_") == 0
    assert x.tolist() == [2, 2, 2]
    x.erfinv_()
    assert isinstance(FallbackError("x"), NotImplementedError)


def test_fallback_can_warn_once_per_operation() -> None:
    x = torch.rand(3, device="spyre", dtype=torch.float64)
    with torch.spyre.fallback("warn"):
        with pytest.warns(UserWarning, match="special_erfcx"):
            torch.special.erfcx(x)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            torch.special.erfcx(x)


def test_modes_nest_and_hold_until_the_next_choice() -> None:
    from spyrelab.device import policy

    with torch.spyre.fallback("error"):
        with torch.spyre.fallback("warn"):
            assert policy._mode == "warn"
        assert policy._mode == "error"
    torch.spyre.fallback("error")
    assert policy._mode == "error"
    torch.spyre.fallback("count")
    with pytest.raises(ValueError, match="one of count, warn, error"):
        torch.spyre.fallback("never")


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.int64], ids=str)
def test_arguments_written_in_place(dtype: torch.dtype) -> None:
    x = (torch.arange(210) % 7).reshape(3, 70).to(dtype)
    y = x.to("spyre")
    assert y.lerp_(y, 0.5) is y if dtype.is_floating_point else True
    x.put_(torch.tensor([1, 69, 140]), torch.tensor([9, 8, 7]).to(dtype))
    y.put_(torch.tensor([1, 69, 140]).spyre(), torch.tensor([9, 8, 7]).to("spyre", dtype))
    assert y.cpu().equal(x)
    x[:, 60:].cumsum_(1)
    y[:, 60:].cumsum_(1)
    assert y.cpu().equal(x)


def test_out_arguments_are_written_and_returned() -> None:
    x = torch.randn(3, 70)
    out, indices = torch.empty(3, device="spyre"), torch.empty(3, dtype=torch.int64, device="spyre")
    made = torch.max(x.to("spyre"), 1, out=(out, indices))
    assert made[0] is out or made[0].data_ptr() == out.data_ptr()
    want = torch.max(x, 1)
    assert out.cpu().equal(want[0]) and indices.cpu().equal(want[1])


def test_an_empty_out_argument_takes_the_right_size() -> None:
    x = torch.randn(3, 70, dtype=torch.float64)
    out = torch.empty(0, device="spyre", dtype=torch.float64)
    torch.special.erfcx(x.to("spyre"), out=out)
    assert out.cpu().equal(torch.special.erfcx(x))
    out = torch.empty(0, device="spyre", dtype=torch.float64)
    torch.cumsum(x.to("spyre"), 1, out=out)
    torch.testing.assert_close(out.cpu(), torch.cumsum(x, 1))


def test_an_out_argument_of_the_wrong_size_warns_as_everywhere() -> None:
    x = torch.randn(3, 70, dtype=torch.float64).to("spyre")
    for function in (torch.sin, torch.special.erfcx, lambda a, out: torch.cumsum(a, 1, out=out)):
        out = torch.empty(2, 2, device="spyre", dtype=torch.float64)
        with pytest.warns(UserWarning, match="output with one or more elements was resized"):
            function(x, out=out)
        assert out.shape == x.shape


def test_an_out_argument_of_the_wrong_type() -> None:
    x = torch.randn(3, device="spyre")
    with pytest.raises(RuntimeError, match="can't be cast"):
        torch.add(x, x, out=torch.empty(3, dtype=torch.int64, device="spyre"))


def test_lists_of_tensors_go_in_and_come_out() -> None:
    xs = [torch.randn(2, 65), torch.randn(3, 65)]
    ys = [x.to("spyre") for x in xs]
    assert torch.cat(ys).cpu().equal(torch.cat(xs))
    assert all(
        a.cpu().equal(b) for a, b in zip(torch.block_diag(*ys), torch.block_diag(*xs), strict=False)
    )
    torch._foreach_add_(ys, 1.0)
    assert all(y.cpu().equal(x + 1) for x, y in zip(xs, ys, strict=False))
    grids = torch.meshgrid(ys[0][0], ys[1][1], indexing="ij")
    assert grids[1].shape == (65, 65)


def test_running_statistics_that_the_schema_does_not_mention() -> None:
    x = torch.randn(8, 5, 4)
    means = []
    for device in ("cpu", "spyre"):
        norm = torch.nn.BatchNorm1d(5).to(device)
        norm(x.to(device))
        means.append(norm.running_mean.cpu())
    assert means[0].abs().sum() > 0
    torch.testing.assert_close(means[0], means[1])


def test_results_keep_the_order_of_dimensions() -> None:
    x = torch.randn(4, 5, 6, dtype=torch.float64).permute(2, 0, 1)
    got, want = torch.special.erfcx(x.to("spyre")), torch.special.erfcx(x)
    assert got.stride() == want.stride()
    assert got.cpu().equal(want)


def test_operations_with_many_results_and_optional_inputs() -> None:
    x = torch.randn(4, 70)
    for got, want in zip(torch.linalg.svd(x.to("spyre")), torch.linalg.svd(x), strict=True):
        torch.testing.assert_close(got.cpu(), want)
    unique, counts = torch.tensor([3, 1, 3], device="spyre").unique(return_counts=True)
    assert unique.tolist() == [1, 3] and counts.tolist() == [1, 2]
    assert torch.tensor([[0, 1], [2, 0]], device="spyre").nonzero().tolist() == [[0, 1], [1, 0]]


def test_indexing_in_all_ways() -> None:
    x = torch.randn(6, 70)
    y = x.to("spyre")
    rows = torch.tensor([5, 0, 3])
    assert y[rows.to("spyre")].cpu().equal(x[rows])
    assert y[rows].cpu().equal(x[rows])
    assert y[y > 0].cpu().equal(x[x > 0])
    assert y[:, rows.to("spyre")].cpu().equal(x[:, rows])
    y[rows.to("spyre")] = 0.5
    x[rows] = 0.5
    y[y < 0] = 7
    x[x < 0] = 7
    assert y.cpu().equal(x)


@pytest.mark.parametrize("name", ["gelu", "softmax", "layer_norm", "attention", "embedding", "fft"])
def test_functions(name: str) -> None:
    x = torch.randn(2, 3, 64)
    run = {
        "gelu": lambda x: functional.gelu(x),
        "softmax": lambda x: functional.softmax(x, -1),
        "layer_norm": lambda x: functional.layer_norm(x, (64,)),
        "attention": lambda x: functional.scaled_dot_product_attention(x, x, x, is_causal=True),
        "embedding": lambda x: functional.embedding(torch.tensor([[1, 0]]).to(x.device), x[0]),
        "fft": lambda x: torch.fft.rfft(x).abs(),
    }[name]
    torch.testing.assert_close(run(x.to("spyre")).cpu(), run(x), atol=2e-6, rtol=2e-6)
