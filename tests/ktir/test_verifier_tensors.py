"""Tensor programs that read well and break one rule each: linalg, tensor, memref, spyreop."""

from __future__ import annotations

import pytest

from spyrelab.ktir import KtirError
from tests.ktir.programs import breaks, framed
from tests.ktir.test_verifier import VIEW

BAD = {
    # linalg
    "inner dimensions": (
        "%x = linalg.matmul ins(%t, %t : tensor<4x8xf16>, tensor<4x8xf16>) "
        "outs(%t : tensor<4x8xf16>) -> tensor<4x8xf16>",
        "dimension k is 8 in %t and 4 in %t",
    ),
    "rank of matmul": (
        "%x = linalg.matmul ins(%t, %v : tensor<4x8xf16>, tensor<8xf16>) "
        "outs(%t : tensor<4x8xf16>) -> tensor<4x8xf16>",
        "%v has 1 dimensions, not 2",
    ),
    "result and outs": (
        "%x = linalg.add ins(%t, %t : tensor<4x8xf16>, tensor<4x8xf16>) "
        "outs(%t : tensor<4x8xf16>) -> tensor<4x8xf32>",
        "results 0: tensor<4x8xf32>, but tensor<4x8xf16> is needed",
    ),
    "elementwise shapes": (
        "%x = linalg.add ins(%t, %v : tensor<4x8xf16>, tensor<8xf16>) "
        "outs(%t : tensor<4x8xf16>) -> tensor<4x8xf16>",
        "%v is a tensor<8xf16>, but the output a tensor<4x8xf16>",
    ),
    "mixed numbers": (
        "%x = linalg.add ins(%t, %k : tensor<4x8xf16>, tensor<4x8xi32>) "
        "outs(%t : tensor<4x8xf16>) -> tensor<4x8xf16>",
        "it mixes whole and floating point numbers",
    ),
    "inputs": (
        "%x = linalg.exp ins(%t, %t : tensor<4x8xf16>, tensor<4x8xf16>) "
        "outs(%t : tensor<4x8xf16>) -> tensor<4x8xf16>",
        "2 inputs and 1 outputs; it takes 1 and 1",
    ),
    "fill value": (
        "%x = linalg.fill ins(%v : tensor<8xf16>) outs(%t : tensor<4x8xf16>) -> tensor<4x8xf16>",
        "%v is a tensor<8xf16>, not a scalar",
    ),
    "reduced dimension": (
        "%x = linalg.reduce { arith.addf } ins(%t : tensor<4x8xf16>) outs(%v : tensor<8xf16>) "
        "dimensions = [2]",
        "dimension 2 does not exist; the tensor has 2",
    ),
    "reduced twice": (
        "%x = linalg.reduce { arith.addf } ins(%t : tensor<4x8xf16>) outs(%v : tensor<8xf16>) "
        "dimensions = [0, 0]",
        "dimension [0, 0] names one twice",
    ),
    "reduced shape": (
        "%x = linalg.reduce { arith.addf } ins(%t : tensor<4x8xf16>) outs(%v : tensor<8xf16>) "
        "dimensions = [1]",
        "output %v is a tensor<8xf16>, but tensor<4xf16> is needed",
    ),
    "combiner of another kind": (
        "%x = linalg.reduce { arith.addi } ins(%t : tensor<4x8xf16>) outs(%v : tensor<8xf16>) "
        "dimensions = [0]",
        "it takes whole numbers",
    ),
    "broadcast dimension": (
        "%x = linalg.broadcast ins(%v : tensor<8xf16>) outs(%t : tensor<4x8xf16>) dimensions = [1]",
        "input %v is a tensor<8xf16>, but tensor<4xf16> is needed",
    ),
    "permutation": (
        "%x = linalg.transpose ins(%t : tensor<4x8xf16>) outs(%t : tensor<4x8xf16>) "
        "permutation = [0, 0]",
        "[0, 0] is no permutation of 2 axes",
    ),
    "transposed shape": (
        "%x = linalg.transpose ins(%t : tensor<4x8xf16>) outs(%t : tensor<4x8xf16>) "
        "permutation = [1, 0]",
        "output %t is a tensor<4x8xf16>, but tensor<8x4xf16> is needed",
    ),
    "index outside generic": ("%x = linalg.index 0 : index", "it stands outside linalg.generic"),
    # tensor
    "index of extract": (
        "%s = arith.constant 8 : index\n%x = tensor.extract %t[%i, %s] : tensor<4x8xf16>",
        "index 8 lies outside tensor<4x8xf16>",
    ),
    "indices of extract": ("%x = tensor.extract %t[%i] : tensor<4x8xf16>", "1 indices for a"),
    "splat of another type": ("%x = tensor.splat %n : tensor<4xf32>", "%n has type i32, but f32"),
    "extents of empty": ("%x = tensor.empty() : tensor<?xf32>", "0 extents for the 1 unknown"),
    "from_elements": ("%x = tensor.from_elements %f : tensor<2xf32>", "1 elements for a"),
    "slice beyond": (
        "%x = tensor.extract_slice %t[1, 0] [4, 8] [1, 1] : tensor<4x8xf16> to tensor<4x8xf16>",
        "the slice ends at 4 in dimension 0, which has 4",
    ),
    "slice entries": (
        "%x = tensor.extract_slice %t[1] [2] [1] : tensor<4x8xf16> to tensor<2xf16>",
        "offsets, sizes and strides need 2 entries each",
    ),
    "slice type": (
        "%x = tensor.extract_slice %t[0, 0] [2, 8] [1, 1] : tensor<4x8xf16> to tensor<3x8xf16>",
        "a slice of size 2x8 of tensor<4x8xf16> cannot be a tensor<3x8xf16>",
    ),
    "slice stride": (
        "%x = tensor.extract_slice %t[0, 0] [2, 8] [0, 1] : tensor<4x8xf16> to tensor<2x8xf16>",
        "stride 0 of dimension 0 is not positive",
    ),
    "inserted beyond": (
        "%x = tensor.insert_slice %v into %t[4, 0] [1, 8] [1, 1] "
        ": tensor<8xf16> into tensor<4x8xf16>",
        "the slice ends at 4 in dimension 0, which has 4",
    ),
    "expanded count": (
        "%x = tensor.expand_shape %v [[0, 1]] output_shape [2, 3] "
        ": tensor<8xf16> into tensor<2x3xf16>",
        "dimensions [0, 1] of tensor<2x3xf16> make 6, not 8",
    ),
    "collapsed groups": (
        "%x = tensor.collapse_shape %t [[0]] : tensor<4x8xf16> into tensor<32xf16>",
        "the groups do not hold dimensions 0 to 1",
    ),
    "reshape count": (
        "%s = arith.constant dense<30> : tensor<1xindex>\n%x = tensor.reshape %t(%s) : "
        "(tensor<4x8xf16>, tensor<1xindex>) -> tensor<30xf16>",
        "tensor<4x8xf16> has 32 elements, tensor<30xf16> has 30",
    ),
    "dimension of dim": (
        "%s = arith.constant 2 : index\n%x = tensor.dim %t, %s : tensor<4x8xf16>",
        "dimension 2 does not exist in tensor<4x8xf16>",
    ),
    "joined shapes": (
        "%x = tensor.concat dim(0) %t, %t : (tensor<4x8xf16>, tensor<4x8xf16>) -> tensor<9x8xf16>",
        "the parts make 8 along dimension 0 of tensor<9x8xf16>",
    ),
    "padded shape": (
        "%x = tensor.pad %v low[1] high[1] {\n^bb0(%a: index):\ntensor.yield %h : f16\n} "
        ": tensor<8xf16> to tensor<9xf16>",
        "the result has type tensor<9xf16>, but tensor<10xf16> is needed",
    ),
    "subview beyond": (
        VIEW + "%x = memref.subview %w[0, 60] [4, 8] [1, 1] : memref<16x64xf16> to memref<4x8xf16>",
        "the slice ends at 67 in dimension 1, which has 64",
    ),
    # spyreop
    "scalars only": ("%x = spyreop.gelu %t : tensor<4x8xf16>", "it takes scalars of type f16"),
    "address operands": (
        "%x = spyreop.idx32toaddr %i base 4 stride 8",
        "%i has type index, but i32",
    ),
    "reduction kind": (
        "%x = spyreop.slice_reduction %v {reduction_kind = #spyreop.reduction_kind<ad>, "
        "reduction_scope = #spyreop.reduction_scope<in_slice>} : tensor<8xf16> -> tensor<8xf16>",
        "unknown reduction_kind ad",
    ),
    "layer norm operands": ("%x = spyreop.layernormnorm %f : f32", "it takes 5 operands, not 1"),
    "size": (
        "%x = tensor.empty() : tensor<274177x67280421310721xf32>",  # 2**64 + 1
        "a tensor<274177x67280421310721xf32> is beyond every memory",
    ),
}


@pytest.mark.parametrize("rule", BAD)
def test_one_rule(rule: str) -> None:
    breaks(*BAD[rule])


GENERIC = """%x = linalg.generic {{indexing_maps = [{maps}], iterator_types = [{iterators}]}}
ins(%t : tensor<4x8xf16>) outs(%v : tensor<8xf16>) {{
^bb0(%a: f16, %b: {kind}):
{body}linalg.yield %a : f16
}} -> tensor<8xf16>"""
SUM = {
    "maps": "affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (j)>",
    "iterators": '"reduction", "parallel"',
    "kind": "f16",
    "body": "",
}


@pytest.mark.parametrize(
    ("changed", "fragment"),
    [
        ({"maps": "affine_map<(i, j) -> (i, j)>"}, "1 maps for 2 operands"),
        ({"maps": SUM["maps"].replace("(j)>", "(i)>")}, "loop 0 runs over 4 and, in %v, 8"),
        ({"maps": SUM["maps"].replace("(j)>", "(i, j)>")}, "does not fit %v: tensor<8xf16>"),
        ({"iterators": '"parallel"'}, "must have 1 dimensions and no symbols"),
        ({"iterators": '"window", "parallel"'}, "unknown iterator type window"),
        ({"maps": SUM["maps"].replace("(i, j)>", "(i + j, j)>")}, "gives the extent of loop 0"),
        ({"kind": "f32"}, "region arguments 1: f32, but f16 is needed"),
        ({"body": "%z = linalg.index 2 : index\n"}, "loop 2 does not exist; linalg.generic has 2"),
    ],
)
def test_generic(changed: dict[str, str], fragment: str) -> None:
    framed(GENERIC.format(**SUM)).verify()
    with pytest.raises(KtirError) as caught:
        framed(GENERIC.format(**(SUM | changed))).verify()
    assert fragment in caught.value.message
