"""Results that depend on masked elements, on demand: ``sanitize="padding"``."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from spyrelab import emulator
from spyrelab.emulator import Kind, SanitizerError
from spyrelab.ktir import parse
from tests.emulator.sanitizer_programs import load, over, program, store

X, Y = over("v", "x", 104), over("w", "y", 1024)
ONE = (
    "%y1 = ktdp.construct_access_tile %w[%core] {access_tile_set = affine_set<(d) : (d == 0)>} "
    ": memref<1024xf16> -> !ktdp.access_tile<1xindex>\n"
    "%o = tensor.expand_shape %r [] output_shape [1] : tensor<f16> into tensor<1xf16>\n"
    "ktdp.store %o, %y1 : tensor<1xf16>, !ktdp.access_tile<1xindex>\n"
)
NEUTRAL = (
    "%left = arith.subi %end, %row : index\n"
    "%ids = tensor.generate {\n^bb0(%j: index):\n%in = arith.cmpi slt, %j, %left : index\n"
    "tensor.yield %in : i1\n} : tensor<64xi1>\n"
    "%low = arith.constant dense<-1.0e4> : tensor<64xf16>\n"
    "%b = arith.select %ids, %a, %low : tensor<64xi1>, tensor<64xf16>\n"
)


def folded(body: str, value: str = "b") -> str:
    return (
        "%e = tensor.empty() : tensor<f16>\n%z = arith.constant 0.0 : f16\n"
        "%i0 = linalg.fill ins(%z : f16) outs(%e : tensor<f16>) -> tensor<f16>\n"
        f"%r = linalg.reduce {{ {body} }} ins(%{value} : tensor<64xf16>) "
        "outs(%i0 : tensor<f16>) dimensions = [0]\n" + ONE
    )


def unary(name: str, result: str = "b", value: str = "a") -> str:
    return f"%{result} = math.{name} %{value} : tensor<64xf16>\n"


def run(*lines: str, sanitize: Any = "padding") -> emulator.Run:
    text = program("%end = arith.constant 104 : index\n", X, Y,
                   load("a", "v", "%row", 104), *lines)  # fmt: skip
    arguments = {"x": -np.arange(1, 105, dtype=np.float16) / 64, "y": np.zeros(1024, np.float16)}
    return emulator.run(parse(text), arguments, sanitize=sanitize)


SQUARED = "%b = arith.mulf %a, %a : tensor<64xf16>\n"
WRONG = {
    "largest value": folded("arith.maximumf", "a"),
    "sum of exponentials": unary("exp") + folded("arith.addf"),
    "sum after an offset": (
        "%k = arith.constant dense<0.5> : tensor<64xf16>\n"
        "%b = arith.subf %a, %k : tensor<64xf16>\n" + folded("arith.addf")
    ),
}
RIGHT = {
    "copy": over("u", "y", 104) + store("a", "u", "%row", 104),
    "sum": folded("arith.addf", "a"),
    "sum of squares": SQUARED + folded("arith.addf"),
    "exponentials that are cut off": unary("exp") + over("u", "y", 104)
    + store("b", "u", "%row", 104),
    "largest of what counts": NEUTRAL + folded("arith.maximumf"),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_padding_shows(name: str) -> None:
    with pytest.raises(SanitizerError, match="depends on masked elements") as caught:
        run(WRONG[name])
    (finding,) = caught.value.findings
    assert (finding.kind, finding.operation) == (Kind.PADDING, "ktdp.store")
    assert "y at [" in finding.allocation
    assert run(WRONG[name], sanitize=True).findings == ()


@pytest.mark.parametrize("name", RIGHT)
def test_zero_is_neutral(name: str) -> None:
    plain, checked = run(RIGHT[name], sanitize=False), run(RIGHT[name])
    assert checked.findings == ()
    assert (plain.outputs["y"] == checked.outputs["y"]).all()
