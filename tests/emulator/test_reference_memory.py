"""Views, access tiles, masks, bounds and counters under the reference interpreter."""

from __future__ import annotations

import numpy as np
import pytest

from spyrelab.emulator.counters import Column
from spyrelab.emulator.errors import AccessError
from tests.emulator.reference_launch import launch

DDR = "memory_space = #ktdp.memory_space<global>"


def box(*extents: int) -> str:
    names = ", ".join(f"d{i}" for i in range(len(extents)))
    limits = ", ".join(f"d{i} >= 0, -d{i} + {n - 1} >= 0" for i, n in enumerate(extents))
    return f"affine_set<({names}) : ({limits})>"


def identity(rank: int) -> str:
    names = ", ".join(f"d{i}" for i in range(rank))
    return f"affine_map<({names}) -> ({names})>"


def view(name: str, at: str, sizes: list[int], element: str, space: str = DDR, **more: str) -> str:
    strides = more.get("strides", str(list(np.cumprod([1, *sizes[:0:-1]])[::-1].tolist())))
    points = more.get("points", box(*sizes))
    kind = "x".join(map(str, sizes))
    return (
        f"%{name} = ktdp.construct_memory_view {at}, sizes: {sizes}, strides: {strides} "
        f"{{coordinate_set = {points}, {space}}} : memref<{kind}x{element}>\n"
    )


def tile(name: str, base: str, at: str, sizes: list[int], kind: str, **more: str) -> str:
    points = more.get("points", box(*sizes))
    order = more.get("order", identity(len(sizes)))
    shape = more.get("shape", "x".join(map(str, sizes)))
    return (
        f"%{name} = ktdp.construct_access_tile %{base}[{at}] {{access_tile_set = {points}, "
        f"access_tile_order = {order}}} : memref<{kind}> -> !ktdp.access_tile<{shape}xindex>\n"
    )


def load(name: str, tile_name: str, shape: str, element: str) -> str:
    kind = f"tensor<{shape}x{element}>"
    return f"%{name} = ktdp.load %{tile_name} : !ktdp.access_tile<{shape}xindex> -> {kind}\n"


def store(value: str, tile_name: str, shape: str, element: str) -> str:
    kinds = f"tensor<{shape}x{element}>, !ktdp.access_tile<{shape}xindex>"
    return f"ktdp.store %{value}, %{tile_name} : {kinds}\n"


def program(*lines: str, arguments: str = "%x_ptr: index, %y_ptr: index", grid: int = 1) -> str:
    constants = "".join(f"%c{n} = arith.constant {n} : index\n" for n in (0, 1, 2, 3, 4, 32))
    return (
        f"func.func @f({arguments}) attributes {{grid = [{grid}]}} {{\n"
        "%core = ktdp.get_compute_tile_id : index\n"
        f"{constants}{''.join(lines)}return\n}}\n"
    )


def test_points_outside_a_view_read_zero_and_drop_stores() -> None:
    text = program(
        view("x", "%x_ptr", [10], "f32"),
        view("y", "%y_ptr", [6], "f32"),
        tile("x_t", "x", "%c4", [8], "10xf32"),
        tile("y_t", "y", "%c0", [8], "6xf32"),
        load("v", "x_t", "8", "f32"),
        store("v", "y_t", "8", "f32"),
    )
    x = np.arange(1, 11, dtype=np.float32)
    outputs, counters = launch(text, x_ptr=x, y_ptr=np.full(8, -1, np.float32))
    assert outputs["y_ptr"].tolist() == [5, 6, 7, 8, 9, 10, -1, -1]
    text = text.replace("sizes: [6]", "sizes: [8]").replace("-d0 + 5 >= 0", "-d0 + 7 >= 0")
    text = text.replace("memref<6xf32>", "memref<8xf32>")
    outputs, counters = launch(text, x_ptr=x, y_ptr=np.full(8, -1, np.float32))
    assert outputs["y_ptr"].tolist() == [5, 6, 7, 8, 9, 10, 0, 0]
    assert counters.ddr_read.tolist() == [6 * 4]
    assert counters.ddr_write.tolist() == [8 * 4]


def test_access_outside_an_allocation_raises() -> None:
    text = program(
        view("x", "%x_ptr", [40], "f32"),
        view("y", "%y_ptr", [8], "f32"),
        tile("x_t", "x", "%c4", [8], "40xf32"),
        tile("y_t", "y", "%c0", [8], "8xf32"),
        load("v", "x_t", "8", "f32"),
        store("v", "y_t", "8", "f32"),
    )
    y = np.zeros(8, np.float32)
    with pytest.raises(AccessError, match=r"core 0, ktdp.load at \d+:\d+") as caught:
        launch(text, x_ptr=np.zeros(10, np.float32), y_ptr=y)
    assert caught.value.address == 40
    assert caught.value.nearest == "x_ptr at [0, 40)"
    with pytest.raises(AccessError, match=r"core 0, ktdp\.store"):
        launch(text, x_ptr=np.zeros(40, np.float32), y_ptr=y[:7])


def test_access_outside_a_scratchpad_raises() -> None:
    lx = "memory_space = #ktdp.memory_space<ct_local>"
    text = program(
        "%end = arith.constant 524284 : index\n",
        view("x", "%end", [8], "f32", lx),
        tile("x_t", "x", "%c0", [8], "8xf32"),
        load("v", "x_t", "8", "f32"),
        arguments="",
    )
    with pytest.raises(AccessError, match="nearest: scratchpad of core 0"):
        launch(text)


def test_tile_set_that_is_no_box_masks_its_bounding_box() -> None:
    triangle = "affine_set<(r, c) : (r >= 0, -r + 3 >= 0, c >= 0, r - c >= 0)>"
    text = program(
        view("x", "%x_ptr", [4, 4], "f16"),
        view("y", "%y_ptr", [4, 4], "f16"),
        tile("x_t", "x", "%c0, %c0", [4, 4], "4x4xf16", points=triangle),
        tile("y_t", "y", "%c0, %c0", [4, 4], "4x4xf16"),
        load("v", "x_t", "4x4", "f16"),
        store("v", "y_t", "4x4", "f16"),
    )
    x = np.arange(1, 17, dtype=np.float16).reshape(4, 4)
    outputs, counters = launch(text, x_ptr=x, y_ptr=np.full((4, 4), -1, np.float16))
    np.testing.assert_array_equal(outputs["y_ptr"], np.tril(x))
    assert counters.ddr_read.tolist() == [10 * 2]
    assert counters.sticks_read.tolist() == [1]


def test_order_that_is_no_permutation_sorts_the_points() -> None:
    text = program(
        view("x", "%x_ptr", [3, 4], "f32"),
        view("y", "%y_ptr", [12], "f32"),
        tile(
            "x_t", "x", "%c0, %c0", [3, 4], "3x4xf32",
            order="affine_map<(r, c) -> (r + c)>", shape="12",
        ),
        tile("y_t", "y", "%c0", [12], "12xf32"),
        load("v", "x_t", "12", "f32"),
        store("v", "y_t", "12", "f32"),
    )  # fmt: skip
    x = np.arange(12, dtype=np.float32).reshape(3, 4)
    outputs, _ = launch(text, x_ptr=x, y_ptr=np.zeros(12, np.float32))
    # Diagonals, and within one the points in row-major order.
    assert outputs["y_ptr"].tolist() == [0, 1, 4, 2, 5, 8, 3, 6, 9, 7, 10, 11]


GATHER = (
    "%t = ktdp.construct_indirect_access_tile intermediate_variables(%i, %j) "
    "%{base}[ind(%idx[%i]), (%j)] {{variables_space_set = {set}, variables_space_order = {order}}}"
    " : memref<{base_type}>, memref<4xi32> -> !ktdp.access_tile<4x8xindex>\n"
)


def gather(base: str, base_type: str) -> str:
    return GATHER.format(base=base, base_type=base_type, set=box(4, 8), order=identity(2))


def test_scatter_writes_in_tile_order_so_the_last_one_wins() -> None:
    text = program(
        view("x", "%x_ptr", [4, 8], "f32"),
        view("idx", "%idx_ptr", [4], "i32"),
        view("y", "%y_ptr", [3, 8], "f32"),
        tile("x_t", "x", "%c0, %c0", [4, 8], "4x8xf32"),
        load("v", "x_t", "4x8", "f32"),
        gather("y", "3x8xf32"),
        store("v", "t", "4x8", "f32"),
        arguments="%x_ptr: index, %idx_ptr: index, %y_ptr: index",
    )
    x = np.arange(32, dtype=np.float32).reshape(4, 8)
    index = np.array([2, 0, 2, 7], np.int32)
    outputs, counters = launch(text, x_ptr=x, idx_ptr=index, y_ptr=np.full((3, 8), -1, np.float32))
    np.testing.assert_array_equal(outputs["y_ptr"], [x[1], [-1] * 8, x[2]])
    # Row 7 is outside the view; the index is read once per row.
    assert counters.ddr_write.tolist() == [3 * 8 * 4]
    assert counters.ddr_read.tolist() == [4 * 8 * 4 + 4 * 4]


def test_gather_counts_sticks_along_the_tile() -> None:
    text = program(
        view("x", "%x_ptr", [16, 64], "f16"),
        view("idx", "%idx_ptr", [4], "i32"),
        view("y", "%y_ptr", [4, 8], "f16"),
        gather("x", "16x64xf16"),
        load("v", "t", "4x8", "f16"),
        tile("y_t", "y", "%c0, %c0", [4, 8], "4x8xf16"),
        store("v", "y_t", "4x8", "f16"),
        arguments="%x_ptr: index, %idx_ptr: index, %y_ptr: index",
    )
    x = np.arange(1024, dtype=np.float16).reshape(16, 64)
    index = np.array([5, 5, 3, 9], np.int32)
    outputs, counters = launch(text, x_ptr=x, idx_ptr=index, y_ptr=np.zeros((4, 8), np.float16))
    np.testing.assert_array_equal(outputs["y_ptr"], x[index, :8])
    # One stick of indices; rows 5 and 5 are one visit of a stick.
    assert counters.sticks_read.tolist() == [1 + 3]
    assert counters.sticks_written.tolist() == [1]


def test_sticks_of_an_unaligned_tile() -> None:
    text = program(
        view("x", "%x_ptr", [4, 128], "f16"),
        view("y", "%y_ptr", [64, 2], "f16"),
        tile("x_t", "x", "%c1, %c32", [2, 64], "4x128xf16"),
        load("v", "x_t", "2x64", "f16"),
        tile(
            "x_s", "x", "%c1, %c32", [2, 64], "4x128xf16",
            order="affine_map<(r, c) -> (c, r)>", shape="64x2",
        ),
        load("w", "x_s", "64x2", "f16"),
        tile("y_t", "y", "%c0, %c0", [64, 2], "64x2xf16"),
        store("w", "y_t", "64x2", "f16"),
    )  # fmt: skip
    x = np.arange(512, dtype=np.float16).reshape(4, 128)
    outputs, counters = launch(text, x_ptr=x, y_ptr=np.zeros((64, 2), np.float16))
    np.testing.assert_array_equal(outputs["y_ptr"], x[1:3, 32:96].T)
    assert counters.ddr_read.tolist() == [2 * 256]
    # By rows each row lies in two sticks; by columns every element changes the stick.
    assert counters.sticks_read.tolist() == [4 + 128]


def test_scratchpads_of_this_and_of_other_cores() -> None:
    def pad(name: str, at: str, core: str) -> str:
        space = f"memory_space = #ktdp.memory_space<ct_local{core}>"
        return view(name, at, [4], "f32", space) + tile(f"{name}_t", name, "%c0", [4], "4xf32")

    text = program(
        "%at = arith.constant 64 : index\n",
        pad("own", "%at", ""),
        pad("first", "%at", ", ct_id = 0"),
        load("a", "own_t", "4", "f32"),
        load("b", "first_t", "4", "f32"),
        "%s = arith.addf %a, %b : tensor<4xf32>\n",
        view("y", "%y_ptr", [2, 4], "f32"),
        "%e = tensor.expand_shape %s [[0, 1]] output_shape [1, 4] : "
        "tensor<4xf32> into tensor<1x4xf32>\n",
        tile("y_t", "y", "%core, %c0", [1, 4], "2x4xf32"),
        store("e", "y_t", "1x4", "f32"),
        arguments="%y_ptr: index",
        grid=2,
    )
    seeds = {("LX", c, 64): np.arange(4, dtype=np.float32) + 10 * (c + 1) for c in range(2)}
    outputs, counters = launch(text, seeds, y_ptr=np.zeros((2, 4), np.float32))
    assert outputs["y_ptr"].tolist() == [[20, 22, 24, 26], [30, 32, 34, 36]]
    assert counters.lx_read.tolist() == [32, 16]
    assert counters.ring.tolist() == [0, 16]
    assert counters.ops["sfp"].tolist() == [4, 4]


def test_distributed_view_takes_the_first_partition() -> None:
    text = program(
        view("p", "%x_ptr", [6], "f32"),
        view("q", "%y_ptr", [6], "f32", points="affine_set<(i) : (i - 4 >= 0, -i + 9 >= 0)>"),
        "%m = ktdp.construct_distributed_memory_view"
        " (%p, %q : memref<6xf32>, memref<6xf32>) : memref<10xf32>\n",
        tile("m_t", "m", "%c2", [10], "10xf32"),
        load("v", "m_t", "10", "f32"),
        view("z", "%z_ptr", [10], "f32"),
        tile("z_t", "z", "%c0", [10], "10xf32"),
        store("v", "z_t", "10", "f32"),
        arguments="%x_ptr: index, %y_ptr: index, %z_ptr: index",
    )
    x = np.arange(6, dtype=np.float32)
    y = np.arange(100, 106, dtype=np.float32)
    outputs, counters = launch(text, x_ptr=x, y_ptr=y, z_ptr=np.full(10, -1, np.float32))
    assert outputs["z_ptr"].tolist() == [2, 3, 4, 5, 102, 103, 104, 105, 0, 0]
    assert counters.total(Column.DDR_READ) == 8 * 4
