"""Model answers of chapter 6."""

from __future__ import annotations

from collections.abc import Iterator
from math import pi, prod
from typing import Any

import torch
from torch import nn

aten = torch.ops.aten


def remove_copies(graph: torch.fx.Graph) -> None:
    """A copy is for those who write, or who want other strides."""
    for node in list(graph.nodes):
        if node.target is not aten.clone.default:
            continue
        source = node.args[0]
        readers = [user for user in (*node.users, *source.users) if user.op == "call_function"]
        written = any(u.target._schema.is_mutable and u.args[0] in (node, source) for u in readers)
        returned = any(user.op == "output" for user in node.users)
        alike = node.meta["val"].stride() == source.meta["val"].stride()
        if alike and not written and not returned:
            node.replace_all_uses_with(source)
            graph.erase_node(node)


def share(nodes: list[tuple[str, bool, tuple[str, ...]]]) -> list[list[str]]:
    """Take all that can run, of one kind and then of the other; what is not native goes first."""
    waiting, done, groups, kind = list(nodes), set[str](), [], False
    while waiting:
        taken, left = [], []
        for name, native, needs in waiting:
            blocked = not native and any(not other for _, other, _ in left)
            if native == kind and done.issuperset(needs) and not blocked:
                taken.append(name)
                done.add(name)
            else:
                left.append((name, native, needs))
        groups += [taken] if taken else []
        waiting, kind = left, not kind
    return groups


def traffic(plan: Any) -> int:
    """Every operand outside of the scratchpad, once for each operation."""
    widths = {"f16": 2, "f32": 4}
    specs = [spec for bundle in plan.bundles for spec in bundle.specs]
    args = [arg for spec in specs for arg in spec.args if arg.lx_address is None]
    return sum(prod(arg.device_size) * widths[arg.dtype] for arg in args)


def orders(graph: torch.fx.Graph) -> dict[str, tuple[int, ...]]:
    """Whatever side of a product it is on: the last dimension of what the product reads."""
    found = {}
    for node in graph.find_nodes(op="placeholder"):
        dims = list(range(node.meta["val"].dim()))
        wanted = set(_wanted(node, dims))
        if len(wanted) == 1 and None not in wanted:
            (stick,) = wanted
            found[node.name] = (*(d for d in dims if d != stick), stick)
    return found


def _wanted(node: torch.fx.Node, dims: list[int]) -> Iterator[int | None]:
    """For each reader, along which dimension of the placeholder; dims[i] is dimension i's."""
    for user in node.users:
        if user.target in (aten.mm.default, aten.bmm.default):
            yield dims[-1]
        elif user.target is aten.t.default:
            yield from _wanted(user, dims[::-1])
        elif user.target is aten.transpose.int:
            one, other = user.args[1:]
            turned = list(dims)
            turned[one], turned[other] = dims[other], dims[one]
            yield from _wanted(user, turned)
        elif user.target is aten.permute.default:
            yield from _wanted(user, [dims[d] for d in user.args[1]])
        else:
            yield None


def fake_quantize(
    x: torch.Tensor, scale: float, zero_point: int, low: int, high: int
) -> tuple[torch.Tensor, torch.Tensor]:
    """A kernel of kernels: what each of them launches is recorded."""
    q = torch.round(x * (1 / scale)) + zero_point
    return (q.clamp(low, high) - zero_point) * scale, (q >= low) & (q <= high)


def power_spectrum(x: torch.Tensor) -> torch.Tensor:
    """Two products, with a table of cosines and one of sines."""
    n = x.shape[-1]
    times = torch.arange(n, dtype=x.dtype, device=x.device)
    waves = torch.arange(n // 2 + 1, dtype=x.dtype, device=x.device)
    angles = torch.outer(times, waves) * (2 * pi / n)
    return (x @ angles.cos()).square() + (x @ angles.sin()).square()


class Annealed(nn.Module):
    """The count is a number in Python no more: guards look at those."""

    step: torch.Tensor

    def __init__(self, width: int) -> None:
        super().__init__()
        self.score = nn.Linear(width, width)
        self.register_buffer("step", torch.zeros(()))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Weights [rows, width] of x [rows, width]."""
        self.step.add_(1)
        return torch.softmax(self.score(x) * (1 + 0.25 * self.step), -1)


def annealed(width: int) -> nn.Module:
    """A module whose state is on the card."""
    return Annealed(width)
