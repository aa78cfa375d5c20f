"""Chapter 1: the kernels that the emulator has to run fast."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from spyrelab.bench.case import Case, Chapter
from spyrelab.kernels import CATALOGUE

if TYPE_CHECKING:
    import torch

__all__ = ["CHAPTER"]

Tensors = Mapping[str, "torch.Tensor"]
Parameters = Mapping[str, Any]

F16_STEP = 2.0**-10
"""Spacing of f16 relative to its value: twice the largest error of one rounding."""

ROUNDED_ONCE = "computed in f32 and rounded to f16 once; sums may be in another order"
ROUNDED_TWICE = "weights are rounded to f16 before they meet the values, and the sum once more"


def _vector_add(tensors: Tensors, _: Parameters) -> Callable[[], object]:
    import torch

    x, y, out = (tensors[name] for name in ("x", "y", "out"))
    return lambda: torch.add(x, y, out=out)


def _softmax(tensors: Tensors, _: Parameters) -> Callable[[], object]:
    import torch

    x, out = tensors["x"], tensors["out"]
    return lambda: torch.softmax(x, -1, out=out)


def _layer_norm(tensors: Tensors, _: Parameters) -> Callable[[], object]:
    import torch

    x, weight, bias = tensors["x"], tensors["weight"], tensors["bias"]
    rows = (x.shape[0], 1)
    names = ("out0", "out1", "out2")
    results = dict(zip(names, (tensors["out"], torch.empty(rows), torch.empty(rows)), strict=True))
    shape = list(weight.shape)
    normalize = torch.ops.aten.native_layer_norm.out
    return lambda: normalize(x, shape, weight, bias, 1e-5, **results)


def _matmul(tensors: Tensors, _: Parameters) -> Callable[[], object]:
    import torch

    a, b, out = (tensors[name] for name in ("a", "b", "out"))
    return lambda: torch.matmul(a, b, out=out)


def _paged_attention(tensors: Tensors, parameters: Parameters) -> Callable[[], object]:
    """Pages gathered into a buffer, query by query, then torch's own attention."""
    import torch
    from torch.nn.functional import scaled_dot_product_attention as attention

    query, keys, values = (tensors[name] for name in ("query", "keys", "values"))
    size, kv_heads, dim = keys.shape[1:]
    context = parameters["context"]
    table = tensors["page_table"].long()[:, : -(-context // size)]
    room = (table.shape[1], size, kv_heads, dim)
    pages = [keys.new_empty(room) for _ in ("keys", "values")]
    tokens = [buffer.view(-1, kv_heads, dim)[:context].transpose(0, 1) for buffer in pages]
    groups = (-1, kv_heads, query.shape[1] // kv_heads, dim)
    steps = list(zip(query.view(groups), tensors["out"].view(groups), table, strict=True))

    def call() -> None:
        for one, out, ids in steps:
            torch.index_select(keys, 0, ids, out=pages[0])
            torch.index_select(values, 0, ids, out=pages[1])
            out.copy_(attention(one[None], tokens[0][None], tokens[1][None])[0])

    return call


def _case(
    kernel: str,
    shape: str,
    torch_program: Callable[[Tensors, Parameters], Callable[[], object]],
    parameters: Parameters,
    reduced: tuple[str, Parameters] | None = None,
    **options: Any,
) -> Case:
    settings = {"tolerance": F16_STEP, "reason": ROUNDED_ONCE, **options}
    case = Case(CATALOGUE[kernel], shape, parameters, torch_program, **settings)
    if reduced is None:
        return case
    less = replace(case, shape=reduced[0], parameters={**parameters, **reduced[1]}, slow=False)
    return replace(case, reduced=less)


def _attention(context: int, reduced: tuple[str, Parameters], slow: bool = False) -> Case:
    shape = {"queries": 8, "heads": 32, "kv_heads": 8, "head_dim": 128, "page_size": 16}
    return _case(
        "paged_attention",
        f"8x32x128-context{context}",
        _paged_attention,
        {**shape, "max_pages": -(-context // 16), "context": context},
        reduced,
        tolerance=4 * F16_STEP,
        reason=ROUNDED_TWICE,
        slow=slow,
    )


# What is reduced keeps the tiles and has fewer of them, or fewer cores.
CHAPTER = Chapter(
    "ch01",
    "the machine, KTIR and the emulator",
    (
        _case("vector_add", "4096", _vector_add, {"n": 4096}),
        _case("vector_add", "4194304", _vector_add, {"n": 1 << 22}, ("524288", {"n": 1 << 19})),
        _case(
            "softmax",
            "4096x1024",
            _softmax,
            {"rows": 4096, "cols": 1024},
            ("512x1024", {"rows": 512}),
        ),
        _case(
            "layer_norm",
            "1151x8192",
            _layer_norm,
            {"rows": 1151, "cols": 8192},
            ("64x8192", {"rows": 64}),
        ),
        _case(
            "matmul",
            "64x2048x8192",
            _matmul,
            {"b": 1, "m": 64, "n": 8192, "k": 2048, "split": (1, 1, 32, 1)},
            ("64x2048x1024", {"n": 1024, "split": (1, 1, 4, 1)}),
        ),
        _case(
            "matmul",
            "512x4096x4096",
            _matmul,
            {"b": 1, "m": 512, "n": 4096, "k": 4096, "split": (1, 4, 8, 1)},
            ("128x4096x512", {"m": 128, "n": 512, "split": (1, 1, 1, 1)}),
            slow=True,
        ),
        _case(
            "matmul",
            "32x256x128x256",
            _matmul,
            {"b": 32, "m": 256, "n": 256, "k": 128, "split": (32, 1, 1, 1)},
            ("4x256x128x256", {"b": 4, "split": (4, 1, 1, 1)}),
            label="batched_matmul",
        ),
        _attention(120, ("1x32x128-context120", {"queries": 1})),
        _attention(
            4000,
            ("1x4x128-context4000", {"queries": 1, "heads": 4, "kv_heads": 1}),
            slow=True,
        ),
    ),
    ("torch", "vm", "reference"),
)
"""Matmul shapes are rows x depth x columns (batch first); attention is queries x heads x head."""
