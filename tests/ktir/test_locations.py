"""Where operations came from: kept, resolved, printed; and where they stand in the text."""

from __future__ import annotations

from spyrelab.ktir import Position, dumps, parse
from spyrelab.ktir.ir import (
    CallSiteLocation,
    FileLocation,
    FusedLocation,
    NameLocation,
    UnknownLocation,
)
from tests.ktir.programs import SAMPLES, frame

TEXT = """
#first = loc("k.py":3:1)
func.func @f(%a: f32 loc("a"(#first))) {
  %b = arith.negf %a : f32 loc(#named)
  %c = arith.negf %b : f32 loc(callsite(#first at "m \\"x\\".py":1:2))
  %d = arith.negf %c : f32 loc(fused<"cse">[#first, unknown])
  %e = arith.negf %d : f32
  return loc("done")
} loc(#first)
#named = loc("b"(#first))
"""


def test_every_kind() -> None:
    function = parse(TEXT).functions[0]
    first = FileLocation("k.py", 3, 1)
    assert function.location == first
    assert function.arguments[0].location == NameLocation("a", first)
    assert [operation.location for operation in function.body.operations] == [
        NameLocation("b", first),
        CallSiteLocation(first, FileLocation('m "x".py', 1, 2)),
        FusedLocation((first, UnknownLocation())),
        None,
        NameLocation("done"),
    ]


def test_printed_in_place() -> None:
    text = dumps(parse(TEXT))
    assert '%b = arith.negf %a : f32 loc("b"("k.py":3:1))' in text
    assert "%e = arith.negf %d : f32\n" in text
    again = parse(text).functions[0]
    before = parse(TEXT).functions[0]
    assert [o.location for o in again.body.operations] == [
        o.location for o in before.body.operations
    ]
    assert dumps(parse(text)) == text


def test_positions_in_the_text() -> None:
    operations = parse(TEXT).functions[0].body.operations
    assert [operation.position for operation in operations[:2]] == [Position(4, 8), Position(5, 8)]
    assert parse(TEXT).functions[0].position == Position(3, 11)


def test_regions_and_their_arguments() -> None:
    body = (
        '%x = tensor.generate {\n^bb0(%a: index loc("row")):\ntensor.yield %h : f16 loc(unknown)\n'
        '} : tensor<4xf16> loc("k.py":1:1)\nscf.for %b = %i to %j step %i {\n} loc("k.py":2:1)'
    )
    module = parse(frame(body))
    generate, loop = module.functions[0].body.operations[:2]
    assert generate.regions[0].arguments[0].location == NameLocation("row")
    assert loop.location == FileLocation("k.py", 2, 1)
    assert parse(dumps(module)) == module


def test_the_printed_sample_knows_its_source() -> None:
    (path,) = [path for path in SAMPLES if path.stem == "10_printed_form"]
    function = parse(path.read_text()).functions[0]
    assert function.location == FileLocation("score_rows.py", 5, 1)
    assert all(operation.location is not None for operation in function.body.operations)
