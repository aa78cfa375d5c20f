"""``spyrelab ktir``: check, print, run; random inputs of the right size; errors in one line."""

from __future__ import annotations

import io
import json
import os
import pty
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from spyrelab import cli
from spyrelab.commands.ktir_reach import find_reach
from spyrelab.kernels import CATALOGUE
from spyrelab.ktir import dumps, parse

SAMPLES = Path(__file__).parents[1] / "data" / "ktir_samples"
PROGRAMS = sorted(SAMPLES.glob("**/*.mlir"))


def ktir(*arguments):
    return cli.main(["ktir", *map(str, arguments)])


@pytest.fixture
def add(tmp_path):
    path = tmp_path / "add.mlir"
    path.write_text(dumps(CATALOGUE["vector_add"].build(n=300, cores=4)))
    return path


def test_a_check_shows_what_is_there(add, capsys):
    assert ktir(add) == 0
    shown = capsys.readouterr().out
    assert "@vector_add(%x: index, %y: index, %out: index)" in shown
    assert "grid of [4]" in shown and "LX peak: " in shown
    assert shown.endswith(f"{add}: correct\n")


def test_print_is_canonical_text(add, capsys):
    assert ktir(add, "--print") == 0
    text = capsys.readouterr().out
    assert text == add.read_text() and parse(text) == parse(add.read_text())


def test_standard_input(add, capsys, monkeypatch):
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(add.read_bytes())))
    assert ktir("-", "--print") == 0
    assert capsys.readouterr().out == add.read_text()


def test_a_byte_order_mark_is_passed_over(add, capsys):
    text = add.read_text()
    add.write_text(text, encoding="utf-8-sig")
    assert ktir(add, "--print") == 0
    assert capsys.readouterr().out == text


def test_run_shows_outputs_counters_and_scratchpad(add, capsys):
    assert ktir(add, "--run", "--engine", "reference") == 0
    shown = capsys.readouterr().out
    assert "random (seed 0): x, y, out" in shown
    assert "ddr_read                  1,200" in shown and "LX peak: " in shown


@pytest.mark.parametrize("engine", ["vm", "reference", "null"])
def test_run_as_json(engine, add, capsys):
    assert ktir(add, "--run", "--engine", engine, "--json", "--cores", 4, "--sanitize") == 0
    run = json.loads(capsys.readouterr().out)["run"]
    assert run["counters"]["totals"]["ddr_write"] == 600
    changed = {item["name"]: item["changed"] for item in run["outputs"]}
    assert changed.get("x", 0) == 0 and (engine == "null" or changed["out"] > 250)


def test_a_seed_repeats_and_what_is_saved_can_be_given(add, capsys, tmp_path):
    first, second, third = (tmp_path / f"{name}.npz" for name in "abc")
    options = ("--run", "--engine", "reference", "--save")
    assert ktir(add, *options, first, "--seed", 5) == 0
    assert ktir(add, *options, second, "--input", first) == 0
    assert ktir(add, *options, third, "--seed", 6) == 0
    assert "random" not in capsys.readouterr().out.split("@vector_add ran")[2]
    a, b, c = (dict(np.load(path)) for path in (first, second, third))
    np.testing.assert_array_equal(a["out"], b["out"])
    np.testing.assert_array_equal(a["out"], a["x"] + a["y"])
    assert (a["out"] != c["out"]).any()


@pytest.mark.parametrize("path", PROGRAMS, ids=lambda path: path.stem)
def test_every_sample_runs_on_random_and_on_its_own_inputs(path, capsys):
    common = ("--run", "--engine", "reference", "--json")
    assert ktir(path, *common) == 0, capsys.readouterr().err
    assert ktir(path, *common, "--input", path.with_suffix(".npz")) == 0, capsys.readouterr().err


@pytest.mark.parametrize("name", ["softmax", "layer_norm", "rotary", "gather", "matmul"])
def test_reach_is_the_size_of_the_arguments(name):
    parameters = {
        "softmax": {"rows": 33, "cols": 129},
        "layer_norm": {"rows": 5, "cols": 20001},
        "rotary": {"seq": 3, "heads": 5, "head_dim": 66},
        "gather": {"count": 7, "table_rows": 9, "cols": 100},
        "matmul": {"b": 1, "m": 17, "n": 33, "k": 65, "split": (1, 2, 2, 2)},
    }[name]
    kernel = CATALOGUE[name]
    function = kernel.build(**parameters).function()
    reached = find_reach(function, function.grid, {}).arguments
    sizes = {key: array.size for key, array in kernel.arguments(**parameters).items()}
    assert {key: reach.high for key, reach in reached.items()} == sizes
    if name == "gather":
        assert reached["ids"].index_limit == 9


SCALAR = """
func.func @scaled(%x: index, %n: index) attributes {grid = [2]} {
  %id = ktdp.get_compute_tile_id : index
  %four = arith.constant 4 : index
  %offset = arith.muli %id, %four : index
  %place = arith.addi %x, %offset : index
  %v = ktdp.construct_memory_view %place, sizes: [4], strides: [1] {
    coordinate_set = affine_set<(d0) : (d0 >= 0, -d0 + 3 >= 0)>,
    memory_space = #ktdp.memory_space<global> } : memref<4xf32>
  return
}
"""


def test_core_numbers_count_towards_the_reach(tmp_path, capsys):
    path = tmp_path / "scaled.mlir"
    path.write_text(SCALAR)
    assert ktir(path, "--run", "--json", "--engine", "reference", "--set", "n=3") == 0
    (x,) = json.loads(capsys.readouterr().out)["run"]["outputs"]
    assert x["shape"] == [8] and x["dtype"] == "float32"
    assert ktir(path, "--run", "--set", "m=3") == 2
    assert "the scalar arguments are n" in capsys.readouterr().err
    assert ktir(path, "--run", "--set", "n=x") == 2
    assert "'x' is no number" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (b"func.func @f() {\n  %a = arith.nope : index\n}", "bad.mlir:2:"),
        (b"", "bad.mlir:"),
        (b"\x00\x01\x02", "bad.mlir:1:1"),
        (b"\xff\xfe", "bad.mlir: not a UTF-8 text"),
        (b"(" * 100_000, "bad.mlir:1:"),
        (b"func.func @f(%x: index) { return %y : index }", "bad.mlir:1:"),
    ],
)
def test_bad_text_is_one_line(text, said, tmp_path, capsys):
    path = tmp_path / "bad.mlir"
    path.write_bytes(text)
    assert ktir(path) == 2
    shown = capsys.readouterr()
    assert shown.out == "" and said in shown.err and shown.err.count("\n") == 1


def test_a_terminal_sees_the_caret(tmp_path):
    path = tmp_path / "bad.mlir"
    path.write_text("func.func @f() {\n  %a = arith.nope : index\n}")
    ours, theirs = pty.openpty()
    done = subprocess.run([sys.executable, "-m", "spyrelab", "ktir", path], stderr=theirs)
    os.close(theirs)
    shown = os.read(ours, 10_000).decode().replace("\r", "")
    os.close(ours)
    assert done.returncode == 2
    assert "bad.mlir:2:" in shown and "arith.nope" in shown and "\n" + " " * 7 in shown
    assert any(line.strip() == "^" for line in shown.splitlines())


def test_bad_options_are_one_line(add, tmp_path, capsys):
    junk, odd = tmp_path / "junk.npz", tmp_path / "odd.npz"
    junk.write_bytes(b"not a zip")
    np.savez(odd, xx=np.zeros(3, np.float16))
    short = tmp_path / "short.npz"
    np.savez(short, x=np.zeros(3, np.float64))
    for arguments, said in [
        (["nowhere.mlir"], "nowhere.mlir: No such file"),
        ([add, "--function", "g"], "no function @g"),
        ([add, "--run", "--function", "g"], "no function @g"),
        ([add, "--input", odd], "--input is for running"),
        ([add, "--run", "--input", junk], "not an npz file"),
        ([add, "--run", "--input", odd], "key 'xx' is no argument of @vector_add (out, x, y)"),
        ([add, "--run", "--input", short], "argument 'x'"),
        ([add, "--run", "--engine", "gpu"], "invalid choice"),
        ([add, "--run", "--cores", "99"], "99"),
        ([add, "--run", "--save", tmp_path / "r.txt"], ".npz"),
    ]:
        assert ktir(*arguments) == 2
        shown = capsys.readouterr()
        assert said in shown.err and shown.err.count("\n") == 1, shown.err
