"""Which tiles exchange data."""

from __future__ import annotations

import pytest

from spyrelab.emulator.chunks import chunk_slices
from spyrelab.emulator.errors import LoweringError
from spyrelab.emulator.groups import Delivery, Exchange, exchanges, resolve
from spyrelab.ktir import parse

TEXT = """
func.func @f(%v: tensor<2x8xf16>) attributes {{grid = [{tiles}]}} {{
  %zero = arith.constant dense<0.0> : tensor<2x8xf16>
  %f = ktdp.inter_tile_produce producer_tiles_per_group = {producers}
      -> !ktdp.tile_future<(tensor<2x8xf16>), groups = {groups}> {{
  ^bb0(%g: index):
    ktdp.yield_partial %v : tensor<2x8xf16>
  }}
  {consume}
  return
}}
"""
CONSUME = """%r = ktdp.inter_tile_{kind}(%f) consumer_tiles_per_group = {consumers}{dependency}
      : !ktdp.tile_future<(tensor<2x8xf16>), groups = {groups}> -> tensor<2x8xf16>"""
PAIRS = "affine_set<(i)[g] : (i - 2 * g >= 0, -i + 2 * g + 1 >= 0)>"
LEADERS = "affine_set<(i)[g] : (i - 2 * g == 0)>"
TWO = "affine_set<(g) : (g >= 0, -g + 1 >= 0)>"


def resolved(
    producers: str,
    consumers: str,
    groups: str = TWO,
    dependency: str = "",
    tiles: int = 4,
    kind: str = "consume",
) -> Exchange:
    dependency = dependency and f", producer_dependency_per_consumer = {dependency}"
    consume = CONSUME.format(kind=kind, consumers=consumers, dependency=dependency, groups=groups)
    text = TEXT.format(tiles=tiles, producers=producers, groups=groups, consume=consume)
    function = parse(text).function()
    ((produce, consumer),) = exchanges(function).items()
    return resolve(produce, consumer, function.grid)


def test_broadcast_from_leaders() -> None:
    exchange = resolved(LEADERS, PAIRS)
    assert exchange.producers == {0: (0,), 1: (2,)}
    assert exchange.consumers == {
        0: Delivery(0, (0,), 0),
        1: Delivery(0, (0,), 1),
        2: Delivery(1, (2,), 0),
        3: Delivery(1, (2,), 1),
    }
    assert exchange.group_of(2) == 1
    assert exchange.group_of(3) is None
    assert exchange.takers(2) == (2, 3)
    assert exchange.takers(1) == ()
    assert exchange.group_size(0) == 2


def test_dependencies_may_use_consumer_and_group() -> None:
    swap = "affine_set<(p)[c, g] : (p + c - 4 * g - 1 == 0)>"
    exchange = resolved(PAIRS, PAIRS, dependency=swap)
    assert {c: d.producers for c, d in exchange.consumers.items()} == {
        0: (1,),
        1: (0,),
        2: (3,),
        3: (2,),
    }


def test_sets_beyond_the_grid_are_cut() -> None:
    assert resolved(LEADERS, LEADERS, tiles=2).producers == {0: (0,), 1: ()}


def test_groups_need_not_be_a_box() -> None:
    even = "affine_set<(g) : (g mod 2 == 0, g >= 0, -g + 3 >= 0)>"
    same = "affine_set<(i)[g] : (i - g == 0)>"
    assert resolved(same, same, even).producers == {0: (0,), 2: (2,)}


def test_overlapping_groups_are_refused() -> None:
    overlap = "affine_set<(i)[g] : (i - g >= 0, -i + g + 1 >= 0)>"
    with pytest.raises(LoweringError, match="tile 1 into group 0 and group 1"):
        resolved(overlap, LEADERS)


@pytest.mark.parametrize(("producers", "count"), [(PAIRS, 2), ("affine_set<(i)[g] : (i == 9)>", 0)])
def test_copy_delivery_needs_exactly_one_producer(producers: str, count: int) -> None:
    with pytest.raises(LoweringError, match=f"has {count} producers .* exactly one"):
        resolved(producers, LEADERS)


def test_a_future_that_nobody_takes_is_refused() -> None:
    text = TEXT.format(tiles=4, producers=PAIRS, groups=TWO, consume="")
    with pytest.raises(LoweringError, match="nobody takes this future"):
        exchanges(parse(text).function())


def test_chunks_are_numbered_row_major() -> None:
    assert chunk_slices((4, 6), (2, 3), 3) == (slice(2, 4), slice(0, 2))
    assert chunk_slices((4, 6), (2, 3), 2) == (slice(0, 2), slice(4, 6))
    assert chunk_slices((4, 6), (1, 1), 0) == (slice(0, 4), slice(0, 6))
