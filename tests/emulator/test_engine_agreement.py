"""Programs on which the engines once differed, each as short as it gets."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from spyrelab import emulator
from spyrelab.emulator import AccessError, UnsupportedError
from spyrelab.emulator.counters import Column
from spyrelab.errors import SpyreLabError
from spyrelab.ktir import parse


def load(name: str, shape: str, element: str, symbols: str = "") -> str:
    """``%name`` from all of the array argument ``%name_p``; ``?`` extents are ``%n``, ``%m``."""
    extents = shape.split("x")
    numbers = iter(symbols.split())
    sizes = [next(numbers) if e == "?" else e for e in extents]
    strides = ["1"] * len(sizes) if len(sizes) == 1 else ["64", "1"]
    names = [f"d{i}" for i in range(len(sizes))]
    lasts, head = [], []
    for size in sizes:
        if size.startswith("%"):
            head.append(f"s{len(head)}")
            lasts.append(f"{head[-1]} - 1")
        else:
            lasts.append(str(int(size) - 1))
    listed = f"[{', '.join(head)}]" if head else ""
    bounds = ", ".join(f"{d} >= 0, -{d} + {e} >= 0" for d, e in zip(names, lasts, strict=True))
    points = f"affine_set<({', '.join(names)}){listed} : ({bounds})>"
    given = f" symbols({', '.join(symbols.split())})" if symbols else ""
    kind = f"!ktdp.access_tile<{shape}xindex>"
    return (
        f"%{name}_v = ktdp.construct_memory_view %{name}_p, sizes: [{', '.join(sizes)}], strides: "
        f"[{', '.join(strides)}] {{coordinate_set = {points}, memory_space = "
        f"#ktdp.memory_space<global>}} : memref<{shape}x{element}>\n"
        f"%{name}_t = ktdp.construct_access_tile %{name}_v[{', '.join('0' * len(sizes))}]{given} "
        f"{{access_tile_set = {points}}} : memref<{shape}x{element}> -> {kind}\n"
        f"%{name} = ktdp.load %{name}_t : {kind} -> tensor<{shape}x{element}>\n"
    )


def store(value: str, to: str, shape: str, element: str) -> str:
    """Into the view and tile that ``load`` made for ``%to``."""
    types = f"tensor<{shape}x{element}>, !ktdp.access_tile<{shape}xindex>"
    return f"ktdp.store %{value}, %{to}_t : {types}\n"


def outcomes(body: str, memory: Any = None, **arguments: Any) -> list[emulator.Run]:
    """The runs of all engines; bits and counters are equal."""
    kinds = ", ".join(f"%{name}: index" for name in arguments)
    module = parse(f"func.func @f({kinds}) {{\n{body}return\n}}\n")
    runs = [
        emulator.run(module, arguments, memory=memory, engine=engine, exact=True)
        for engine in ("reference", "vm", "null")
    ]
    wanted, found, null = runs
    for key, array in wanted.outputs.items():
        assert array.tobytes() == found.outputs[key].tobytes(), key
    for column in Column:
        if column is not Column.LX_PEAK:
            assert np.array_equal(wanted.counters.column(column), found.counters.column(column))
    assert np.array_equal(found.counters.matrix, null.counters.matrix)
    return runs


def ramp(*shape: int, dtype: Any = np.float32) -> np.ndarray:
    return (np.arange(np.prod(shape)).reshape(shape) + 1).astype(dtype)


def wide(rows: int, columns: int, dtype: Any = np.float32) -> np.ndarray:
    """A matrix in rows of 64."""
    array = np.zeros((rows, 64), dtype)
    array[:, :columns] = ramp(rows, columns)
    return array


GENERIC = """
%y2 = linalg.generic {{indexing_maps = [affine_map<{ins}>, affine_map<{outs}>],
  iterator_types = [{kinds}]}} ins(%x : tensor<3x5xf32>) outs(%y : tensor<{result}xf32>) {{
^bb0(%a: f32, %c: f32):
  %i = linalg.index {loop} : index
  %j = arith.index_cast %i : index to i32
  %k = arith.sitofp %j : i32 to f32
  %p = arith.mulf %a, %k : f32
  %s = arith.addf %c, %p : f32
  linalg.yield %s : f32
}} -> tensor<{result}xf32>
"""


@pytest.mark.parametrize("loop", [0, 1])
def test_index_of_a_loop_behind_a_reduction(loop: int) -> None:
    body = load("x", "3x5", "f32") + load("y", "5", "f32") + GENERIC.format(
        ins="(r, c) -> (r, c)", outs="(r, c) -> (c)", kinds='"reduction", "parallel"',
        result="5", loop=loop,
    ) + store("y2", "y", "5", "f32")  # fmt: skip
    run = outcomes(body, x_p=wide(3, 5), y_p=np.zeros(5, np.float32))[0]
    weights = np.indices((3, 5))[loop]
    assert run.outputs["y_p"].tolist() == (ramp(3, 5) * weights).sum(axis=0).tolist()


def test_generic_with_reductions_only_is_counted() -> None:
    body = load("x", "3x5", "f32") + load("y0", "1", "f32") + (
        "%y = arith.constant dense<0.0> : tensor<f32>\n"
    ) + GENERIC.format(
        ins="(r, c) -> (r, c)", outs="(r, c) -> ()", kinds='"reduction", "reduction"',
        result="", loop=1,
    ).replace("tensor<xf32>", "tensor<f32>") + (
        "%y1 = tensor.expand_shape %y2 [] output_shape [1] : tensor<f32> into tensor<1xf32>\n"
    ) + store("y1", "y0", "1", "f32")  # fmt: skip
    run = outcomes(body, x_p=wide(3, 5), y0_p=np.zeros(1, np.float32))[0]
    assert run.counters.ops["sfp"].tolist() == [4 * 15]


TWO = """
%r, %s = linalg.{head} {{
{arguments}
  %d = arith.subf %c, %a : f32
  linalg.yield %e, %d : f32, f32
}}{tail}
"""


def test_yielded_accumulators_change_places() -> None:
    operands = (
        "ins(%x, %x : tensor<3x5xf32>, tensor<3x5xf32>) outs(%y, %z : tensor<5xf32>, tensor<5xf32>)"
    )
    loads = load("x", "3x5", "f32") + load("y", "5", "f32") + load("z", "5", "f32")
    stores = store("r", "y", "5", "f32") + store("s", "z", "5", "f32")
    rc, c = "affine_map<(r, c) -> (r, c)>", "affine_map<(r, c) -> (c)>"
    generic = TWO.format(
        head=f'generic {{indexing_maps = [{rc}, {rc}, {c}, {c}], iterator_types = ["reduction", '
        f'"parallel"]}} {operands}',
        arguments="^bb0(%a: f32, %b: f32, %c: f32, %e: f32):",
        tail=" -> (tensor<5xf32>, tensor<5xf32>)",
    )
    reduce = TWO.format(
        head=f"reduce {operands} dimensions = [0] (%a: f32, %b: f32, %c: f32, %e: f32)",
        arguments="", tail="",
    )  # fmt: skip
    for text in (generic, reduce):
        y, z = np.ones(5, np.float32), ramp(5)
        outcomes(loads + text + stores, x_p=wide(3, 5), y_p=y, z_p=z)


def test_fill_and_named_operations_round_to_the_output_type() -> None:
    body = load("x", "5", "f32") + load("y", "5", "f16") + load("z", "5", "f16") + (
        "%v = arith.constant 0.1 : f32\n"
        "%f = linalg.fill ins(%v : f32) outs(%y : tensor<5xf16>) -> tensor<5xf16>\n"
        "%s = linalg.add ins(%x, %x : tensor<5xf32>, tensor<5xf32>) outs(%y : tensor<5xf16>) "
        "-> tensor<5xf16>\n"
    ) + store("f", "y", "5", "f16") + store("s", "z", "5", "f16")  # fmt: skip
    x = np.full(5, 0.1, np.float32)
    y, z = np.zeros(5, np.float16), np.zeros(5, np.float16)
    run = outcomes(body, x_p=x, y_p=y, z_p=z)[1]
    assert run.outputs["y_p"].tolist() == [np.float16(0.1)] * 5
    assert run.outputs["z_p"].tolist() == [2 * np.float16(0.1)] * 5


@pytest.mark.parametrize("n", [0, 1, 4])
def test_dynamic_slices_may_be_empty(n: int) -> None:
    body = load("x", "5", "f16") + load("y", "5", "f16") + (
        "%at = arith.subi %four, %n : index\n"
        "%s = tensor.extract_slice %x[%at] [%n] [1] : tensor<5xf16> to tensor<?xf16>\n"
        "%r = tensor.insert_slice %s into %y[0] [%n] [1] : tensor<?xf16> into tensor<5xf16>\n"
    ) + store("r", "y", "5", "f16")  # fmt: skip
    x, y = ramp(5, dtype=np.float16), np.zeros(5, np.float16)
    run = outcomes(body, x_p=x, y_p=y, n=n, four=4)[1]
    assert run.outputs["y_p"].tolist() == [*x[4 - n : 4], *[0] * (5 - n)]


@pytest.mark.parametrize("n", [0, 3])
@pytest.mark.parametrize("combiner", ["addf", "maxnumf", "mulf"])
def test_nothing_to_reduce_leaves_outs(n: int, combiner: str) -> None:
    body = load("x", "?x5", "f32", "%n") + load("y", "5", "f32") + (
        f"%r = linalg.reduce {{ arith.{combiner} }} ins(%x : tensor<?x5xf32>) "
        "outs(%y : tensor<5xf32>) dimensions = [0]\n"
    ) + store("r", "y", "5", "f32")  # fmt: skip
    y = np.array([-0.0, np.nan, 1, np.inf, 0], np.float32)
    run = outcomes(body, x_p=wide(3, 5), y_p=y, n=n)[1]
    if n == 0:
        np.testing.assert_array_equal(np.signbit(run.outputs["y_p"]), np.signbit(y))
        np.testing.assert_array_equal(run.outputs["y_p"], y)


def test_reduction_over_no_dimension() -> None:
    body = load("x", "5", "f16") + load("y", "5", "f16") + (
        "%r = linalg.reduce { arith.addf } ins(%x : tensor<5xf16>) outs(%y : tensor<5xf16>) "
        "dimensions = []\n"
    ) + store("r", "y", "5", "f16")  # fmt: skip
    x = ramp(5, dtype=np.float16)
    assert outcomes(body, x_p=x, y_p=x)[1].outputs["y_p"].tolist() == (x + x).tolist()


def _part(name: str, low: int, high: int) -> str:
    return (
        f"%{name} = ktdp.construct_memory_view %{name}_p, sizes: [4, {high - low}], strides: "
        f"[64, 1] {{coordinate_set = affine_set<(r, c) : (r >= 0, -r + 3 >= 0, c - {low} >= 0, "
        f"-c + {high - 1} >= 0)>, memory_space = #ktdp.memory_space<global>}} "
        f": memref<4x{high - low}xf16>\n"
    )


@pytest.mark.parametrize("order", ["(r, c)", "(c, r)"])
def test_sticks_of_a_distributed_view_follow_the_tile(order: str) -> None:
    shape = "4x8" if order == "(r, c)" else "8x4"
    body = _part("a", 0, 3) + _part("b", 3, 8) + (
        "%v = ktdp.construct_distributed_memory_view (%b, %a : memref<4x5xf16>, memref<4x3xf16>) "
        ": memref<4x8xf16>\n"
        "%t = ktdp.construct_access_tile %v[0, 0] {access_tile_set = affine_set<(r, c) : (r >= 0, "
        f"-r + 3 >= 0, c >= 0, -c + 7 >= 0)>, access_tile_order = affine_map<(r, c) -> {order}>}} "
        f": memref<4x8xf16> -> !ktdp.access_tile<{shape}xindex>\n"
        f"%x = ktdp.load %t : !ktdp.access_tile<{shape}xindex> -> tensor<{shape}xf16>\n"
        f"ktdp.store %x, %t : tensor<{shape}xf16>, !ktdp.access_tile<{shape}xindex>\n"
    )  # fmt: skip
    a, b = np.zeros((4, 64), np.float16), np.ones((4, 64), np.float16)
    run = outcomes(body, a_p=a, b_p=b)[0]
    assert run.counters.sticks_read.tolist() == [8 if order == "(r, c)" else 8 * 4]


def test_index_of_some_variables_in_an_order_of_its_own() -> None:
    body = load("x", "4x8", "f16") + load("i", "8", "i64") + load("y", "4x8", "f16") + (
        "%g = ktdp.construct_indirect_access_tile intermediate_variables(%r, %c) "
        "%x_v[(%r), ind(%i_v[%c])] {variables_space_set = affine_set<(r, c) : (r >= 0, -r + 3 >= "
        "0, c >= 0, -c + 7 >= 0)>, variables_space_order = affine_map<(r, c) -> (c mod 3, -r)>} "
        ": memref<4x8xf16>, memref<8xi64> -> !ktdp.access_tile<4x8xindex>\n"
        "%z = ktdp.load %g : !ktdp.access_tile<4x8xindex> -> tensor<4x8xf16>\n"
    ) + store("z", "y", "4x8", "f16")  # fmt: skip
    i = np.array([7, 1, 3, 3, 0, 6, 2, 5])
    outcomes(body, x_p=wide(4, 8, np.float16), i_p=i, y_p=wide(4, 8, np.float16))


def test_a_set_may_have_fewer_symbols_than_the_view_has_sizes() -> None:
    body = load("y", "4", "f16") + (
        "%v = ktdp.construct_memory_view %x_p, sizes: [%n], strides: [1] {coordinate_set = "
        "affine_set<(d) : (d >= 0, -d + 3 >= 0, d mod 3 == 0)>, "
        "memory_space = #ktdp.memory_space<global>} : memref<?xf16>\n"
        "%t = ktdp.construct_access_tile %v[0] {access_tile_set = affine_set<(d) : (d >= 0, "
        "-d + 3 >= 0)>} : memref<?xf16> -> !ktdp.access_tile<4xindex>\n"
        "%x = ktdp.load %t : !ktdp.access_tile<4xindex> -> tensor<4xf16>\n"
    ) + store("x", "y", "4", "f16")  # fmt: skip
    x = ramp(4, dtype=np.float16)
    assert outcomes(body, x_p=x, y_p=x, n=4)[1].outputs["y_p"].tolist() == [1, 0, 0, 4]


SWAP = """
%zero = arith.constant 0 : index
%one = arith.constant 1 : index
%a, %b, %w, %k = scf.for %i = %zero to %trips step %one
    iter_args(%p = %x, %q = %y, %h = %n, %last = %zero)
    -> (tensor<?xf16>, tensor<?xf16>, index, index) {
  %d = tensor.dim %q, %zero : tensor<?xf16>
  scf.yield %q, %p, %d, %h : tensor<?xf16>, tensor<?xf16>, index, index
}
%da = tensor.dim %a, %zero : tensor<?xf16>
%all = tensor.from_elements %da, %w, %k : tensor<3xindex>
%z0 = arith.constant dense<0.0> : tensor<8xf16>
%z1 = tensor.insert_slice %a into %z0[0] [%da] [1] : tensor<?xf16> into tensor<8xf16>
"""


@pytest.mark.parametrize("trips", [0, 1, 2, 3])
def test_carried_tiles_of_different_sizes_change_places(trips: int) -> None:
    body = (
        load("x", "?", "f16", "%n") + load("y", "?", "f16", "%m") + load("z", "8", "f16")
        + load("s", "3", "index") + SWAP + store("z1", "z", "8", "f16")
        + store("all", "s", "3", "index")
    )  # fmt: skip
    x, y = ramp(3, dtype=np.float16), -ramp(5, dtype=np.float16)
    z, s = np.zeros(8, np.float16), np.zeros(3, np.int64)
    run = outcomes(body, x_p=x, y_p=y, z_p=z, s_p=s, n=3, m=5, trips=trips)[1]
    chosen = [x, y][trips % 2]
    assert run.outputs["z_p"].tolist() == [*chosen, *[0] * (8 - len(chosen))]


MISMATCHES = {
    "load": "%r = ktdp.load %x_t : !ktdp.access_tile<?xindex> -> tensor<4xf16>\n",
    "store": "%c = arith.constant dense<1.0> : tensor<4xf16>\n"
    "ktdp.store %c, %x_t : tensor<4xf16>, !ktdp.access_tile<?xindex>\n",
    "tile": "%t = ktdp.construct_access_tile %x_v[0] symbols(%n) {access_tile_set = "
    "affine_set<(d)[s] : (d >= 0, -d + s - 1 >= 0)>} : memref<?xf16> -> "
    "!ktdp.access_tile<4xindex>\n"
    "%r = ktdp.load %t : !ktdp.access_tile<4xindex> -> tensor<4xf16>\n",
    "elementwise": "%r = arith.addf %x, %y : tensor<?xf16>\n",
    "insert_slice": "%c = arith.constant dense<0.0> : tensor<64xf16>\n"
    "%r = tensor.insert_slice %x into %c[0] [%m] [1] : tensor<?xf16> into tensor<64xf16>\n",
    "dot": "%c = arith.constant dense<0.0> : tensor<f16>\n%r = linalg.dot ins(%x, %y : "
    "tensor<?xf16>, tensor<?xf16>) outs(%c : tensor<f16>) -> tensor<f16>\n",
    "generic": "%r = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, "
    'affine_map<(i) -> (i + 2)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]} '
    "ins(%x, %y : tensor<?xf16>, tensor<?xf16>) outs(%x : tensor<?xf16>) {\n"
    "^bb0(%a: f16, %b: f16, %c: f16):\n linalg.yield %b : f16\n} -> tensor<?xf16>\n",
}


@pytest.mark.parametrize("name", MISMATCHES)
@pytest.mark.parametrize("engine", ["reference", "vm"])
def test_sizes_that_do_not_fit_at_run_time(name: str, engine: str) -> None:
    loads = load("x", "?", "f16", "%n") + load("y", "?", "f16", "%m")
    module = parse(
        "func.func @f(%x_p: index, %y_p: index, %n: index, %m: index) {\n"
        f"{loads}{MISMATCHES[name]}return\n}}\n"
    )
    arrays = {name: np.ones(64, np.float16) for name in ("x_p", "y_p")}
    with pytest.raises(SpyreLabError):
        emulator.run(module, {**arrays, "n": 64, "m": 60}, engine=engine)


def test_subscripts_of_a_map_must_stay_inside() -> None:
    body = load("x", "4", "f16") + load("y", "4", "f16") + (
        "%r = linalg.generic {indexing_maps = [affine_map<(i) -> (-i)>, affine_map<(i) -> (i)>], "
        'iterator_types = ["parallel"]} ins(%x : tensor<4xf16>) outs(%y : tensor<4xf16>) {\n'
        "^bb0(%a: f16, %b: f16):\n linalg.yield %a : f16\n} -> tensor<4xf16>\n"
    )  # fmt: skip
    module = parse(f"func.func @f(%x_p: index, %y_p: index) {{\n{body}return\n}}\n")
    x = ramp(4, dtype=np.float16)
    for engine in ("reference", "vm"):
        with pytest.raises(SpyreLabError, match="index"):
            emulator.run(module, {"x_p": x, "y_p": x}, engine=engine)


def test_tiles_of_too_many_dimensions_are_refused() -> None:
    kind = f"tensor<{'2x' * 9}f16>"
    body = f"%c = arith.constant dense<1.0> : {kind}\n%e = tensor.empty() : {kind}\n" + (
        f"%t = linalg.transpose ins(%c : {kind}) outs(%e : {kind}) "
        "permutation = [8, 7, 6, 5, 4, 3, 2, 1, 0]\n"
    )
    with pytest.raises(UnsupportedError, match="at most 8 dimensions, not 9"):
        emulator.lower(parse(f"func.func @f() {{\n{body}return\n}}\n"))


EMPTY = {
    "matmul": "%e = tensor.empty() : tensor<3x0xf16>\n%f = tensor.empty() : tensor<0x4xf16>\n"
    "%r = linalg.matmul ins(%e, %f : tensor<3x0xf16>, tensor<0x4xf16>) outs(%y : tensor<3x4xf16>) "
    "-> tensor<3x4xf16>\n",
    "reduce": "%e = tensor.empty() : tensor<3x0x4xf16>\n%r = linalg.reduce { arith.mulf } "
    "ins(%e : tensor<3x0x4xf16>) outs(%y : tensor<3x4xf16>) dimensions = [1]\n",
    "generic": "%e = tensor.empty() : tensor<3x0xf16>\n%r = linalg.generic {indexing_maps = "
    "[affine_map<(i, j, k) -> (i, k)>, affine_map<(i, j, k) -> (i, j)>], iterator_types = "
    '["parallel", "parallel", "reduction"]} ins(%e : tensor<3x0xf16>) outs(%y : tensor<3x4xf16>) '
    "{\n^bb0(%a: f16, %b: f16):\n %c = arith.mulf %a, %b : f16\n linalg.yield %c : f16\n} "
    "-> tensor<3x4xf16>\n",
    "concat": "%e = tensor.empty() : tensor<3x0xf16>\n%r = tensor.concat dim(1) %e, %y, %e "
    ": (tensor<3x0xf16>, tensor<3x4xf16>, tensor<3x0xf16>) -> tensor<3x4xf16>\n",
    "pad": "%v = arith.constant 2.0 : f16\n%e = tensor.splat %v : tensor<3x0xf16>\n"
    "%r = tensor.pad %e low[0, 1] high[0, 3] {\n^bb0(%i: index, %j: index):\n"
    "tensor.yield %v : f16\n} : tensor<3x0xf16> to tensor<3x4xf16>\n",
    "insert_slice": "%e = tensor.empty() : tensor<3x0xf16>\n%r = tensor.insert_slice %e into "
    "%y[0, 4] [3, 0] [1, 1] : tensor<3x0xf16> into tensor<3x4xf16>\n",
    "elementwise": "%e = tensor.empty() : tensor<0x4xf16>\n%f = math.exp %e : tensor<0x4xf16>\n"
    "%c = arith.cmpf olt, %e, %f : tensor<0x4xf16>\n%r = tensor.concat dim(0) %f, %y "
    ": (tensor<0x4xf16>, tensor<3x4xf16>) -> tensor<3x4xf16>\n",
    "reduce the rest": "%e = tensor.empty() : tensor<0x4xf16>\n"
    "%z = tensor.empty() : tensor<0xf16>\n"
    "%q = linalg.reduce { arith.addf } ins(%e : tensor<0x4xf16>) outs(%z : tensor<0xf16>) "
    "dimensions = [1]\n%v = tensor.expand_shape %q [[0, 1]] output_shape [0, 4] "
    ": tensor<0xf16> into tensor<0x4xf16>\n%r = tensor.concat dim(0) %v, %y "
    ": (tensor<0x4xf16>, tensor<3x4xf16>) -> tensor<3x4xf16>\n",
    "scalar": "%e = tensor.empty() : tensor<0xf16>\n%z = arith.constant dense<2.0> : tensor<f16>\n"
    "%s = linalg.reduce { arith.addf } ins(%e : tensor<0xf16>) outs(%z : tensor<f16>) "
    "dimensions = [0]\n%t = tensor.extract %s[] : tensor<f16>\n"
    "%r = tensor.splat %t : tensor<3x4xf16>\n",
}


@pytest.mark.parametrize("name", EMPTY)
def test_tiles_without_elements(name: str) -> None:
    body = load("y", "3x4", "f16") + EMPTY[name] + store("r", "y", "3x4", "f16")
    outcomes(body, y_p=wide(3, 4, np.float16))


@pytest.mark.parametrize("sanitize", [False, True])
def test_computed_addresses_below_memory_raise(sanitize: bool) -> None:
    body = load("y", "4", "f16") + (
        "%p = arith.addi %x_p, %at : index\n"
        "%v = ktdp.construct_memory_view %p, sizes: [4], strides: [1] {coordinate_set = "
        "affine_set<(d) : (d >= 0, -d + 3 >= 0)>, memory_space = #ktdp.memory_space<global>} "
        ": memref<4xf16>\n"
        "%t = ktdp.construct_access_tile %v[0] {access_tile_set = affine_set<(d) : (d >= 0, "
        "-d + 3 >= 0, d mod 2 == 0, d - 1 <= 5)>} : memref<4xf16> -> !ktdp.access_tile<3xindex>\n"
        "%r = ktdp.load %t : !ktdp.access_tile<3xindex> -> tensor<3xf16>\n"
    )
    module = parse(f"func.func @f(%x_p: index, %y_p: index, %at: index) {{\n{body}return\n}}\n")
    arguments = {"x_p": np.ones(4, np.float16), "y_p": np.ones(4, np.float16), "at": -(1 << 20)}
    for engine in ("reference", "vm"):
        with pytest.raises(AccessError):
            emulator.run(module, arguments, engine=engine, sanitize=sanitize)
