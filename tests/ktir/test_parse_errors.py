"""Text that is not KTIR: what is wrong, where, and what to do, word for word."""

from __future__ import annotations

import pickle

import pytest

from spyrelab.errors import SpyreLabError
from spyrelab.ktir import KtirError, parse
from tests.ktir.programs import frame

VIEW = "%w = ktdp.construct_memory_view %i, sizes: [64], strides: [1]"

MESSAGES = {
    "%x = arith.adff %f, %f : f32": """\
3:6: unknown operation arith.adff
  %x = arith.adff %f, %f : f32
       ^
hint: did you mean arith.addf?""",
    "%x = arith.addf %f, %fe : f32": """\
3:21: value %fe is not defined here
  %x = arith.addf %f, %fe : f32
                      ^
hint: did you mean %f?""",
    "%x = arith.addf %f, %f : f16": """\
3:26: %f has type f32, not f16
  %x = arith.addf %f, %f : f16
                           ^
hint: write the type that its definition gives""",
    "%x = arith.cmpi lt, %i, %j : index": """\
3:17: unknown predicate lt
  %x = arith.cmpi lt, %i, %j : index
                  ^
hint: did you mean slt or ult?""",
    "%x = arith.negf %f : f32\n%x = arith.negf %f : f32": """\
4:1: %x is defined twice
  %x = arith.negf %f : f32
  ^
hint: the first one is in line 3""",
    "scf.if %c {\n%a = arith.negf %f : f32\n}\n%b = arith.negf %a : f32": """\
6:17: value %a is not defined here
  %b = arith.negf %a : f32
                  ^
hint: the one defined in line 4 only exists inside its region""",
    "%x = tensor.empty() : tenser<4xf16>": """\
3:23: unknown type 'tenser'
  %x = tensor.empty() : tenser<4xf16>
                        ^
hint: did you mean tensor?""",
    "%x = tensor.empty() : tensor<4xf64>": """\
3:32: unknown type 'f64'
  %x = tensor.empty() : tensor<4xf64>
                                 ^
hint: the card has no 64-bit floats: use f32""",
    "%x = tensor.empty() : tensor<-4xf16>": """\
3:30: an extent must not be negative
  %x = tensor.empty() : tensor<-4xf16>
                               ^
hint: use ? for an extent known at run time""",
    "%x = arith.constant 300 : i8": """\
3:21: 300 does not fit i8
  %x = arith.constant 300 : i8
                      ^
hint: its values lie in [-128, 256)""",
    "%x = arith.constant dense<[1, 2]> : tensor<3xi32>": """\
3:21: a dense constant of shape 2 cannot be a tensor<3xi32>
  %x = arith.constant dense<[1, 2]> : tensor<3xi32>
                      ^""",
    "%x:2 = arith.addf %f, %f : f32": """\
3:8: this operation has 1 result, not 2
  %x:2 = arith.addf %f, %f : f32
         ^
hint: name each result, or use %name:N""",
    f"{VIEW} : memref<64xf16>\n%a = ktdp.construct_access_tile %w[%i * %j]": """\
4:39: a product of two variables is not affine
  %a = ktdp.construct_access_tile %w[%i * %j]
                                        ^
hint: compute it with arith.muli""",
    "%x = math.exp %f, : f32": """\
3:19: expected a value, found ':'
  %x = math.exp %f, : f32
                    ^
hint: values are written %name""",
    "%x = arith.constant dense<-inf> : tensor<1xf16>": """\
3:28: expected a number, found 'inf'
  %x = arith.constant dense<-inf> : tensor<1xf16>
                             ^
hint: write its bits: 0xFC00 is minus infinity in f16""",
}

FRAGMENTS = {
    "%x = arith.constant 1.5 : i32": (21, "1.5 is not a whole number"),
    "%x = arith.constant true : i32": (21, "true is not a value of type i32"),
    "%x = arith.constant 0x1FFFF : f16": (21, "has more than the 16 bits of f16"),
    "%x = arith.constant 1.0e999 : f32": (21, "1.0e999 is too large"),
    "%x = arith.constant 1.0": (None, "expected ':', found 'return'"),
    "%x = arith.constant 4 : tensor<4xi32>": (25, "a number cannot be a tensor<4xi32>"),
    "%x = arith.constant dense<[[1], [2, 3]]> : tensor<2x1xi32>": (33, "rows of different lengths"),
    "%x = arith.constant dense<1> : tensor<?xi32>": (21, "a constant needs static extents"),
    '%x = arith.constant dense<"0x00"> : tensor<2xi32>': (21, "takes 8 bytes, this string has 1"),
    '%x = arith.constant dense<"0xZZ"> : tensor<2xi32>': (21, "not a hexadecimal string"),
    "%x = arith.addf %f %f : f32": (20, "expected ':', found '%f'"),
    "%x = frobnicate %f": (6, "unknown operation frobnicate"),
    "%x#1 = arith.negf %f : f32": (1, "%x#1 cannot be defined"),
    "%x:0 = arith.negf %f : f32": (1, "%x:0 is not a sensible number"),
    "%x = arith.negf %f : f32 f32": (26, "unknown operation f32"),
    "arith.negf %f : f32 }": (None, "expected '}', found 'return'"),
    '%s = arith.constant "abc : i32': (21, "this string does not end on its line"),
    "%s = arith.constant § : i32": (21, "unexpected character '§'"),
    '"arith.addf"(%f, %f) : (f32) -> f32': (28, "expected ',', found ')'"),
    '"arith.adff"(%f, %f) : (f32, f32) -> f32': (1, "unknown operation arith.adff"),
    '"scf.for"() : () -> ()': (1, "scf.for is not read in the generic form"),
    '"arith.cmpi"(%i, %j) {predicate = 12 : i64} : (index, index) -> i1': (None, "below 10"),
    VIEW + " {coordinat_set = affine_set<(d) : (d >= 0)>} : memref<64xf16>": (
        64,
        "ktdp.construct_memory_view has no attribute coordinat_set",
    ),
    VIEW + " {coordinate_set = #all} : memref<64xf16>": (81, "#all is not defined above"),
    VIEW + " {memory_space = #ktdp.memory_space<ct_locl>} : memref<64xf16>": (
        98,
        "unknown memory space 'ct_locl'",
    ),
    VIEW + " {coordinate_set = affine_map<(d) -> (d)>} : memref<64xf16>": (
        63,
        "coordinate_set is not an affine set",
    ),
    VIEW + " {coordinate_set = affine_set<(d) : (e >= 0)>}": (99, "'e' is not a dimension"),
    VIEW + " {coordinate_set = affine_set<(d) : (d mod 0 == 0)>}": (101, "a positive constant"),
    VIEW + " {coordinate_set = affine_set<(d, d) : (d >= 0)>}": (96, "d is named twice"),
    VIEW + " {coordinate_set = affine_set<(d) : (d > 0)>}": (101, "expected >=, <= or =="),
    VIEW + " {a.b = 1, a.b = 2} : memref<64xf16>": (73, "attribute a.b is given twice"),
    "%x = ktdp.inter_tile_consume(%t) consumer_tiles = 1": (34, "has no consumer_tiles"),
    "%x = scf.for %a = %i to %j step %i iter_args(%b = %f) -> (f32, f32) {}": (58, "but 2 types"),
    "scf.for %a = %i to %j step %i {\n^bb0(%b: index):\n}": (None, "takes no arguments of its own"),
    "scf.parallel (%a, %b) = (%i) to (%j) step (%i) {}": (23, "2 variables need as many bounds"),
    "scf.forall (%a) in (4) shared_outs(%o = %t) {}": (24, "with shared_outs is not supported"),
    "%x = linalg.reduce { arith.nope } ins(%t : tensor<4x8xf16>)": (22, "unknown operation"),
    "%x = linalg.generic {indexing_maps = []} ins() outs()": (21, "needs a list iterator_types"),
    "%x = ktdp.runtime_arg_extract bound from %i : index -> index": (31, "expected value, gran"),
    "arith.negf %f : f32\n^bb1:": (None, "a second block"),
}


@pytest.mark.parametrize("body", MESSAGES)
def test_the_whole_message(body: str) -> None:
    with pytest.raises(KtirError) as caught:
        parse(frame(body))
    assert str(caught.value) == MESSAGES[body]


@pytest.mark.parametrize("body", FRAGMENTS)
def test_message_and_column(body: str) -> None:
    column, fragment = FRAGMENTS[body]
    with pytest.raises(KtirError) as caught:
        parse(frame(body))
    assert fragment in caught.value.message
    if column is not None:
        assert (caught.value.line, caught.value.column) == (3, column)


@pytest.mark.parametrize(
    ("text", "line", "column", "fragment", "hint"),
    [
        ("", 1, 1, "the text has no function", "a program needs at least one func.func"),
        ("module {}", 1, 10, "the text has no function", "at least one func.func"),
        ("modul {}", 1, 1, "expected the end of the text, found 'modul'", "did you mean module?"),
        ("module {\nfunc.fun @f() {}\n}", 2, 1, "expected '}'", "only functions may stand"),
        ("func.func @f(%a) {}", 1, 16, "expected ':', found ')'", None),
        ("func.func @f() -> index", 1, 24, "expected the body of @f", "defined where they are"),
        ("func.func f() {}", 1, 11, "expected a name such as @kernel, found 'f'", None),
        ("func.func @f() attributes {grid = 4} {}", 1, 27, "grid must be a list", "grid = [32]"),
        (
            "func.func @f() attributes {gird = [4]} {}",
            1,
            27,
            "attribute gird",
            "did you mean grid?",
        ),
        ("func.func @f() {\nreturn", 2, 7, "found the end of the text", "close every region"),
        ("#a = affine_set<(i) : (i >= 0)>\n#a = loc(unknown)\n#a = 4", 3, 1, "defined twice", None),
        ("#a = [1]\nmodule {}", 1, 1, "only maps, sets, spaces and types", None),
        ("func.func @f() {\nreturn loc(#x)\n}", 2, 12, "location #x is not defined", "below"),
        ("func.func @f() {\nreturn loc(#x)\n}\n#x = loc(#x)", 4, 10, "refers to itself", None),
        ("func.func @f() {\nreturn\n}\nx", 4, 1, "expected the end of the text", "only aliases"),
        ("func.func @f(%a: i1, %a: i1) {}", 1, 22, "%a is defined twice", "in line 1"),
    ],
)
def test_around_the_operations(
    text: str, line: int, column: int, fragment: str, hint: str | None
) -> None:
    with pytest.raises(KtirError) as caught:
        parse(text)
    error = caught.value
    assert (error.line, error.column) == (line, column)
    assert fragment in error.message
    assert (error.hint is None) if hint is None else (hint in (error.hint or ""))


def test_the_error_is_one_of_ours_and_can_be_sent_between_processes() -> None:
    with pytest.raises(SpyreLabError) as caught:
        parse("module {")
    assert isinstance(caught.value, ValueError)
    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)


def test_long_lines_are_cut_round_the_caret() -> None:
    text = frame("%x = arith.addf " + "%f, " * 200 + "%oops : f32")
    with pytest.raises(KtirError) as caught:
        parse(text)
    error = caught.value
    assert error.column == 817
    assert error.source_line is not None
    assert error.caret is not None
    assert len(error.source_line) == 100
    assert error.source_line[error.caret - 1 :].startswith("%oops")


@pytest.mark.parametrize("text", [b"module {}", None, 4])
def test_only_strings_are_read(text: object) -> None:
    with pytest.raises(TypeError, match="takes the text of a program as str, not"):
        parse(text)  # type: ignore[arg-type]
