"""Programs that read well and break one rule each."""

from __future__ import annotations

import pytest

from spyrelab.ktir import Function, KtirError, Module, Operation, Region, Value, parse
from spyrelab.ktir.types import F32, I32
from tests.ktir.programs import breaks, frame, framed

VIEW = "%w = ktdp.construct_memory_view %i, sizes: [16, 64], strides: [64, 1] : memref<16x64xf16>\n"
IDS = "%ids = ktdp.construct_memory_view %i, sizes: [8], strides: [1] : memref<8xi32>\n"
CONSTANTS = "%c0 = arith.constant 0 : index\n%c62 = arith.constant 62 : index\n"
SET = "affine_set<(r, c) : (r >= 0, -r >= 0, c >= 0, -c + 7 >= 0)>"
SWAP = "affine_map<(r, c) -> (c, r)>"
TILE = f"%a = ktdp.construct_access_tile %w[%i, %j] {{access_tile_set = {SET}}} : memref<16x64xf16>"
GOOD_TILE = VIEW + TILE + " -> !ktdp.access_tile<1x8xindex>\n"


def tile(points: str, shape: str, subscripts: str = "%i, %j", more: str = "") -> str:
    """A tile of the 16 x 64 view."""
    attributes = f"{{access_tile_set = affine_set<{points}>{more}}}"
    return (
        f"{CONSTANTS}{VIEW}%a = ktdp.construct_access_tile %w[{subscripts}] {attributes} "
        f": memref<16x64xf16> -> !ktdp.access_tile<{shape}xindex>"
    )


def view(sizes: str, strides: str, kind: str, attributes: str = "") -> str:
    body = f"%w = ktdp.construct_memory_view %i, sizes: [{sizes}], strides: [{strides}]"
    return f"{body}{attributes} : memref<{kind}>"


BAD = {
    # arith
    "kind of number": ("%x = arith.addf %n, %n : i32", "it takes floating point numbers"),
    "whole numbers": ("%x = arith.addi %f, %f : f32", "it takes whole numbers"),
    "operand count": ("%x = arith.addf %f : f32", "it takes 2 operands, not 1"),
    "too many operands": ("%x = math.exp %f, %f : f32", "it takes 1 operands, not 2"),
    "cast that narrows": ("%x = arith.extf %f : f32 to f16", "f16 is not wider than f32"),
    "cast to itself": ("%x = arith.truncf %f : f32 to f32", "f32 is not narrower than f32"),
    "cast of shapes": (
        "%x = arith.extf %t : tensor<4x8xf16> to tensor<8x4xf32>",
        "have different shapes",
    ),
    "bitcast sizes": ("%x = arith.bitcast %f : f32 to f16", "f32 and f16 differ in size"),
    "condition of select": ("%x = arith.select %n, %f, %f : f32", "the condition is a i32, not i1"),
    # views
    "sizes per dimension": (view("16", "1", "16x64xf16"), "1 sizes for a memref<16x64xf16>"),
    "size beyond every memory": (view("9999999999999999", "1", "?xf16"), "are beyond every memory"),
    "strides per dimension": (view("16", "1, 1", "16xf16"), "2 strides for a memref<16xf16>"),
    "negative size": (view("-4", "1", "?xf16"), "a size must not be negative"),
    "size against type": (view("8", "1", "16xf16"), "sizes 8 do not fit memref<16xf16>"),
    "constant size": (
        "%s = arith.constant 8 : index\n" + view("%s", "1", "16xf16"),
        "sizes 8 do not fit memref<16xf16>",
    ),
    "address": (
        "%w = ktdp.construct_memory_view %f, sizes: [4], strides: [1] : memref<4xf16>",
        "address %f is a f32, not a number",
    ),
    "rank of the coordinate set": (
        view("4", "1", "4xf16", f" {{coordinate_set = {SET}}}"),
        "coordinate_set has 2 dimensions, the view 1",
    ),
    "symbols of the coordinate set": (
        view("4", "1", "4xf16", " {coordinate_set = affine_set<(d)[n] : (d >= 0, n - d >= 0)>}"),
        "coordinate_set has 1 symbols, but sizes has 0 values",
    ),
    "coordinate set too large": (
        view("4", "1", "4xf16", " {coordinate_set = affine_set<(d) : (d >= 0, -d + 4 >= 0)>}"),
        "coordinate_set holds 5 places in dimension 0, which has size 4",
    ),
    "two memory spaces": (
        view(
            "4",
            "1",
            "4xf16, #ktdp.memory_space<ct_local>",
            " {memory_space = #ktdp.memory_space<global>}",
        ),
        "but its type says",
    ),
    "part of a view": (
        VIEW + IDS + "%d = ktdp.construct_distributed_memory_view (%w, %ids : memref<16x64xf16>, "
        "memref<8xi32>) : memref<16x64xf16>",
        "%ids is a memref<8xi32>, which cannot be part of",
    ),
    # access tiles
    "subscripts": (VIEW + TILE.replace("%i, %j", "%i") + " -> <1x8xindex>", "1 subscripts for a"),
    "tile rank": (VIEW + TILE + " -> <8xindex>", "its set has shape 1x8, the result is"),
    "tile shape": (VIEW + TILE + " -> <8x8xindex>", "its set has shape 1x8, the result is"),
    "tile order": (
        tile(
            "(r, c) : (r >= 0, -r >= 0, c >= 0, -c + 7 >= 0)",
            "1x8",
            more=f", access_tile_order = {SWAP}",
        ),
        "its set has shape 8x1, the result is",
    ),
    "set rank": (tile("(r) : (r >= 0, -r >= 0)", "1"), "access_tile_set has 1 dimensions, but 2"),
    "set without points": (
        tile("(r, c) : (r >= 0, -r - 1 >= 0, c >= 0, -c >= 0)", "0x1"),
        "its set holds no point in dimension 0",
    ),
    "tile symbols": (
        tile("(r, c)[n] : (r >= 0, -r >= 0, c >= 0, -c + n >= 0)", "1x?"),
        "access_tile_set has 1 symbols, but symbols(..) gives 0 values",
    ),
    "tile larger than its view": (
        tile("(r, c) : (r >= 0, -r + 16 >= 0, c >= 0, -c + 7 >= 0)", "17x8"),
        "the tile has 17 places in dimension 0, but the view only 16",
    ),
    "constant subscript beyond the view": (
        tile("(r, c) : (r >= 0, -r >= 0, c >= 0, -c + 7 >= 0)", "1x8", "%i, %c62"),
        "the tile covers 62 to 69 in dimension 1, but the view 0 to 63",
    ),
    "constant sum beyond the view": (
        tile("(r, c) : (r >= 0, -r >= 0, c >= 0, -c + 7 >= 0)", "1x8", "%c0 - 1, %j"),
        "the tile covers -1 to -1 in dimension 0",
    ),
    "base of a tile": (
        "%a = ktdp.construct_access_tile %f[%i] : f32 -> <4xindex>",
        "its base must be a memref or a tensor",
    ),
    "float subscript": (
        VIEW + TILE.replace("%i, %j", "%f, %j") + " -> <1x8xindex>",
        "subscript %f is a f32, not a number",
    ),
    "indirect subscripts": (
        VIEW + IDS + "%a = ktdp.construct_indirect_access_tile intermediate_variables(%p) "
        "%w[ind(%ids[%p])] : memref<16x64xf16>, memref<8xi32> -> <8xindex>",
        "1 subscripts for a memref<16x64xf16>",
    ),
    "index view of floats": (
        VIEW + "%a = ktdp.construct_indirect_access_tile intermediate_variables(%p) "
        "%w[ind(%w[%p, %p]), (%p)] : memref<16x64xf16>, memref<16x64xf16> -> <8xindex>",
        "index view %w holds f16, not whole numbers",
    ),
    "rank of an index view": (
        VIEW + IDS + "%a = ktdp.construct_indirect_access_tile intermediate_variables(%p) "
        "%w[ind(%ids[%p, %p]), (%p)] : memref<16x64xf16>, memref<8xi32> -> <8xindex>",
        "2 subscripts for the index view %ids",
    ),
    "variable beyond the view": (
        VIEW + IDS + "%a = ktdp.construct_indirect_access_tile intermediate_variables(%p) "
        "%w[ind(%ids[%p]), (%p + 60)] "
        "{variables_space_set = affine_set<(p) : (p >= 0, -p + 7 >= 0)>} "
        ": memref<16x64xf16>, memref<8xi32> -> <8xindex>",
        "subscript 1 covers 60 to 67, but the view 0 to 63",
    ),
    "variable beyond the index view": (
        VIEW + IDS + "%a = ktdp.construct_indirect_access_tile intermediate_variables(%p) "
        "%w[ind(%ids[%p]), (%p)] "
        "{variables_space_set = affine_set<(p) : (p >= 0, -p + 8 >= 0)>} "
        ": memref<16x64xf16>, memref<8xi32> -> <9xindex>",
        "%ids[..] covers 0 to 8, but the view 0 to 7",
    ),
    "loaded shape": (
        GOOD_TILE + "%x = ktdp.load %a : <1x8xindex> -> tensor<8xf16>",
        "%x is a tensor<8xf16>, but the tile a !ktdp.access_tile<1x8xindex>",
    ),
    "loaded element": (
        GOOD_TILE + "%x = ktdp.load %a : <1x8xindex> -> tensor<1x8xf32>",
        "%x holds f32, but the view f16",
    ),
    "stored shape": (
        GOOD_TILE + "ktdp.store %t, %a : tensor<4x8xf16>, <1x8xindex>",
        "%t is a tensor<4x8xf16>, but the tile a",
    ),
    "stored tile": (
        "ktdp.store %t, %t : tensor<4x8xf16>, tensor<4x8xf16>",
        "%t is a tensor<4x8xf16>, not an access tile",
    ),
    "runtime argument": (
        "%x = ktdp.runtime_arg_extract value from %i : index -> index",
        "%i is a index, not a runtime argument",
    ),
    # scf
    "step 0": (
        "%s = arith.constant 0 : index\nscf.for %a = %i to %j step %s {\n}",
        "step 0 is not positive",
    ),
    "bounds of a loop": ("scf.for %a = %f to %f step %f : f32 {\n}", "bound %f is a f32"),
    "carried type": (
        "%x = scf.for %a = %i to %j step %i iter_args(%b = %f) -> (f32) {\nscf.yield %n : i32\n}",
        "yielded values 0: i32, but f32 is needed",
    ),
    "nothing carried on": (
        "%x = scf.for %a = %i to %j step %i iter_args(%b = %f) -> (f32) {\n}",
        "0 yielded values, but 1 are needed",
    ),
    "first value": (
        "%x = scf.for %a = %i to %j step %i iter_args(%b = %n) -> (f32) {\nscf.yield %b : f32\n}",
        "initial values 0: i32, but f32 is needed",
    ),
    "condition of if": ("scf.if %n {\n}", "the condition is a i32, not i1"),
    "if without else": (
        "%x = scf.if %c -> (f32) {\nscf.yield %f : f32\n}",
        "it has results but no else",
    ),
    "branches differ": (
        "%x = scf.if %c -> (f32) {\nscf.yield %f : f32\n} else {\nscf.yield %n : i32\n}",
        "yielded values 0: i32, but f32 is needed",
    ),
    "while without condition": (
        "scf.while : () -> () {\nscf.yield\n} do {\n}",
        "its region does not end in scf.condition",
    ),
    "passed values": (
        "%x = scf.while (%a = %n) : (i32) -> (f32) {\nscf.condition(%c) %a : i32\n} "
        "do {\n^bb0(%b: f32):\nscf.yield %n : i32\n}",
        "passed values 0: i32, but f32 is needed",
    ),
    "parallel step": (
        "%s = arith.constant -1 : index\nscf.parallel (%a) = (%i) to (%j) step (%s) {\n}",
        "step -1 is not positive",
    ),
    "reduced values": (
        "%x = scf.parallel (%a) = (%i) to (%j) step (%i) init (%f) -> f32 {\n}",
        "0 reduced values, but 1 are needed",
    ),
    "reduction region": (
        "%x = scf.parallel (%a) = (%i) to (%j) step (%i) init (%f) -> f32 {\nscf.reduce(%f : f32) "
        "{\n^bb0(%p: f32, %q: f32):\nscf.reduce.return %n : i32\n}\n}",
        "yielded values 0: i32, but f32 is needed",
    ),
    "forall step": ("scf.forall (%a) = (0) to (4) step (0) {\n}", "step 0 is not positive"),
    # regions
    "values after the end": ("return\narith.negf %f : f32", "operations follow this one"),
    "end of another region": (
        "scf.if %c {\nlinalg.yield %f : f32\nscf.yield\n}",
        "operations follow",
    ),
    "wrong end": ("scf.for %a = %i to %j step %i {\nreturn\nscf.yield\n}", "operations follow"),
    "returned values": ("return %f : f32\nreturn", "operations follow this one"),
    "no end": (
        "%x = tensor.generate {\n^bb0(%a: index):\n%y = arith.negf %f : f32\n} : tensor<4xf32>",
        "its region does not end in tensor.yield",
    ),
}


@pytest.mark.parametrize("rule", BAD)
def test_one_rule(rule: str) -> None:
    breaks(*BAD[rule])


def test_the_whole_message() -> None:
    body, _ = BAD["constant subscript beyond the view"]
    with pytest.raises(KtirError) as caught:
        framed(body).verify()
    lines = str(caught.value).splitlines()
    assert lines[0] == (
        "6:6: ktdp.construct_access_tile: the tile covers 62 to 69 in dimension 1, "
        "but the view 0 to 63"
    )
    assert lines[1].startswith("  %a = ktdp.construct_access_tile %w[%i, %c62]")
    assert lines[2] == "       ^"
    assert lines[3] == "hint: move the subscript or make the tile smaller"


@pytest.mark.parametrize(
    ("head", "fragment"),
    [
        ("@f() attributes {grid = [0]}", "grid [0] has an entry that is not positive"),
        ("@f() attributes {grid = [1, 1, 1, 1]}", "must have 1 to 3 entries"),
        ("@f() attributes {grid = []}", "must have 1 to 3 entries"),
        ("@f() -> index", "0 returned values, but 1 are needed"),
    ],
)
def test_functions(head: str, fragment: str) -> None:
    with pytest.raises(KtirError) as caught:
        parse(f"func.func {head} {{\nreturn\n}}").verify()
    assert fragment in caught.value.message


def test_a_function_must_return() -> None:
    with pytest.raises(KtirError, match="@f does not end in return") as caught:
        parse("func.func @f(%a: f32) {\n%b = arith.negf %a : f32\n}").verify()
    assert (caught.value.line, caught.value.hint) == (1, "add return at its end")


def test_function_names_differ() -> None:
    function = "func.func @f() {\nreturn\n}\n"
    with pytest.raises(KtirError, match="function @f is defined twice") as caught:
        parse(function * 2).verify()
    assert caught.value.line == 4


def built(*operations: Operation) -> Module:
    body = Region((), [*operations, Operation("func.return")])
    return Module((Function("f", (), body),))


def test_programs_that_were_not_read_from_text() -> None:
    value = Value("x", F32)
    inner = Value("y", F32)
    negation = Operation("arith.negf", (value,), (inner,))
    for module, fragment in (
        (built(negation), "arith.negf: %x is not defined where it is used"),
        (built(Operation("arith.nega")), "arith.nega: unknown operation\nhint: did you mean"),
        (built(Operation("linalg.matmul", (), (inner,))), "it has no attribute inputs"),
        (
            built(Operation("arith.constant", (), (Value("c", I32),), {"value": 1 << 40})),
            "1099511627776 does not fit i32",
        ),
    ):
        with pytest.raises(KtirError) as caught:
            module.verify()
        assert fragment in str(caught.value)
        assert caught.value.line is None


def test_good_frame() -> None:
    parse(frame("")).verify()
