"""The builder: programs that print, read back, verify and run; mistakes that it explains."""

from __future__ import annotations

import numpy as np
import pytest

from spyrelab import emulator
from spyrelab.ktir import dumps, parse
from spyrelab.ktir.affine import box_set
from spyrelab.ktir.builder import Builder, BuilderError, TileGroups
from spyrelab.ktir.ir import Module, walk
from spyrelab.ktir.types import BF16, F16, F32, I32, I64, INDEX, MemorySpace


def names_of(module: Module) -> list[str]:
    return [operation.name for operation in walk(module.functions[0].body.operations)]


def checked(builder: Builder) -> Module:
    """The built module, after the round trip that every module has to survive."""
    module = builder.build()
    module.verify()
    assert parse(dumps(module)) == module
    return module


def outputs(module: Module, **arguments: np.ndarray) -> dict[str, np.ndarray]:
    return emulator.run(module, arguments, engine="reference").outputs


def test_the_first_program_reads_like_hand_written_text():
    b = Builder("add", grid=(32,))
    x, y, out = b.pointers("x", "y", "out")
    first = (b.compute_tile_id() * 128).named("first")
    X, Y, OUT = (b.view(p, sizes=(4096,), dtype=F16) for p in (x, y, out))
    b.store(b.load(X[first], shape=(128,)) + b.load(Y[first], shape=(128,)), OUT[first])
    text = dumps(checked(b))
    assert "func.func @add(%x: index, %y: index, %out: index) attributes {grid = [32]}" in text
    assert "%first = arith.muli %core, %c128 : index" in text
    assert "%x_tile = ktdp.construct_access_tile %x_view[%first]" in text
    assert "%sum = arith.addf %x_values, %y_values : tensor<128xf16>" in text


def test_whole_numbers_fold_and_scalars_are_shared():
    b = Builder("f", grid=(4,))
    core = b.compute_tile_id()
    assert (b.constant(6) * 7 + 2).constant == 44
    assert (b.constant(7) // 2).constant == 3
    assert core + 0 is core
    assert core * 1 is core
    assert (core * 0).constant == 0
    assert (core * 8).value is (core * 8).value
    assert b.minimum(b.constant(3), 5).constant == 3
    assert names_of(checked(b)).count("arith.muli") == 1


def test_casts_of_a_scalar_to_two_types_are_two_operations():
    b = Builder("f", grid=(4,))
    truth = b.compute_tile_id() < 2
    wide, narrow, again = (b.cast(truth, dtype) for dtype in (I64, I32, I64))
    assert (wide.dtype, narrow.dtype) == (I64, I32)
    assert again.value is wide.value
    assert names_of(checked(b)).count("arith.extui") == 2


def test_a_scalar_from_a_closed_block_is_computed_again():
    b = Builder("f", grid=(4,))
    core = b.compute_tile_id()
    for _ in range(2):
        with b.loop(0, 4) as i:
            i + core
    assert names_of(checked(b)).count("arith.addi") == 2


def test_equal_constants_share_one_operation():
    b = Builder("f")
    out = b.view(*b.pointers("out"), sizes=(8,), dtype=F32)
    b.store(b.full((8,), 1.5, F32) + 1.5 + b.full((8,), 1.5, F32), out[0])
    assert names_of(checked(b)).count("arith.constant") == 1


def test_loops_carry_values():
    b = Builder("sum")
    x, out = (
        b.view(p, sizes=(n,), dtype=F32)
        for p, n in zip(b.pointers("x", "out"), (12, 4), strict=True)
    )
    loop = b.loop(0, 12, 4, carry=(b.fill((4,), 0.0),), names=("at", "total"))
    with loop as (at, total):
        loop.yield_(total + b.load(x[at], shape=(4,)))
    b.store(loop.results[0], out[0])
    x = np.arange(12, dtype=np.float32)
    done = outputs(checked(b), x=x, out=np.zeros(4, np.float32))
    np.testing.assert_array_equal(done["out"], x.reshape(3, 4).sum(axis=0))


def test_branches_yield_values():
    b = Builder("which", grid=(2,))
    out = b.view(*b.pointers("out"), sizes=(2,), dtype=I32)
    core = b.compute_tile_id()
    branch = b.if_(core.equals(0))
    with branch:
        branch.yield_(b.full((1,), 5, I32))
    with branch.otherwise():
        branch.yield_(b.splat(core.to(I32), (1,)))
    b.store(branch.results[0], out[core])
    assert outputs(checked(b), out=np.zeros(2, np.int32))["out"].tolist() == [5, 1]


def test_tensor_operations_mean_what_numpy_means():
    b = Builder("tour")
    x_at, out_at = b.pointers("x", "out")
    x, out = (b.view(p, sizes=(4, 6), dtype=F32) for p in (x_at, out_at))
    values = b.load(x[0, 0], shape=(4, 6))
    turned = b.transpose(values)
    gram = b.matmul(values, turned)
    same = b.matmul(values, values, transpose_right=True)
    rows = b.reduce("max", gram - same, 1) + b.reduce("add", values, 1)
    wide = b.broadcast(rows, (4, 6), 1)
    cut = b.insert_slice(b.extract_slice(values, (1, 2), (2, 3)), wide, (0, 0))
    flat = b.reshape(b.reshape(cut, (2, 2, 6)), (4, 6))
    b.store(b.select(values > 0.0, flat, b.exp(-values)), out[0, 0])
    given = np.random.default_rng(0).standard_normal((4, 6)).astype(np.float32)
    expected = np.repeat(given.sum(axis=1)[:, None], 6, axis=1)
    expected[:2, :3] = given[1:3, 2:5]
    expected = np.where(given > 0, expected, np.exp(-given))
    done = outputs(checked(b), x=given, out=np.zeros((4, 6), np.float32))
    np.testing.assert_allclose(done["out"], expected, rtol=1e-6)


def test_gather_and_scatter_write_affine_subscripts():
    b = Builder("pages", grid=(3,))
    pages_at, table_at, dense_at = b.pointers("pages", "table", "dense")
    pages = b.view(pages_at, sizes=(9, 4, 2), dtype=F32)
    table = b.view(table_at, sizes=(3, 2), dtype=I32)
    dense = b.view(dense_at, sizes=(24, 2), dtype=F32)
    s = b.compute_tile_id()
    picked = b.gather(pages, (8, 2), lambda t, d: (table[s, t // 4], t % 4, d))
    b.store(picked, dense[s * 8, 0])
    b.scatter(picked * 2.0, pages, lambda t, d: (table[s, t // 4], t % 4, d))
    module = checked(b)
    given = np.arange(72, dtype=np.float32).reshape(9, 4, 2)
    order = np.array([[3, 0], [8, 1], [2, 7]], np.int32)
    done = outputs(module, pages=given, table=order, dense=np.zeros((24, 2), np.float32))
    np.testing.assert_array_equal(done["dense"], given[order].reshape(24, 2))
    scale = np.where(np.isin(np.arange(9), order), 2, 1)[:, None, None]
    np.testing.assert_array_equal(done["pages"], given * scale)


@pytest.mark.parametrize("groups", [TileGroups.adjacent(2, 3), TileGroups.strided(2, 3)])
@pytest.mark.parametrize("everyone", [False, True])
def test_tiles_fold_over_their_group(groups, everyone):
    b = Builder("fold", grid=(6,))
    out = b.view(*b.pointers("out"), sizes=(6,), dtype=I32)
    core = b.compute_tile_id()
    own = b.splat((core + 1).to(I32), (1,))
    b.store(b.produce_reduce(own, groups, everyone=everyone), out[core])
    done = outputs(checked(b), out=np.zeros(6, np.int32))["out"]
    inside = np.array([[groups.members.contains((i,), (g,)) for i in range(6)] for g in range(2)])
    leads = np.array([[groups.leader.contains((i,), (g,)) for i in range(6)] for g in range(2)])
    totals = inside @ np.arange(1, 7)
    assert done.tolist() == (totals @ (inside if everyone else leads)).tolist()


def test_views_are_distributed_dynamic_and_local():
    b = Builder("views")
    address = b.argument("x")
    length = b.argument("n", INDEX)
    left = b.view(address, sizes=(4,), dtype=F16)
    right = b.view(address + 4, sizes=(4,), dtype=F16, lows=(4,))
    both = b.distributed_view(left, right, sizes=(8,))
    dynamic = b.view(address, sizes=(length, 2), dtype=F16)
    local = b.view(0, sizes=(2, 3), dtype=F32, memory_space=MemorySpace(core_local=True))
    assert both.memref.shape == (8,)
    assert dynamic.memref.shape == (None, 2)
    assert local.rank == 2
    b.load(dynamic[0, 0], shape=(length, 2))
    checked(b)


def test_tiles_are_visited_in_another_order():
    b = Builder("order")
    x, out = b.pointers("x", "out")
    source = b.view(x, sizes=(3, 5), dtype=F32)
    target = b.view(out, sizes=(5, 3), dtype=F32)
    turned = b.load(source[0, 0], shape=(3, 5), order=(1, 0))
    assert turned.shape == (5, 3)
    b.store(turned, target[0, 0])
    given = np.arange(15, dtype=np.float32).reshape(3, 5)
    done = outputs(checked(b), x=given, out=np.zeros((5, 3), np.float32))
    np.testing.assert_array_equal(done["out"], given.T)


def test_casts_go_over_a_type_in_between():
    b = Builder("casts")
    out = b.view(*b.pointers("out"), sizes=(2,), dtype=BF16)
    b.store(b.full((2,), 1.5, F16).to(BF16), out[0])
    scalar = b.compute_tile_id()
    assert scalar.to(F32).dtype == F32
    assert scalar.to(I32).to(I64).dtype == I64
    names = names_of(checked(b))
    assert "arith.extf" in names
    assert "arith.truncf" in names
    assert "arith.sitofp" in names


def _leaked() -> None:
    b = Builder("f")
    with b.loop(0, 3) as i:
        inside = i + 1
    inside + b.compute_tile_id()


def _unyielded() -> None:
    b = Builder("f")
    with b.loop(0, 3, carry=(b.fill((2,), 0.0),)):
        pass


def _foreign() -> None:
    Builder("f").compute_tile_id() + Builder("g").compute_tile_id()


def _after_the_end() -> None:
    b = Builder("f")
    b.build()
    b.compute_tile_id()


def _load_of_wrong_rank() -> None:
    b = Builder("f")
    b.load(b.view(0, sizes=(3, 3), dtype=F32)[0, 0], shape=(3,))


def _store_of_wrong_type() -> None:
    b = Builder("f")
    b.store(b.fill((3,), 0.0), b.view(0, sizes=(3,), dtype=F16)[0])


@pytest.mark.parametrize(
    ("program", "reason"),
    [
        (_leaked, "carry it out"),
        (_unyielded, "call yield_"),
        (_foreign, "another builder"),
        (_after_the_end, "start a new Builder"),
        (_load_of_wrong_rank, "2 extents"),
        (_store_of_wrong_type, r"\.to\(f16\)"),
        (lambda: Builder("f", grid=(0,)), "no grid"),
        (lambda: Builder("f").pointers("x", "x"), "two arguments"),
        (lambda: Builder("f").loop(0, 4, 0), "step"),
        (lambda: Builder("f").yield_(), "no open"),
        (lambda: Builder("f").if_(Builder("f").constant(1)), "compare first"),
        (lambda: Builder("f").if_(Builder("f").compute_tile_id() == 0), r"bool; .*a\.equals\(b\)"),
        (lambda: Builder("f").view(0, sizes=(0,), dtype=F32), "sizes start at 1"),
        (lambda: Builder("f").view(0, sizes=(3,), dtype=F32)[0, 0], "1 subscripts"),
        (lambda: bool(Builder("f").compute_tile_id() < 3), "builder.if_"),
        (lambda: Builder("f").compute_tile_id() / 2, "use //"),
        (lambda: Builder("f").exp(Builder("f").compute_tile_id()), "takes floats"),
        (lambda: Builder("f").constant(2.5), "whole number"),
        (lambda: Builder("f").full((2,), 1e9, F16), "wider type"),
    ],
)
def test_mistakes_are_explained(program, reason):
    with pytest.raises(BuilderError, match=reason):
        program()


def test_shapes_that_do_not_match_are_explained():
    b = Builder("f")
    x, y, z = b.fill((2, 3), 0.0), b.fill((3,), 0.0), b.full((2, 3), 0.0, F16)
    for program, reason in [
        (lambda: x + y, "use builder.broadcast"),
        (lambda: x + z, r"\.to\("),
        (lambda: b.matmul(x, x), "does not match"),
        (lambda: b.broadcast(y, (2, 4), 0), "does not fill"),
        (lambda: b.reshape(x, (4, 2)), "cannot be regrouped"),
        (lambda: b.reduce("add", x, 2), "does not name axes"),
        (lambda: b.reduce("sum", x), "no fold"),
        (lambda: b.transpose(x, (0, 0)), "permutes no"),
        (lambda: b.select(x > 0.0, 1.0, 2.0), "builder.full"),
        (lambda: b.maximum(x, "one"), "no number"),
        (lambda: x.item(0), "2 indices"),
    ]:
        with pytest.raises(BuilderError, match=reason):
            program()


def test_box_sets_are_the_sets_of_tiles():
    b = Builder("f")
    b.load(b.view(0, sizes=(5,), dtype=F32)[1], shape=(3,))
    tile = next(o for o in walk(b.build().functions[0].body.operations) if "access" in o.name)
    assert tile.attributes["access_tile_set"] == box_set((3,))
    assert tile.attributes["base_map"].results[0].value == 1
