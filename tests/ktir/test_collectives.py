"""Rules of the operations between tiles: sets, groups, futures."""

from __future__ import annotations

import pytest

from spyrelab.ktir import KtirError
from tests.ktir.programs import framed

DEPENDENCY = "producer_dependency_per_consumer"
EACH = "affine_set<(i)[g] : (i - g == 0)>"
GROUPS = "affine_set<(g) : (g >= 0, -g + 3 >= 0)>"
FUTURE = f"!ktdp.tile_future<(tensor<4x8xf16>), groups = {GROUPS}>"


def produce(
    producers: str = EACH, future: str = FUTURE, arguments: str = "%g: index", value: str = "%t"
) -> str:
    kind = {"%t": "tensor<4x8xf16>", "%v": "tensor<8xf16>", "%f": "f32"}[value]
    return (
        f"%p = ktdp.inter_tile_produce producer_tiles_per_group = {producers} -> {future} {{\n"
        f"^bb0({arguments}):\nktdp.yield_partial {value} : {kind}\n}}\n"
    )


def take(
    name: str,
    clauses: str = "",
    result: str = "tensor<4x8xf16>",
    region: str = "",
    sets: str = EACH,
) -> str:
    return (
        f"%x = ktdp.inter_tile_{name}(%p) consumer_tiles_per_group = {EACH}{clauses} "
        f": {FUTURE} -> {result} {region}"
    )


ALL = "affine_set<(i)[g] : (i >= 0, -i + 3 >= 0, g == 0)>"
FOLD = (
    "{\n^bb0(%a: tensor<4x8xf16>, %b: tensor<4x8xf16>):\n"
    "%s = arith.addf %a, %b : tensor<4x8xf16>\nktdp.yield_reduced %s : tensor<4x8xf16>\n}"
)
IDENTITY = ", identity(%t : tensor<4x8xf16>)"


@pytest.mark.parametrize(
    ("body", "fragment"),
    [
        (produce(), "future %p is used 0 times"),
        (
            produce() + take("consume") + "\n" + take("consume").replace("%x", "%y"),
            "future %p is used 2 times",
        ),
        (
            produce("affine_set<(i)[g] : (i - g >= 0, -i + g + 1 >= 0)>") + take("consume"),
            "tile 1 produces for groups 0 and 1",
        ),
        (produce("affine_set<(i) : (i == 2)>") + take("consume"), "tile 2 produces for groups"),
        (produce("affine_set<(i, j) : (i == 2)>") + take("consume"), "2 dimensions and 0 symbols"),
        (produce(arguments="") + take("consume"), "0 region arguments, but 1 are needed"),
        (produce(value="%v") + take("consume"), "its partials are tensor<8xf16>; the future holds"),
        (produce(ALL) + take("consume"), "group 0 has 4 producers"),
        (produce() + take("consume", result="tensor<8x4xf16>"), "its results are tensor<8x4xf16>"),
        (
            produce()
            + take("consume", ", producer_dependency_per_consumer = affine_set<(p) : (p == 0)>"),
            "producer_dependency_per_consumer has 1 dimensions and 0 symbols",
        ),
        (produce() + take("reduce", region=FOLD), "its identities are none; the future holds"),
        (
            produce()
            + take("reduce", IDENTITY, region=FOLD.replace(", %b: tensor<4x8xf16>", "")).replace(
                "%a, %b", "%a, %a"
            ),
            "its region arguments are tensor<4x8xf16>; the future holds",
        ),
        (produce() + take("gather"), "it needs concat_dimensions = [..]"),
        (produce() + take("gather", ", concat_dimensions = [2]"), "[2] does not fit 2 dimensions"),
        (
            produce() + take("gather", ", concat_dimensions = [0]", "tensor<6x8xf16>"),
            "dimension 0 of tensor<6x8xf16> does not fit tensor<4x8xf16>",
        ),
        (
            produce() + take("scatter", ", scatter_dimensions = [0]", "tensor<3x8xf16>"),
            "dimension 0 of tensor<3x8xf16> does not fit tensor<4x8xf16>",
        ),
        (
            produce() + take("scatter", ", scatter_dimensions = [0]", "tensor<2x4xf16>"),
            "dimension 1 of tensor<2x4xf16> does not fit tensor<4x8xf16>",
        ),
    ],
)
def test_rules(body: str, fragment: str) -> None:
    with pytest.raises(KtirError) as caught:
        framed(body).verify()
    assert fragment in caught.value.message
    assert caught.value.line is not None


@pytest.mark.parametrize(
    "body",
    [
        produce() + take("consume"),
        produce() + take("reduce", IDENTITY, region=FOLD),
        produce(ALL) + take("consume", f", {DEPENDENCY} = affine_set<(p)[c] : (p - c == 0)>"),
        produce(ALL) + take("reduce", IDENTITY, region=FOLD),
        # Older text drops dimensions of one.
        produce(future=FUTURE.replace("4x8", "1x4x8"))
        + take("consume").replace("(tensor<4x8", "(tensor<1x4x8"),
    ],
)
def test_accepted(body: str) -> None:
    framed(body).verify()
