"""Matrix products on stick-tiled operands, against torch in float32."""

from __future__ import annotations

import pytest
import torch

from spyrelab.layout.tensor_layout import SpyreTensorLayout
from spyrelab.opspec.errors import OpSpecError, Unsuitable, Unsupported
from spyrelab.opspec.registry import builder_of
from tests.opspec.card import Placed, run

TOLERANCE = {torch.float16: 2e-3, torch.bfloat16: 2e-2, torch.float32: 2e-5}
"""Sums are taken in another order than torch's: a few roundings of the result's type."""
SIZES = [(1, 1, 1), (3, 65, 63), (64, 64, 64), (127, 129, 65), (1, 129, 257), (63, 1, 64)]


@pytest.fixture(autouse=True)
def seed():
    torch.manual_seed(0)


def close(found, wanted):
    tolerance = TOLERANCE[found.dtype]
    torch.testing.assert_close(
        found.float(), wanted.to(found.dtype).float(), rtol=tolerance, atol=tolerance
    )


def random(*size, dtype=torch.float16, scale=1.0):
    return (torch.randn(size) * scale).to(dtype)


def product(op, a, b, *, before=(), after=(), size=None, **options):
    wanted = a.float() @ b.float()
    out = torch.full(wanted.shape if size is None else size, torch.nan).to(a.dtype)
    run(op, [*before, a, b, *after], [out], **options)
    return out, wanted


@pytest.mark.parametrize("dtype", TOLERANCE, ids=str)
@pytest.mark.parametrize("size", SIZES)
def test_sizes_and_types(size, dtype):
    m, k, n = size
    close(*product("mm", random(m, k, dtype=dtype), random(k, n, dtype=dtype, scale=k**-0.5)))


@pytest.mark.parametrize(
    ("left", "right"),
    [((3,), (3,)), ((3,), ()), ((), (4,)), ((2, 1), (1, 3)), ((2, 3), (2, 3)), ((1, 3), (2, 3))],
)
@pytest.mark.parametrize("size", [(5, 70, 133), (1, 64, 1), (33, 3, 7)])
def test_batches_broadcast(left, right, size):
    m, k, n = size
    close(*product("matmul", random(*left, m, k), random(*right, k, n, scale=k**-0.5)))


@pytest.mark.parametrize("size", [(3, 5, 7), (70, 130, 133), (1, 200, 65)])
def test_padding_is_no_data(size):
    m, k, n = size
    close(*product("mm", random(m, k), random(k, n, scale=k**-0.5), sanitize="padding"))


@pytest.mark.parametrize("size", [(1, 4096, 64), (4, 2048, 130), (2, 4100, 64)])
def test_partners_share_a_sum(size):
    m, k, n = size
    close(*product("mm", random(m, k), random(k, n, scale=k**-0.5), sanitize=True))


@pytest.mark.parametrize("size", [(300, 2100, 1100)])
def test_more_than_the_scratchpads_hold(size):
    m, k, n = size
    close(*product("mm", random(m, k), random(k, n, scale=k**-0.5)))


@pytest.mark.parametrize("batch", [65, 128, 129, 130])
def test_a_batch_along_the_sticks(batch):
    """A last stick of one batch entry is a product without a batch, and not at the beginning."""
    left = torch.randint(-3, 4, (batch, 5, 3)).half()
    right = torch.randint(-3, 4, (3, 1, batch)).half().permute(2, 0, 1)
    out = torch.zeros(batch, 5, 1).half()
    run("bmm", [left, right], [out], sanitize=True)
    torch.testing.assert_close(out, torch.bmm(left.float(), right.float()).half(), rtol=0, atol=0)


def test_rows_of_a_joined_view():
    base = random(4, 37, 130)
    close(*product("mm", base.view(-1, 130), random(130, 70, scale=0.1)))


def test_heads_of_an_attention():
    heads = random(2, 19, 4 * 64).view(2, 19, 4, 64).transpose(1, 2)
    close(*product("matmul", heads, random(2, 4, 64, 19, scale=0.1)))


def test_an_output_that_is_part_of_a_tensor():
    whole = torch.zeros(7, 200).half()
    a, b = random(7, 30), random(30, 40)
    run("mm", [a, b], [Placed(whole[:, 64:104])])
    close(whole[:, 64:104], a.float() @ b.float())
    assert not whole[:, :64].any()
    assert not whole[:, 104:].any()


@pytest.mark.parametrize(("m", "k"), [(1, 1), (100, 65), (129, 300), (3, 64)])
def test_vectors(m, k):
    a, x = random(m, k), random(k, scale=k**-0.5)
    close(*product("mv", a, x))
    close(*product("dot", a[0].clone(), x))


@pytest.mark.parametrize("size", [(5,), (2, 9), (2, 3, 4)])
@pytest.mark.parametrize("bias", [True, False])
def test_linear(size, bias):
    x, weight, extra = random(*size, 70), random(70, 129, scale=0.1), random(129)
    out = torch.empty(*size, 129).half()
    run("linear", [x, weight, extra][: 2 + bias], [out])
    wanted = x.float() @ weight.float() + (extra.float() if bias else 0)
    close(out, wanted)


@pytest.mark.parametrize("size", [(130,), (1, 130), (9, 1), (9, 130), (1,), ()])
@pytest.mark.parametrize("factors", [(), (0.5, 2.0), (0.0, 1.0)])
def test_addmm(size, factors):
    bias, a, b = random(*size), random(9, 70), random(70, 130, scale=0.1)
    if factors and factors[0] == 0:
        bias = torch.full_like(bias, torch.nan)
    beta, alpha = factors or (1.0, 1.0)
    out = torch.empty(9, 130).half()
    run("addmm", [bias, a, b, *factors], [out])
    close(out, torch.addmm(bias.float(), a.float(), b.float(), beta=beta, alpha=alpha))


@pytest.mark.parametrize("size", [(3, 5, 66), (5, 66), (3, 1, 1)])
def test_baddbmm(size):
    bias, a, b = random(*size), random(3, 5, 70), random(3, 70, 66, scale=0.1)
    out = torch.empty(3, 5, 66).half()
    run("baddbmm", [bias, a, b, 0.5, 3.0], [out])
    close(
        out, torch.baddbmm(bias.float().expand(3, 5, 66), a.float(), b.float(), beta=0.5, alpha=3)
    )


def test_addmv():
    bias, a, x = random(100), random(100, 70), random(70, scale=0.1)
    out = torch.empty(100).half()
    run("addmv", [bias, a, x, 2.0, 0.5], [out])
    close(out, torch.addmv(bias.float(), a.float(), x.float(), beta=2, alpha=0.5))


@pytest.mark.parametrize("slices", [(slice(None), slice(3, 70)), (slice(1, 5), slice(60, 130))])
def test_operands_that_begin_inside_a_stick(slices):
    a, b, whole = random(7, 150)[slices], random(80, 150, scale=0.1), torch.zeros(9, 200).half()
    b = b.t()[3:70] if a.shape[1] == 67 else b.t()[60:130]
    out = whole[: a.shape[0], 7:87]
    run("mm", [a, b], [out])
    close(out, a.float() @ b.float())
    assert not whole[:, :7].any()
    assert not whole[:, 87:].any()


@pytest.mark.parametrize("size", [(5, 66), (66,)])
def test_addbmm(size):
    bias, a, b = random(*size), random(3, 5, 70), random(3, 70, 66, scale=0.1)
    out = torch.empty(5, 66).half()
    run("addbmm", [bias, a, b, 0.5, 3.0], [out])
    wanted = torch.addbmm(bias.float().expand(5, 66), a.float(), b.float(), beta=0.5, alpha=3)
    close(out, wanted)


@pytest.mark.parametrize("size", [(5, 66), (130, 129), (1, 1)])
def test_addr(size):
    bias, a, b = random(*size), random(size[0]), random(size[1])
    out = torch.empty(size).half()
    run("addr", [bias, a, b, 0.5, 3.0], [out])
    close(out, torch.addr(bias.float(), a.float(), b.float(), beta=0.5, alpha=3))


def test_infinities_and_nan_stay_in_their_rows():
    a, b = random(3, 70), random(70, 66)
    a[1, 3], b[5, 7] = torch.inf, torch.nan
    out, wanted = product("mm", a, b)
    assert torch.equal(out.isfinite(), wanted.isfinite())


def operands(*tensors):
    return tuple(Placed(t).operand for t in tensors)


@pytest.mark.parametrize(("turned", "position"), [(0, 0), (1, 1), (2, 2)])
def test_sticks_along_the_wrong_index(turned, position):
    given = [random(70, 80), random(80, 90), random(70, 90)]
    given[turned] = random(*given[turned].shape[::-1]).t()
    *inputs, out = operands(*given)
    with pytest.raises(Unsuitable, match="sticks") as error:
        builder_of("mm")("mm", tuple(inputs), (out,))
    assert error.value.position == position


def test_a_linear_tensor_with_contiguous_rows_serves():
    a, b = random(9, 70), random(70, 80, scale=0.1)
    linear = [Placed(t, SpyreTensorLayout.linear(t.shape, "f16")) for t in (a, b)]
    out = torch.empty(9, 80).half()
    run("mm", linear, [out])
    close(out, a.float() @ b.float())


def test_what_it_does_not_do():
    build = builder_of("mm")
    whole = torch.ones(3, 3, dtype=torch.int64)
    *inputs, out = operands(whole, whole, whole)
    with pytest.raises(Unsupported, match="i64"):
        build("mm", tuple(inputs), (out,))
    *inputs, out = operands(random(3, 3), random(4, 3), random(3, 3))
    with pytest.raises(OpSpecError, match="depths"):
        build("mm", tuple(inputs), (out,))
