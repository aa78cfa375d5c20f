"""Operands on different devices: refused where CUDA refuses, allowed where it allows."""

from __future__ import annotations

import pytest
import torch

TWO = "Expected all tensors to be on the same device"


@pytest.mark.parametrize(
    "run",
    [
        lambda x, y: x + y,
        lambda x, y: y * x,
        lambda x, y: x @ y,
        lambda x, y: torch.cat([x, y]),
        lambda x, y: torch.where(x > 0, x, y),
        lambda x, y: torch.addmm(x, x, y),
        lambda x, y: x.add_(y),
        lambda x, y: torch.special.zeta(x, y),
        lambda x, y: torch.nn.functional.linear(x, y),
        lambda x, y: torch.add(x, x, out=y),
    ],
)
def test_tensors_on_two_devices_are_refused(run) -> None:
    x, y = torch.ones(4, 4, device="spyre"), torch.ones(4, 4)
    with pytest.raises(RuntimeError, match=r"same device|spyre"):
        run(x, y)
    assert x.cpu().equal(y)


def test_the_message_is_that_of_cuda() -> None:
    x, y = torch.ones(4, 4, device="spyre"), torch.ones(4, 4)
    with pytest.raises(RuntimeError, match=TWO + r".*spyre:0 and cpu"):
        torch.special.zeta(x, y)


def test_scalars_of_the_host_may_join() -> None:
    x = torch.ones(4, device="spyre")
    assert (x + torch.tensor(2.0)).tolist() == [3, 3, 3, 3]
    assert (torch.tensor(2.0) * x).device.type == "spyre"
    assert torch.where(x > 0, torch.tensor(5.0), x).tolist() == [5, 5, 5, 5]
    x[1] = torch.tensor(9.0)
    assert x.tolist() == [1, 9, 1, 1]


def test_copies_may_cross() -> None:
    x, y = torch.ones(4, device="spyre"), torch.full((4,), 2.0)
    x.copy_(y)
    assert x.tolist() == [2, 2, 2, 2]
    y.zero_().copy_(x)
    assert y.tolist() == [2, 2, 2, 2]
