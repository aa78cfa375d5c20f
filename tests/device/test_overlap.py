"""Programs that write memory which they also read, and elements that coincide."""

from __future__ import annotations

import threading
from collections.abc import Callable

import pytest
import torch

Change = Callable[[torch.Tensor], torch.Tensor]


@pytest.mark.parametrize(
    "change",
    [
        lambda x: x[1:].add_(x[:-1]),
        lambda x: x[1:].copy_(x[:-1]),
        lambda x: x.copy_(x.t()),
        lambda x: x.mul_(x[0]),
        lambda x: x.div_(x[3, 5]),
        lambda x: torch.add(x, x.t(), out=x),
    ],
)
def test_a_result_across_its_operand_is_refused(change: Change) -> None:
    x = torch.randn(70, 70, device="spyre")
    before = x.cpu()
    with pytest.raises(RuntimeError, match="refer to a single memory location"):
        change(x)
    assert torch.equal(x.cpu(), before)


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (lambda x: torch.mm(x, x, out=x), lambda x: x @ x),
        (lambda x: torch.softmax(x, 0, out=x), lambda x: x.softmax(0)),
        (lambda x: torch.cumsum(x, 1, out=x), lambda x: x.cumsum(1)),
        (lambda x: torch.sum(x, 1, out=x[0]), lambda x: x.sum(1)),
        (lambda x: x[:, 1:].add_(x[:, :-1]), lambda x: x[:, 1:] + x[:, :-1]),
        (lambda x: x[:, 1:].copy_(x[:, :-1]), lambda x: x[:, :-1]),
    ],
)
def test_operands_are_read_before_they_are_overwritten(change: Change, expected: Change) -> None:
    x = torch.randn(70, 70)
    changed = change(x.to("spyre"))
    torch.testing.assert_close(changed.cpu(), expected(x), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("strides", [(0, 0), (1, 1), (1, 2)])
@pytest.mark.parametrize("change", [lambda x: x.zero_(), lambda x: x.fill_(3)])
def test_coinciding_elements_change_nothing_else(change: Change, strides: tuple[int, int]) -> None:
    host = torch.randn(4, 4)
    device = host.to("spyre")
    change(device.as_strided((4, 4), strides))
    change(host.as_strided((4, 4), strides))
    assert torch.equal(device.cpu(), host)


def test_copying_from_the_host_to_coinciding_elements_changes_nothing_else() -> None:
    host = torch.randn(200, 3)
    device = host.to("spyre")
    for tensor in (host, device):
        tensor.as_strided((200, 3), (1, 1)).copy_(torch.ones(200, 3))
    assert torch.equal(device.cpu(), host)


def test_threads_take_turns() -> None:
    wrong: list[object] = []

    def work(seed: int) -> None:
        try:
            x = torch.randn(20 + seed, 65, generator=torch.Generator().manual_seed(seed))
            y = x.to("spyre")
            for _ in range(20):
                torch.testing.assert_close((y @ y.t()).cpu(), x @ x.t(), rtol=1e-4, atol=1e-4)
                torch.testing.assert_close(y.sort()[0].cpu(), x.sort()[0])
        except BaseException as error:
            wrong.append(error)

    threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
