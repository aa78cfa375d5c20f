"""Every example kernel with operands and what torch makes of them."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import helion
import torch

from spyrelab.helion import examples
from tests.helion import kernels


@dataclass(frozen=True)
class Case:
    kernel: Any
    make: Callable[[torch.Generator, torch.dtype], tuple[Any, ...]]
    reference: Callable[..., torch.Tensor]
    loose: float = 1.0


def normal(*shape: int) -> Callable[[torch.Generator, torch.dtype], tuple[Any, ...]]:
    return several(shape)


def several(*shapes: tuple[int, ...]) -> Callable[..., tuple[Any, ...]]:
    def make(generator: torch.Generator, dtype: torch.dtype) -> tuple[Any, ...]:
        return tuple(torch.randn(s, generator=generator).to(dtype) for s in shapes)

    return make


def _softmax(x):
    return torch.softmax(x.float(), -1)


def _attention(q, k, v):
    return torch.nn.functional.scaled_dot_product_attention(q.float(), k.float(), v.float())


def _layer_norm(x, w, b):
    return torch.nn.functional.layer_norm(x.float(), x.shape[-1:], w.float(), b.float(), 1e-5)


def _rms_norm(x, w):
    return torch.nn.functional.rms_norm(x.float(), x.shape[-1:], w.float(), 1e-6)


def _cross_entropy(x, labels):
    return torch.nn.functional.cross_entropy(x.float(), labels, reduction="none")


def _labelled(generator, dtype):
    return torch.randn(37, 128, generator=generator).to(dtype), torch.randint(
        0, 128, (37,), generator=generator
    )


def _looked_up(generator, dtype):
    rows = torch.randint(0, 50, (33,), generator=generator, dtype=torch.int32)
    return rows, torch.randn(50, 72, generator=generator).to(dtype)


def _jagged(generator, dtype):
    offsets = torch.tensor([0, 3, 3, 10, 11, 31], dtype=torch.int32)
    return torch.randn(31, 24, generator=generator).to(dtype), offsets


def _jagged_sum(data, offsets):
    bounds = offsets.tolist()
    return torch.stack([data[a:b].float().sum(0) for a, b in pairwise(bounds)])


def _swiglu(gate, up):
    return torch.nn.functional.silu(gate.float()) * up.float()


def _product(a, b):
    return a.float() @ b.float()


CASES: dict[str, Case] = {
    "softmax": Case(examples.softmax, normal(37, 128), _softmax),
    "matmul": Case(examples.matmul, several((50, 72), (72, 88)), _product, 8),
    "rms_norm": Case(examples.rms_norm, several((37, 128), (128,)), _rms_norm),
    "softmax_two_passes": Case(kernels.softmax_two_passes, normal(37, 128), _softmax),
    "attention": Case(
        kernels.attention, several((3, 72, 64), (3, 136, 64), (3, 136, 64)), _attention, 2
    ),
    "layer_norm": Case(kernels.layer_norm, several((37, 128), (128,), (128,)), _layer_norm, 2),
    "cross_entropy": Case(kernels.cross_entropy, _labelled, _cross_entropy),
    "embedding": Case(kernels.embedding, _looked_up, lambda rows, table: table[rows.long()]),
    "jagged_sum": Case(kernels.jagged_sum, _jagged, _jagged_sum, 2),
    "matmul_split_k": Case(kernels.matmul_split_k, several((70, 136), (136, 136)), _product, 16),
    "swiglu": Case(kernels.swiglu, several((33, 72), (33, 72)), _swiglu, 2),
    "long_sum": Case(kernels.long_sum, normal(40, 1000), lambda x: x.float().sum(-1), 8),
    "bmm": Case(kernels.bmm, several((4, 40, 64), (4, 64, 72)), _product, 8),
    "centre_columns": Case(
        kernels.centre_columns, normal(50, 72), lambda x: x.float() - x.float().mean(0)
    ),
}

UNIT = {torch.float16: 2**-11, torch.bfloat16: 2**-8, torch.float32: 2**-22}
"""Half a unit in the last place of 1."""


def run(name: str, config: dict[str, Any], given: tuple[Any, ...]) -> tuple[torch.Tensor, str]:
    """What an example computes on the card as configured beyond its defaults, and its Triton."""
    kernel = CASES[name].kernel
    moved = tuple(x.to("spyre") for x in given)
    bound = kernel.bind(moved)
    full = dict(bound.config_spec.default_config().config)
    if isinstance(config.get("indexing"), str):
        config = {**config, "indexing": [config["indexing"]] * len(full["indexing"])}
    chosen = helion.Config(**{**full, **config})
    function = bound.compile_config(chosen, allow_print=False)
    return function(*moved).cpu(), Path(inspect.getfile(function)).read_text()


def compare(name: str, found: torch.Tensor, given: tuple[Any, ...]) -> None:
    """Against torch, in float32: two roundings, and what the order of a sum may change."""
    case = CASES[name]
    wanted = case.reference(*given).float()
    tolerance = 2 * case.loose * UNIT[found.dtype if case.loose < 8 else given[0].dtype]
    torch.testing.assert_close(found.float(), wanted, atol=tolerance, rtol=tolerance)
