"""The ``spyrelab`` dialect: read, written and read again; what the verifier refuses."""

from __future__ import annotations

import pytest

from spyrelab.ktir import F16, F32, I1, I32, KtirError, dumps, parse, walk
from spyrelab.ktir.builder import Builder, BuilderError, Row
from spyrelab.ktir.dialects import FORMS
from spyrelab.ktir.ir import FileLocation, NameLocation
from tests.ktir.programs import breaks, frame, framed

VIEW = (
    "%w = ktdp.construct_memory_view %i, sizes: [%j], strides: [1] "
    "{memory_space = #ktdp.memory_space<global>} : memref<?xf16>\n"
    "%wi = ktdp.construct_memory_view %i, sizes: [64], strides: [1] "
    "{memory_space = #ktdp.memory_space<global>} : memref<64xi32>\n"
    "%q = tensor.splat %c : tensor<4x8xi1>\n"
    "%r = tensor.splat %n : tensor<6xi32>\n"
)
KINDS = "memref<?xf16>, tensor<4x8xi32>"
INTEGERS = "memref<64xi32>, tensor<4x8xi32>"
SUM = """{
^bb0(%a: f32, %b: f32):
  %s = arith.addf %a, %b : f32
  linalg.yield %s : f32
}"""

BODIES = {
    "gather": f"%x = spyrelab.gather %w[%k] : {KINDS} -> tensor<4x8xf16>",
    "gather_mask": f"%x = spyrelab.gather %w[%k] mask(%q) : {KINDS}, tensor<4x8xi1> -> "
    "tensor<4x8xf16>",
    "gather_rows": "%x = spyrelab.gather %w[%r] row(%i, 32, %j) : memref<?xf16>, tensor<6xi32>, "
    "index, index -> tensor<6x32xf16>",
    "gather_rows_of_rows": f"%x = spyrelab.gather %w[%k] row(%i, 4, %j) mask(%q) : {KINDS}, index, "
    "index, tensor<4x8xi1> -> tensor<4x8x4xf16>",
    "gather_generic": f'%x = "spyrelab.gather"(%w, %k) : ({KINDS}) -> tensor<4x8xf16>',
    "scatter": f"spyrelab.scatter %t, %w[%k] mask(%q) : tensor<4x8xf16>, {KINDS}, tensor<4x8xi1>",
    "fadd": f"%x = spyrelab.atomic_rmw fadd %t, %w[%k] : tensor<4x8xf16>, {KINDS} -> "
    "tensor<4x8xf16>",
    "umax": f"%x = spyrelab.atomic_rmw umax %k, %wi[%k] mask(%q) : tensor<4x8xi32>, {INTEGERS}, "
    "tensor<4x8xi1> -> tensor<4x8xi32>",
    "rmw_generic": '%x = "spyrelab.atomic_rmw"(%k, %wi, %k) <{kind = "xor"}> : '
    f"(tensor<4x8xi32>, {INTEGERS}) -> tensor<4x8xi32>",
    "cas": f"%x = spyrelab.atomic_cas %k, %k, %wi[%k] : tensor<4x8xi32>, tensor<4x8xi32>, "
    f"{INTEGERS} -> tensor<4x8xi32>",
    "turns": "spyrelab.turn %i : index\nspyrelab.turn_done\nspyrelab.barrier",
    "turns_generic": '"spyrelab.turn"(%i) : (index) -> ()\n"spyrelab.barrier"() : () -> ()',
    "scan": f"%x = spyrelab.scan ins(%u : tensor<4x8xf32>) axis = 1 {SUM}",
    "scan_reverse": f"%x = spyrelab.scan ins(%u : tensor<4x8xf32>) axis = 0 reverse {SUM}",
    "scan_two": "%x, %y = spyrelab.scan ins(%u, %k : tensor<4x8xf32>, tensor<4x8xi32>) axis = 1 {\n"
    "^bb0(%a: f32, %ai: i32, %b: f32, %bi: i32):\n  linalg.yield %b, %ai : f32, i32\n}",
    "take": "%x = spyrelab.take %t[%k] axis = 0 : tensor<4x8xf16>, tensor<4x8xi32> -> "
    "tensor<4x8xf16>",
    "histogram": "%x = spyrelab.histogram %k mask(%q) : tensor<4x8xi32>, tensor<4x8xi1> -> "
    "tensor<16xi32>",
    "print": 'spyrelab.print "a \\"quoted\\" text" %i, %j, %f, %t {hex, program = 2, unsigned = '
    "[0]} : index, index, f32, tensor<4x8xf16>",
    "print_text": 'spyrelab.print "here"',
    "assert": 'spyrelab.assert %q, "too large" : tensor<4x8xi1>',
    "assert_scalar": 'spyrelab.assert %c, "no" : i1 loc("kernel.py":3:7)',
}


@pytest.mark.parametrize("body", BODIES.values(), ids=BODIES)
def test_round_trip(body: str) -> None:
    module = framed(VIEW + body)
    module.verify()
    text = dumps(module)
    again = parse(text)
    again.verify()
    assert again == module
    assert dumps(again) == text


def test_every_operation_is_read_above() -> None:
    seen = {o.name for body in BODIES.values() for o in walk(_operations(body))}
    assert {name for name in FORMS if name.startswith("spyrelab.")} <= seen


def _operations(body: str) -> list[object]:
    return framed(VIEW + body).functions[0].body.operations  # type: ignore[return-value]


REFUSED = {
    "not a view of rank 1": "%v2 = ktdp.construct_memory_view %i, sizes: [4, 8], strides: [8, 1] "
    "{memory_space = #ktdp.memory_space<global>} : memref<4x8xf16>\n"
    "%x = spyrelab.gather %v2[%k] : memref<4x8xf16>, tensor<4x8xi32> -> tensor<4x8xf16>",
    "the offsets are a": "%x = spyrelab.gather %w[%u] : memref<?xf16>, tensor<4x8xf32> -> "
    "tensor<4x8xf16>",
    "the mask has type": f"%x = spyrelab.gather %w[%k] mask(%k) : {KINDS}, tensor<4x8xi32> -> "
    "tensor<4x8xf16>",
    "the result has type": f"%x = spyrelab.gather %w[%k] : {KINDS} -> tensor<4x8xf32>",
    "a row of 0 elements": "%x = spyrelab.gather %w[%r] row(%i, 0, %j) : memref<?xf16>, "
    "tensor<6xi32>, index, index -> tensor<6x0xf16>",
    "the limit has type": "%x = spyrelab.gather %w[%r] row(%i, 4, %n) : memref<?xf16>, "
    "tensor<6xi32>, index, i32 -> tensor<6x4xf16>",
    "%u has type": f"spyrelab.scatter %u, %w[%k] : tensor<4x8xf32>, {KINDS}",
    "it takes 3 operands": '"spyrelab.scatter"(%t, %w) : (tensor<4x8xf16>, memref<?xf16>) -> ()',
    "there is no add of f16": f"%x = spyrelab.atomic_rmw add %t, %w[%k] : tensor<4x8xf16>, {KINDS} "
    "-> tensor<4x8xf16>",
    "there is no fadd of i32": "%x = spyrelab.atomic_rmw fadd %k, %wi[%k] : tensor<4x8xi32>, "
    f"{INTEGERS} -> tensor<4x8xi32>",
    "an atomic operation takes no rows": "%x = spyrelab.atomic_rmw add %r, %wi[%r] row(%i, 4, %j) "
    ": tensor<6xi32>, memref<64xi32>, tensor<6xi32>, index, index -> tensor<6xi32>",
    "it compares whole numbers": f"%x = spyrelab.atomic_cas %t, %t, %w[%k] : tensor<4x8xf16>, "
    f"tensor<4x8xf16>, {KINDS} -> tensor<4x8xf16>",
    "the turn has type": "spyrelab.turn %n : i32",
    "there is no axis 2": f"%x = spyrelab.scan ins(%u : tensor<4x8xf32>) axis = 2 {SUM}",
    "the first input a": "%x, %y = spyrelab.scan ins(%u, %v : tensor<4x8xf32>, tensor<8xf16>) "
    "axis = 0 {\n^bb0(%a: f32, %ai: f16, %b: f32, %bi: f16):\n  linalg.yield %b, %bi : f32, f16\n}",
    "region arguments": f"%x = spyrelab.scan ins(%t : tensor<4x8xf16>) axis = 0 {SUM}",
    "the indices are a": "%x = spyrelab.take %t[%u] axis = 0 : tensor<4x8xf16>, tensor<4x8xf32> -> "
    "tensor<4x8xf16>",
    "differ in more than axis 0": "%x = spyrelab.take %v[%k] axis = 0 : tensor<8xf16>, "
    "tensor<4x8xi32> -> tensor<4x8xf16>",
    "does not number bins": "%x = spyrelab.histogram %t : tensor<4x8xf16> -> tensor<4xi32>",
    "not one static row": "%x = spyrelab.histogram %k : tensor<4x8xi32> -> tensor<4x4xi32>",
    "cannot count": "%x = spyrelab.histogram %k : tensor<4x8xi32> -> tensor<4xf32>",
    "program = 2": 'spyrelab.print "x" %i {program = 2} : index',
    "program number": 'spyrelab.print "x" %f {program = 1} : f32',
    "print scalars and tensors": 'spyrelab.print "x" %w : memref<?xf16>',
    "compare first": 'spyrelab.assert %k, "x" : tensor<4x8xi32>',
}


@pytest.mark.parametrize("fragment", REFUSED)
def test_refusals(fragment: str) -> None:
    module = framed(VIEW + REFUSED[fragment])
    with pytest.raises(KtirError) as caught:
        module.verify()
    assert fragment in str(caught.value)
    assert caught.value.line is not None


def test_a_body_may_not_end_in_anything_else() -> None:
    breaks(
        "%x = spyrelab.scan ins(%u : tensor<4x8xf32>) axis = 0 {\n^bb0(%a: f32, %b: f32):\n"
        "  scf.yield %b : f32\n}",
        "its region does not end in linalg.yield",
    )


@pytest.mark.parametrize(
    ("body", "fragment"),
    [
        ("%x = spyrelab.gather %w(%k)", "expected '['"),
        ("%x = spyrelab.gather %w[%k] row(%i, %j, %j)", "number of elements"),
        (f"spyrelab.scatter %w[%k] : {KINDS}", "expected ','"),
        ("%x = spyrelab.scan ins(%u : tensor<4x8xf32>) axis : 0 {}", "expected '='"),
        ("spyrelab.assert %c : i1", "expected ','"),
        ('spyrelab.print "x" %i {colour} : index', "has no attribute colour"),
    ],
)
def test_parse_errors_say_what_was_expected(body: str, fragment: str) -> None:
    with pytest.raises(KtirError) as caught:
        parse(frame(VIEW + body))
    assert fragment in str(caught.value)


def test_the_builder_carries_locations() -> None:
    b = Builder("f", grid=(4,))
    core = b.compute_tile_id()
    outer = FileLocation("kernel.py", 1, 2)
    inner = NameLocation("x", FileLocation("kernel.py", 3, 4))
    x = b.view(b.constant(0), (64,), F32)
    with b.at(outer):
        with b.loop(0, 4) as i, b.at(inner):
            values = b.load(x[i], (1,))
        with b.if_(core < 2):
            b.barrier()
    b.barrier()
    module = b.build()
    assert parse(dumps(module)) == module
    places = {o.name: o.location for o in walk(module.functions[0].body.operations)}
    assert places["scf.for"] == places["scf.if"] == outer
    assert places["ktdp.load"] == inner
    assert values.dtype == F32
    barriers = [o for o in walk(module.functions[0].body.operations) if "barrier" in o.name]
    assert [o.location for o in barriers] == [outer, None]
    again = walk(parse(dumps(module)).functions[0].body.operations)
    # The text leaves out the end of a region that yields nothing.
    read = {o.name: o.location for o in again if o.name != "scf.yield"}
    assert read == {name: place for name, place in places.items() if name != "scf.yield"}


def test_the_builder_explains_mistakes() -> None:
    b = Builder("f")
    flat, square = b.view(b.constant(0), (64,), F16), b.view(b.constant(0), (8, 8), F16)
    at = b.constant_tensor(range(4), I32)
    with pytest.raises(BuilderError, match="offsets need a view of one"):
        b.gather_elements(square, at)
    with pytest.raises(BuilderError, match="tensor<4xi1>"):
        b.gather_elements(flat, at, b.full((8,), True, I1))
    with pytest.raises(BuilderError, match="tensor<4xf16>"):
        b.scatter_elements(b.full((4,), 1.0, F32), flat, at)
    with pytest.raises(BuilderError, match="tensor<4x2xf16>"):
        b.scatter_elements(b.full((4,), 1.0, F16), flat, at, row=Row(2))
    with pytest.raises(BuilderError, match="no axis 1"):
        b.scan(at, 1)
    with pytest.raises(BuilderError, match="combines one tensor"):
        b.scan([at, at], 0, "add")
