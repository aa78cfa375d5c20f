"""The spellings of one thing read to one program: RFC, current, printed, generic."""

from __future__ import annotations

import pytest

from spyrelab.ktir import F16, Module, dumps, parse
from spyrelab.ktir.ir import EnumAttribute
from spyrelab.ktir.types import AccessTileType, MemorySpace, TileFutureType
from tests.ktir.programs import frame, framed

VIEW = "%w = ktdp.construct_memory_view %i, sizes: [16, 64], strides: [64, 1]"
MEMREF = "memref<16x64xf16>"
LOCAL = f"{VIEW} {{memory_space = #ktdp.memory_space<ct_local>}}"
TILE = f"{VIEW} : {MEMREF}\n%a = ktdp.construct_access_tile %w[%i, %j]"
SET = "affine_set<(r, c) : (r >= 0, -r >= 0, c >= 0, -c + 7 >= 0)>"
PRODUCE = """%p = ktdp.inter_tile_produce
producer_tiles_per_group = affine_set<(i)[g] : (i - g == 0)> -> {future} {{
^bb0(%g: index):
ktdp.yield_partial %t : tensor<4x8xf16>
}}
%x = ktdp.inter_tile_consume(%p) consumer_tiles_per_group = affine_set<(i)[g] : (i - g == 0)>
: {future} -> tensor<4x8xf16>"""
GROUPS = "groups = affine_set<(g) : (g == 0)>"

PAIRS = {
    "main memory": (
        f"{VIEW} {{memory_space = #ktdp.spyre_memory_space<HBM>}} : {MEMREF}",
        f"{VIEW} {{memory_space = #ktdp.memory_space<global>}} : {MEMREF}",
    ),
    "own scratchpad": (
        f"{VIEW} {{memory_space = #ktdp.spyre_memory_space<LX>}} : {MEMREF}",
        f"{VIEW} {{memory_space = #ktdp.memory_space<ct_local>}} : {MEMREF}",
    ),
    "scratchpad of a core": (
        f"{VIEW} {{memory_space = #ktdp.spyre_memory_space<LX, core = 3>}} : {MEMREF}",
        f"{VIEW} {{memory_space = #ktdp.memory_space<ct_local, ct_id = 3>}} : {MEMREF}",
    ),
    "space in the type only once": (
        f"{LOCAL} : memref<16x64xf16, #ktdp.memory_space<ct_local>>\n"
        f"%a = ktdp.construct_access_tile %w[%i, %j] : {MEMREF} -> <1x8xindex>",
        f"{LOCAL} : memref<16x64xf16, #ktdp.memory_space<ct_local>>\n"
        "%a = ktdp.construct_access_tile %w[%i, %j] "
        ": memref<?x64xf16, #ktdp.spyre_memory_space<LX>> -> <1x8xindex>",
    ),
    "type of the address": (f"{VIEW} : index -> {MEMREF}", f"{VIEW} : {MEMREF}"),
    "order of attributes": (
        f"{VIEW} {{memory_space = #ktdp.memory_space<global>, coordinate_set = {SET}}} : {MEMREF}",
        f"{VIEW} {{coordinate_set = {SET}, memory_space = #ktdp.memory_space<global>}} : {MEMREF}",
    ),
    "access tile type": (
        f"{TILE} {{access_tile_set = {SET}}} : {MEMREF} -> <1x8xindex>",
        f"{TILE} {{access_tile_set = {SET}}} : {MEMREF} -> !ktdp.access_tile<1x8xindex>",
    ),
    "bare subscripts": (
        f"{VIEW} : {MEMREF}\n%e = ktdp.construct_memory_view %i, sizes: [8], strides: [1] "
        ": memref<8xi32>\n%a = ktdp.construct_indirect_access_tile intermediate_variables (%p) "
        f"%w[%e[%p], %p + %i] : {MEMREF}, memref<8xi32>, <8xindex>",
        f"{VIEW} : {MEMREF}\n%e = ktdp.construct_memory_view %i, sizes: [8], strides: [1] "
        ": memref<8xi32>\n%a = ktdp.construct_indirect_access_tile intermediate_variables(%q) "
        f"%w[ind(%e[%q]), (%q + %i)] : {MEMREF}, memref<8xi32> -> !ktdp.access_tile<8xindex>",
    ),
    "one partial without parentheses": (
        PRODUCE.format(future=f"!ktdp.tile_future<tensor<4x8xf16>, {GROUPS}>"),
        PRODUCE.format(future=f"!ktdp.tile_future<(tensor<4x8xf16>), {GROUPS}>"),
    ),
    "future without its name": (
        PRODUCE.format(future=f"<(tensor<4x8xf16>), {GROUPS}>"),
        PRODUCE.format(future=f"!ktdp.tile_future<(tensor<4x8xf16>), {GROUPS}>"),
    ),
    "types behind produce": (
        PRODUCE.format(future=f"<tensor<4x8xf16>, {GROUPS}>").replace(
            "(i - g == 0)> ->", "(i - g == 0)> : tensor<4x8xf16> ->"
        ),
        PRODUCE.format(future=f"!ktdp.tile_future<(tensor<4x8xf16>), {GROUPS}>"),
    ),
    "half precision": (
        "%x = tensor.empty() : tensor<4xfp16>",
        "%x = tensor.empty() : tensor<4xf16>",
    ),
    "encoding": (
        "%x = tensor.empty() : tensor<4xf16, #x.layout<a = [1, 2]>>",
        "%x = tensor.empty() : tensor<4xf16>",
    ),
    "spaces in a type": (
        "%x = tensor.empty() : tensor<4 x 8 x f16>",
        "%x = tensor.empty() : tensor<4x8xf16>",
    ),
    "no elements": (
        "%x = tensor.splat %h : tensor<0xf16>",
        "%x = tensor.splat %h : tensor< 0 xf16>",
    ),
    "results in a pack": (
        "%x:2 = scf.if %c -> (f32, i32) {\nscf.yield %f, %n : f32, i32\n} else {\n"
        "scf.yield %f, %n : f32, i32\n}\n%y = arith.addi %x#1, %x#1 : i32",
        "%p, %q = scf.if %c -> (f32, i32) {\nscf.yield %f, %n : f32, i32\n} else {\n"
        "scf.yield %f, %n : f32, i32\n}\n%y = arith.addi %q, %q : i32",
    ),
    "first of a pack": (
        "%x:1 = arith.negf %f : f32\n%y = arith.negf %x : f32",
        "%x = arith.negf %f : f32\n%y = arith.negf %x#0 : f32",
    ),
    "result type of if": (
        "%x = scf.if %c -> f32 {\nscf.yield %f : f32\n} else {\nscf.yield %f : f32\n}",
        "%x = scf.if %c -> (f32) {\nscf.yield %f : f32\n} else {\nscf.yield %f : f32\n}",
    ),
    "end of a loop": (
        "scf.for %a = %i to %j step %i {\n}",
        "scf.for %a = %i to %j step %i : index {\nscf.yield\n}",
    ),
    "empty reduction": (
        "scf.parallel (%a) = (%i) to (%j) step (%i) {\n}",
        "scf.parallel (%a) = (%i) to (%j) step (%i) {\nscf.reduce\n}",
    ),
    "forall": ("scf.forall (%a) in (4) {\n}", "scf.forall (%a) = (0) to (4) step (1) {\n}"),
    "constraint the other way": (
        TILE + " {access_tile_set = affine_set<(r, c) : (0 <= r, r == 0, c >= 0, c <= 7)>}"
        f" : {MEMREF} -> <1x8xindex>",
        TILE + " {access_tile_set = affine_set<(x, y) : (x >= 0, x == 0, y >= 0, -y + 7 >= 0)>}"
        f" : {MEMREF} -> <1x8xindex>",
    ),
    "factor on the right": (
        f"{TILE.replace('%i, %j', '2 * %i - 3 * %j, -(%j)')} : {MEMREF} -> <1x8xindex>",
        f"{TILE.replace('%i, %j', '%i * 2 + %j * -3, -%j + 0')} : {MEMREF} -> <1x8xindex>",
    ),
    "integer as bits": ("%x = arith.constant 0xFF : i8", "%x = arith.constant -1 : i8"),
    "boolean as number": ("%x = arith.constant 1 : i1", "%x = arith.constant true"),
    "generic form": (
        '%x = "arith.addf"(%f, %f) <{fastmath = #arith.fastmath<fast>}> : (f32, f32) -> f32',
        "%x = arith.addf %f, %f fastmath<fast> : f32",
    ),
    "generic without flags": (
        '%x = "arith.addf"(%f, %f) {fastmath = #arith.fastmath<none>} : (f32, f32) -> f32',
        "%x = arith.addf %f, %f : f32",
    ),
    "generic overflow": (
        '%x = "arith.addi"(%n, %n) <{overflowFlags = #arith.overflow<nsw>}> : (i32, i32) -> i32',
        "%x = arith.addi %n, %n overflow<nsw> : i32",
    ),
    "generic comparison": (
        '%x = "arith.cmpf"(%f, %f) <{predicate = 4 : i64}> : (f32, f32) -> i1',
        "%x = arith.cmpf olt, %f, %f : f32",
    ),
    "generic constant": (
        '%x = "arith.constant"() <{value = dense<1.5> : tensor<2xf16>}> : () -> tensor<2xf16>',
        "%x = arith.constant dense<1.5> : tensor<2xf16>",
    ),
    "generic region": (
        '%x = "tensor.generate"() ({\n^bb0(%a: index):\n"tensor.yield"(%h) : (f16) -> ()\n}) '
        ": () -> tensor<4xf16>",
        "%x = tensor.generate {\n^bb0(%a: index):\ntensor.yield %h : f16\n} : tensor<4xf16>",
    ),
}


@pytest.mark.parametrize("name", PAIRS)
def test_two_spellings(name: str) -> None:
    first, second = (framed(body) for body in PAIRS[name])
    assert first == second
    second.verify()
    assert parse(dumps(first)) == second


def test_a_function_without_a_module() -> None:
    text = frame("%x = arith.negf %f : f32")
    bare = text.removeprefix("module {\n").removesuffix("}\n")
    assert parse(bare) == parse(text)


def test_aliases_over_several_lines_and_inside_types() -> None:
    head = (
        "#groups = affine_set<(g)\n  : (g == 0)>\n#space = #ktdp.memory_space<ct_local>\n!t = f16\n"
    )
    module = framed(
        f"{VIEW} {{memory_space = #space}} : {MEMREF}\n"
        + PRODUCE.format(future="<(tensor<4x8xf16>), groups = #groups>"),
        head,
    )
    module.verify()
    view, produce, _, _ = module.functions[0].body.operations
    assert view.attributes["memory_space"] == MemorySpace(True)
    assert isinstance(produce.result.type, TileFutureType)
    assert produce.result.type.groups.box is not None


def test_iterator_types_as_enums() -> None:
    body = (
        "%x = linalg.generic {{indexing_maps = [affine_map<(i) -> (i)>], iterator_types = [{}]}} "
        "outs(%v : tensor<8xf16>) {{\n^bb0(%a: f16):\nlinalg.yield %a : f16\n}} -> tensor<8xf16>"
    )
    assert framed(body.format("#linalg.iterator_type<parallel>")) == framed(
        body.format('"parallel"')
    )


def test_attributes_of_other_dialects_are_kept() -> None:
    module = framed(f"{VIEW} {{x.note = #x.mark<a, b<c>>, x.flag}} : {MEMREF}")
    attributes = module.functions[0].body.operations[0].attributes
    assert attributes["x.note"] == EnumAttribute("x.mark", "a, b<c>")
    assert attributes["x.flag"] is True
    assert parse(dumps(module)) == module


def conventions(body: str) -> tuple[list[str], dict[str, object]]:
    operation = framed(body).functions[0].body.operations[-2]
    return [value.name for value in operation.operands], operation.attributes


def test_operands_of_an_access_tile() -> None:
    names, attributes = conventions(
        f"{VIEW} : {MEMREF}\n%a = ktdp.construct_access_tile %w[%j + 1, %i + %j] symbols(%l) "
        f"{{access_tile_set = affine_set<(r, c)[n] : (r == 0, c >= 0, n - c >= 0)>}} "
        f": {MEMREF} -> <1x?xindex>"
    )
    assert names == ["w", "j", "i", "l"]
    assert attributes["symbol_operands"] == 1
    assert str(attributes["base_map"]) == "affine_map<(d0, d1) -> (d0 + 1, d1 + d0)>"


def test_operands_of_an_indirect_tile() -> None:
    names, attributes = conventions(
        f"{VIEW} : {MEMREF}\n%e = ktdp.construct_memory_view %i, sizes: [8], strides: [1] "
        ": memref<8xi32>\n%a = ktdp.construct_indirect_access_tile intermediate_variables(%p, %q) "
        f"%w[ind(%e[%p + %j]), (%q mod 4)] : {MEMREF}, memref<8xi32> -> <8x8xindex>"
    )
    assert names == ["w", "e", "j"]
    subscripts = attributes["subscripts"]
    assert isinstance(subscripts, tuple)
    assert [s.view for s in subscripts] == [0, None]
    assert str(subscripts[0].map) == "affine_map<(d0, d1)[s0] -> (d0 + s0)>"
    assert (attributes["intermediate_variables"], attributes["index_views"]) == (2, 1)


def test_operands_of_a_view() -> None:
    names, attributes = conventions(
        "%w = ktdp.construct_memory_view %i, sizes: [%j, 4], strides: [%n, 1] : memref<?x4xf16>"
    )
    assert names == ["i", "j", "n"]
    assert (attributes["sizes"], attributes["strides"]) == ((None, 4), (None, 1))


def test_types_without_a_name() -> None:
    module = framed(
        f"{TILE} : {MEMREF} -> <?x4xindex>\n%x = ktdp.load %a : <?x4xindex> -> tensor<?x4xf16>"
    )
    tile, load = module.functions[0].body.operations[1:3]
    assert tile.result.type == AccessTileType((None, 4))
    assert load.result.type.element == F16  # type: ignore[union-attr]


def test_functions_of_a_module() -> None:
    module: Module = parse(
        "module {\nfunc.func private @a() {\nreturn\n}\nfunc.func @b() {\nreturn\n}\n}"
    )
    assert module.function().name == "b"
    assert module.function("a").visibility == "private"
    assert module.function("a").grid == (1,)
    with pytest.raises(KeyError, match="no function @c; the module has: a, b"):
        module.function("c")
