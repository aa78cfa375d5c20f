"""Placing conversions: exact against brute force, against greedy, and what a placement says."""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Mapping

import pytest

from spyrelab.layout import LayoutConflictError, SpyreTensorLayout
from spyrelab.layout.costs import Cost, bytes_moved
from spyrelab.layout.elimination import TooWideError, eliminate
from spyrelab.layout.graph import Graph, Node, Operation
from spyrelab.layout.integer import solve_integer
from spyrelab.layout.placement import Placement, Problem, place, place_greedily
from spyrelab.layout.rules import Alternative
from spyrelab.layout.sticks import stick_layout
from tests.layout.graphs import GRAPHS, random_graph

Layout = SpyreTensorLayout


def random_cost(seed: int) -> Cost:
    """A price per conversion that depends on nothing but the conversion."""

    def cost(size: tuple[int, ...], dtype: str, source: Layout, target: Layout) -> float:
        return random.Random(f"{seed}{size}{dtype}{source}{target}").randint(1, 9)

    return cost


def count(size: tuple[int, ...], dtype: str, source: Layout, target: Layout) -> float:
    return 1.0


def price(problem: Problem, chosen: Mapping[Node, Alternative]) -> float:
    """The total, written down once more: each tensor into each layout that a reader lacks."""
    needed = set()
    for node in problem.graph.nodes:
        for operand, need in zip(node.operands, chosen[node].needs, strict=True):
            own = chosen[operand].result
            if need and not need.accepts(own, operand.size):
                needed.add((operand, own, need.target))
    return sum(
        problem.cost(t.size, t.dtype, source, target)
        for t, source, target in needed
        if t.operation is not Operation.CONSTANT
    )


def brute_force(problem: Problem) -> float:
    nodes = problem.graph.nodes
    choices = itertools.product(*(problem.candidates[node] for node in nodes))
    return min(price(problem, dict(zip(nodes, way, strict=True))) for way in choices)


def check_consistent(placement: Placement) -> None:
    """Every operand is read in a layout that its reader accepts, and made by a conversion."""
    made = {(r.tensor, r.target): r for r in placement.restickifies}
    assert len(made) == len(placement.restickifies)
    for node in placement.graph.nodes:
        for position, operand in enumerate(node.operands):
            need = placement.chosen[node].needs[position]
            read = placement.read_layout(node, position)
            assert need is None or need.accepts(read, operand.size)
            if read != placement.layout(operand) and operand.operation is not Operation.CONSTANT:
                assert node in made[operand, read].consumers


@pytest.mark.parametrize("name", GRAPHS)
def test_exact_is_never_worse_than_greedy(name: str) -> None:
    graph = GRAPHS[name]()
    exact, greedy = place(graph), place_greedily(graph)
    check_consistent(exact)
    check_consistent(greedy)
    assert exact.seconds <= greedy.seconds * (1 + 1e-12)


def test_there_are_enough_graphs() -> None:
    assert len(GRAPHS) >= 20


@pytest.mark.parametrize("name", ["branches_with_channels_first", "chain_of_transposed_sums"])
def test_exact_is_at_least_twice_as_good(name: str) -> None:
    graph = GRAPHS[name]()
    exact, greedy = place(graph), place_greedily(graph)
    assert 0 < 2 * exact.seconds <= greedy.seconds


@pytest.mark.parametrize("seed", range(40))
def test_brute_force_agrees(seed: int) -> None:
    graph = random_graph(seed, length=6)
    problem = Problem(graph, random_cost(seed))
    combinations = math.prod(len(ways) for ways in problem.candidates.values())
    if combinations > 20_000:
        pytest.skip("too many combinations to try them all")
    best = brute_force(problem)
    assert problem.placement(eliminate(problem)).seconds == pytest.approx(best)
    assert problem.placement(solve_integer(problem)).seconds == pytest.approx(best)


@pytest.mark.parametrize("seed", range(30))
def test_the_two_exact_methods_agree(seed: int) -> None:
    graph = random_graph(seed, length=25, sizes=(128,))
    problem = Problem(graph, random_cost(seed))
    by_tables = problem.placement(eliminate(problem))
    by_integers = problem.placement(solve_integer(problem))
    greedy = place_greedily(graph, problem.cost)
    assert by_tables.seconds == pytest.approx(by_integers.seconds)
    assert by_tables.seconds == pytest.approx(price(problem, by_tables.chosen))
    assert by_tables.seconds <= greedy.seconds
    check_consistent(by_integers)


def test_an_entangled_graph_goes_to_the_integer_program() -> None:
    g = Graph()
    pool = [g.input("x", (128, 128)), g.transpose(g.input("y", (128, 128)))]
    rng = random.Random(0)
    for _ in range(70):
        pool.append(g.pointwise("add", rng.choice(pool), rng.choice(pool)))
    g.output(pool[-1], Layout.default((128, 128)))
    problem = Problem(g, count)
    with pytest.raises(TooWideError):
        eliminate(problem)
    exact = place(g, count)
    check_consistent(exact)
    assert exact.seconds <= place_greedily(g, count).seconds


def test_the_same_graph_gives_the_same_placement() -> None:
    for name in ("attention_block", "random_3"):
        first, second = (
            [(r.tensor.name, r.source, r.target) for r in place(GRAPHS[name]()).restickifies]
            for _ in range(2)
        )
        assert first == second


def test_one_conversion_serves_several_consumers() -> None:
    g = Graph()
    weight = g.transpose(g.input("w", (256, 256)))
    for number in range(3):
        g.output(g.matmul(g.input(f"x{number}", (256, 256)), weight))
    (made,) = place(g).restickifies
    assert len(made.consumers) == 3 or made.consumers[0] is weight


def test_constants_cost_nothing() -> None:
    g = Graph()
    weight = g.transpose(g.constant("w", (512, 256)))
    g.output(g.matmul(g.input("x", (256, 256)), weight))
    assert place(g).restickifies == ()


def test_a_small_tensor_is_converted_before_it_is_spread() -> None:
    """The column is converted, not the matrix that it makes."""
    g = Graph()
    column = g.reshape(g.input("a", (512,)), (512, 1))
    g.output(g.pointwise("mul", column, g.input("b", (256,))), Layout.default((512, 256)))
    (made,) = place(g).restickifies
    assert made.tensor.numel == 512


def test_an_output_gets_the_layout_it_demands() -> None:
    g = Graph()
    wanted = stick_layout((256, 256), "f16", 0)
    node = g.pointwise("exp", g.input("x", (256, 256)))
    output = g.output(node, wanted)
    placement = place(g)
    assert placement.read_layout(output, 0) == wanted
    assert len(placement.restickifies) == 1


def test_the_cost_decides() -> None:
    """Where turning the result is dear, the operands are turned."""
    g = Graph()
    x = g.input("x", (256, 256))
    y = g.input("y", (256, 256), layout=stick_layout((256, 256), "f16", 0))
    node = g.pointwise("add", x, y)
    g.output(node)

    def cost(to_rows: float) -> Cost:
        default = Layout.default((256, 256))
        return lambda size, dtype, source, target: to_rows if target == default else 2.0

    assert place(g, cost(1.0)).layout(node) == Layout.default((256, 256))
    assert place(g, cost(3.0)).layout(node) == stick_layout((256, 256), "f16", 0)


def test_a_conversion_that_no_program_makes() -> None:
    g = Graph()
    strange = Layout([2, 3, 16], [48, 16, 1])
    g.output(g.input("x", (2, 48), layout=strange), Layout([2, 2, 24], [48, 24, 1]))
    with pytest.raises(LayoutConflictError, match=r"output: .* no program converts"):
        place(g)


def test_bytes_are_a_cost_too() -> None:
    graph = GRAPHS["branches_with_channels_first"]()
    assert place(graph, bytes_moved).seconds == 2 * 2 * 2 * 512 * 512
