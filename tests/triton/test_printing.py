"""The KTIR of a kernel without a launch: ``spyrelab ktir --from-triton``, and `explain`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch

import spyrelab
from spyrelab import cli
from spyrelab.errors import UsageError
from spyrelab.ktir import parse
from spyrelab.triton.arguments import AccessKind, AccessNote, KernelArgument, Role
from spyrelab.triton.errors import TritonError
from spyrelab.triton.explaining import access_text
from spyrelab.triton.kernel import decode, encode
from spyrelab.triton.source import kernel_in, read_signature, translate_kernel
from tests.triton import kernels

FILE = Path(kernels.__file__)
ADD = "x=*fp16,y=*fp16,out=*fp16,n=i32,BLOCK=64"

TUNED = """
import triton
import triton.language as tl

@triton.autotune([triton.Config({"BLOCK": 32}, num_stages=3)], key=[])
@triton.jit
def copy(out, x: "*fp32", n: "i32", BLOCK: tl.constexpr, SHIFT: tl.constexpr = 1):
    at = tl.arange(0, BLOCK)
    tl.store(out + at, tl.load(x + at + SHIFT, at < n), at < n)
"""


def ktir(*arguments):
    return cli.main(["ktir", *map(str, arguments)])


def test_the_text_is_ktir(capsys, tmp_path):
    assert ktir("--from-triton", f"{FILE}:add", "--signature", ADD) == 0
    shown = capsys.readouterr()
    assert shown.err == ""
    module = parse(shown.out)
    module.verify()
    assert module.functions[0].name == "add" and "kernels.py" in shown.out
    path = tmp_path / "add.mlir"
    path.write_text(shown.out)
    assert ktir(path) == 0
    assert "LX peak" in capsys.readouterr().out


def test_what_other_tools_do_not_know_is_listed(capsys):
    signature = "*fp32,*i32,*fp32,BLOCK=32"
    assert ktir("--from-triton", f"{FILE}:squares_gathered", "--signature", signature) == 0
    shown = capsys.readouterr()
    assert "not portable, operations of SpyreLab's own: spyrelab.gather (1)" in shown.err
    assert "load of x: gather" in shown.err and "picked * picked" in shown.err
    arguments = ("--from-triton", f"{FILE}:squares_gathered", "--signature", signature, "--json")
    assert ktir(*arguments) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["not_portable"] == {"spyrelab.gather": 1}
    assert [access["kind"] for access in document["accesses"]] == ["box", "gather", "box"]
    assert "func.func @squares_gathered" in document["text"]


def test_it_can_be_run(capsys):
    arguments = ("--from-triton", f"{FILE}:add", "--signature", ADD, "--run")
    assert ktir(*arguments, "--set", "n=100", "--set", "grid_x=2") == 0
    shown = capsys.readouterr().out
    assert "@add ran on 32 cores" in shown and "func.func" not in shown


@pytest.mark.parametrize(
    ("arguments", "wanted"),
    [
        ((), "give a KTIR file, --from-triton"),
        (("x.mlir", "--from-triton", "y:z"), "one of them"),
        (("x.mlir", "--signature", "y"), "--signature is for --from-triton"),
        (("--from-triton", "nowhere.py:add"), "give FILE:KERNEL"),
        (("--from-triton", f"{FILE}:nothing"), "its kernels: add, softmax, matmul"),
        (("--from-triton", f"{FILE}:add"), "x=*fp16,y=*fp16,out=*fp16,n=i32,BLOCK=64"),
        (("--from-triton", f"{FILE}:add", "--signature", "z=3"), "no parameter 'z'"),
        (("--from-triton", f"{FILE}:add", "--signature", "x=float"), "neither a type"),
        (("--from-triton", f"{FILE}:add", "--signature", "1,2,3,4,5,6"), "more than the 5"),
        (("--from-triton", f"{FILE}:toward_zero", "--signature", "*fp32"), "use add_rn"),
    ],
)
def test_mistakes_get_one_line(arguments, wanted, capsys):
    assert ktir(*arguments) == 2
    shown = capsys.readouterr()
    assert wanted in shown.err and shown.out == ""


def test_a_mistake_in_a_kernel_has_its_line(capsys):
    assert ktir("--from-triton", f"{FILE}:toward_zero", "--signature", "*fp32") == 2
    assert "line 2 of the function (tl.store(x, libdevice.add_rz" in capsys.readouterr().err


def test_configurations_annotations_and_defaults_complete_a_signature(tmp_path):
    path = tmp_path / "tuned.py"
    path.write_text(TUNED)
    kernel = kernel_in(f"{path}:copy")
    with pytest.raises(UsageError, match="takes out, x, n, BLOCK, SHIFT"):
        read_signature(kernel, None)
    signature, options = read_signature(kernel, "*fp32")
    types = ["*fp32", "*fp32", "i32", "constexpr", "constexpr"]
    assert list(signature.types.values()) == types
    assert signature.constants == {"BLOCK": 32, "SHIFT": 1} and options.num_stages == 3
    other, _ = read_signature(kernel, "out=*bf16,SHIFT=2")
    assert other.constants["SHIFT"] == 2 and other.types["out"] == "*bf16"


def test_a_binary_is_its_own_inverse():
    signature, options = read_signature(kernels.matmul, "*fp16,*fp16,*fp16,i32,i32,i32,"
                                        "i32,1,i32,1,i32,1,16,16,32")  # fmt: skip
    made = translate_kernel(kernels.matmul, signature, options)
    again = decode(encode(made))
    assert again == made
    assert encode(again) == encode(made)
    argument = KernelArgument("p", Role.STRIDE, 3, 1, 2)
    assert KernelArgument.from_json(argument.to_json()) == argument


def test_explain_says_how_accesses_were_understood():
    x = torch.randn(1024, device="spyre")
    table = torch.arange(32, dtype=torch.int32, device="spyre")
    out = torch.zeros(32, device="spyre")
    asked = {"BLOCK": 32, "grid": (1,)}
    text = str(spyrelab.explain(kernels.squares_gathered, x, table, out, stage="access", **asked))
    assert "tl.load(x + picked * picked)" in text and "descriptor" in text
    assert out.cpu().count_nonzero() == 0  # it was not run
    everything = spyrelab.explain(kernels.squares_gathered, x, table, out, **asked)
    assert list(everything.stages) == ["ttir", "access", "ktir", "program", "timeline"]
    assert "tt.load" in everything.stages["ttir"] and "gather" in everything.stages["program"]
    assert "== access: how every access" in str(everything)
    with pytest.raises(TritonError, match="choose one of ttir"):
        spyrelab.explain(kernels.add, grid=(1,), stage="fx")
    with pytest.raises(TritonError, match="explained for a grid"):
        spyrelab.explain(kernels.add, x, x, out, 32, BLOCK=32)


def test_accesses_without_a_source_are_listed_too():
    notes = [AccessNote("nowhere.py:3:1", "load", "x", AccessKind.GATHER, "why", "advice")]
    assert access_text(notes) == "nowhere.py:3:1: load of x: gather\n    why\n    advice"
    assert access_text([]) == "the kernel does not access memory"
