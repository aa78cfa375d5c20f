"""Attention as one program, against torch's decomposition in float32."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from torch.nn.attention import SDPBackend, sdpa_kernel

from spyrelab import emulator
from spyrelab.emulator.counters import Column
from spyrelab.ktir.builder import Builder
from spyrelab.ktir.types import GLOBAL
from spyrelab.layout import Access, Digit, contiguous_strides
from spyrelab.layout.tensor_layout import SpyreTensorLayout
from spyrelab.opspec import Operand, attention_plan, place
from spyrelab.opspec.attention import emit_attention
from spyrelab.opspec.compile import compile
from spyrelab.opspec.errors import OpSpecError, Unsupported
from spyrelab.opspec.registry import builder_of
from tests.opspec.card import Placed, run

TOLERANCE = {torch.float16: 4e-3, torch.bfloat16: 3e-2, torch.float32: 1e-5}
"""Weights are rounded to the operands' type before the second product, and the result once more:
two relative roundings of sums of numbers around one (for f32: another order of sums)."""
LENGTHS = (1, 3, 63, 64, 65, 127, 129, 513)


def statistic(*size):
    """A statistic per query, which does not lie in sticks."""
    return Placed(torch.full(size, torch.nan), SpyreTensorLayout.linear(size, "f32"))


class Case:
    """Operands, what the programs made of them, and what torch says in float32."""

    def __init__(self, sizes, dtype=torch.float16, mask=None, **options):
        self.batch, self.heads, self.shared, self.m, self.n, self.d, self.e = sizes
        torch.manual_seed(sum(sizes))
        self.q = torch.randn(self.batch, self.heads, self.m, self.d).to(dtype)
        self.k = torch.randn(self.batch, self.shared, self.n, self.d).to(dtype)
        self.v = torch.randn(self.batch, self.shared, self.n, self.e).to(dtype)
        self.grad = torch.randn(self.batch, self.heads, self.m, self.e).to(dtype)
        self.mask, self.dtype = mask, dtype
        self.options = {"scale": self.d**-0.5, "causal": False, **options}
        self.extra = [] if mask is None else [mask]
        self.out = torch.full(self.grad.shape, torch.nan).to(dtype)
        self.lse = statistic(self.batch, self.heads, self.m)

    def forward(self, **options):
        inputs = [self.q, self.k, self.v, *self.extra]
        return run("attention", inputs, [self.out, self.lse], **options, **self.options)

    def backward(self, **options):
        delta = statistic(*self.lse.tensor.shape)
        found = [torch.full(x.shape, torch.nan).to(x.dtype) for x in (self.q, self.k, self.v)]
        outputs = [found[0], delta]
        if self.mask is not None and self.mask.dtype != torch.bool:
            size = (self.batch, self.heads, self.m, self.n)
            outputs.append(torch.full(size, torch.nan).to(self.dtype))
        operands = [self.grad, self.q, self.k, self.v]
        inputs = [*operands, self.out, self.lse, *self.extra]
        run("attention_backward_queries", inputs, outputs, **options, **self.options)
        inputs = [*operands, self.lse, delta, *self.extra]
        run("attention_backward_keys", inputs, found[1:], **options, **self.options)
        return [*found, *outputs[2:]]

    def wanted(self):
        """Result and gradients by torch."""
        wide = [x.detach().clone().float().requires_grad_() for x in (self.q, self.k, self.v)]
        mask = self.mask
        if mask is not None and mask.dtype != torch.bool:
            mask = mask.clone().float().requires_grad_()
            wide.append(mask)
        with sdpa_kernel(SDPBackend.MATH):
            out = torch.nn.functional.scaled_dot_product_attention(
                *wide[:3],
                attn_mask=mask,
                is_causal=self.options["causal"],
                scale=self.options["scale"],
                enable_gqa=True,
            )
        out.backward(self.grad.float())
        return out.detach(), [x.grad for x in wide]

    def check(self, backward=True, **options):
        wanted, slopes = self.wanted()
        self.forward(**options)
        close(self.out, wanted)
        self.check_logsumexp()
        if backward:
            for found, slope in zip(self.backward(**options), slopes, strict=True):
                close(found.float().sum_to_size(slope.shape).to(self.dtype), slope, 4)

    def check_logsumexp(self):
        keys = self.k.float().repeat_interleave(self.heads // self.shared, 1)
        scores = self.q.float() @ keys.transpose(2, 3) * self.options["scale"]
        if self.options["causal"]:
            below = torch.ones(self.m, self.n, dtype=torch.bool).tril()
            scores = scores.masked_fill(~below, -math.inf)
        if self.mask is not None:
            off = torch.where(self.mask, 0, -math.inf) if self.mask.dtype == torch.bool else 0
            scores = scores + (self.mask.float() if isinstance(off, int) else off)
        # f32 sums in another order.
        torch.testing.assert_close(self.lse.tensor, scores.logsumexp(-1), rtol=1e-5, atol=2e-5)


def close(found, wanted, factor=1):
    """Gradients are sums of a few such products: ``factor``."""
    tolerance = TOLERANCE[found.dtype] * factor
    torch.testing.assert_close(found.float(), wanted.float(), rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("length", LENGTHS)
@pytest.mark.parametrize("causal", [False, True])
def test_lengths(length, causal):
    Case((1, 2, 1, length, length, 64, 64), causal=causal).check(sanitize=True)


@pytest.mark.parametrize(("m", "n"), [(1, 129), (129, 1), (3, 513), (513, 65), (65, 127)])
@pytest.mark.parametrize("causal", [False, True])
def test_queries_and_keys_of_different_length(m, n, causal):
    Case((2, 2, 2, m, n, 64, 32), causal=causal).check(sanitize=True)


@pytest.mark.parametrize("dtype", TOLERANCE, ids=str)
@pytest.mark.parametrize("heads", [(1, 1), (6, 2), (4, 1), (8, 8)])
@pytest.mark.parametrize("dims", [(64, 64), (128, 64), (65, 127), (8, 3)])
def test_heads_and_types(heads, dims, dtype):
    Case((2, *heads, 33, 70, *dims), dtype).check()


@pytest.mark.parametrize("size", [(2, 4, 9, 130), (1, 1, 9, 130), (2, 1, 1, 130), (1, 4, 9, 1)])
@pytest.mark.parametrize("boolean", [False, True])
def test_masks_broadcast(size, boolean):
    torch.manual_seed(1)
    mask = torch.rand(size) > 0.3 if boolean else torch.randn(size).half()
    if boolean and size[-1] > 1:
        mask[..., 0] = True
    if boolean and size[-1] == 1:
        mask[:] = True
    Case((2, 4, 2, 9, 130, 64, 64), mask=mask).check(sanitize=True)


def test_a_mask_of_one_number():
    Case((1, 2, 2, 5, 70, 64, 64), mask=torch.ones(1, 1, 1, 1).half()).check()


def test_an_f32_mask_of_half_operands():
    Case((1, 2, 2, 5, 70, 64, 64), mask=torch.randn(1, 1, 5, 70)).check(backward=False)


@pytest.mark.parametrize("boolean", [False, True])
def test_queries_without_keys_give_zero(boolean):
    mask = torch.rand(1, 1, 9, 130) > 0.3
    mask[..., 0] = True
    mask[:, :, 4] = False
    if not boolean:
        mask = torch.where(mask, 0, -math.inf).half()
    case = Case((1, 2, 2, 9, 130, 64, 64), mask=mask)
    case.check(sanitize=True)
    assert not case.out[:, :, 4].any()
    assert (case.lse.tensor[:, :, 4] == -math.inf).all()
    assert not case.backward()[0][:, :, 4].any()


def test_large_scores_do_not_overflow():
    case = Case((1, 1, 1, 5, 70, 64, 64), scale=20.0)
    case.check(backward=False)


def transposed(x):
    """The same numbers as a view of a tensor whose heads lie inside its rows."""
    return x.transpose(1, 2).contiguous().transpose(1, 2)


def test_heads_of_a_transposed_view_are_used_where_they_lie():
    case = Case((2, 4, 2, 65, 129, 64, 64))
    case.q, case.k, case.v, case.out = map(transposed, (case.q, case.k, case.v, case.out))
    case.check()
    operands = [Placed(x).operand for x in (case.q, case.k, case.v, case.out)]
    made = compile("attention", operands[:3], [operands[3], case.lse.operand], **case.options)
    assert len(made.steps) == 1
    assert not made.temporaries


def test_heads_side_by_side_in_one_stick_are_copied():
    case = Case((2, 4, 4, 33, 40, 32, 32))
    case.q, case.k, case.v = map(transposed, (case.q, case.k, case.v))
    case.check(backward=False)


def test_expanded_keys_are_read_where_they_lie():
    case = Case((2, 4, 1, 9, 70, 64, 64))
    case.k, case.v = (x.expand(2, 4, *x.shape[2:]) for x in (case.k, case.v))
    case.shared = 4
    case.check(backward=False)


def moved(case):
    """Bytes through the DDR port: read, written."""
    counters = case.forward()
    return counters.totals["ddr_read"], counters.totals["ddr_write"]


def test_bytes_that_cross_the_port():
    """q, mask and out once; k and v once per block of queries of the heads that share them."""
    batch, heads, shared, m, n, d = 2, 8, 2, 256, 384, 64
    case = Case((batch, heads, shared, m, n, d, d))
    extents = attention_plan.Extents(batch * shared, heads // shared, m, n, d, d, 2, False, False)
    plan = attention_plan.plan_queries(extents)
    blocks = heads // shared // plan.group * -(-m // plan.rows)
    read, written = moved(case)
    assert read == 2 * batch * heads * m * d + blocks * 2 * batch * shared * 2 * n * d
    assert written == 2 * batch * heads * m * d + 4 * batch * heads * m


def test_one_query_reads_its_keys_once():
    batch, heads, shared, n, d = 1, 8, 2, 1024, 128
    read, written = moved(Case((batch, heads, shared, 1, n, d, d)))
    extents = attention_plan.Extents(batch * shared, heads // shared, 1, n, d, d, 2, False, False)
    partners = attention_plan.plan_queries(extents).key_parts
    assert partners > 1
    assert read == partners * 2 * batch * heads * d + 2 * batch * shared * 2 * n * d
    assert written == 2 * batch * heads * d + 4 * batch * heads


def test_causal_skips_what_lies_above_the_diagonal():
    full = Case((1, 4, 4, 1024, 1024, 64, 64)).forward()
    half = Case((1, 4, 4, 1024, 1024, 64, 64), causal=True).forward()
    assert half.totals["ops_pt"] < 0.7 * full.totals["ops_pt"]


def test_partners_share_the_keys_of_a_single_query():
    extents = attention_plan.Extents(2, 4, 1, 4096, 128, 128, 2, False, False)
    plan = attention_plan.plan_queries(extents)
    assert plan.key_parts > 1
    Case((1, 8, 2, 1, 4096, 128, 128)).check(sanitize=True)


@pytest.mark.parametrize("op", ["attention", "attention_backward_queries", "keys"])
@pytest.mark.parametrize(("causal", "n"), [(True, 9), (False, 70), (False, 512)])
def test_reference_and_machine_agree(op, causal, n):
    op = "attention_backward_keys" if op == "keys" else op
    m = 9 if n < 512 else 1
    sizes = {"q": (1, 4, m, 8), "k": (1, 2, n, 8), "s": (1, 4, m)}
    names = {
        "attention": ("qkk", "qs"),
        "attention_backward_queries": ("qqkkqs", "qs"),
        "attention_backward_keys": ("qqkkss", "kk"),
    }[op]
    rng = np.random.default_rng(0)
    operands, arguments = [], {}
    for side, roles in zip(("in", "out"), names, strict=True):
        for number, role in enumerate(roles):
            kind = "f32" if role == "s" else "f16"
            array = rng.standard_normal(sizes[role])
            arguments[f"{side}{number}"] = array.astype(np.float32 if kind == "f32" else np.float16)
            layout = SpyreTensorLayout.linear(sizes[role], kind)
            found = place(layout, sizes[role], contiguous_strides(sizes[role]), 0)
            operands.append(Operand(kind, found.access))
    count = len(names[0])
    inputs, outputs = tuple(operands[:count]), tuple(operands[count:])
    module = builder_of(op)(op, inputs, outputs, scale=0.5, causal=causal)
    wanted = emulator.run(module, arguments, engine="reference")
    found = emulator.run(module, arguments, engine="vm", exact=True, sanitize=True)
    for name in wanted.outputs:
        np.testing.assert_array_equal(found.outputs[name], wanted.outputs[name])
    for column in set(Column) - {Column.LX_PEAK}:
        counts = found.counters.column(column), wanted.counters.column(column)
        np.testing.assert_array_equal(*counts, err_msg=column.name)


def linear(kind, size, strides):
    """A slice of a tensor without sticks."""
    return Operand(
        kind, Access(size, tuple((Digit(n, s),) for n, s in zip(size, strides, strict=True)))
    )


def test_one_core_does_a_slice_of_the_queries():
    """Four cores, each with a quarter of the queries of both heads, at addresses of their own."""
    heads, m, n, d = 2, 48, 48, 64
    b = Builder("slices", grid=(4,))
    pointers = b.pointers("q", "k", "v", "out", "lse")
    first = b.compute_tile_id() * (m // 4)
    many = linear("f16", (1, heads, m // 4, d), (0, m * d, d, 1))
    keys = linear("f16", (1, 1, n, d), (0, 0, d, 1))
    lse = linear("f32", (1, heads, m // 4), (0, m, 1))
    q, k, v, out, tops = pointers
    moved = (q + first * d, k, v, out + first * d, tops + first)
    emit_attention(
        b,
        "attention",
        (many, keys, keys),
        (many, lse),
        moved,
        (GLOBAL,) * 5,
        first_query=first,
        scale=0.125,
        causal=True,
    )
    rng = np.random.default_rng(0)
    arguments = {
        name: rng.standard_normal(size).astype(np.float16)
        for name, size in (("q", (heads, m, d)), ("k", (n, d)), ("v", (n, d)))
    }
    arguments["out"] = np.full((heads, m, d), np.nan, np.float16)
    arguments["lse"] = np.full((heads, m), np.nan, np.float32)
    made = emulator.run(b.build(), arguments, engine="vm", sanitize=True)
    wide = [torch.from_numpy(arguments[name]).float() for name in "qkv"]
    with sdpa_kernel(SDPBackend.MATH):
        wanted = torch.nn.functional.scaled_dot_product_attention(
            wide[0], wide[1].expand(heads, n, d), wide[2].expand(heads, n, d), is_causal=True
        )
    close(torch.from_numpy(made.outputs["out"]), wanted)


def test_query_heads_that_share_no_whole_number_of_keys():
    with pytest.raises(Unsupported):
        Case((2, 3, 2, 5, 5, 8, 8)).forward()


def test_heads_too_wide_for_the_scratchpad():
    with pytest.raises(Unsupported):
        Case((1, 1, 1, 5, 64, 1 << 15, 1 << 15)).forward()


def test_operands_that_do_not_match():
    case = Case((1, 2, 2, 5, 7, 8, 8))
    case.v = case.v[:, :, :6].clone()
    with pytest.raises(OpSpecError):
        case.forward()
