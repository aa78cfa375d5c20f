"""The KTIR of a Helion kernel without a launch: ``spyrelab ktir --from-helion``, and `explain`."""

from __future__ import annotations

import json
from pathlib import Path

import helion
import pytest
import torch

import spyrelab
from spyrelab import cli
from spyrelab.helion import HelionError, examples, tune
from spyrelab.helion.signatures import read_arguments
from spyrelab.ktir import parse
from tests.helion import kernels
from tests.triton import kernels as triton_kernels

FILE = Path(kernels.__file__)
EXAMPLES = Path(examples.__file__)
SOFTMAX = ("--from-helion", f"{EXAMPLES}:softmax", "--signature", "fp16[64,128]")
MATMUL = ("--from-helion", f"{EXAMPLES}:matmul", "--signature", "a=fp32[64,64],b=fp32[64,96]")
UNUSUAL = """
import helion
import helion.language as hl
import torch

kernel = helion.kernel(configs=[helion.Config(block_sizes=[8, 16])])

@kernel
def mapped(x: torch.Tensor, parts: list[torch.Tensor], kind: torch.dtype, op) -> torch.Tensor:
    out = torch.empty(x.shape, dtype=kind, device=x.device)
    for tile in hl.tile(x.size()):
        out[tile] = (op(x[tile]) + parts[0][tile] * parts[1][tile]).to(kind)
    return out

@kernel
def misspelt(x: torch.Tensor) -> torch.Tensor:
    for tile in hl.tile(x.size()):
        x[tile] = x[tile] + undefined
    return x

def relu(x):
    return torch.relu(x)
"""


def ktir(*arguments):
    return cli.main(["ktir", *map(str, arguments)])


@pytest.fixture(scope="module")
def unusual(tmp_path_factory):
    path = tmp_path_factory.mktemp("kernels") / "unusual.py"
    path.write_text(UNUSUAL)
    return path


def test_the_text_is_ktir(capsys):
    assert ktir(*SOFTMAX) == 0
    shown = capsys.readouterr()
    module = parse(shown.out)
    module.verify()
    assert [function.name for function in module.functions] == ["_helion_softmax"]
    assert "examples.py" in shown.out and "_helion_softmax.py" not in shown.out
    assert "launched with grid_x = 2, grid_y = 1, grid_z = 1" in shown.err
    assert 'compiled in {"block_sizes": [32]' in shown.err


def test_a_run_is_the_launch_that_helion_makes(capsys, tmp_path):
    import numpy as np

    saved = tmp_path / "arrays.npz"
    assert ktir(*MATMUL, "--run", "--save", saved) == 0
    assert "@_helion_matmul ran on 32 cores" in capsys.readouterr().out
    arrays = np.load(saved)
    assert {"a", "b", "out"} <= set(arrays)
    shapes = {"a": (64, 64), "b": (64, 96), "out": (64, 96)}
    a, b, out = (arrays[name].reshape(shape) for name, shape in shapes.items())
    np.testing.assert_allclose(out, a @ b, atol=1e-4)  # sums of 64 products in float32


def test_a_document_holds_the_launch_and_the_configuration(capsys):
    assert ktir(*MATMUL, "--json", "--config", '{"block_sizes": [16, 32, 64]}') == 0
    document = json.loads(capsys.readouterr().out)
    assert document["launch"] == {"grid_x": 4 * 3, "grid_y": 1, "grid_z": 1}
    assert document["config"]["block_sizes"] == [16, 32, 64]
    assert [access["argument"] for access in document["accesses"]] == ["a", "b", "out"]
    assert all(access["place"].startswith(str(EXAMPLES)) for access in document["accesses"])
    (function,) = document["functions"]
    assert function["name"] == "_helion_matmul" and function["lx_peak"] > 0


def test_configurations_come_from_files_and_histories(capsys, tmp_path):
    path = tmp_path / "config.json"
    path.write_text('{"block_sizes": [4]}')
    assert ktir(*SOFTMAX, "--config", path) == 0
    assert "grid_x = 16," in capsys.readouterr().err
    x = torch.zeros(64, 128, dtype=torch.float16, device="spyre")
    history = tmp_path / "trials.jsonl"
    tune(examples.softmax, (x,), configs=[{"block_sizes": [2]}], history=history)
    examples.softmax.reset()  # what was tuned here is this process's own
    assert ktir(*SOFTMAX, "--config", history) == 0
    assert "grid_x = 32," in capsys.readouterr().err


def test_signatures_hold_more_than_tensors(capsys, unusual):
    signature = "x=fp16[8,32],parts=[bf16[32,8].T,fp32[8,32]],kind=bf16,op=relu"
    assert ktir("--from-helion", f"{unusual}:mapped", "--signature", signature) == 0
    shown = capsys.readouterr()
    assert "grid_x = 2," in shown.err and "tensor<8x16xbf16>" in shown.out
    given = "x=i32(0,-3,8),y=(1.5,True),z={'n': i8[0]},t=torch.float32,u=[]"

    def kernel(x, y, z, t, u, v=2):
        pass

    made = helion.kernel()(kernel)
    x, y, z, t, u, v = read_arguments(made, given, {})
    assert x.tolist() == [0, -3, 8] and x.dtype == torch.int32 and x.device.type == "spyre"
    assert (y, t, u, v) == ((1.5, True), torch.float32, [], 2)
    assert list(z) == ["n"] and z["n"].shape == (0,) and z["n"].dtype == torch.int8


@pytest.mark.parametrize(
    ("arguments", "wanted"),
    [
        (("--from-helion", f"{EXAMPLES}:softmx"), "did you mean softmax?"),
        (("--from-helion", f"{EXAMPLES}:torch"), "is its decorator missing?"),
        (("--from-helion", "nowhere.py:softmax"), "no such file; give FILE:KERNEL"),
        (("--from-helion", EXAMPLES), "give FILE:KERNEL"),
        (("--from-helion", f"{triton_kernels.__file__}:add"), "take --from-triton"),
        (("--from-triton", f"{EXAMPLES}:softmax"), "take --from-helion"),
        (("--from-helion", f"{EXAMPLES}:matmul"), "such as 'a=fp16[64,128],b=fp16[64,128]'"),
        ((*MATMUL[:3], "fp16[64,128]"), "missing a required argument: 'b'"),
        ((*MATMUL[:3], "fp16[2,3],c=fp16[3,4]"), "a required argument: 'b'"),
        ((*MATMUL[:3], "fp32[4,5],fp32[6,7]"), "AssertionError: a has 5 columns but b has 6 rows"),
        ((*MATMUL[:3], "fp32[4,5],3"), "matmul does not compile"),
        ((*SOFTMAX[:3], "fp64[4,5]"), "points to f64; the card has no 64-bit floats"),
        ((*SOFTMAX[:3], "fp15[4,5]"), "no type 'fp15'; did you mean fp16?"),
        ((*SOFTMAX[:3], "fp16[4,-5]"), "a shape is whole numbers"),
        ((*SOFTMAX[:3], "fp16[4,x]"), "neither a type nor a name in the file"),
        ((*SOFTMAX[:3], "i32(1,'two')"), "--signature: i32(1, 'two'): "),
        ((*SOFTMAX[:3], "fp16[4,5"), "write as in x=fp16[64,128]"),
        ((*SOFTMAX[:3], "a b"), "write as in x=fp16[64,128]"),
        ((*SOFTMAX[:3], "(3).T"), "only a tensor has .T"),
        ((*SOFTMAX[:3], "fp16[0,5]"), "softmax launches nothing for arguments of these shapes"),
        ((*SOFTMAX, "--config", "{"), "give a JSON object such as"),
        ((*SOFTMAX, "--config", "[64]"), "a configuration is a JSON object, not [64]"),
        ((*SOFTMAX, "--config", "nowhere.json"), "No such file"),
        ((*SOFTMAX, "--config", "nowhere.jsonl"), "cannot be read as a history"),
        ((*SOFTMAX, "--config", '{"block_sizes": [1, 1]}'), "InvalidConfig"),
        ((*SOFTMAX, "--config", '{"blocksizes": [1]}'), "Invalid config keys ['blocksizes']"),
        (("x.mlir", "--config", "{}"), "--config is for --from-helion"),
        (("x.mlir", *SOFTMAX), "one of them"),
    ],
)
def test_mistakes_get_one_line(arguments, wanted, capsys):
    assert ktir(*arguments) == 2
    shown = capsys.readouterr()
    assert wanted in shown.err and shown.out == ""
    assert shown.err.count("\n") == 1 and shown.err.startswith("spyrelab: ")


def test_a_mistake_in_a_kernel_has_its_line(capsys, unusual, tmp_path):
    place = f"{unusual}:misspelt"
    assert ktir("--from-helion", place, "--signature", "fp32[4,5]") == 2
    shown = capsys.readouterr().err
    assert "undefined is not defined" in shown and 'unusual.py", line 18, in misspelt' in shown
    path = tmp_path / "broken.py"
    path.write_text("import torch\nimport nowhere_to_be_found\n")
    assert ktir("--from-helion", f"{path}:kernel") == 2
    assert "broken.py:2 cannot be loaded: ModuleNotFoundError" in capsys.readouterr().err


def test_a_file_that_ends_the_process(capsys, tmp_path):
    path = tmp_path / "script.py"
    path.write_text("import sys\nsys.exit(0)\n")
    assert ktir("--from-helion", f"{path}:kernel") == 2
    assert "script.py:2 cannot be loaded: SystemExit: 0" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["HELION_INTERPRET", "TRITON_INTERPRET"])
def test_what_is_interpreted_is_not_compiled(name, capsys, monkeypatch, unusual):
    monkeypatch.setenv(name, "1")
    assert ktir("--from-helion", f"{unusual}:misspelt", "--signature", "fp32[4,5]") == 2
    assert f"misspelt is interpreted, not compiled: unset {name}" in capsys.readouterr().err


def test_several_launches_are_told_apart():
    from dataclasses import replace

    from spyrelab.helion.explaining import _TEXTS
    from spyrelab.helion.source import launches_of

    x = torch.zeros(8, 64, device="spyre")
    made = launches_of(examples.softmax, (x,))
    twice = replace(made, launches=made.launches * 2)
    assert _TEXTS["access"](twice).count("load of x") == 2
    assert "launch 2, _helion_softmax:\n" in _TEXTS["program"](twice)


def test_tiles_that_do_not_fit_say_which(capsys):
    huge = ("--config", '{"block_sizes": [1024, 1024, 64]}')
    assert ktir(*MATMUL[:3], "fp32[2048,64],fp32[64,2048]", *huge) == 2
    shown = capsys.readouterr().err
    assert "4,194,304 bytes" in shown and "examples.py:38" in shown and shown.count("\n") == 1


def test_explain_goes_through_every_stage():
    x = torch.randn(64, 128, device="spyre")
    with spyrelab.record() as seen:
        made = spyrelab.explain(kernels.layer_norm, x, x[0], x[1])
    assert not seen.kernels  # it was not run
    assert list(made.stages) == [
        "launch",
        "triton",
        "ttir",
        "access",
        "ktir",
        "program",
        "timeline",
    ]
    assert (
        "_helion_layer_norm on a grid of 2 x 1 x 1: 2 programs on 2 of 32" in made.stages["launch"]
    )
    assert "block_sizes = [32]" in made.stages["launch"]
    assert "@triton.jit" in made.stages["triton"] and "tt.load" in made.stages["ttir"]
    access = made.stages["access"]
    assert "load of weight: box" in access and "values = x[tile, :].to(torch.float32)" in access
    assert "func.func @_helion_layer_norm" in made.stages["ktir"]
    assert "B of scratchpad" in made.stages["program"] and " us (" in made.stages["timeline"]
    assert "== launch: what Helion launches" in str(made)


def test_explain_takes_a_configuration(tmp_path):
    x = torch.randn(64, 128, device="spyre")
    page = tmp_path / "page.html"
    config = helion.Config(block_sizes=[1])
    text = str(spyrelab.explain(examples.softmax, x, stage="launch", config=config, html=page))
    assert "64 programs on 32 of 32 cores, at most 2 on each" in text
    assert "<b>launch</b>" in page.read_text()
    tune(examples.softmax, (x,), configs=[{"block_sizes": [16]}])
    tuned = str(spyrelab.explain(examples.softmax, x=x, stage="launch"))
    examples.softmax.reset()
    assert "4 programs on 4 of 32 cores" in tuned
    empty = str(spyrelab.explain(examples.softmax, x[:0], stage="ktir"))
    assert empty == "nothing is launched for arguments of these shapes"


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"stage": "fx"}, "choose one of launch, triton, ttir"),
        ({"grid": (3,)}, "chooses its grid itself"),
        ({"config": 64}, "config=64: a helion.Config or a dict"),
        ({"config": {"block_sizes": [1, 2]}}, "softmax does not compile: InvalidConfig"),
        ({"y": 3}, "softmax does not take these arguments"),
    ],
)
def test_explain_refuses_what_makes_no_sense(given, said):
    x = torch.randn(64, 128, device="spyre")
    with pytest.raises(HelionError, match=said):
        spyrelab.explain(examples.softmax, x, **given)


def test_explain_of_other_things_is_as_ever():
    x = torch.randn(4, 64, device="spyre")
    assert "aten.mul" in str(spyrelab.explain(lambda x: x * 2, x, stage="fx"))
    out = torch.empty(64, device="spyre")
    made = spyrelab.explain(triton_kernels.add, x, x, out, 64, BLOCK=64, grid=(1,), stage="access")
    assert "load of y: box" in str(made)
