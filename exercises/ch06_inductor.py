"""Exercises of chapter 6: a pass, bundles, bytes of a plan, layouts, a new op, a fallback, guards.

Fill in the functions; ``spyrelab grade ch06`` or, in a notebook, ``spyrelab.check("ch06.1")`` tells
how far you are.  Answers may use torch, and graphs are those of ``torch.fx``; the grader compiles
what you return, and looks at the plans and the launches.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import nn


def remove_copies(graph: torch.fx.Graph) -> None:
    """Write a pass: take copies that nobody needs out of a graph of ATen operations.

    A copy is a node whose target is ``torch.ops.aten.clone.default``.  It can go, and its readers
    read its source instead, unless

    * its strides differ from those of its source (``node.meta["val"]`` is a tensor that has them),
    * it is returned by the graph, or
    * somebody writes into it or into its source: an operation in place, such as
      ``aten.add_.Tensor``, whose ``target._schema.is_mutable``, writes into its first argument.

    Views do not occur, nor copies of what an operation in place returns.  Go through the nodes
    once, in order.

    About 9 lines.
    """
    raise NotImplementedError("ch06.1")


def share(nodes: list[tuple[str, bool, tuple[str, ...]]]) -> list[list[str]]:
    """Decide which nodes share a bundle: the groups of names in the order in which they run.

    ``nodes`` is a schedule that is right: (name, is it native, names of the nodes it needs).
    Nodes of a group are all native (a bundle) or all not.  Every node runs after those it needs;
    native ones may change places with any others, but nodes that are not native keep their order
    among themselves.  Make as few bundles as possible.

    About 14 lines.
    """
    raise NotImplementedError("ch06.2")


def traffic(plan: Any) -> int:
    """Predict the bytes of device memory that a plan moves, from what the plan says.

    ``plan.bundles``, their ``specs``, and the ``args`` of these are as they are printed.  An
    operand with an ``lx_address`` stays in the scratchpad; any other moves whole, padding
    included, once for each operation that reads or writes it.  In the plans of this task no
    operation reads anything twice.  Elements have 2 bytes ("f16"), or 4 ("f32").

    About 5 lines.
    """
    raise NotImplementedError("ch06.3")


def orders(graph: torch.fx.Graph) -> dict[str, tuple[int, ...]]:
    """Write the pass that lays out what is multiplied: name of a placeholder to its dim_order.

    A placeholder gets one if it has readers, each of them is a product (``aten.mm.default``,
    ``aten.bmm.default``) of it or of a view of it (``aten.t.default``, ``aten.transpose.int``,
    ``aten.permute.default``, or views of views), and all products want sticks along the same of
    its dimensions.  What the graph returns is read, too.  A product wants sticks along k in its
    left operand and along n in its right one.  The last dimension of a dim_order is the one with
    the sticks, the others keep their order.  ``node.meta["val"]`` is a tensor; dimensions in a
    graph may be negative.

    About 20 lines.
    """
    raise NotImplementedError("ch06.4")


def fake_quantize(
    x: torch.Tensor, scale: float, zero_point: int, low: int, high: int
) -> tuple[torch.Tensor, torch.Tensor]:
    """Add an operation: ``aten::fake_quantize_per_tensor_affine_cachemask``, for the device.

    q is x / scale, rounded, plus zero_point.  The results are ``(q - zero_point) * scale`` with q
    clamped to [low, high], of x's dtype; and a tensor of bool, true where q was in that range.
    The grader enters your function into torch for device "spyre", and compiles a model with
    it: write it with operations that the device has.  No element may come to the host.

    About 3 lines.
    """
    raise NotImplementedError("ch06.5")


def power_spectrum(x: torch.Tensor) -> torch.Tensor:
    """Make a fallback vanish: ``torch.fft.rfft(x).abs().square()`` without leaving the device.

    x is float32, [rows, n], n even and at most 256; the result is [rows, n // 2 + 1].  The card
    has no Fourier transform.  But it is linear: ``sum over t of x[t] * exp(-2 pi i k t / n)``.
    Compiled, this has to be one graph with no operation that is not native.

    About 6 lines.
    """
    raise NotImplementedError("ch06.6")


def annealed(width: int) -> nn.Module:
    """Write the module ``Annealed`` of ``given_ch06.py`` so that it is compiled once.

    Same results call by call, ``score`` is its Linear, and ``int(module.step)`` is the number of
    calls.  No fallback, no graph break, and one compilation for all calls with x of one size.

    About 8 lines.
    """
    raise NotImplementedError("ch06.7")
