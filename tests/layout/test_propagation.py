"""Layout rules per operation, and what happens where nothing fits."""

from __future__ import annotations

import pytest

from spyrelab.layout import LayoutConflictError, LayoutError, SpyreTensorLayout
from spyrelab.layout.graph import Graph, Node
from spyrelab.layout.propagation import propagate
from spyrelab.layout.sticks import Holding, Sticks, stick_layout, sticks_of
from tests.layout.graphs import GRAPHS

DENSE, SPARSE = Holding.DENSE, Holding.SPARSE


def results(graph: Graph, node: Node, restickify: bool = False) -> list[Sticks]:
    ways = propagate(graph, restickify)[node]
    return [sticks_of(way.result, node.size) for way in ways]


def test_pointwise_wants_one_stick_dimension() -> None:
    g = Graph()
    x, y = g.input("x", (128, 256)), g.input("y", (256, 128))
    total = g.pointwise("add", x, x)
    assert results(g, total) == [Sticks(DENSE, 1)]
    g.pointwise("mixed", x, g.transpose(y))
    with pytest.raises(LayoutConflictError) as caught:
        propagate(g, restickify=False)
    assert caught.value.operation == "mixed"
    assert {caught.value.layout, caught.value.wanted} == {
        stick_layout((128, 256), "f16", 0),
        stick_layout((128, 256), "f16", 1),
    }
    for layout in (caught.value.layout, caught.value.wanted):
        assert repr(layout) in str(caught.value)
    assert str(caught.value).startswith("mixed: ")


def test_with_restickify_every_dimension_is_a_candidate() -> None:
    g = Graph()
    node = g.pointwise("exp", g.input("x", (8, 128, 256)))
    found = results(g, node, restickify=True)
    assert found == [Sticks(DENSE, 2), Sticks(DENSE, 1), Sticks(DENSE, 0)]


def test_product_rule() -> None:
    g = Graph()
    a, b = g.input("a", (128, 100)), g.input("b", (100, 256))
    product = g.matmul(a, b)
    (way,) = propagate(g, restickify=False)[product]
    assert [need.sticks for need in way.needs if need] == [Sticks(DENSE, 1), Sticks(DENSE, 1)]
    assert sticks_of(way.result, product.size) == Sticks(DENSE, 1)
    assert way.zeroed == ((0, 1), (1, 0)), "the padding of k must not reach the sum"
    g.matmul(a, g.transpose(g.input("c", (256, 100))), "transposed")
    with pytest.raises(LayoutConflictError, match=r"transposed: .* sticks along dimension 0"):
        propagate(g, restickify=False)


def test_batched_products_keep_their_batch_out_of_the_sticks() -> None:
    g = Graph()
    product = g.matmul(g.input("a", (8, 128, 64)), g.input("b", (64, 256)))
    assert product.size == (8, 128, 256)
    assert results(g, product) == [Sticks(DENSE, 2)]


def test_a_reduction_along_the_sticks_is_sparse() -> None:
    g = Graph()
    x = g.input("x", (128, 256))
    rows, columns = g.reduce(x, [1]), g.reduce(x, [0])
    kept, everything = g.reduce(x, [1], keepdim=True), g.reduce(x, [0, 1])
    assert results(g, rows) == [Sticks(SPARSE)]
    assert results(g, columns) == [Sticks(DENSE, 0)]
    assert results(g, kept) == [Sticks(SPARSE)]
    assert kept.size == (128, 1) and rows.size == (128,) and everything.size == ()
    assert results(g, everything) == [Sticks(Holding.SCALAR)]
    zeroed = propagate(g, restickify=False)[rows][0].zeroed
    assert zeroed == ((0, 1),)


def test_a_sparse_operand_spreads_over_the_sticks_of_a_dense_one() -> None:
    """Softmax needs no conversion: maximum and sum lie one element per stick."""
    g = Graph()
    x = g.input("x", (128, 256))
    node = g.pointwise("sub", x, g.reduce(x, [1], True, "max"))
    assert results(g, node) == [Sticks(DENSE, 1)]
    column = g.reduce(x, [1], True)
    assert results(g, g.pointwise("log", column)) == [Sticks(SPARSE)]


def test_a_sparse_operand_beside_a_dense_one_of_its_own_size_does_not_fit() -> None:
    g = Graph()
    g.pointwise("add", g.reduce(g.input("x", (256, 128)), [1]), g.input("y", (256,)))
    with pytest.raises(LayoutConflictError, match=r"add: .*one element per stick"):
        propagate(g, restickify=False)


def test_a_row_vector_goes_along_the_sticks_only() -> None:
    g = Graph()
    x, bias = g.input("x", (128, 256)), g.input("bias", (256,))
    assert results(g, g.pointwise("add", x, bias)) == [Sticks(DENSE, 1)]
    g.pointwise("across", g.transpose(x), g.input("other", (128,)))
    with pytest.raises(LayoutConflictError, match="across"):
        propagate(g, restickify=False)


def test_scalars_go_with_anything() -> None:
    g = Graph()
    x = g.transpose(g.input("x", (128, 256)))
    for number, size in enumerate([(), (1,), (1, 1)]):
        node = g.pointwise("scale", x, g.input(f"s{number}", size))
        assert results(g, node) == [Sticks(DENSE, 0)]


def test_views_keep_memory() -> None:
    g = Graph()
    x = g.input("x", (8, 128, 256))
    assert results(g, g.permute(x, (2, 0, 1))) == [Sticks(DENSE, 0)]
    assert results(g, g.reshape(x, (1024, 256))) == [Sticks(DENSE, 1)]
    assert results(g, g.slice(x, -1, 64, 128)) == [Sticks(DENSE, 2)]
    assert results(g, g.transpose(x)) == [Sticks(DENSE, 1)]


def test_a_view_that_no_layout_follows() -> None:
    g = Graph()
    g.slice(g.input("x", (100,)), 0, 3, 40, "middle")
    with pytest.raises(LayoutConflictError, match=r"middle: .*inside a stick") as caught:
        propagate(g)
    assert caught.value.operation == "middle"
    assert caught.value.layout == SpyreTensorLayout.default((100,))


def test_a_view_that_no_layout_follows_names_two_layouts() -> None:
    g = Graph()
    g.slice(g.input("x", (64,), layout=SpyreTensorLayout.linear((64,))), 0, 3, 20)
    with pytest.raises(LayoutConflictError) as caught:
        propagate(g)
    assert caught.value.layout != caught.value.wanted


def test_an_output_may_demand_a_layout() -> None:
    g = Graph()
    x = g.input("x", (128, 256))
    g.output(x, stick_layout((128, 256), "f16", 0))
    with pytest.raises(LayoutConflictError, match="output: "):
        propagate(g, restickify=False)
    assert propagate(g)


def test_inputs_and_outputs_have_layouts_that_describe_them() -> None:
    g = Graph()
    with pytest.raises(LayoutError, match="does not describe"):
        g.input("x", (128, 256), layout=SpyreTensorLayout.default((64, 256)))
    x = g.input("x", (128, 256))
    with pytest.raises(LayoutError, match="does not describe"):
        g.output(x, SpyreTensorLayout.default((64, 256)))


def test_mistakes_in_a_graph_name_the_operation() -> None:
    g, other = Graph(), Graph()
    x, y = g.input("x", (128, 256)), g.input("y", (100, 256))
    calls = [
        (lambda: g.pointwise("add", x, y), "add: sizes .* do not broadcast"),
        (lambda: g.pointwise("none"), "none: "),
        (lambda: g.matmul(x, y, "product"), "product: .* is no product"),
        (lambda: g.reduce(x, [2], name="total"), "total: .* has no dimensions"),
        (lambda: g.permute(x, (0, 0), "turn"), "turn: .* permutes no"),
        (lambda: g.slice(x, 0, 5, 129, "part"), "part: .* has no 5:129"),
        (lambda: g.reshape(x, (7,), "flat"), "flat: .* does not reshape"),
        (lambda: g.pointwise("exp", other.input("z", (3,))), "exp: .* another graph"),
        (lambda: g.input("empty", (3, 0)), "empty: .* no elements"),
        (lambda: g.input("wide", (3,), "f64"), "no element type"),
    ]
    for call, message in calls:
        with pytest.raises(LayoutError, match=message):
            call()
    assert [node.name for node in g.nodes] == ["x", "y"]


def test_names_are_made_unique() -> None:
    g = Graph()
    x = g.input("x", (4,))
    names = [g.pointwise("add", x, x).name for _ in range(3)]
    assert names == ["add", "add_2", "add_3"]


@pytest.mark.parametrize("name", GRAPHS)
def test_every_candidate_describes_its_tensor(name: str) -> None:
    for node, ways in propagate(GRAPHS[name]()).items():
        assert ways
        for way in ways:
            sticks_of(way.result, node.size)
            for operand, need in zip(node.operands, way.needs, strict=True):
                if need is not None:
                    assert need.accepts(need.target, operand.size)
