"""Layouts of allocations: the default, chosen ones, and what survives."""

from __future__ import annotations

import pytest
import torch

from spyrelab.device.errors import DeviceError
from spyrelab.layout import LayoutError, SpyreTensorLayout


def test_floats_lie_in_sticks() -> None:
    x = torch.randn(5, 100, 150, device="spyre", dtype=torch.float16)
    layout = x.device_tensor_layout()
    assert list(layout.device_size) == [100, 3, 5, 64]
    assert list(layout.stride_map) == [150, 64, 15000, 1]
    assert x.t if x[0].device_tensor_layout() == layout else None
    y = torch.empty(512, 256, device="spyre", dtype=torch.float16)
    assert y.device_tensor_layout() == SpyreTensorLayout([4, 512, 64], [64, 256, 1], "f16")


def test_integers_are_linear() -> None:
    x = torch.arange(12, device="spyre").reshape(3, 4)
    assert x.device_tensor_layout() == SpyreTensorLayout.linear((12,), "i64")
    assert x.device_tensor_layout().is_linear


LAYOUTS = {
    "default": SpyreTensorLayout.default((5, 100, 150), "f16"),
    "dim_order": SpyreTensorLayout.default((5, 100, 150), "f16", [1, 0, 2]),
    "first dimension in sticks": SpyreTensorLayout.default((5, 100, 150), "f16", [2, 1, 0]),
    "linear": SpyreTensorLayout.linear((5, 100, 150), "f16"),
    "sparse": SpyreTensorLayout.sparse((5, 100, 150), "f16"),
}


@pytest.mark.parametrize("name", LAYOUTS)
def test_a_chosen_layout_changes_where_and_not_what(name: str) -> None:
    x, layout = torch.randn(5, 100, 150).half(), LAYOUTS[name]
    y = x.to("spyre", device_layout=layout)
    assert y.device_tensor_layout() == layout
    assert y.cpu().equal(x)
    assert y[2:, 7, 60:70].cpu().equal(x[2:, 7, 60:70])
    assert (y + 1).cpu().equal(x + 1)
    y[1:3, :, 5] = 2
    x[1:3, :, 5] = 2
    assert y.cpu().equal(x)
    y.mul_(2)
    assert y.device_tensor_layout() == layout
    assert y.cpu().equal(x * 2)
    z = y.to("spyre", device_layout=LAYOUTS["dim_order"])
    assert z.cpu().equal(x * 2)


def test_the_1_6_9_format_keeps_nine_bits() -> None:
    x = torch.randn(3, 70).half()
    y = x.to("spyre", device_layout=SpyreTensorLayout.default((3, 70), "df16"))
    assert not y.cpu().equal(x)
    torch.testing.assert_close(y.cpu(), x, rtol=2**-10, atol=0)
    assert y[1:, 60:].cpu().equal(y.cpu()[1:, 60:])


def test_a_layout_that_does_not_describe_the_tensor() -> None:
    x = torch.randn(5, 100, 150).half()
    with pytest.raises(LayoutError, match=r"describe|reaches"):
        x.to("spyre", device_layout=SpyreTensorLayout.default((5, 100, 140), "f16"))
    with pytest.raises(LayoutError, match="f32"):
        x.to("spyre", device_layout=SpyreTensorLayout.default((5, 100, 150), "f32"))
    with pytest.raises(RuntimeError, match="device_layout"):
        x.to("cpu", device_layout=LAYOUTS["linear"])
    with pytest.raises(RuntimeError, match="no device layout"):
        x.device_tensor_layout()
    with pytest.raises(DeviceError, match="SpyreTensorLayout"):
        x.to("spyre", device_layout="default")


def test_conversion_and_gradient_on_the_way_to_a_layout() -> None:
    x = torch.randn(5, 100, 150, requires_grad=True)
    y = x.to("spyre", torch.float16, device_layout=LAYOUTS["dim_order"])
    assert y.dtype is torch.float16
    y.sum().backward()
    assert x.grad is not None and x.grad.equal(torch.ones_like(x))


def test_linear_memory_can_be_viewed_as_anything() -> None:
    x = torch.randn(4, 64).half()
    y = x.to("spyre", device_layout=SpyreTensorLayout.linear((4, 64), "f16"))
    assert y.view(torch.int32).cpu().equal(x.view(torch.int32))


def test_detach_and_saved_tensors_keep_the_layout() -> None:
    x = torch.randn(5, 100, 150).half()
    y = x.to("spyre", device_layout=LAYOUTS["sparse"]).requires_grad_()
    assert y.detach().device_tensor_layout() == LAYOUTS["sparse"]
    assert torch.nn.Parameter(y).device_tensor_layout() == LAYOUTS["sparse"]
    z = y.exp()
    assert z.grad_fn is not None
    assert z.grad_fn._saved_result.device_tensor_layout() == z.device_tensor_layout()


def test_types_that_layouts_do_not_know() -> None:
    x = torch.zeros(3, dtype=torch.float64, device="spyre")
    with pytest.raises(LayoutError, match="float64"):
        x.device_tensor_layout()
