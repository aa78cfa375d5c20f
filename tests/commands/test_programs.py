"""Programs named on the command line: files, kernels, bench cases; and names that are none."""

from __future__ import annotations

import json

import pytest

from spyrelab import cli
from spyrelab.bench.registry import all_chapters

WITHOUT_PROGRAMS = ("ch03", "ch04", "ch05", "ch06", "ch07")
"""Chapters with cases that time a device or a planner, and not one program."""


@pytest.mark.parametrize(
    "name", ["softmax-512x1024", "paged_attention-8x32x128-context120", "loop-100"]
)
def test_a_case_is_traced(name, tmp_path, capsys):
    path = tmp_path / "t.json"
    assert cli.main(["trace", name, "-o", str(path)]) == 0
    assert json.loads(path.read_text(encoding="utf-8"))["traceEvents"]
    assert capsys.readouterr().out.startswith(f"wrote {path}: Estimate(@")


def test_every_listed_case_can_be_timed(capsys):
    for name, chapter in all_chapters().items():
        for case in chapter.cases:
            if case.detail or case.kernel.name == "paged_attention":
                continue
            code = cli.main(["estimate", case.name, "--json"])
            shown = capsys.readouterr()
            if name in WITHOUT_PROGRAMS and code:
                assert (code, shown.out) == (2, "")
                assert shown.err.endswith("is about no single program of the card\n")
            else:
                assert code == 0, shown.err
                assert json.loads(shown.out)["cycles"] > 0


def test_a_summary_is_the_split_that_it_chooses(capsys):
    found = []
    for name in ("best_split-64x4096x12800", "matmul-64x4096x12800-m4n8k1"):
        assert cli.main(["estimate", name, "--json"]) == 0
        found.append(json.loads(capsys.readouterr().out))
    assert found[0] == found[1]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["softmax-4096"], "did you mean 'softmax-4096x1024' or 'softmax'"),
        (["matmal"], "did you mean 'matmul'?"),
        (["best_split"], "did you mean 'best_split-512x4096x1024' or"),
        (["qqqq"], "kernels: vector_add, pointwise"),
        (["qqqq"], "'spyrelab bench --list' shows the cases"),
        (["softmax-512x1024", "rows=3"], "is fixed: it takes no sizes"),
        (["softmax-512x1024", "--cores", "3"], "is fixed: it takes no sizes"),
    ],
)
def test_unknown_names_are_one_line(words, said, tmp_path, capsys):
    assert cli.main(["trace", *words, "-o", str(tmp_path / "t.json")]) == 2
    shown = capsys.readouterr()
    assert said in shown.err and shown.err.count("\n") == 1 and shown.out == ""
    assert not (tmp_path / "t.json").exists()


@pytest.mark.parametrize(
    "words",
    [
        ["trace", "softmax", "rows=4", "cols=64", "-o", "nowhere/t.json"],
        ["estimate", "softmax", "rows=4", "cols=64", "--plot", "nowhere/t.png"],
    ],
)
def test_files_that_cannot_be_written_are_refused(words, capsys):
    assert cli.main(words) == 2
    assert "there is no such folder" in capsys.readouterr().err


def test_a_picture_has_a_known_suffix(capsys):
    assert cli.main(["estimate", "softmax", "rows=4", "cols=64", "--plot", "t.xyz"]) == 2
    assert "t.xyz: a picture's name ends in .png" in capsys.readouterr().err
