"""Every operation of the language: read, written, read again, and accepted."""

from __future__ import annotations

import pytest

from spyrelab.ktir import dumps, parse, walk
from spyrelab.ktir.dialects import FORMS, arith, math, spyrelab
from tests.ktir.programs import SAMPLES, frame, framed

VIEW = """%view = ktdp.construct_memory_view %i, sizes: [16, 64], strides: [64, 1] {
  memory_space = #ktdp.memory_space<ct_local>
} : memref<16x64xf16>"""
FUTURE = """%p = ktdp.inter_tile_produce
  producer_tiles_per_group = affine_set<(i)[g] : (i - g == 0)>
  -> !ktdp.tile_future<(tensor<4x8xf16>), groups = affine_set<(g) : (g >= 0, -g + 3 >= 0)>> {
^bb0(%g: index):
  ktdp.yield_partial %t : tensor<4x8xf16>
}"""
TAKE = "consumer_tiles_per_group = affine_set<(i)[g] : (i >= 0)>"
TYPE = "!ktdp.tile_future<(tensor<4x8xf16>), groups = affine_set<(g) : (g >= 0, -g + 3 >= 0)>>"
FOLD = """{
^bb0(%a: tensor<4x8xf16>, %b: tensor<4x8xf16>):
  %s = arith.addf %a, %b : tensor<4x8xf16>
  ktdp.yield_reduced %s : tensor<4x8xf16>
}"""

BODIES = {
    "remf": "%x = arith.remf %f, %f fastmath<nnan,ninf> : f32",
    "wrap": "%x = arith.addi %n, %n overflow<nsw> : i32",
    "extension": "%x = arith.extsi %n : i32 to i64\n%y = arith.trunci %l : i64 to i8",
    "unsigned": "%x = arith.uitofp %n : i32 to f32\n%y = arith.fptoui %f : f32 to i32",
    "cast_u": "%x = arith.index_castui %i : index to i32\n%y = arith.extui %n : i32 to i64",
    "select": "%x = arith.select %c, %t, %t : tensor<4x8xf16>",
    "isnan": "%x = math.isnan %u : tensor<4x8xf32>\n%y = math.isinf %f : f32",
    "dense": "%x = arith.constant dense<[[1, -2], [3, 4]]> : tensor<2x2xi8>",
    "dense_old": "%x = arith.constant {dense<1.5> : tensor<2xf32>} : tensor<2xf32>",
    "dense_bits": '%x = arith.constant dense<"0x0000803F000000C0"> : tensor<2xf32>',
    "parallel": """scf.parallel (%a, %b) = (%i, %i) to (%j, %j) step (%j, %j) {
  %s = arith.addi %a, %b : index
}""",
    "parallel_reduce": """%s = scf.parallel (%a) = (%i) to (%j) step (%j) init (%f) -> f32 {
  scf.reduce(%f : f32) {
  ^bb0(%l2: f32, %r2: f32):
    %q = arith.addf %l2, %r2 : f32
    scf.reduce.return %q : f32
  }
}""",
    "forall_in": "scf.forall (%a, %b) in (4, %i) {\n  %s = arith.addi %a, %b : index\n}",
    "forall_steps": "scf.forall (%a) = (1) to (%i) step (2) {\n  scf.forall.in_parallel {}\n}",
    "subview": VIEW
    + """
%part = memref.subview %view[2, %j] [4, 8] [1, 2] : memref<16x64xf16>
  to memref<4x8xf16, strided<[64, 2], offset: ?>>""",
    "splat_dynamic": "%x = tensor.splat %f[%i] : tensor<?x4xf32>",
    "insert": "%x = tensor.insert %h into %t[%i, %j] : tensor<4x8xf16>",
    "cast": "%x = tensor.cast %t : tensor<4x8xf16> to tensor<?x8xf16>",
    "dim": "%x = tensor.dim %t, %i : tensor<4x8xf16>",
    "concat": """%x = tensor.concat dim(0) %t, %t
  : (tensor<4x8xf16>, tensor<4x8xf16>) -> tensor<8x8xf16>""",
    "pad": """%x = tensor.pad %t low[1, %i] high[0, 2] {
^bb0(%a: index, %b: index):
  tensor.yield %h : f16
} : tensor<4x8xf16> to tensor<5x?xf16>""",
    "map": """%x = linalg.map { arith.addf } ins(%t, %t : tensor<4x8xf16>, tensor<4x8xf16>)
  outs(%t : tensor<4x8xf16>)""",
    "map_region": """%x = linalg.map ins(%t : tensor<4x8xf16>)
  outs(%t : tensor<4x8xf16>) (%a: f16) {
  %y = math.absf %a : f16
  linalg.yield %y : f16
}""",
    "reduce_pair": """%x:2 = linalg.reduce ins(%u, %k : tensor<4x8xf32>, tensor<4x8xi32>)
  outs(%z, %w : tensor<4xf32>, tensor<4xi32>) dimensions = [1]
  (%a: f32, %b: i32, %d: f32, %e: i32) {
    linalg.yield %d, %e : f32, i32
  }""",
    "consume": f"%x = ktdp.inter_tile_consume(%p) {TAKE} : {TYPE} -> tensor<4x8xf16>",
    "gather": f"%x = ktdp.inter_tile_gather(%p) {TAKE}, concat_dimensions = [0] "
    f": {TYPE} -> tensor<16x8xf16>",
    "scatter": f"%x = ktdp.inter_tile_scatter(%p) {TAKE}, scatter_dimensions = [1] "
    f": {TYPE} -> tensor<4x2xf16>",
    "reduce_scatter": f"%x = ktdp.inter_tile_reduce_scatter(%p) {TAKE}, scatter_dimensions = [0], "
    f"identity(%t : tensor<4x8xf16>) : {TYPE} -> tensor<1x8xf16> {FOLD}",
    "all_to_all": f"%x = ktdp.inter_tile_all_to_all(%p) {TAKE}, split_dimensions = [1], "
    f"concat_dimensions = [0] : {TYPE} -> tensor<16x2xf16>",
    "reduce": f"%x = ktdp.inter_tile_reduce(%p) {TAKE}, identity(%t : tensor<4x8xf16>) "
    f": {TYPE} -> tensor<4x8xf16> {FOLD}",
}
NEEDS = {
    "reduce_pair": "%z = tensor.empty() : tensor<4xf32>\n%w = tensor.empty() : tensor<4xi32>\n"
}
for _name in ("consume", "gather", "scatter", "reduce_scatter", "all_to_all", "reduce"):
    NEEDS[_name] = f"{FUTURE}\n"

SHAPES = {
    "batch_matmul_transpose_a": ("2x8x4", "2x8x5", "2x4x5"),
    "batch_matmul_transpose_b": ("2x4x8", "2x5x8", "2x4x5"),
    "batch_matmul": ("2x4x8", "2x8x5", "2x4x5"),
    "matmul_transpose_a": ("8x4", "8x5", "4x5"),
    "matmul_transpose_b": ("4x8", "5x8", "4x5"),
    "matmul": ("4x8", "8x5", "4x5"),
    "batch_matvec": ("2x4x8", "2x8", "2x4"),
    "matvec": ("4x8", "8", "4"),
    "vecmat": ("8", "8x5", "5"),
    "dot": ("8", "8", ""),
}


def accepted(text: str) -> None:
    module = parse(text)
    module.verify()
    printed = dumps(module)
    again = parse(printed)
    again.verify()
    assert again == module
    assert dumps(again) == printed


@pytest.mark.parametrize("name", BODIES)
def test_read_write_read(name: str) -> None:
    accepted(frame(NEEDS.get(name, "") + BODIES[name]))


@pytest.mark.parametrize("name", SHAPES)
def test_contractions(name: str) -> None:
    kinds = [f"tensor<{shape}{'x' if shape else ''}f32>" for shape in SHAPES[name]]
    lines = [f"%o{i} = tensor.empty() : {kind}" for i, kind in enumerate(kinds)]
    ins, outs = f"%o0, %o1 : {kinds[0]}, {kinds[1]}", f"%o2 : {kinds[2]}"
    lines.append(f"%x = linalg.{name} ins({ins}) outs({outs}) -> {kinds[2]}")
    accepted(frame("\n".join(lines)))


@pytest.mark.parametrize("name", [n for n in FORMS if n.startswith("linalg.")])
def test_elementwise(name: str) -> None:
    from spyrelab.ktir.dialects.linalg_rules import ELEMENTWISE

    count = ELEMENTWISE.get(name.removeprefix("linalg."))
    if count is None:
        assert name.removeprefix("linalg.") in {
            *SHAPES,
            *("fill", "broadcast", "transpose", "reduce", "map", "generic", "index", "yield"),
        }
        return
    first = "%m = arith.cmpf oeq, %u, %u : tensor<4x8xf32>\n" if count == 3 else ""
    kinds = ["tensor<4x8xf32>"] * count
    values = ["%u"] * count
    if count == 3:
        values[0], kinds[0] = "%m", "tensor<4x8xi1>"
    ins = f"{', '.join(values)} : {', '.join(kinds)}"
    outs = "%u : tensor<4x8xf32>"
    accepted(frame(f"{first}%x = {name} ins({ins}) outs({outs}) -> tensor<4x8xf32>"))


@pytest.mark.parametrize("name", sorted({**arith.FORMS, **math.FORMS}))
def test_pointwise(name: str) -> None:
    count = FORMS[name].operands
    if name in ("arith.constant", "arith.select", "arith.cmpi", "arith.cmpf", "arith.bitcast"):
        return
    for value, kind in (("%f", "f32"), ("%k", "tensor<4x8xi32>")):
        text = frame(f"%x = {name} {', '.join([value] * (count or 1))} : {kind}")
        try:
            accepted(text)
        except ValueError:
            continue
        return
    accepted(frame(_cast(name)))


def _cast(name: str) -> str:
    for source in ("%f : f32", "%h : f16", "%n : i32", "%l : i64"):
        for target in ("f16", "f32", "i32", "i64"):
            body = f"%x = {name} {source} to {target}"
            try:
                framed(body).verify()
            except ValueError:
                continue
            return body
    raise AssertionError(f"no types are good for {name}")


def test_nothing_is_left_out() -> None:
    seen = {"linalg." + name for name in SHAPES}
    for text in [frame(NEEDS.get(n, "") + b) for n, b in BODIES.items()]:
        seen |= {o.name for f in parse(text).functions for o in walk(f.body.operations)}
    for path in SAMPLES:
        module = parse(path.read_text())
        seen |= {o.name for f in module.functions for o in walk(f.body.operations)}
    tested_apart = {*arith.FORMS, *math.FORMS, *spyrelab.FORMS}
    tested_apart |= {n for n in FORMS if n.startswith("linalg.")}
    assert set(FORMS) - seen - tested_apart == set()


def test_conventions_of_attributes() -> None:
    module = framed(
        "%x = tensor.extract_slice %t[0, %i] [2, 4] [1, 1] : tensor<4x8xf16> to tensor<2x4xf16>"
    )
    operation = module.functions[0].body.operations[0]
    assert operation.attributes == {"offsets": (0, None), "sizes": (2, 4), "strides": (1, 1)}
    assert [value.name for value in operation.operands] == ["t", "i"]


def test_short_forms_become_regions() -> None:
    module = framed(
        "%z = tensor.empty() : tensor<4xf16>\n"
        "%x = linalg.reduce { arith.maximumf } ins(%t : tensor<4x8xf16>) "
        "outs(%z : tensor<4xf16>) dimensions = [1]"
    )
    reduction = module.functions[0].body.operations[1]
    (region,) = reduction.regions
    incoming, accumulated = region.arguments
    body, last = region.operations
    assert body.name == "arith.maximumf"
    assert body.operands == (accumulated, incoming)
    assert last.operands == body.results
    assert "{ arith.maximumf }" in dumps(module)
