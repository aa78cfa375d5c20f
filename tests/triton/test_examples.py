"""The three kernels that learners read, in Triton."""

from __future__ import annotations

import pytest
import torch

import spyrelab
from spyrelab.triton import examples

UNIT = {torch.float16: 2**-11, torch.bfloat16: 2**-8, torch.float32: 2**-22}
"""Half a unit in the last place of 1."""

SIZES = [(1, 8, 16), (37, 100, 52), (128, 256, 64), (129, 257, 65)]


def normal(*shape, dtype):
    generator = torch.Generator().manual_seed(4)
    return torch.randn(shape, generator=generator).to(dtype)


def check(found, wanted, unit, order=0.0):
    atol = 2 * unit + order
    torch.testing.assert_close(found.cpu().float(), wanted, atol=atol, rtol=2 * unit)


@pytest.mark.parametrize("dtype", UNIT, ids=str)
@pytest.mark.parametrize("size", SIZES, ids=str)
def test_examples_agree_with_torch(size, dtype):
    m, k, n = size
    x, other, weight = normal(m, k, dtype=dtype), normal(k, n, dtype=dtype), normal(k, dtype=dtype)
    with spyrelab.record() as seen:
        soft = examples.softmax(x.to("spyre"))
        product = examples.matmul(x.to("spyre"), other.to("spyre"))
        normed = examples.rms_norm(x.to("spyre"), weight.to("spyre"))
    assert [launch.op for launch in seen.kernels] == [
        "softmax_kernel",
        "matmul_kernel",
        "rms_norm_kernel",
    ]
    check(soft, torch.softmax(x.float(), -1), UNIT[dtype])
    # Sums of k products of size about 1 in another order than torch's, then rounded once.
    check(product, x.float() @ other.float(), UNIT[dtype], order=k * 2**-22)
    wanted = torch.nn.functional.rms_norm(x.float(), (k,), weight.float(), 1e-6)
    check(normed, wanted, UNIT[dtype])


def test_shapes_that_do_not_fit_are_refused():
    with pytest.raises(ValueError, match="4 columns but b has 5"):
        examples.matmul(torch.ones(3, 4, device="spyre"), torch.ones(5, 6, device="spyre"))
