"""Printed programs read back to the same program, and say the same in the current spelling."""

from __future__ import annotations

from pathlib import Path

import pytest

from spyrelab.ktir import F16, Module, dumps, parse, walk
from tests.ktir.programs import SAMPLES, frame, framed


@pytest.mark.parametrize("path", SAMPLES, ids=lambda path: path.stem)
def test_samples(path: Path) -> None:
    module = parse(path.read_text())
    module.verify()
    text = dumps(module)
    again = parse(text)
    again.verify()
    assert again == module
    assert dumps(again) == text


@pytest.mark.parametrize("path", SAMPLES, ids=lambda path: path.stem)
def test_names_are_kept(path: Path) -> None:
    def names(module: Module) -> list[list[str]]:
        return [
            [value.name for value in operation.results]
            for function in module.functions
            for operation in walk(function.body.operations)
            if operation.name.partition(".")[0] != "linalg"
        ]

    module = parse(path.read_text())
    assert names(parse(dumps(module))) == names(module)


def test_the_printed_text() -> None:
    text = """
func.func @copy(%x: index, %y: index) attributes {grid = [2]} {
  %core = ktdp.get_compute_tile_id : index
  %from = ktdp.construct_memory_view %x, sizes: [8], strides: [1] {
    memory_space = #ktdp.spyre_memory_space<HBM>,
    coordinate_set = affine_set<(i) : (0 <= i, i <= 7)>} : memref<8xfp16>
  %tile = ktdp.construct_access_tile %from[%core * 4] {
    access_tile_order = affine_map<(i) -> (i)>,
    access_tile_set = affine_set<(i) : (i >= 0, -i + 3 >= 0)>
  } : memref<8xf16> -> <4xindex>
  %v = ktdp.load %tile : <4xindex> -> tensor<4xf16>
  return
}"""
    assert (
        dumps(parse(text))
        == """\
#map0 = affine_map<(d0) -> (d0)>
#set0 = affine_set<(d0) : (d0 >= 0, -d0 + 7 >= 0)>
#set1 = affine_set<(d0) : (d0 >= 0, -d0 + 3 >= 0)>

module {
  func.func @copy(%x: index, %y: index) attributes {grid = [2]} {
    %core = ktdp.get_compute_tile_id : index
    %from = ktdp.construct_memory_view %x, sizes: [8], strides: [1] {
      coordinate_set = #set0, memory_space = #ktdp.memory_space<global>
    } : memref<8xf16>
    %tile = ktdp.construct_access_tile %from[%core * 4] {
      access_tile_set = #set1, access_tile_order = #map0
    } : memref<8xf16> -> !ktdp.access_tile<4xindex>
    %v = ktdp.load %tile : !ktdp.access_tile<4xindex> -> tensor<4xf16>
    return
  }
}
"""
    )


def test_equal_means_equal_in_everything_but_names_and_places() -> None:
    one = framed("%x = arith.addf %f, %f : f32")
    assert one == framed("\n\n%other = arith.addf %f, %f : f32 loc(unknown)")
    assert one != framed("%x = arith.subf %f, %f : f32")
    assert one != framed("%x = arith.addf %f, %f fastmath<fast> : f32")
    assert framed("%x = arith.constant 1 : i32") != framed("%x = arith.constant 1 : i64")
    assert framed("%x = arith.constant 0.0 : f32") != framed("%x = arith.constant -0.0 : f32")


def test_equal_names_of_one_scope_are_told_apart() -> None:
    module = framed("%x = arith.addf %f, %f : f32\n%y = arith.mulf %x, %x : f32")
    for operation in module.functions[0].body.operations[:2]:
        operation.results[0].name = "same name"
    text = dumps(module)
    assert "%same_name_0 = arith.mulf %same_name, %same_name : f32" in text
    assert parse(text) == module


def test_floats_keep_every_bit() -> None:
    numbers = ["1.250000e-01", "0.1", "3.4028234663852886e+38", "-0.0", "1.0e-45", "0x7FC00000"]
    body = "\n".join(f"%x{i} = arith.constant {n} : f32" for i, n in enumerate(numbers))
    assert framed(body) == parse(dumps(framed(body)))
    values = [o.attributes["value"] for o in framed(body).functions[0].body.operations[:6]]
    assert values[:5] == [float(n) for n in numbers[:5]]
    assert values[5] != values[5]


@pytest.mark.parametrize(
    ("bits", "kind", "value"),
    [
        ("0x3C00", "f16", 1.0),
        ("0xFC00", "f16", float("-inf")),
        ("0x3F80", "bf16", 1.0),
        ("0x3E00", "!spyreop.df16", 1.0),
        ("0x0000", "!spyreop.df16", 0.0),
        ("0x38", "f8E4M3FN", 1.0),
        ("0x7E", "f8E4M3FN", 448.0),
        ("0x3C", "f8E5M2", 1.0),
        ("0x01", "f8E5M2", 2.0**-16),
    ],
)
def test_bit_patterns(bits: str, kind: str, value: float) -> None:
    module = framed(f"%x = arith.constant {bits} : {kind}")
    assert module.functions[0].body.operations[0].attributes["value"] == value
    assert parse(dumps(module)) == module


def test_integers_are_kept_signed() -> None:
    module = framed("%x = arith.constant 4294967295 : i32\n%y = arith.constant 0xFF : i8")
    values = [o.attributes["value"] for o in module.functions[0].body.operations[:2]]
    assert values == [-1, -1]


def test_module_and_function_attributes() -> None:
    text = (
        'module @kernels attributes {spyrelab.note = "a \\"b\\"", x.list = [1, 2.5, true]} {\n'
        "func.func private @g(%a: tensor<4xf16>) -> (tensor<4xf16>, index) "
        "attributes {grid = [2, 4], noinline = false, spyrelab.lx_backend_fraction = 2.0e-01, "
        "flag} {\n"
        "%c = arith.constant 3 : index\nreturn %a, %c : tensor<4xf16>, index\n}\n}"
    )
    module = parse(text)
    module.verify()
    function = module.function("g")
    assert module.attributes == {"spyrelab.note": 'a "b"', "x.list": (1, 2.5, True)}
    assert function.grid == (2, 4)
    assert function.attributes["noinline"] is False
    assert function.attributes["spyrelab.lx_backend_fraction"] == 0.2
    assert function.results[0].element == F16
    assert parse(dumps(module)) == module


def test_comments_and_line_ends_do_not_matter() -> None:
    text = frame("%x = arith.addf %f, %f : f32 // sum\n// nothing")
    assert parse(text) == parse(text.replace("\n", "\r\n"))
