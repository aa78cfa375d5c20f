"""The engines behind `run`: samples on all of them, addresses outside, errors while running."""

from __future__ import annotations

import multiprocessing
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from spyrelab import emulator
from spyrelab.emulator import AccessError, DeadlockError, LoweringError, LxOverflowError
from spyrelab.emulator.counters import Column
from spyrelab.errors import SpyreLabError
from spyrelab.ktir import parse
from spyrelab.machine import AllocationError, DeviceMemory
from tests.emulator.short_programs import ENGINES, X, copy, run, tile, view
from tests.emulator.test_reference_samples import PROGRAMS, check


def inputs(path: Path) -> tuple[dict[str, Any], dict[Any, np.ndarray], dict[Any, np.ndarray]]:
    """Arguments, memory and expected contents of a sample."""
    data = dict(np.load(path.with_suffix(".npz")))
    memory = {int(k[4:]): v for k, v in data.items() if k.startswith("mem_")}
    arguments = {
        k: v if v.ndim else v.item()
        for k, v in data.items()
        if not k.startswith(("mem_", "out_mem_"))
    }
    expected = {
        k[4:]: arguments.pop(k) for k in list(arguments) if k[4:] in data and k[:4] == "out_"
    }
    expected |= {int(k[8:]): v for k, v in data.items() if k.startswith("out_mem_")}
    return arguments, memory, expected


def run_sample(path: Path, engine: str, **options: Any) -> emulator.Run:
    arguments, memory, _ = inputs(path)
    return emulator.run(parse(path.read_text()), arguments, memory=memory, engine=engine, **options)


def same_bits(a: dict[Any, np.ndarray], b: dict[Any, np.ndarray]) -> bool:
    return a.keys() == b.keys() and all(a[k].tobytes() == b[k].tobytes() for k in a)


@pytest.mark.parametrize("path", PROGRAMS, ids=lambda path: path.stem)
@pytest.mark.parametrize("exact", [True, False])
def test_samples_on_the_vm(path: Path, exact: bool) -> None:
    result = run_sample(path, "vm", exact=exact)
    for key, value in inputs(path)[2].items():
        check(path.stem, result.outputs[key], value)


@pytest.mark.parametrize("path", PROGRAMS, ids=lambda path: path.stem)
def test_samples_have_the_same_bits_on_every_engine(path: Path) -> None:
    wanted = run_sample(path, "reference")
    for options in ({"threads": 1}, {"threads": 2}, {"sanitize": True}):
        found = run_sample(path, "vm", exact=True, **options)
        assert same_bits(found.outputs, wanted.outputs), options
        differing = [
            column.name
            for column in Column
            if column is not Column.LX_PEAK
            and not np.array_equal(found.counters.column(column), wanted.counters.column(column))
        ]
        assert not differing, options
    null = run_sample(path, "null")
    assert null.outputs == {}
    assert np.array_equal(null.counters.matrix, found.counters.matrix)


FAR = (
    "func.func @far(%x: index, %at: index, %i: index) {{\n%p = arith.addi %x, %at : index\n"
    + view("v", "p", 1 << 40, "f16", "{space}").replace("{", "{{").replace("}", "}}")
    .replace("{{space}}", "{space}")
    + tile("a", "v", "%i", 4, "f16", 1 << 40).replace("{", "{{").replace("}", "}}")
    + "{body}return\n}}\n"
)  # fmt: skip
LOAD = "%t = ktdp.load %a : !ktdp.access_tile<4xindex> -> tensor<4xf16>\n"
STORE = (
    "%t = arith.constant dense<1.0> : tensor<4xf16>\n"
    "ktdp.store %t, %a : tensor<4xf16>, !ktdp.access_tile<4xindex>\n"
)


@pytest.mark.parametrize("body", [LOAD, STORE], ids=["load", "store"])
@pytest.mark.parametrize("at", [-(1 << 50), -(1 << 20), -64, 3, 1 << 20, 1 << 37, 1 << 50])
def test_addresses_outside_every_allocation(body: str, at: int) -> None:
    text = FAR.format(space="global", body=body)
    for options in ({"engine": "reference"}, {"engine": "vm", "sanitize": True}):
        with pytest.raises(AccessError, match=r"core 0, ktdp\.(load|store) at"):
            run(text, x=X, at=at, i=0, **options)
    try:
        run(text, x=X, at=at, i=0)
    except AccessError:
        return
    assert -64 <= at <= 1 << 20  # inside the reserve: only the sanitizer can tell


@pytest.mark.parametrize("space", ["ct_local", "ct_local, ct_id = 31"])
@pytest.mark.parametrize("at", [-(1 << 40), -1, (1 << 20) - 3, 1 << 20, 1 << 45])
@pytest.mark.parametrize("engine", ["reference", "vm"])
def test_addresses_outside_a_scratchpad(space: str, at: int, engine: str) -> None:
    text = FAR.format(space=space, body=LOAD).replace("%p = arith.addi %x, %at : index\n", "")
    text = text.replace("%x: index, ", "").replace("view %p", "view %at")
    program = parse(text)
    with pytest.raises(SpyreLabError, match=r"scratchpad|lies outside") as caught:
        _launch_at(program, at, engine)
    assert isinstance(caught.value, AccessError)
    assert caught.value.core == 0


def _launch_at(module: Any, at: int, engine: str) -> None:
    program = emulator.lower(module)
    with DeviceMemory(1 << 22) as device:
        program.launch({"at": 2 * at, "i": 0}, device, engine)


@pytest.mark.parametrize("i", [-(1 << 45), -3, 1 << 39])
@pytest.mark.parametrize("engine", ["reference", "vm"])
def test_subscripts_far_outside_are_masked_or_raise(i: int, engine: str) -> None:
    text = FAR.format(space="global", body=LOAD)
    if i < -3:
        assert run(text, engine, x=X, at=0, i=i).counters.ddr_read.tolist() == [0]
    elif i < 0:
        assert run(text, engine, x=X, at=0, i=i).counters.ddr_read.tolist() == [2]
    else:
        with pytest.raises(AccessError):
            run(text, engine, x=X, at=0, i=i)


INDIRECT = (
    "func.func @gather(%x: index, %k: index, %y: index) {\n" + view("v", "x", 4, "f16")
    + view("n", "k", 4, "i64") + view("w", "y", 4, "f16")
    + "%a = ktdp.construct_indirect_access_tile intermediate_variables(%i) %v[ind(%n[%i])] "
    "{variables_space_set = affine_set<(d) : (d >= 0, -d + 3 >= 0)>} "
    ": memref<4xf16>, memref<4xi64> -> !ktdp.access_tile<4xindex>\n"
    + tile("b", "w", "0", 4, "f16", 4) + LOAD
    + "ktdp.store %t, %b : tensor<4xf16>, !ktdp.access_tile<4xindex>\nreturn\n}\n"
)  # fmt: skip


@pytest.mark.parametrize("engine", ["reference", "vm"])
def test_indices_outside_the_view_read_zero(engine: str) -> None:
    limits = np.iinfo(np.int64)
    for wild in (-1, 4, limits.min, limits.max):
        k = np.array([3, wild, 1, 0])
        y = run(INDIRECT, engine, x=X + 1, k=k, y=X).outputs["y"]
        assert y.tolist() == [4, 0, 2, 1]


def test_scratchpad_overflow_lists_what_is_alive() -> None:
    size = 300_000
    kind = f"tensor<{size}xf32>"
    text = copy("f32", size).replace(
        "ktdp.store", f"%twice = arith.addf %t, %t : {kind}\n%s = arith.mulf %twice, %t : {kind}\n"
        "ktdp.store", 1,
    )  # fmt: skip
    for engine in ENGINES:
        with pytest.raises(LxOverflowError, match=r"(?s)alive.*%t: 1,200,000 bytes \(line") as info:
            run(text, engine, x=np.zeros(size, np.float32), y=np.zeros(size, np.float32))
        assert "%twice: 1,200,000 bytes" in str(info.value)


FUTURE = "!ktdp.tile_future<(tensor<1xf16>), groups = affine_set<(g) : (g == 0)>>"
CYCLE = f"""func.func @cycle(%x: index) attributes {{grid = [2]}} {{
%core = ktdp.get_compute_tile_id : index
%zero = arith.constant 0 : index
%first = arith.cmpi eq, %core, %zero : index
%own = arith.constant dense<1.0> : tensor<1xf16>
scf.if %first {{
%f = ktdp.inter_tile_produce producer_tiles_per_group = affine_set<(i)[g] : (i >= 0, -i + 1 >= 0)>
  -> {FUTURE} {{
^bb0(%g: index):
  ktdp.yield_partial %own : tensor<1xf16>
}}
%r = ktdp.inter_tile_reduce(%f) consumer_tiles_per_group = affine_set<(i)[g] : (i == 0)>,
  identity(%own : tensor<1xf16>) : {FUTURE} -> tensor<1xf16> {{
^bb0(%a: tensor<1xf16>, %b: tensor<1xf16>):
  %s = arith.addf %a, %b : tensor<1xf16>
  ktdp.yield_reduced %s : tensor<1xf16>
}}
}}
return
}}
"""


@pytest.mark.parametrize("engine", ENGINES)
def test_waiting_for_ever(engine: str) -> None:
    text = CYCLE.replace("%x: index", "")
    with pytest.raises(DeadlockError, match=r"core 0: ktdp.inter_tile_reduce at .* waits") as info:
        run(text, engine, threads=2)
    assert [(w.core, 1 in w.tiles) for w in info.value.waiting] == [(0, True)]


@pytest.mark.parametrize("engine", ENGINES)
def test_an_empty_program(engine: str) -> None:
    text = "func.func @nothing() attributes {grid = [32]} {\nreturn\n}\n"
    result = run(text, engine)
    assert result.outputs == {}
    assert result.counters.cores == 32
    assert not result.counters.matrix.any()


@pytest.mark.parametrize("engine", ENGINES)
def test_a_closed_memory_is_not_launched_on(engine: str) -> None:
    program = emulator.lower(parse(copy()))
    with DeviceMemory(1 << 20) as device:
        at = {"x": device.allocate(8), "y": device.allocate(8)}
        program.launch(at, device, engine)
    with pytest.raises(AllocationError, match="closed"):
        program.launch(at, device, engine)


GROWN = (
    "func.func @grown(%x: index, %n: index) {\n%c0 = arith.constant 0 : index\n"
    + view("v", "x", 4, "f16")
    + tile("a", "v", "0", 4, "f16", 4)
    + "%t = ktdp.load %a : !ktdp.access_tile<4xindex> -> tensor<4xf16>\n"
    "%e = tensor.empty(%n) : tensor<?x4xf16>\n%b = linalg.broadcast ins(%t : tensor<4xf16>) "
    "outs(%e : tensor<?x4xf16>) dimensions = [0]\n"
    "%i = tensor.generate %n {\n^bb0(%p: index, %q: index):\n"
    "%y = tensor.extract %t[%q] : tensor<4xf16>\ntensor.yield %y : f16\n} : tensor<?x4xf16>\n"
    "%s = arith.addf %b, %i : tensor<?x4xf16>\nreturn\n}\n"
)


@pytest.mark.parametrize("n", [-5, -(1 << 62), 1 << 40, 1 << 62, (1 << 62) + 1])
def test_sizes_that_wrap_are_no_small_sizes(n: int) -> None:
    run(GROWN, x=X, n=2)
    with pytest.raises(LxOverflowError, match="scratchpad"):
        run(GROWN, x=X, n=n)
    if n < 0:
        with pytest.raises(LoweringError, match=r"tensor\.empty at .* cannot have the shape"):
            run(GROWN, "reference", x=X, n=n)


BUSY = """
func.func @busy() attributes {grid = [8]} {
%a = arith.constant 0 : index
%s = arith.constant 1 : index
%n = arith.constant 100000 : index
%r = scf.for %i = %a to %n step %s iter_args(%t = %a) -> (index) {
  %u = arith.addi %t, %i : index
  scf.yield %u : index
}
return
}
"""


@pytest.mark.skipif("fork" not in multiprocessing.get_all_start_methods(), reason="no fork here")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_forked_process_has_host_threads_of_its_own() -> None:
    run(BUSY, threads=2)  # long enough for a pool, whose threads a child does not get
    child = multiprocessing.get_context("fork").Process(target=run, args=(BUSY,))
    child.start()
    child.join(30)
    ended = child.exitcode
    child.kill()
    assert ended == 0


def test_null_engine_only_counts() -> None:
    result = run(copy(), "null", x=X, y=np.zeros(4, np.float16))
    assert result.outputs == {}
    assert result.counters.ddr_read.tolist() == [8]
    assert result.counters.ddr_write.tolist() == [8]
