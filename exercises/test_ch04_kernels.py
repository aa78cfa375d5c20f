"""Graded tests of chapter 4: stick dimensions, a restickify, and placing many."""

from __future__ import annotations

import itertools
from functools import partial
from typing import Any

import numpy as np

from spyrelab.grade import (
    WrongError,
    expect_at_most,
    expect_close,
    expect_equal,
    expect_work,
    run_program,
    task,
)
from spyrelab.layout import SpyreTensorLayout, pack, unpack
from spyrelab.layout.graph import Graph
from spyrelab.layout.placement import place
from spyrelab.layout.sticks import Holding, sticks_of
from spyrelab.machine import SPYRE

CORES, LANES = SPYRE.cores, 64

choose_orders = partial(task, "ch04.5", "choose_orders")
turn = partial(task, "ch04.6", "turn")
cheapest_layouts = partial(task, "ch04.7", "cheapest_layouts")


# ---- 5: choose the sticks ---------------------------------------------------------------------


def expect_orders(
    impl: Any, order: tuple[int, ...], weight_order: tuple[int, int], reduced: int
) -> None:
    what = f"choose_orders({order}, {weight_order}, {reduced})"
    found = impl.choose_orders(order, weight_order, reduced)
    if reduced == order[-1]:
        expect_equal(found, None, f"{what}: the sum would run along the sticks of the product")
        return
    if not isinstance(found, tuple) or len(found) != 2:
        raise WrongError(f"{what}: expected (dim_order of x, dim_order of w), got {found!r}")
    x_order, w_order = (list(each) for each in found)
    ranks = [list(range(len(order))), [0, 1]]
    expect_equal([sorted(x_order), sorted(w_order)], ranks, f"{what}: dimensions that are ordered")
    expect_no_restickify(what, order, weight_order, reduced, x_order, w_order)


def expect_no_restickify(
    what: str,
    order: tuple[int, ...],
    weight_order: tuple[int, int],
    reduced: int,
    x_order: list[int],
    w_order: list[int],
) -> None:
    """Ask the placement: nothing to convert for the product, and a sum that is dense."""
    x_size = tuple(128 if d == order[-1] else 3 + d for d in range(len(order)))
    w_size = tuple((128, 70)[weight_order.index(d)] for d in (0, 1))
    layout = SpyreTensorLayout.default(x_size, "f16", x_order)
    graph = Graph()
    x = graph.input("x", x_size, layout=layout)
    w = graph.input("w", w_size, layout=SpyreTensorLayout.default(w_size, "f16", w_order))
    graph.output(graph.matmul(graph.permute(x, order), graph.permute(w, weight_order)))
    made = place(graph).restickifies
    if made:
        raise WrongError(f"{what}: {made[0].tensor.name} has to be restickified for the product")
    held = sticks_of(layout, x_size)
    if held.holding is Holding.DENSE and held.dimension == reduced:
        raise WrongError(f"{what}: the sum has one element per stick")


@choose_orders(
    hints=[
        "k is the last dimension of the left operand, n the last of the right one, after they were "
        "permuted. Which dimensions of x and w are these?",
        "permute moves nothing: sticks of x that run along order[-1] are sticks of x.permute(order)"
        " that run along its last dimension.",
    ]
)
def test_orders_of_matrices(impl: Any) -> None:
    """Matrices as they are, and transposed."""
    for order, weights in itertools.product(((0, 1), (1, 0)), repeat=2):
        expect_orders(impl, order, weights, order[0])


@choose_orders(
    hints=[
        "order says which dimension of x comes at each place, and not where each dimension goes.",
        "The stick dimension is order[-1], and not order.index(last); all other dimensions have to "
        "be in dim_order too.",
    ]
)
def test_orders_of_more_dimensions(impl: Any, rng: Any) -> None:
    """Three and four dimensions."""
    for order in ((1, 2, 0), (2, 0, 1), (0, 2, 3, 1), tuple(map(int, rng.permutation(4)))):
        expect_orders(impl, order, (1, 0), order[0])


@choose_orders(
    hints=[
        "A sum along the sticks leaves one element in each of them.",
        "The product decides what the sticks of x run along. If that is what the sum folds, no "
        "order will do.",
    ]
)
def test_orders_with_a_sum_that_is_in_the_way(impl: Any) -> None:
    """Sums over every dimension."""
    for order in ((0, 1), (1, 0), (1, 2, 0), (0, 2, 1)):
        for reduced in order:
            expect_orders(impl, order, (0, 1), reduced)


# ---- 6: restickify ----------------------------------------------------------------------------


def run_turn(impl: Any, rng: Any, rows: int, cols: int) -> Any:
    x = rng.integers(-2000, 2000, (rows, cols)).astype(np.float16)
    layouts = [SpyreTensorLayout.default((rows, cols), "f16", order) for order in ((0, 1), (1, 0))]
    arrays = {"x": pack(x, layouts[0]), "out": np.full(layouts[1].numel, 99, np.float16)}
    run = run_program(impl.turn(rows, cols), arrays)
    expect_close(unpack(run.outputs["out"], layouts[1], (rows, cols)), x, what="out, unpacked")
    expect_work(run, reads=x.nbytes, writes=x.nbytes)
    return run.counters


def some_size(rng: Any) -> tuple[int, int]:
    return int(rng.integers(300, 500)) | 1, int(rng.integers(300, 500)) | 1


@turn(
    hints=[
        "Try one block: 64 rows of one stick each, that is b.load(x[tile, row, 0], shape=(1, 64, "
        "64)). What has to become of it before it is stored?",
        "Lanes become rows and rows become lanes: b.transpose(values, [0, 2, 1]), stored at "
        "out[row // 64, tile * 64, 0]. Views have sizes=device_size and dtype=F16.",
    ]
)
def test_turn_of_whole_blocks(impl: Any, rng: Any) -> None:
    """Rows and columns in multiples of 64."""
    run_turn(impl, rng, 64 * int(rng.integers(2, 6)), 64 * int(rng.integers(7, 9)))


@turn(
    hints=[
        "Some rows or columns are missing: who takes the last block, which is not full?",
        "Round up: ceil(cols / 64) sticks across and ceil(rows / 64) down. The views mask what "
        "lies beyond rows and beyond cols.",
    ]
)
def test_turn_of_any_size(impl: Any, rng: Any) -> None:
    """Any number of rows and columns from 64 up."""
    for rows, cols in (some_size(rng), (64, int(rng.integers(65, 120)))):
        run_turn(impl, rng, rows, cols)


@turn(
    hints=[
        "Right, but sticks are touched more often than once. A stick is moved whole: how many of "
        "its 64 elements does a load of yours need?",
        "Load and store blocks of 64 whole sticks: 64 lanes on both sides.",
    ]
)
def test_turn_touches_each_stick_once(impl: Any, rng: Any) -> None:
    """Sticks read and written: those of the two layouts."""
    rows, cols = some_size(rng)
    counters = run_turn(impl, rng, rows, cols)
    read, written = -(-cols // LANES) * rows, -(-rows // LANES) * cols
    expect_at_most(int(counters.sticks_read.sum()), read, "sticks read")
    expect_at_most(int(counters.sticks_written.sum()), written, "sticks written")


@turn(
    hints=[
        "Is every core at work? There are ceil(rows / 64) * ceil(cols / 64) blocks.",
        "Core c takes blocks c, c + 32, c + 64, ...; block % across and block // across are its "
        "place.",
    ]
)
def test_turn_on_all_cores(impl: Any, rng: Any) -> None:
    """The busiest core writes no more than an even share of the blocks."""
    rows, cols = some_size(rng)
    counters = run_turn(impl, rng, rows, cols)
    share = -(-(-(-cols // LANES) * -(-rows // LANES)) // CORES) * LANES
    expect_at_most(int(counters.sticks_written.max()), share, "sticks written by one core")


# ---- 7: place restickifies --------------------------------------------------------------------


def price(chosen: list[int], comes: list[int], costs: list[int], stream_cost: int) -> int:
    path = [0, *chosen, 0]
    turns = sum(a != b for a, b in itertools.pairwise(path))
    steps = zip(chosen, comes, costs, strict=True)
    return turns * stream_cost + sum(cost for own, other, cost in steps if own != other)


def least(comes: list[int], costs: list[int], stream_cost: int) -> int:
    """The least price, by the costs that remain after each addition."""
    rest = [0, stream_cost]
    for other, cost in reversed(list(zip(comes, costs, strict=True))):
        here = [rest[own] + cost * (own != other) for own in (0, 1)]
        rest = [min(here[own], here[1 - own] + stream_cost) for own in (0, 1)]
    return rest[0]


def expect_cheap(impl: Any, comes: list[int], costs: list[int], stream_cost: int) -> None:
    arguments = list(comes), list(costs), stream_cost
    found = impl.cheapest_layouts(*arguments)
    shown = f"comes {comes}, costs {costs}, stream_cost {stream_cost}"
    what = shown if len(comes) < 9 else f"{len(comes)} additions"
    if not isinstance(found, list) or [*map(type, found)] != [int] * len(comes):
        raise WrongError(f"{what}: expected a list of {len(comes)} layouts, got {found!r:.60}")
    expect_equal(set(found) <= {0, 1}, True, f"{what}: are all layouts 0 or 1")
    best = least(comes, costs, stream_cost)
    total = price(found, comes, costs, stream_cost)
    expect_at_most(total, best, f"{what}: {found if len(comes) < 9 else 'your'} cost in ns")


@cheapest_layouts(
    hints=[
        "Sometimes it is cheaper to convert what comes, sometimes the stream. And the stream has "
        "to go back to layout 0 in the end.",
        "Work out both for one addition: 0 costs costs[0] if comes[0] is 1; 1 costs twice "
        "stream_cost, there and back, and costs[0] if comes[0] is 0.",
    ]
)
def test_layouts_of_one_addition(impl: Any, rng: Any) -> None:
    """One addition, where either can be best."""
    for _ in range(6):
        cost = int(rng.integers(2000, 9000))
        for stream_cost in (cost // 2 - 100, cost // 2 + 100, cost + 100):
            expect_cheap(impl, [1], [cost], stream_cost)
        expect_cheap(impl, [0], [cost], cost // 3)


@cheapest_layouts(
    hints=[
        "What is cheapest for this addition may be dear for the next: look ahead.",
        "Six tensors that all come in layout 1: the stream is converted twice, instead of six "
        "tensors once each.",
    ]
)
def test_layouts_of_branches(impl: Any, rng: Any) -> None:
    """Several additions that all ask for the same."""
    for count in (2, 3, 6, 8):
        costs = [int(c) for c in rng.integers(9000, 12000, count)]
        expect_cheap(impl, [1] * count, costs, int(rng.integers(9100, 12000)))


@cheapest_layouts(
    hints=[
        "In a long chain the stream may be worth converting several times; trying all 2 ** n "
        "choices takes forever.",
        "Keep two numbers after each addition: the least cost so far if the stream is in layout 0, "
        "and if it is in layout 1; and remember the choices that led there.",
    ]
)
def test_layouts_of_a_long_chain(impl: Any, rng: Any) -> None:
    """Hundreds of additions, in runs of either layout."""
    for _ in range(3):
        runs = rng.integers(1, 9, 60)
        comes = [int(i % 2) for i, run in enumerate(runs) for _ in range(run)]
        costs = [int(c) for c in rng.integers(1000, 9000, len(comes))]
        expect_cheap(impl, comes, costs, int(rng.integers(8000, 12000)))
