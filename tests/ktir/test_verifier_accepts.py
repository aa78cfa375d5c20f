"""Programs at the edge of a rule that must pass."""

from __future__ import annotations

import pytest

from tests.ktir.programs import framed
from tests.ktir.test_verifier import CONSTANTS, GOOD_TILE, VIEW, tile, view

LEGAL = {
    "a tile that leaves its view at run time": GOOD_TILE,
    "a tile as large as its view": tile(
        "(r, c) : (r >= 0, -r + 15 >= 0, c >= 0, -c + 63 >= 0)", "16x64", "%c0, %c0"
    ),
    "a tile that starts below its subscript": tile(
        "(r, c) : (r + 1 >= 0, -r >= 0, c >= 0, -c + 7 >= 0)", "2x8", "%i, %c0"
    ),
    "a tile that is no box": tile("(r, c) : (r >= 0, c - r >= 0, -c + 7 >= 0)", "8x8"),
    "an order that is no permutation": tile(
        "(r, c) : (r >= 0, -r + 1 >= 0, c >= 0, -c + 7 >= 0)",
        "16",
        more=", access_tile_order = affine_map<(r, c) -> (r + c)>",
    ),
    "a tile without a set": VIEW
    + "%a = ktdp.construct_access_tile %w[%i, %j] : memref<16x64xf16> -> <4x4xindex>",
    "unknown extents": CONSTANTS
    + view("%i, %j", "%j, 1", "?x?xf16")
    + "\n%a = ktdp.construct_access_tile %w[%c62, %c62] : memref<?x?xf16> -> <4x4xindex>"
    + "\n%x = ktdp.load %a : <4x4xindex> -> tensor<?x4xf16>",
    "a view that starts elsewhere": view(
        "4", "1", "4xf16", " {coordinate_set = affine_set<(d) : (d - 8 >= 0, -d + 11 >= 0)>}"
    )
    + "\n%s = arith.constant 8 : index\n%a = ktdp.construct_access_tile %w[%s] {access_tile_set = "
    "affine_set<(d) : (d >= 0, -d + 3 >= 0)>} : memref<4xf16> -> <4xindex>",
    "a broadcast stride": view("4, 8", "0, 1", "4x8xf16"),
    "a coordinate set of fewer symbols": view(
        "%i, 8", "8, 1", "4x8xf16", " {coordinate_set = affine_set<(r, c) : (r >= 0, c >= 0)>}"
    ),
    "a tile of a tensor": "%a = ktdp.construct_access_tile %t[%i, %j] {access_tile_set = "
    "affine_set<(r, c) : (r >= 0, -r >= 0, c >= 0, -c + 7 >= 0)>} : tensor<4x8xf16> -> <1x8xindex>",
    "a slice without its ones": "%x = tensor.extract_slice %t[2, 0] [1, 8] [1, 1] "
    ": tensor<4x8xf16> to tensor<8xf16>",
    "a slice with dynamic sizes": "%x = tensor.extract_slice %t[%i, 0] [%j, 8] [1, 1] "
    ": tensor<4x8xf16> to tensor<?x8xf16>",
    "an empty branch": "scf.if %c {\n} else {\n}",
    "an early end of a loop": "scf.for %a = %n to %n step %n : i32 {\nscf.yield\n}",
    "a wide unsigned constant": "%x = arith.constant 4294967295 : i32",
    "matmul with wider sums": "%z = tensor.empty() : tensor<8x5xf16>\n"
    "%o = tensor.empty() : tensor<4x5xf32>\n"
    "%x = linalg.matmul ins(%t, %z : tensor<4x8xf16>, tensor<8x5xf16>) "
    "outs(%o : tensor<4x5xf32>) -> tensor<4x5xf32>",
    "collapse to a scalar": "%z = tensor.empty() : tensor<1x1xf16>\n"
    "%x = tensor.collapse_shape %z [] : tensor<1x1xf16> into tensor<f16>",
    "values of an outer region": "scf.if %c {\nscf.if %c {\n%x = arith.negf %f : f32\n}\n}",
    "one name in two regions": "scf.if %c {\n%x = arith.negf %f : f32\n} else {\n"
    "%x = arith.negf %h : f16\n}",
}


@pytest.mark.parametrize("name", LEGAL)
def test_passes(name: str) -> None:
    framed(LEGAL[name]).verify()
