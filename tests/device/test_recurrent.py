"""LSTM and GRU, whose fused cells torch asks the device for."""

from __future__ import annotations

import pytest
import torch
from torch import nn


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("kind", [nn.LSTM, nn.GRU, nn.RNN], ids=lambda kind: kind.__name__)
def test_forward_and_backward(kind, bias: bool) -> None:
    torch.manual_seed(0)
    here = kind(5, 7, num_layers=2, bias=bias, bidirectional=True)
    there = kind(5, 7, num_layers=2, bias=bias, bidirectional=True)
    there.load_state_dict(here.state_dict())
    there.to("spyre")
    x = torch.randn(4, 3, 5, requires_grad=True)
    y = x.detach().to("spyre").requires_grad_()
    want, state = here(x)
    got, other = there(y)
    torch.testing.assert_close(got.cpu(), want, atol=1e-5, rtol=1e-5)
    last = lambda s: s[1] if isinstance(s, tuple) else s  # noqa: E731
    (want.sum() + last(state).square().sum()).backward()
    (got.sum() + last(other).square().sum()).backward()
    torch.testing.assert_close(y.grad.cpu(), x.grad, atol=1e-5, rtol=1e-5)
    for a, b in zip(there.parameters(), here.parameters(), strict=True):
        torch.testing.assert_close(a.grad.cpu(), b.grad, atol=2e-5, rtol=2e-5)


@pytest.mark.parametrize("kind", [nn.LSTMCell, nn.GRUCell], ids=lambda kind: kind.__name__)
def test_cells(kind) -> None:
    torch.manual_seed(0)
    cell = kind(5, 70)
    x = torch.randn(3, 5)
    want = cell(x)
    got = cell.to("spyre")(x.to("spyre"))
    torch.testing.assert_close(
        [t.cpu() for t in got] if isinstance(got, tuple) else got.cpu(),
        list(want) if isinstance(want, tuple) else want,
        atol=1e-5, rtol=1e-5,
    )  # fmt: skip


def test_packed_sequences() -> None:
    torch.manual_seed(0)
    lstm = nn.LSTM(4, 6, batch_first=True)
    x, lengths = torch.randn(3, 5, 4), torch.tensor([5, 3, 2])
    pack = nn.utils.rnn.pack_padded_sequence
    want, _ = nn.utils.rnn.pad_packed_sequence(lstm(pack(x, lengths, True))[0], True)
    lstm.to("spyre")
    got, _ = nn.utils.rnn.pad_packed_sequence(lstm(pack(x.to("spyre"), lengths, True))[0], True)
    torch.testing.assert_close(got.cpu(), want, atol=1e-5, rtol=1e-5)
