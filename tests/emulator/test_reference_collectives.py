"""Collectives under the reference interpreter: who gets what, ring bytes, waiting."""

from __future__ import annotations

import numpy as np
import pytest

from spyrelab.emulator.errors import DeadlockError, LoweringError
from tests.emulator.reference_launch import launch

FUTURE = "!ktdp.tile_future<({partial}), groups = affine_set<(g) : (g == 0)>>"
HEAD = """
#everyone = affine_set<(i)[g] : (i >= 0, -i + 3 >= 0)>
#first = affine_set<(i)[g] : (i == 0)>
#last_two = affine_set<(i)[g] : (i - 2 >= 0, -i + 3 >= 0)>
#next = affine_set<(p)[c] : ((p - c + 3) mod 4 == 0)>
#row = affine_set<(r, c) : (r == 0, c >= 0, -c + 7 >= 0)>
#rc = affine_map<(r, c) -> (r, c)>
"""
BODY = """
func.func @exchange(%x_ptr: index, %y_ptr: index) attributes {{grid = [4]}} {{
  %core = ktdp.get_compute_tile_id : index
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %zero = arith.constant dense<0.0> : tensor<{wide}xf32>
  %x = ktdp.construct_memory_view %x_ptr, sizes: [4, {n}], strides: [{n}, 1] {{
    coordinate_set = affine_set<(r, c) : (r >= 0, -r + 3 >= 0, c >= 0, -c + {n} - 1 >= 0)>,
    memory_space = #ktdp.memory_space<global>}} : memref<4x{n}xf32>
  %x_t = ktdp.construct_access_tile %x[%core, %c0] {{
    access_tile_set = affine_set<(r, c) : (r == 0, c >= 0, -c + {n} - 1 >= 0)>,
    access_tile_order = #rc}} : memref<4x{n}xf32> -> !ktdp.access_tile<1x{n}xindex>
  %own = ktdp.load %x_t : !ktdp.access_tile<1x{n}xindex> -> tensor<1x{n}xf32>
  {middle}
  %y = ktdp.construct_memory_view %y_ptr, sizes: [4, {h}, {w}], strides: [{hw}, {w}, 1] {{
    coordinate_set = affine_set<(t, r, c) : (t >= 0, -t + 3 >= 0, r >= 0, -r + {h} - 1 >= 0,
                                             c >= 0, -c + {w} - 1 >= 0)>,
    memory_space = #ktdp.memory_space<global>}} : memref<4x{h}x{w}xf32>
  %y_t = ktdp.construct_access_tile %y[%core, %c0, %c0] {{
    access_tile_set = affine_set<(t, r, c) : (t == 0, r >= 0, -r + {h} - 1 >= 0,
                                              c >= 0, -c + {w} - 1 >= 0)>,
    access_tile_order = affine_map<(t, r, c) -> (t, r, c)>}}
    : memref<4x{h}x{w}xf32> -> !ktdp.access_tile<1x{h}x{w}xindex>
  %out = tensor.expand_shape %got [[0, 1], [2]] output_shape [1, {h}, {w}]
    : tensor<{h}x{w}xf32> into tensor<1x{h}x{w}xf32>
  ktdp.store %out, %y_t : tensor<1x{h}x{w}xf32>, !ktdp.access_tile<1x{h}x{w}xindex>
  return
}}
"""
PRODUCE = """%f = ktdp.inter_tile_produce producer_tiles_per_group = #everyone -> {future} {{
  ^bb0(%g: index):
    ktdp.yield_partial %own : {partial}
  }}
  """


def exchange(middle: str, n: int, result: tuple[int, int], partial: str | None = None):
    """Run ``middle`` on four cores with rows of ``n``; returns x, the results and the counters."""
    partial = partial or f"tensor<1x{n}xf32>"
    height, width = result
    future = FUTURE.format(partial=partial)
    names = {"future": future, "partial": partial, "result": f"tensor<{height}x{width}xf32>"}
    text = HEAD + BODY.format(
        n=n,
        h=height,
        w=width,
        hw=height * width,
        wide=f"1x{n}",
        middle=((PRODUCE if "%f)" in middle else "") + middle).format(**names),
    )
    x = np.arange(4 * n, dtype=np.float32).reshape(4, n)
    y = np.full((4, height, width), -1, np.float32)
    outputs, counters = launch(text, x_ptr=x, y_ptr=y)
    return x, outputs["y_ptr"], counters


def test_gather_stacks_partials_in_ascending_order() -> None:
    x, y, counters = exchange(
        "%got = ktdp.inter_tile_gather(%f) consumer_tiles_per_group = #last_two, "
        "concat_dimensions = [0] : {future} -> {result}",
        8,
        (4, 8),
    )
    np.testing.assert_array_equal(y[2], x)
    np.testing.assert_array_equal(y[3], x)
    assert not y[:2].any()
    assert counters.ring.tolist() == [0, 0, 3 * 32, 3 * 32]


def test_gather_along_two_dimensions_is_row_major() -> None:
    x, y, _ = exchange(
        "%got = ktdp.inter_tile_gather(%f) consumer_tiles_per_group = #first, "
        "concat_dimensions = [0, 1] : {future} -> {result}",
        8,
        (2, 16),
    )
    np.testing.assert_array_equal(y[0], x.reshape(2, 16))


def test_scatter_hands_out_chunks_by_rank() -> None:
    x, y, counters = exchange(
        "%got = ktdp.inter_tile_scatter(%f) consumer_tiles_per_group = #everyone, "
        "producer_dependency_per_consumer = affine_set<(p)[c] : (p - 1 == 0)>, "
        "scatter_dimensions = [1] : {future} -> {result}",
        8,
        (1, 2),
    )
    np.testing.assert_array_equal(y[:, 0], x[1].reshape(4, 2))
    assert counters.ring.tolist() == [8, 0, 8, 8]


def test_scatter_ranks_count_consumers_only() -> None:
    x, y, _ = exchange(
        "%got = ktdp.inter_tile_scatter(%f) consumer_tiles_per_group = #last_two, "
        "producer_dependency_per_consumer = affine_set<(p)[c] : (p == 0)>, "
        "scatter_dimensions = [1] : {future} -> {result}",
        8,
        (1, 4),
    )
    np.testing.assert_array_equal(y[2:, 0], x[0].reshape(2, 4))
    assert not y[:2].any()


def test_reduce_scatter_folds_then_cuts() -> None:
    x, y, counters = exchange(
        "%got = ktdp.inter_tile_reduce_scatter(%f) consumer_tiles_per_group = #everyone, "
        "scatter_dimensions = [1], identity(%zero : {partial}) : {future} -> {result} {{\n"
        "  ^bb0(%a: {partial}, %b: {partial}):\n"
        "    %s = arith.addf %a, %b : {partial}\n"
        "    ktdp.yield_reduced %s : {partial}\n"
        "  }}",
        8,
        (1, 2),
    )
    np.testing.assert_array_equal(y[:, 0], x.sum(axis=0).reshape(4, 2))
    assert counters.ring.tolist() == [3 * 8] * 4
    assert counters.ops["sfp"].tolist() == [4 * 8] * 4


def test_all_to_all_exchanges_chunks() -> None:
    x, y, counters = exchange(
        "%got = ktdp.inter_tile_all_to_all(%f) consumer_tiles_per_group = #everyone, "
        "split_dimensions = [1], concat_dimensions = [0] : {future} -> {result}",
        8,
        (4, 2),
    )
    for consumer in range(4):
        np.testing.assert_array_equal(y[consumer], x[:, 2 * consumer : 2 * consumer + 2])
    assert counters.ring.tolist() == [3 * 8] * 4


def test_all_to_all_may_split_and_concatenate_one_dimension() -> None:
    x, y, _ = exchange(
        "%got = ktdp.inter_tile_all_to_all(%f) consumer_tiles_per_group = #everyone, "
        "split_dimensions = [1], concat_dimensions = [1] : {future} -> {result}",
        8,
        (1, 8),
    )
    for consumer in range(4):
        np.testing.assert_array_equal(
            y[consumer, 0], x[:, 2 * consumer : 2 * consumer + 2].reshape(-1)
        )


def test_shapes_that_do_not_fit_are_refused() -> None:
    with pytest.raises(LoweringError, match="cannot become"):
        exchange(
            "%got = ktdp.inter_tile_gather(%f) consumer_tiles_per_group = #everyone, "
            "concat_dimensions = [0] : {future} -> {result}",
            8,
            (3, 8),
        )


def test_copy_delivery_needs_one_producer() -> None:
    with pytest.raises(LoweringError, match="4 producers"):
        exchange(
            "%got = ktdp.inter_tile_consume(%f) consumer_tiles_per_group = #everyone "
            ": {future} -> {result}",
            8,
            (1, 8),
        )


ROTATE = """
  %got = scf.for %i = %c0 to %c3 step %c1 iter_args(%held = %own) -> ({partial}) {{
    %fut = ktdp.inter_tile_produce producer_tiles_per_group = #everyone -> {future} {{
    ^bb0(%h: index):
      ktdp.yield_partial %held : {partial}
    }}
    %n = ktdp.inter_tile_consume(%fut) consumer_tiles_per_group = #everyone,
        producer_dependency_per_consumer = #next : {future} -> {partial}
    scf.yield %n : {partial}
  }}
"""


def test_a_future_in_a_loop_is_published_again_and_again() -> None:
    x, y, counters = exchange(ROTATE, 8, (1, 8))
    np.testing.assert_array_equal(y[:, 0], np.roll(x, -3, axis=0))
    assert counters.ring.tolist() == [3 * 32] * 4


def test_deadlock_names_every_waiting_core() -> None:
    alone = """
      %is_first = arith.cmpi eq, %core, %c0 : index
      %got = scf.if %is_first -> ({partial}) {{
        %fut = ktdp.inter_tile_produce producer_tiles_per_group = #everyone -> {future} {{
        ^bb0(%h: index):
          ktdp.yield_partial %own : {partial}
        }}
        %n = ktdp.inter_tile_consume(%fut) consumer_tiles_per_group = #everyone,
            producer_dependency_per_consumer = #next : {future} -> {partial}
        scf.yield %n : {partial}
      }} else {{
        scf.yield %own : {partial}
      }}
    """
    with pytest.raises(DeadlockError, match=r"core 0: .*inter_tile_consume.* waits for") as caught:
        exchange(alone, 8, (1, 8))
    (waiting,) = caught.value.waiting
    assert (waiting.core, waiting.operation, waiting.tiles) == (0, "ktdp.inter_tile_consume", (1,))
    assert waiting.position is not None
