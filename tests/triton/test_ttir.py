"""Generic MLIR text becomes a tree."""

from __future__ import annotations

import pytest

from spyrelab.ktir.errors import KtirError
from spyrelab.ktir.ir import CallSiteLocation, FileLocation, NameLocation
from spyrelab.ktir.types import F16, F32, I32, TensorType
from spyrelab.triton.ttir import DescriptorType, PointerType, TtirOperation, parse_ttir

TEXT = """
#loc = loc("kernel.py":4:1)
#loc7 = loc("x"(#loc))
"builtin.module"() ({
  "tt.func"() <{function_type = (!tt.ptr<f32>, i32) -> (), sym_name = "k"}> ({
  ^bb0(%x: !tt.ptr<f32> loc("x"(#loc)), %n: i32 loc(#loc7)):
    %c = "arith.constant"() <{value = dense<[1, 2]> : tensor<2xi32>}>
        : () -> tensor<2xi32> loc(#loc1)
    %0:2 = "test.pair"(%x, %n) {flag, sizes = array<i32: 1, 1, 0>} : (!tt.ptr<f32>, i32)
        -> (tensor<2x3x!tt.ptr<f32>>, !tt.tensordesc<16x32xf16>) loc(#loc3)
    "cf.cond_br"(%n, %0#0)[^bb1, ^bb2] <{operandSegmentSizes = array<i32: 1, 1, 0>}>
        : (i32, tensor<2x3x!tt.ptr<f32>>) -> ()
  ^bb1(%a: tensor<2x3x!tt.ptr<f32>>):  // pred: ^bb0
    "test.early"(%late) : (f64) -> ()
    "cf.br"()[^bb2] : () -> ()
  ^bb2:  // 2 preds: ^bb0, ^bb1
    %late = "test.late"() <{callee = @"a.b", value = 1.5 : f64}> : () -> f64
    "tt.return"() : () -> ()
  }) {noinline = false} : () -> () loc(#loc)
}) {llvm.data_layout} : () -> () loc(#loc)
#loc1 = loc("kernel.py":5:9)
#loc2 = loc("c"(#loc1))
#loc3 = loc(callsite(#loc2 at #loc))
"""


@pytest.fixture
def function() -> TtirOperation:
    module = parse_ttir(TEXT)
    (block,) = module.regions[0]
    return block.operations[0]


def test_functions_have_blocks(function: TtirOperation) -> None:
    assert function.attributes["sym_name"] == "k"
    assert function.attributes["noinline"] is False
    blocks = function.regions[0]
    assert [block.label for block in blocks] == ["^bb0", "^bb1", "^bb2"]
    jump = blocks[0].operations[-1]
    assert jump.successors == (blocks[1], blocks[2])
    assert jump.attributes["operandSegmentSizes"] == (1, 1, 0)


def test_types(function: TtirOperation) -> None:
    x, n = function.regions[0][0].arguments
    assert x.type == PointerType(F32)
    assert n.type == I32
    constant, pair = function.regions[0][0].operations[:2]
    assert constant.result.type == TensorType((2,), I32)
    assert constant.attributes["value"].values == (1, 2)
    assert [value.type for value in pair.results] == [
        PointerType(F32, (2, 3)),
        DescriptorType((16, 32), F16),
    ]
    assert str(pair.results[0].type) == "tensor<2x3x!tt.ptr<f32>>"
    assert str(pair.results[1].type) == "!tt.tensordesc<16x32xf16>"


def test_values_may_be_defined_in_later_blocks(function: TtirOperation) -> None:
    _, early, last = function.regions[0]
    assert early.operations[0].operands == (last.operations[0].result,)
    assert str(last.operations[0].result.type) == "f64"
    assert last.operations[0].attributes == {"callee": "a.b", "value": 1.5}


def test_locations_are_settled(function: TtirOperation) -> None:
    first = FileLocation("kernel.py", 4, 1)
    x, n = function.regions[0][0].arguments
    assert x.location == n.location == NameLocation("x", first)
    pair = function.regions[0][0].operations[1]
    named = NameLocation("c", FileLocation("kernel.py", 5, 9))
    assert pair.location == CallSiteLocation(named, first)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('"a.b"(%x : (i32) -> ()', r"expected '\)'"),
        ('%a, %b = "a.b"() : () -> i32', "does not have the operands"),
        ('"a.b"() <{x = }> : () -> ()', "attribute value"),
        ('"a.b"() : () -> tensor<2xtensor<3xf32>>', "is not understood"),
        ('"a.b"() : () -> () loc(#loc9)', "not defined"),
    ],
)
def test_bad_text_says_where(text: str, message: str) -> None:
    with pytest.raises(KtirError, match=message):
        parse_ttir(text)


@pytest.mark.parametrize(("spelled", "element"), [("si32", "i32"), ("ui8", "i8"), ("f16", "f16")])
def test_descriptors_of_integers_spell_signs_that_tensors_lack(spelled: str, element: str) -> None:
    text = f"""
"builtin.module"() ({{
  "tt.func"() <{{function_type = () -> (), sym_name = "k"}}> ({{
    %0 = "test.made"() : () -> !tt.tensordesc<16x32x{spelled}>
    "tt.return"() : () -> ()
  }}) : () -> ()
}}) : () -> ()
"""
    (made, _) = parse_ttir(text).regions[0][0].operations[0].regions[0][0].operations
    kind = made.results[0].type
    assert isinstance(kind, DescriptorType) and kind.element.name == element
