"""Attention among other operations: cut by heads and queries, its operands where they are."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
import torch
from torch.nn.attention import SDPBackend, sdpa_kernel

from spyrelab.layout import SpyreTensorLayout, contiguous_strides
from spyrelab.opspec.spec import OpSpec
from spyrelab.tiling import Hint, TilingError, lower_bundle, operands_of, plan, run, spec_of
from spyrelab.tiling.blocks import Draft, View, _whole
from spyrelab.tiling.candidates import legal_parts
from tests.tiling.programs import TORCH, bits

TOLERANCE = {"f16": 4e-3, "bf16": 3e-2, "f32": 1e-5}


def linear(name: str, *size: int) -> View:
    """A statistic per query, which does not lie in sticks."""
    return View(name, SpyreTensorLayout.linear(size, "f32"), size, contiguous_strides(size))


def heads_of(view: View, batch: int, count: int) -> View:
    """[B * M, H * D] as [B, H, M, D]."""
    rows, width = view.size
    depth, row = width // count, view.stride[0]
    size = (batch, count, rows // batch, depth)
    return view._as(size, (rows // batch * row, depth, row, 1))


def attend(q: View, k: View, v: View, out: View, *mask: View, causal: bool = False) -> OpSpec:
    """The spec of an attention into a view."""
    lse = linear("lse", *q.size[:3])
    inputs = [view.tensor for view in (q, k, v, *mask)]
    settings = {"scale": q.size[-1] ** -0.5, "causal": causal}
    spec = spec_of("attention", inputs, [out.tensor, lse.tensor], settings)
    assert spec is not None
    return spec


class Case:
    """Random operands of an attention by itself, and what torch makes of them."""

    def __init__(
        self,
        *sizes: int,
        dtype: str = "f16",
        causal: bool = False,
        mask: tuple[int, ...] | None = None,
        boolean: bool = False,
    ) -> None:
        batch, heads, shared, m, n, d, e = sizes
        torch.manual_seed(sum(sizes))
        shapes = {"q": (batch, heads, m, d), "k": (batch, shared, n, d), "v": (batch, shared, n, e)}
        self.tensors = {name: torch.randn(size).to(TORCH[dtype]) for name, size in shapes.items()}
        views = {name: _whole(name, size, dtype) for name, size in shapes.items()}
        if mask is not None:
            self.tensors["mask"] = torch.randn(mask) > -1 if boolean else torch.randn(mask)
            layout = SpyreTensorLayout.linear if boolean else SpyreTensorLayout.default
            kind = "i1" if boolean else dtype
            if not boolean:
                self.tensors["mask"] = self.tensors["mask"].to(TORCH[dtype])
            views["mask"] = View("mask", layout(mask, kind), mask, contiguous_strides(mask))
        self.dtype, self.causal = dtype, causal
        self.shapes = {"out": (batch, heads, m, e), "lse": (batch, heads, m)}
        self.spec = self._spec(views, (batch, heads, m, e))

    def _spec(self, views: Mapping[str, View], size: tuple[int, ...]) -> OpSpec:
        rest = [views["mask"]] if "mask" in views else []
        out = _whole("out", size, self.dtype)
        return attend(views["q"], views["k"], views["v"], out, *rest, causal=self.causal)

    def check(self, **options: Any) -> None:
        made = plan([self.spec], live_out={"out", "lse"}, **options)
        arrays = {name: bits(tensor) for name, tensor in self.tensors.items()}
        done = run(made, arrays, shapes=self.shapes, sanitize=True, exact=True, threads=1)
        found = done.outputs
        wide = [self.tensors[name].float() for name in "qkv"]
        mask = self.tensors.get("mask")
        if mask is not None and mask.dtype != torch.bool:
            mask = mask.float()
        wanted = torch_attention(*wide, mask, self.causal)
        got = torch.from_numpy(found["out"].view(np.int16)).view(TORCH[self.dtype]) if (
            self.dtype == "bf16"
        ) else torch.from_numpy(found["out"])  # fmt: skip
        tolerance = TOLERANCE[self.dtype]
        torch.testing.assert_close(got.float(), wanted, rtol=tolerance, atol=tolerance)
        assert np.isfinite(found["lse"]).all()


def legal(spec: OpSpec, parts: dict[str, int]) -> Hint:
    """The wishes that can be fulfilled."""
    kept = {s: n for s, n in parts.items() if s in spec.iteration_space}
    return Hint({s: n for s, n in kept.items() if n in legal_parts(spec, s, 32)})


def torch_attention(
    q: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
    mask: torch.Tensor | None = None,
    causal: bool = False,
) -> torch.Tensor:
    """What torch's decomposition says."""
    with sdpa_kernel(SDPBackend.MATH):
        made: torch.Tensor = torch.nn.functional.scaled_dot_product_attention(
            q, k, v, attn_mask=mask, is_causal=causal, enable_gqa=True
        )
    return made


SIZES = [
    (1, 1, 1, 1, 1, 64, 64),
    (2, 4, 4, 65, 65, 64, 64),
    (1, 8, 2, 33, 70, 64, 128),
    (2, 6, 3, 7, 129, 80, 48),
    (1, 8, 1, 1, 100, 32, 32),
    (3, 5, 5, 127, 63, 16, 16),
]


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("dtype", ["f16", "bf16", "f32"])
@pytest.mark.parametrize("causal", [False, True])
def test_attention_by_itself(size: tuple[int, ...], dtype: str, causal: bool) -> None:
    Case(*size, dtype=dtype, causal=causal).check()


SPLITS = [
    {"B": 2, "H": 1, "M": 1},
    {"B": 1, "H": 4, "M": 1},
    {"B": 1, "H": 1, "M": 3},
    {"B": 1, "H": 2, "G": 3, "M": 2},
    {"H": 1, "G": 2},
    {"B": 1, "H": 3, "M": 5},
    {"B": 2, "H": 2, "M": 3},
]


@pytest.mark.parametrize("parts", SPLITS)
@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("shared", [12, 4, 1])
def test_wanted_splits(parts: dict[str, int], causal: bool, shared: int) -> None:
    case = Case(2, 12, shared, 150, 140, 64, 64, causal=causal)
    case.check(hints=[legal(case.spec, parts)])


@pytest.mark.parametrize(("tiled", "turns"), [("M", 4), ("H", 2), ("G", 2), ("B", 2)])
@pytest.mark.parametrize("causal", [False, True])
def test_turns_of_a_loop(tiled: str, turns: int, causal: bool) -> None:
    case = Case(2, 8, 2, 256, 200, 64, 64, causal=causal)
    parts = {"B": 1, "H": 1, "G": 2, "M": 2}
    case.check(hints=[Hint(parts, turns, tiled)])


@pytest.mark.parametrize("boolean", [False, True])
@pytest.mark.parametrize("mask", [(1, 1, 65, 70), (2, 1, 1, 70), (2, 4, 65, 70)])
@pytest.mark.parametrize("parts", [{"H": 2, "M": 2}, {"B": 2, "H": 1}])
def test_masks(mask: tuple[int, ...], boolean: bool, parts: dict[str, int]) -> None:
    Case(2, 4, 2, 65, 70, 64, 64, mask=mask, boolean=boolean).check(hints=[Hint(parts)])


def test_keys_are_never_shared() -> None:
    case = Case(1, 2, 2, 64, 64, 64, 64)
    case.check(hints=[Hint({"N": 2, "D": 2})])
    space = {s: (n, 2 if s == "N" else 1) for s, (n, _) in case.spec.iteration_space.items()}
    with pytest.raises(TilingError, match="N"):
        lower_bundle([OpSpec("attention", space, case.spec.args, case.spec.op_info)])


def test_operands_of_grouped_heads_are_those_that_eager_takes() -> None:
    inputs, outputs = operands_of(Case(2, 12, 4, 150, 140, 64, 64).spec)
    assert [operand.size for operand in inputs] == [(2, 12, 150, 64), *[(2, 4, 140, 64)] * 2]  # type: ignore[union-attr]
    assert [operand.size for operand in outputs] == [(2, 12, 150, 64), (2, 12, 150)]


def block(batch: int, m: int, heads: int, shared: int, depth: int, causal: bool) -> Draft:
    """Projections, attention, projection."""
    draft, hidden = Draft(), heads * depth
    rows = batch * m
    x = draft.input("x", rows, hidden)
    q = draft.op("mm", x, draft.input("wq", hidden, hidden), size=(rows, hidden))
    k = draft.op("mm", x, draft.input("wk", hidden, shared * depth), size=(rows, shared * depth))
    v = draft.op("mm", x, draft.input("wv", hidden, shared * depth), size=(rows, shared * depth))
    mixed = _whole("mixed", (rows, hidden), "f16")
    spec = attend(
        heads_of(q, batch, heads),
        heads_of(k, batch, shared),
        heads_of(v, batch, shared),
        heads_of(mixed, batch, heads),
        causal=causal,
    )
    draft.ops.append(spec)
    draft.op("mm", mixed, draft.input("wo", hidden, hidden), size=(rows, hidden))
    return draft


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize(
    "size", [(1, 128, 8, 8, 64), (1, 96, 8, 2, 64), (2, 33, 4, 2, 64), (1, 64, 16, 4, 32)]
)
def test_between_projections(size: tuple[int, ...], causal: bool) -> None:
    batch, m, heads, shared, depth = size
    draft = block(*size, causal)
    out = draft.steps[-1].result.name
    arrays = {}
    rng = np.random.default_rng(0)
    for name, view in draft.inputs.items():
        scale = 1 / math.sqrt(view.size[0]) if name != "x" else 1.0
        arrays[name] = (rng.standard_normal(view.size) * scale).astype(np.float16)
    wide = {name: torch.from_numpy(array).float() for name, array in arrays.items()}

    def split(x: torch.Tensor, count: int) -> torch.Tensor:
        return x.half().float().view(batch, m, count, depth).transpose(1, 2)

    mixed = torch_attention(
        split(wide["x"] @ wide["wq"], heads),
        split(wide["x"] @ wide["wk"], shared),
        split(wide["x"] @ wide["wv"], shared),
        causal=causal,
    )
    rows = mixed.transpose(1, 2).reshape(batch * m, -1).half().float()
    wanted = rows @ wide["wo"]
    for planner in ("per-op", "joint"):
        made = plan(draft.ops, planner, live_out={out})
        found = run(made, arrays, sanitize=True, exact=True, threads=1).outputs[out]
        got = torch.from_numpy(found).float()
        torch.testing.assert_close(got, wanted, rtol=8e-3, atol=8e-3)
