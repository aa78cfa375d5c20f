"""Kernels on tensors that lie in sticks: the values of the row-major kernel, and no padding."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

from spyrelab import emulator
from spyrelab.kernels import CATALOGUE, KernelError
from spyrelab.kernels.division import LX_BYTES
from spyrelab.layout import SpyreTensorLayout, contiguous_strides, element_offsets
from spyrelab.timing import estimate

ODD = [(1, 1), (1, 65), (3, 1), (63, 64), (65, 127), (31, 129), (2, 331), (129, 63)]
ROW_KERNELS = ["softmax", "layer_norm", "rms_norm", "row_reduce"]

# Half-precision results of f32 sums in another order.
TOLERANCE = 2**-9


def tiled(name: str, chosen: tuple[str, ...] | None = None, **parameters: Any) -> dict[str, Any]:
    """The default layout of every argument of a kernel, or of those chosen."""
    found = {}
    for argument, array in CATALOGUE[name].arguments(**parameters).items():
        if array.dtype.kind != "i" and (chosen is None or argument in chosen):
            found[argument] = SpyreTensorLayout.default(array.shape, parameters.get("dtype", "f16"))
    return found


def poisoned(
    arguments: Mapping[str, Any], layouts: Mapping[str, SpyreTensorLayout], sizes: Mapping[str, Any]
) -> dict[str, Any]:
    """The arguments with NaN in every element of padding."""
    found = dict(arguments)
    for name, layout in layouts.items():
        offsets = element_offsets(layout, sizes[name], contiguous_strides(sizes[name]))
        padding = np.ones(layout.numel, bool)
        padding[offsets.ravel()] = False
        found[name] = arguments[name].copy()
        found[name].view(np.uint16)[padding] = 0x7E00
    return found


def compare(
    name: str,
    layouts: Mapping[str, SpyreTensorLayout] | None = None,
    engine: str = "vm",
    chosen: tuple[str, ...] | None = None,
    **parameters: Any,
) -> Any:
    """Run a kernel in both forms, the tiled one with poison for padding; gives its run."""
    kernel = CATALOGUE[name]
    layouts = tiled(name, chosen, **parameters) if layouts is None else layouts
    plain = kernel.arguments(**parameters)
    expected = emulator.run(kernel.build(**parameters), plain)
    module = kernel.build(layouts=layouts, **parameters)
    module.verify()
    arguments = kernel.arguments(layouts=layouts, **parameters)
    sizes = {argument: array.shape for argument, array in plain.items()}
    hurt = poisoned(arguments, layouts, sizes)
    sanitize = "padding" if engine == "vm" else False
    done = emulator.run(module, hurt, engine=engine, sanitize=sanitize)
    if sanitize:
        assert [finding for finding in done.findings if not finding.is_lint] == []
    np.testing.assert_allclose(
        kernel.result(done.outputs, layouts=layouts, **parameters),
        kernel.result(expected.outputs, **parameters),
        rtol=TOLERANCE,
        atol=TOLERANCE,
    )
    if "out" in layouts:
        offsets = element_offsets(layouts["out"], sizes["out"], contiguous_strides(sizes["out"]))
        padding = np.ones(layouts["out"].numel, bool)
        padding[offsets.ravel()] = False
        assert (done.outputs["out"].view(np.uint16)[padding] == 0x7E00).all()
    assert max(np.atleast_1d(done.counters.lx_peak)) <= LX_BYTES
    assert estimate(module).seconds > 0
    return done, expected


def assert_same_bytes(pair: Any) -> None:
    """Padding is not asked for: the bytes of the row-major kernel."""
    for kind in ("ddr_read", "ddr_write"):
        done, expected = (np.sum(getattr(run.counters, kind)) for run in pair)
        assert done == expected, kind


@pytest.mark.parametrize("name", ROW_KERNELS)
@pytest.mark.parametrize("size", ODD)
def test_row_kernels(name: str, size: tuple[int, int]) -> None:
    pair = compare(name, rows=size[0], cols=size[1], cores=4)
    if name in ("softmax", "row_reduce"):
        assert_same_bytes(pair)


@pytest.mark.parametrize("name", ROW_KERNELS)
def test_row_kernels_on_the_reference(name: str) -> None:
    compare(name, engine="reference", rows=9, cols=131, cores=3)


@pytest.mark.parametrize("name", ROW_KERNELS)
def test_rows_longer_than_the_scratchpad(name: str) -> None:
    compare(name, rows=2, cols=100_003, cores=2)


@pytest.mark.parametrize("kind", ["sum", "mean", "max", "min"])
def test_row_reductions_leave_one_value_per_stick(kind: str) -> None:
    size = {"rows": 37, "cols": 129}
    layouts = {
        "x": SpyreTensorLayout.default((37, 129), "f16"),
        "out": SpyreTensorLayout.sparse((37,), "f16"),
    }
    assert_same_bytes(compare("row_reduce", layouts, kind=kind, cores=5, **size))


@pytest.mark.parametrize("size", ODD)
@pytest.mark.parametrize("chosen", [("x",), ("out",), ("x", "out")])
def test_transpose(size: tuple[int, int], chosen: tuple[str, ...]) -> None:
    pair = compare("transpose", chosen=chosen, rows=size[0], cols=size[1], cores=4)
    assert_same_bytes(pair)


@pytest.mark.parametrize("n", [1, 3, 63, 64, 65, 4099])
def test_vectors(n: int) -> None:
    assert_same_bytes(compare("vector_add", n=n))


@pytest.mark.parametrize("shape", [(1,), (65,), (1, 129), (67, 129), (64, 128), (3, 5, 67)])
@pytest.mark.parametrize("chosen", [("x",), ("x", "y"), ("out",), None])
def test_pointwise(shape: tuple[int, ...], chosen: tuple[str, ...] | None) -> None:
    expr = "silu(x) / (y * y + 1)"
    assert_same_bytes(compare("pointwise", chosen=chosen, expr=expr, shape=shape, cores=6))


@pytest.mark.parametrize("order", [(1, 0, 2), (0, 1, 2)])
def test_pointwise_between_orders(order: tuple[int, ...]) -> None:
    shape = (6, 9, 131)
    layouts = {
        "x": SpyreTensorLayout.default(shape, "f16", order),
        "out": SpyreTensorLayout.default(shape, "f16").padded([9, 4, 7, 64]),
    }
    assert_same_bytes(compare("pointwise", layouts, expr="x + y", shape=shape, cores=8))


@pytest.mark.parametrize("size", [(1, 1, 1), (1, 65, 3), (63, 64, 65), (127, 129, 131)])
@pytest.mark.parametrize("split", [(1, 1, 1, 1), (1, 4, 2, 1), (1, 2, 1, 3), (1, 1, 3, 2)])
def test_products(size: tuple[int, int, int], split: tuple[int, int, int, int]) -> None:
    m, n, k = size
    compare("matmul", b=1, m=m, n=n, k=k, split=split)


@pytest.mark.parametrize("chosen", [("a",), ("b",), ("out",), ("a", "out")])
def test_products_of_mixed_layouts(chosen: tuple[str, ...]) -> None:
    done, _ = compare("matmul", chosen=chosen, b=1, m=33, n=200, k=331, split=(1, 2, 2, 2))
    # Partners pass on whole sticks of columns where b or out is in sticks.
    assert np.sum(done.counters.ring) == 4 * 34 * (200 if chosen == ("a",) else 256)


@pytest.mark.parametrize("split", [(2, 1, 2, 1), (1, 2, 1, 2)])
@pytest.mark.parametrize("partners", ["adjacent", "16 apart"])
def test_batches(split: tuple[int, int, int, int], partners: str) -> None:
    compare("matmul", b=5, m=17, n=67, k=131, split=split, k_partners=partners)


def test_tiles_in_whole_sticks_still_fit() -> None:
    compare("matmul", b=1, m=300, n=1100, k=2100, split=(1, 1, 1, 1))


@pytest.mark.parametrize(("n", "k", "split"), [(256, 256, (1, 2, 4, 1)), (131, 67, (1, 1, 1, 1))])
def test_products_ask_for_no_padding(n: int, k: int, split: tuple[int, int, int, int]) -> None:
    assert_same_bytes(compare("matmul", b=1, m=64, n=n, k=k, split=split))


@pytest.mark.parametrize("count", [1, 3, 65])
@pytest.mark.parametrize("cols", [1, 63, 64, 129, 16500])
@pytest.mark.parametrize("chosen", [("table",), ("out",), None])
def test_gather(count: int, cols: int, chosen: tuple[str, ...] | None) -> None:
    pair = compare("gather", chosen=chosen, count=count, table_rows=7, cols=cols, cores=3)
    done, expected = (np.sum(run.counters.ddr_write) for run in pair)
    assert done == expected


@pytest.mark.parametrize("head_dim", [2, 64, 66, 128, 192])
def test_rotary(head_dim: int) -> None:
    compare("rotary", seq=5, heads=3, head_dim=head_dim, cores=4)


@pytest.mark.parametrize("argument", ["a", "b", "out"])
def test_sticks_along_another_dimension_are_refused(argument: str) -> None:
    size = {"b": 1, "m": 200, "n": 200, "k": 200}
    wrong = SpyreTensorLayout.default((200, 200), "f16", (1, 0))
    right = SpyreTensorLayout.default((200, 200), "f16")
    with pytest.raises(KernelError) as caught:
        CATALOGUE["matmul"].build(layouts={argument: wrong}, **size)
    for part in (f"'{argument}'", repr(wrong), repr(right)):
        assert part in str(caught.value)


def test_layouts_that_fit_nothing_are_refused() -> None:
    build = CATALOGUE["softmax"].build
    with pytest.raises(KernelError, match="'y', which is none of x, out"):
        build(rows=4, cols=70, layouts={"y": SpyreTensorLayout.default((4, 70))})
    with pytest.raises(KernelError, match="does not describe"):
        build(rows=4, cols=70, layouts={"x": SpyreTensorLayout.default((4, 64))})
    with pytest.raises(KernelError, match="type f16"):
        build(rows=4, cols=70, layouts={"x": SpyreTensorLayout.default((4, 70), "f32")})


@pytest.mark.parametrize("dtype", ["f16", "bf16", "f32", "df16"])
def test_types(check: Any, dtype: str) -> None:
    for name, size in (
        ("softmax", {"rows": 35, "cols": 201}),
        ("pointwise", {"expr": "x * 0.5 - y", "shape": (35, 201)}),
        ("matmul", {"b": 1, "m": 20, "n": 70, "k": 90, "split": (1, 2, 2, 2)}),
    ):
        layouts = tiled(name, dtype=dtype, **size)
        check(name, dtype=dtype, layouts=layouts, scale=4, **size)
