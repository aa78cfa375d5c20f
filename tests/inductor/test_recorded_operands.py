"""What is recorded of an operand is what it was then, whatever becomes of the tensor later."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch.nn import functional as F  # noqa: N812

from spyrelab.device.eager.recording import phantom, record
from spyrelab.device.forms import contiguous_form
from spyrelab.inductor import config
from tests.inductor.compare import assert_close, check, device

HALF = torch.float16


@pytest.mark.parametrize("dtype", [torch.float32, HALF], ids=str)
def test_operations_that_resize_or_turn_their_own_results(dtype: torch.dtype) -> None:
    check(F.soft_margin_loss, device(5, 7, dtype=dtype), device(5, 7, dtype=dtype).sign())
    theta = device(1, 2, 3, dtype=dtype)
    check(lambda t: F.affine_grid(t, (1, 1, 2, 3), align_corners=False), theta)


def test_sizes_are_those_of_the_launch() -> None:
    with record() as recorder:
        x = phantom(contiguous_form((4, 6), HALF))
        y = x.neg()
        y.resize_(3)
    (request,) = recorder.requests
    assert request.outputs[0].shape == (4, 6)


def test_an_operand_that_is_written_is_the_copy_made_of_it() -> None:
    with record() as recorder:
        x = phantom(contiguous_form((4, 6), HALF))
        torch.cumsum(x, 0, out=x)
    copied, request = recorder.requests[0], recorder.requests[-1]
    assert copied.op == "copy"
    assert request.inputs[0].data_ptr() == copied.outputs[0].data_ptr()  # type: ignore[union-attr]


def test_views_of_what_passes_of_torch_have_given_other_strides() -> None:
    def function(x: Any) -> Any:
        y = x[..., ::2].transpose(0, -1)
        y.transpose(0, -1)[0].zero_()
        return y.cumsum(0), x

    x = device(3, 2, 3)
    twin = x.clone()
    for planner in ("none", "joint"):
        torch._dynamo.reset()
        with config.patch(planner=planner):
            assert_close(torch.compile(function)(x.clone()), function(twin.clone()))
