"""Kernels that stream elements or rows: sizes that fit nothing, every dtype, long rows."""

from __future__ import annotations

import numpy as np
import pytest

from spyrelab.kernels import CATALOGUE, KernelError, pointwise, vector_add

SIZES = [1, 3, 63, 64, 65, 127, 129, 4099, 40009]
SHAPES = [(1, 1), (1, 65), (3, 1), (31, 63), (33, 129), (97, 127), (2, 8192)]
DTYPES = ["f16", "bf16", "f32", "df16"]
ROW_KERNELS = ["softmax", "layer_norm", "rms_norm", "row_reduce"]


@pytest.mark.parametrize("n", SIZES)
def test_vector_add_of_any_size(check, n):
    done = check("vector_add", n=n)
    assert np.sum(done.counters.ddr_read) == 4 * n
    assert np.sum(done.counters.ddr_write) == 2 * n


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("cores", [1, 7, 32])
def test_vector_add_on_any_type_and_grid(check, dtype, cores):
    check("vector_add", n=1003, dtype=dtype, cores=cores, tile=128)


@pytest.mark.parametrize(
    "expr",
    [
        "x + y",
        "x * 2 + y",
        "-x / (abs(y) + 1.5)",
        "where(x > y, silu(x), gelu(y))",
        "max(sigmoid(x), min(relu(y), 0.25)) ** 2",
        "sqrt(x * x + 1) * rsqrt(exp(y) + 1) - tanh(x)",
        "gelu_tanh(x) + log(abs(y) + 1)",
    ],
)
def test_pointwise_expressions(check, expr):
    check("pointwise", expr=expr, shape=(5, 131), scale=2)


@pytest.mark.parametrize("shape", [(1,), (3, 5, 7), (40, 63), (64, 512)])
@pytest.mark.parametrize("dtype", DTYPES)
def test_pointwise_shapes_and_types(check, shape, dtype):
    check("pointwise", expr="x * 0.5 - y", shape=shape, dtype=dtype)


def test_pointwise_takes_a_callable(check):
    check("pointwise", expr=lambda x, bias: x * x + bias, shape=(4, 100))


@pytest.mark.parametrize(
    ("expr", "reason"),
    [
        ("x +", "cannot read"),
        ("1 + 2", "no input"),
        ("frobnicate(x)", "is not part of"),
        ("x[0]", "is not part of"),
        ("exp(x, x)", "takes 1"),
        ("out + x", "'out'"),
        ("x ** 0.3", "power"),
    ],
)
def test_pointwise_rejects(expr, reason):
    with pytest.raises(KernelError, match=reason):
        pointwise(expr, (4, 4))


@pytest.mark.parametrize("name", ROW_KERNELS)
@pytest.mark.parametrize("shape", SHAPES)
def test_row_kernels_of_any_shape(check, name, shape):
    check(name, rows=shape[0], cols=shape[1], scale=2)


@pytest.mark.parametrize("name", ROW_KERNELS)
@pytest.mark.parametrize("dtype", DTYPES)
def test_row_kernels_of_any_type(check, name, dtype):
    check(name, rows=35, cols=200, dtype=dtype, scale=4)


@pytest.mark.parametrize("name", ROW_KERNELS)
@pytest.mark.parametrize("cols", [131072, 131073])
def test_rows_longer_than_the_scratchpad(check, name, cols):
    check(name, rows=2, cols=cols, cores=2, scale=4)


def test_softmax_of_a_row_of_one_value_is_uniform(check):
    x = np.full((3, 77), -5, np.float16)
    check("softmax", rows=3, cols=77, inputs={"x": x})


def test_layer_norm_of_a_large_mean(check):
    x = (np.random.default_rng(1).standard_normal((4, 1000)) + 50).astype(np.float16)
    check("layer_norm", rows=4, cols=1000, inputs={"x": x}, scale=4)


@pytest.mark.parametrize("kind", ["sum", "mean", "max", "min"])
def test_row_reductions(check, kind):
    check("row_reduce", rows=9, cols=333, kind=kind, scale=2)


@pytest.mark.parametrize("shape", SHAPES)
def test_transpose(check, shape):
    check("transpose", rows=shape[0], cols=shape[1])


@pytest.mark.parametrize(
    ("seq", "heads", "head_dim"), [(1, 1, 2), (1, 32, 128), (3, 5, 66), (40, 2, 64), (130, 3, 16)]
)
def test_rotary(check, seq, heads, head_dim):
    check("rotary", seq=seq, heads=heads, head_dim=head_dim)


@pytest.mark.parametrize("count", [1, 3, 64, 97])
@pytest.mark.parametrize("index", ["i32", "i64"])
def test_gather(check, count, index):
    check("gather", count=count, table_rows=50, cols=129, index=index)


def test_gather_of_wide_rows(check):
    check("gather", count=5, table_rows=7, cols=20000)


@pytest.mark.parametrize("bad", [0, -1, 2.5, None])
def test_sizes_below_one_are_rejected(bad):
    with pytest.raises(KernelError, match="n = "):
        vector_add(bad)
    with pytest.raises(KernelError, match="rows = "):
        CATALOGUE["softmax"].build(rows=bad, cols=3)


def test_unknown_types_are_rejected():
    with pytest.raises(KernelError, match="dtype 'f64'"):
        vector_add(3, dtype="f64")
    with pytest.raises(KernelError, match="odd"):
        CATALOGUE["rotary"].build(seq=1, heads=1, head_dim=3)
