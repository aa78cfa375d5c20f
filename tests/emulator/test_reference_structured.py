"""linalg, tensor and scf operations under the reference interpreter."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from spyrelab.emulator.counters import Counters
from spyrelab.emulator.errors import TensorIndexError, UnsupportedError
from spyrelab.ktir import parse
from tests.emulator.reference_launch import launch

SET = {
    1: "affine_set<(i) : (i >= 0, -i + {0} - 1 >= 0)>",
    2: "affine_set<(i, j) : (i >= 0, -i + {0} - 1 >= 0, j >= 0, -j + {1} - 1 >= 0)>",
    3: "affine_set<(i, j, k) : (i >= 0, -i + {0} - 1 >= 0, j >= 0, -j + {1} - 1 >= 0, "
    "k >= 0, -k + {2} - 1 >= 0)>",
}
ELEMENTS = {"float16": "f16", "float32": "f32", "int32": "i32", "int64": "i64"}


def _access(name: str, array: np.ndarray) -> str:
    shape = array.shape
    strides = [int(np.prod(shape[d + 1 :])) for d in range(len(shape))]
    kind = "x".join(map(str, shape))
    element = ELEMENTS[array.dtype.name]
    points = SET[len(shape)].format(*shape)
    names = ", ".join(f"d{d}" for d in range(len(shape)))
    zeros = ", ".join(["%c0"] * len(shape))
    return (
        f"%{name}_v = ktdp.construct_memory_view %{name}_ptr, sizes: {list(shape)}, strides: "
        f"{strides} {{coordinate_set = {points}, memory_space = #ktdp.memory_space<global>}}"
        f" : memref<{kind}x{element}>\n"
        f"%{name}_t = ktdp.construct_access_tile %{name}_v[{zeros}] {{access_tile_set = {points}, "
        f"access_tile_order = affine_map<({names}) -> ({names})>}} : memref<{kind}x{element}>"
        f" -> !ktdp.access_tile<{kind}xindex>\n"
    )


def compute(body: str, out: np.ndarray, **arrays: np.ndarray) -> tuple[np.ndarray, Counters]:
    """Run ``body`` on whole arrays; it leaves its result in ``%out``."""
    text = ""
    for name, array in arrays.items():
        kind = "x".join(map(str, array.shape))
        text += _access(name, array) + (
            f"%{name} = ktdp.load %{name}_t : !ktdp.access_tile<{kind}xindex> -> "
            f"tensor<{kind}x{ELEMENTS[array.dtype.name]}>\n"
        )
    kind = "x".join(map(str, out.shape))
    text += body + _access("out", out)
    text += (
        f"ktdp.store %out, %out_t : tensor<{kind}x{ELEMENTS[out.dtype.name]}>, "
        f"!ktdp.access_tile<{kind}xindex>\n"
    )
    arguments = ", ".join(f"%{name}_ptr: index" for name in (*arrays, "out"))
    constants = "".join(f"%c{n} = arith.constant {n} : index\n" for n in range(5))
    text = f"func.func @f({arguments}) {{\n{constants}{text}return\n}}\n"
    pointers = {f"{name}_ptr": array for name, array in arrays.items()}
    outputs, counters = launch(text, **pointers, out_ptr=out)
    return outputs["out_ptr"], counters


def random(*shape: int, dtype: Any = np.float16, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(shape).astype(dtype)


def test_reduce_folds_in_halves_and_rounds_at_each_level() -> None:
    x = random(3, 7)
    out, counters = compute(
        "%z = arith.constant dense<1.0> : tensor<3xf16>\n"
        "%out = linalg.reduce { arith.addf } ins(%x : tensor<3x7xf16>) outs(%z : tensor<3xf16>) "
        "dimensions = [1]\n",
        np.zeros(3, np.float16),
        x=x,
    )
    level = np.concatenate([x, np.zeros((3, 1), np.float16)], axis=1)
    while level.shape[1] > 1:
        half = level.shape[1] // 2
        level = level[:, :half] + level[:, half:]
    np.testing.assert_array_equal(out, level[:, 0] + np.float16(1))
    assert counters.ops["sfp"].tolist() == [21]


def test_reduce_with_two_operands_passes_odd_values_through() -> None:
    x = np.array([[3, 9, 2, 9, 5]], np.float32)
    at = np.arange(5, dtype=np.int32)[None]
    out, counters = compute(
        "%low = arith.constant dense<-1.0> : tensor<1xf32>\n"
        "%no = arith.constant dense<-1> : tensor<1xi32>\n"
        "%m, %out = linalg.reduce ins(%x, %at : tensor<1x5xf32>, tensor<1x5xi32>) "
        "outs(%low, %no : tensor<1xf32>, tensor<1xi32>) dimensions = [1]\n"
        "(%a: f32, %i: i32, %b: f32, %j: i32) {\n"
        "  %more = arith.cmpf ogt, %a, %b : f32\n"
        "  %v = arith.select %more, %a, %b : f32\n"
        "  %w = arith.select %more, %i, %j : i32\n"
        "  linalg.yield %v, %w : f32, i32\n}\n",
        np.zeros(1, np.int32),
        x=x,
        at=at,
    )
    # value@index, upper half into lower: 3@0 9@1 2@2 | 9@3 5@4 -> 9@3 9@1 | 2@2 -> 9@3 | 9@1;
    # a tie keeps the lower half, so 9@3 is left.
    assert out.tolist() == [3]
    assert counters.ops["sfp"].tolist() == [15]


def test_matmul_adds_to_outs_and_rounds_once() -> None:
    a, b, c = random(5, 64, seed=1), random(64, 6, seed=2), random(5, 6, seed=3)
    out, counters = compute(
        "%out = linalg.matmul ins(%a, %b : tensor<5x64xf16>, tensor<64x6xf16>) "
        "outs(%c : tensor<5x6xf16>) -> tensor<5x6xf16>\n",
        np.zeros((5, 6), np.float16),
        a=a,
        b=b,
        c=c,
    )
    total = np.zeros((5, 6), np.float32)
    for k in range(64):
        total = total + a[:, k, None].astype(np.float32) * b[None, k].astype(np.float32)
    np.testing.assert_array_equal(out, (c.astype(np.float32) + total).astype(np.float16))
    assert counters.ops["pt"].tolist() == [5 * 64 * 6]


@pytest.mark.parametrize(
    ("name", "a", "b", "subscripts"),
    [
        ("batch_matmul", (2, 3, 4), (2, 4, 5), "bmk,bkn->bmn"),
        ("matmul_transpose_a", (4, 3), (4, 5), "km,kn->mn"),
        ("matmul_transpose_b", (3, 4), (5, 4), "mk,nk->mn"),
        ("batch_matmul_transpose_a", (2, 4, 3), (2, 4, 5), "bkm,bkn->bmn"),
        ("batch_matmul_transpose_b", (2, 3, 4), (2, 5, 4), "bmk,bnk->bmn"),
        ("matvec", (3, 4), (4,), "mk,k->m"),
        ("vecmat", (4,), (4, 3), "k,kn->n"),
        ("batch_matvec", (2, 3, 4), (2, 4), "bmk,bk->bm"),
    ],
)
def test_matmul_family(name: str, a: tuple, b: tuple, subscripts: str) -> None:
    rng = np.random.default_rng(0)
    left = rng.integers(-9, 9, a).astype(np.int32)
    right = rng.integers(-9, 9, b).astype(np.int32)
    expected = np.einsum(subscripts, left, right)
    kinds = ["x".join(map(str, shape)) for shape in (a, b, expected.shape)]
    out, _ = compute(
        f"%e = tensor.empty() : tensor<{kinds[2]}xi32>\n"
        f"%out = linalg.{name} ins(%a, %b : tensor<{kinds[0]}xi32>, tensor<{kinds[1]}xi32>) "
        f"outs(%e : tensor<{kinds[2]}xi32>) -> tensor<{kinds[2]}xi32>\n",
        np.zeros(expected.shape, np.int32),
        a=left,
        b=right,
    )
    np.testing.assert_array_equal(out, expected)


def test_generic_visits_reduction_points_in_row_major_order() -> None:
    x = random(4, 3, 5)
    out, counters = compute(
        "%z = tensor.empty() : tensor<3xf16>\n"
        "%out = linalg.generic {indexing_maps = [affine_map<(i, j, k) -> (i, j, k)>, "
        'affine_map<(i, j, k) -> (j)>], iterator_types = ["reduction", "parallel", "reduction"]} '
        "ins(%x : tensor<4x3x5xf16>) outs(%z : tensor<3xf16>) {\n"
        "^bb0(%a: f16, %acc: f16):\n"
        "  %n = arith.addf %acc, %a : f16\n  linalg.yield %n : f16\n} -> tensor<3xf16>\n",
        np.zeros(3, np.float16),
        x=x,
    )
    total = np.zeros(3, np.float16)
    for i in range(4):
        for k in range(5):
            total = total + x[i, :, k]
    np.testing.assert_array_equal(out, total)
    assert counters.ops["sfp"].tolist() == [60]


def test_generic_without_parallel_dimensions_counts_its_points() -> None:
    x = random(6)
    out, counters = compute(
        "%z = tensor.empty() : tensor<f16>\n"
        "%s = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> ()>], "
        'iterator_types = ["reduction"]} ins(%x : tensor<6xf16>) outs(%z : tensor<f16>) {\n'
        "^bb0(%a: f16, %acc: f16):\n"
        "  %i = linalg.index 0 : index\n  %n = arith.index_cast %i : index to i32\n"
        "  %w = arith.sitofp %n : i32 to f16\n  %p = arith.mulf %a, %w : f16\n"
        "  %t = arith.addf %acc, %p : f16\n  linalg.yield %t : f16\n} -> tensor<f16>\n"
        "%v = tensor.extract %s[] : tensor<f16>\n%out = tensor.splat %v : tensor<1xf16>\n",
        np.zeros(1, np.float16),
        x=x,
    )
    total = np.float16(0)
    for i in range(6):
        total = total + x[i] * np.float16(i)
    assert out[0] == total
    assert counters.ops["sfp"].tolist() == [4 * 6]


def test_map_and_named_operations_count_their_elements() -> None:
    x = np.abs(random(4, 8)) + np.float16(0.5)
    out, counters = compute(
        "%e = tensor.empty() : tensor<4x8xf16>\n"
        "%s = linalg.map ins(%x : tensor<4x8xf16>) outs(%e : tensor<4x8xf16>) (%a: f16) {\n"
        "  %two = arith.constant 2.0 : f16\n  %m = arith.mulf %a, %two : f16\n"
        "  linalg.yield %m : f16\n}\n"
        "%q = linalg.sqrt ins(%s : tensor<4x8xf16>) outs(%e : tensor<4x8xf16>) -> tensor<4x8xf16>\n"
        "%out = linalg.add ins(%q, %q : tensor<4x8xf16>, tensor<4x8xf16>) "
        "outs(%x : tensor<4x8xf16>) -> tensor<4x8xf16>\n",
        np.zeros((4, 8), np.float16),
        x=x,
    )
    root = np.sqrt(x * np.float16(2))
    np.testing.assert_array_equal(out, root + root)
    assert counters.ops["sfp"].tolist() == [64]
    assert counters.ops["special"].tolist() == [32]


def test_slices_concat_pad_and_moves() -> None:
    x = np.arange(24, dtype=np.int32).reshape(4, 6)
    out, counters = compute(
        "%a = tensor.extract_slice %x[0, %c1] [2, 3] [2, 2] : tensor<4x6xi32> to tensor<2x3xi32>\n"
        "%b = tensor.concat dim(0) %a, %a : (tensor<2x3xi32>, tensor<2x3xi32>) -> tensor<4x3xi32>\n"
        "%nine = arith.constant 9 : i32\n"
        "%p = tensor.pad %b low[0, 1] high[0, %c1] {\n^bb0(%i: index, %j: index):\n"
        "  tensor.yield %nine : i32\n} : tensor<4x3xi32> to tensor<4x5xi32>\n"
        "%row = tensor.extract_slice %x[3, 0] [1, 5] [1, 1] : tensor<4x6xi32> to tensor<5xi32>\n"
        "%out = tensor.insert_slice %row into %p[1, 0] [1, 5] [1, 1] : "
        "tensor<5xi32> into tensor<4x5xi32>\n",
        np.zeros((4, 5), np.int32),
        x=x,
    )
    part = x[0:4:2, 1:6:2]
    expected = np.pad(np.concatenate([part, part]), ((0, 0), (1, 1)), constant_values=9)
    expected[1] = x[3, :5]
    np.testing.assert_array_equal(out, expected)
    assert counters.ops["move"].tolist() == [6 + 12 + 20 + 5 + 5]


def test_extract_outside_a_tensor_raises() -> None:
    with pytest.raises(TensorIndexError, match="index 4 in dimension 0 of 4"):
        compute(
            "%s = tensor.extract %x[%c4] : tensor<4xi32>\n%out = tensor.splat %s : tensor<2xi32>\n",
            np.zeros(2, np.int32),
            x=np.zeros(4, np.int32),
        )


def test_parallel_folds_in_order() -> None:
    out, _ = compute(
        "%one = arith.constant 1 : i32\n"
        "%s = scf.parallel (%i, %j) = (%c0, %c1) to (%c3, %c4) "
        "step (%c1, %c2) init (%one) -> i32 {\n"
        "  %k = arith.addi %i, %j : index\n  %v = arith.index_cast %k : index to i32\n"
        "  scf.reduce(%v : i32) {\n  ^bb0(%a: i32, %b: i32):\n"
        "    %two = arith.constant 2 : i32\n    %d = arith.muli %a, %two : i32\n"
        "    %n = arith.addi %d, %b : i32\n    scf.reduce.return %n : i32\n  }\n}\n"
        "%out = tensor.splat %s : tensor<1xi32>\n",
        np.zeros(1, np.int32),
    )
    total = 1
    for i in range(3):
        for j in (1, 3):
            total = 2 * total + i + j
    assert out.tolist() == [total]


def test_forall_and_subview() -> None:
    x = np.arange(64, dtype=np.float32).reshape(8, 8)
    out, _ = compute(
        "%w = memref.subview %x_v[1, %c2] [4, 3] [2, 1] : memref<8x8xf32> to memref<4x3xf32>\n"
        "%w_t = ktdp.construct_access_tile %w[%c1, %c0] {access_tile_set = "
        "affine_set<(i, j) : (i >= 0, -i + 3 >= 0, j >= 0, -j + 2 >= 0)>, access_tile_order = "
        "affine_map<(i, j) -> (i, j)>} : memref<4x3xf32> -> !ktdp.access_tile<4x3xindex>\n"
        "%big = arith.constant dense<-1.0> : tensor<4x3xf32>\n"
        "scf.forall (%i) in (2) {\n"
        "  %v = ktdp.load %w_t : !ktdp.access_tile<4x3xindex> -> tensor<4x3xf32>\n"
        "  %d = arith.addf %v, %v : tensor<4x3xf32>\n"
        "  ktdp.store %d, %w_t : tensor<4x3xf32>, !ktdp.access_tile<4x3xindex>\n}\n"
        "%out = ktdp.load %w_t : !ktdp.access_tile<4x3xindex> -> tensor<4x3xf32>\n",
        np.zeros((4, 3), np.float32),
        x=x,
    )
    # Rows 1, 3, 5, 7 from column 2; the tile starts at its second row, its last row is outside.
    np.testing.assert_array_equal(out, np.vstack([4 * x[3::2, 2:5], np.zeros((1, 3))]))


def test_operations_without_public_numbers_are_refused_by_name() -> None:
    text = "func.func @f(%x: f16) {\n  %m, %s = spyreop.exx2 %x : f16\n  return\n}\n"
    assert parse(text)
    with pytest.raises(UnsupportedError, match=r"spyreop.exx2 at 2:\d+: no public source"):
        launch(text, x=1.0)
