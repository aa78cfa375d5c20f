"""LSTM and GRU cells: torch asks a device for fused ones; ours are written in its own operations.

Each forward keeps a workspace, the activated gates, that its backward reads.
"""

from __future__ import annotations

import torch

from spyrelab.device.library import implement

__all__ = ["register"]

Maybe = torch.Tensor | None


def register() -> None:
    """Enter the kernels of recurrent cells."""
    implement("_thnn_fused_lstm_cell", _lstm)
    implement("_thnn_fused_lstm_cell_backward_impl", _lstm_backward)
    implement("_thnn_fused_gru_cell", _gru)
    implement("_thnn_fused_gru_cell_backward", _gru_backward)


def _biased(gates: torch.Tensor, bias: Maybe) -> torch.Tensor:
    return gates if bias is None else gates + bias


def _lstm(
    input_gates: torch.Tensor,
    hidden_gates: torch.Tensor,
    cx: torch.Tensor,
    input_bias: Maybe = None,
    hidden_bias: Maybe = None,
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    gates = _biased(_biased(input_gates + hidden_gates, input_bias), hidden_bias)
    i, f, g, o = gates.chunk(4, 1)
    i, f, g, o = i.sigmoid(), f.sigmoid(), g.tanh(), o.sigmoid()
    cy = f * cx + i * g
    return o * cy.tanh(), cy, torch.cat([i, f, g, o], 1)


def _lstm_backward(
    grad_hy: Maybe,
    grad_cy: Maybe,
    cx: torch.Tensor,
    cy: torch.Tensor,
    workspace: torch.Tensor,
    has_bias: bool,
) -> tuple[Maybe, Maybe, Maybe]:
    if grad_hy is None and grad_cy is None:
        return None, None, None
    i, f, g, o = workspace.chunk(4, 1)
    squashed = cy.tanh()
    hy = torch.zeros_like(cx) if grad_hy is None else grad_hy
    grad_c = hy * o * (1 - squashed * squashed)
    if grad_cy is not None:
        grad_c = grad_c + grad_cy
    grads = [
        grad_c * g * i * (1 - i),
        grad_c * cx * f * (1 - f),
        grad_c * i * (1 - g * g),
        hy * squashed * o * (1 - o),
    ]
    gates = torch.cat(grads, 1)
    return gates, grad_c * f, gates.sum(0) if has_bias else None


def _gru(
    input_gates: torch.Tensor,
    hidden_gates: torch.Tensor,
    hx: torch.Tensor,
    input_bias: Maybe = None,
    hidden_bias: Maybe = None,
) -> tuple[torch.Tensor, torch.Tensor]:
    ir, iz, candidate = _biased(input_gates, input_bias).chunk(3, 1)
    hr, hz, hn = _biased(hidden_gates, hidden_bias).chunk(3, 1)
    r, z = (ir + hr).sigmoid(), (iz + hz).sigmoid()
    n = (candidate + r * hn).tanh()
    return n + z * (hx - n), torch.cat([r, z, n, hx, hn], 1)


def _gru_backward(
    grad_hy: torch.Tensor, workspace: torch.Tensor, has_bias: bool
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, Maybe, Maybe]:
    r, z, n, hx, hn = workspace.chunk(5, 1)
    grad_z = grad_hy * (hx - n) * z * (1 - z)
    grad_n = grad_hy * (1 - z) * (1 - n * n)
    grad_r = grad_n * hn * r * (1 - r)
    inputs = torch.cat([grad_r, grad_z, grad_n], 1)
    hidden = torch.cat([grad_r, grad_z, grad_n * r], 1)
    if not has_bias:
        return inputs, hidden, grad_hy * z, None, None
    return inputs, hidden, grad_hy * z, inputs.sum(0), hidden.sum(0)
