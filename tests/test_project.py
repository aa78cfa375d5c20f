"""The ground: packaging that agrees with itself, and a command line that behaves."""

from __future__ import annotations

import json
import os
import pkgutil
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import yaml

import spyrelab
import spyrelab.commands
from spyrelab import cli
from spyrelab.errors import SpyreLabError
from spyrelab.ktir.errors import KtirError
from spyrelab.machine import FACTS

ROOT = Path(__file__).parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
README = (ROOT / "README.md").read_text(encoding="utf-8")


def spyre(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "spyrelab", *arguments],
        capture_output=True,
        text=True,
        cwd=ROOT,
        stdin=subprocess.DEVNULL,
        env={**os.environ, **environment},
    )


def test_the_environment_file_leaves_the_list_to_the_project() -> None:
    environment = yaml.safe_load((ROOT / "environment.yml").read_text(encoding="utf-8"))
    assert environment["name"] == PROJECT["project"]["name"]
    assert environment["channels"] == ["conda-forge"]
    python, pip, block = environment["dependencies"]
    assert pip == "pip" and list(block) == ["pip"]
    least = PROJECT["project"]["requires-python"].removeprefix(">=")
    assert python == f"python={least}"
    (install,) = block["pip"]
    extras = re.fullmatch(r"-e \.\[([\w,]+)\]", install)
    assert extras is not None
    assert set(extras[1].split(",")) <= set(PROJECT["project"]["optional-dependencies"])


def test_the_project_lists_what_every_reader_needs() -> None:
    names = {re.split(r"[=<>~]", item)[0] for item in PROJECT["project"]["dependencies"]}
    assert {"torch", "jupyterlab", "matplotlib", "numba", "pytest"} <= names
    assert "torch==2.13.*" in PROJECT["project"]["dependencies"]
    assert PROJECT["project"]["version"] == spyrelab.__version__
    assert PROJECT["project"]["scripts"] == {"spyrelab": "spyrelab.cli:main"}
    assert "Apache License" in (ROOT / "LICENSE").read_text(encoding="utf-8")


def test_the_readme_commands_exist() -> None:
    blocks = "\n".join(re.findall(r"```sh\n(.*?)```", README, re.S))
    used = re.findall(r"spyrelab (\w+)", blocks)
    assert used, "the README shows a command"
    assert set(used) <= set(cli.VERBS)
    for extra in re.findall(r"\.\[(\w+)\]", blocks):
        assert extra in PROJECT["project"]["optional-dependencies"]
    for file in re.findall(r"[\w/]+\.yml", README):
        assert (ROOT / file).is_file()


def test_the_readme_map_is_true() -> None:
    for folder in re.findall(r"`([\w/]+/)`", README):
        assert (ROOT / folder).is_dir(), folder
    for picture in re.findall(r"!\[.*?\]\((.*?)\)", README):
        assert (ROOT / picture).is_file(), picture


def test_importing_spyrelab_loads_nothing_heavy() -> None:
    code = (
        "import sys, spyrelab, spyrelab.cli\n"
        "print([name for name in ('torch', 'numba', 'numpy', 'triton', 'helion', 'rich')"
        " if name in sys.modules])"
    )
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert shown.stdout.strip() == "[]"


def test_subpackages_load_on_first_use() -> None:
    assert spyrelab.machine.SPYRE.cores == 32
    assert "machine" in dir(spyrelab)
    with pytest.raises(AttributeError, match="nothing_here"):
        spyrelab.nothing_here


def test_every_verb_has_a_module_and_every_module_a_verb() -> None:
    for verb in cli.VERBS:
        assert f"{verb}" in {
            module.name for module in pkgutil.iter_modules(spyrelab.commands.__path__)
        }
    for module in pkgutil.iter_modules(spyrelab.commands.__path__):
        source = (ROOT / "spyrelab" / "commands" / f"{module.name}.py").read_text(encoding="utf-8")
        assert ("def register(" in source) == (module.name in cli.VERBS), module.name


@pytest.mark.parametrize("verb", ["", *cli.VERBS])
def test_help_reads_well(verb: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main([*verb.split(), "--help"]) == 0
    shown = capsys.readouterr()
    assert shown.out.startswith(f"usage: spyrelab {verb}".rstrip()) and shown.err == ""
    assert max(map(len, shown.out.splitlines())) <= 100


@pytest.mark.parametrize("verb", cli.VERBS)
def test_every_verb_takes_json(verb: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main([verb, "--help"]) == 0
    assert "--json" in capsys.readouterr().out


def test_no_verb_shows_the_help(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main([]) == 0
    assert capsys.readouterr().out.startswith("usage: spyrelab")
    assert cli.main(["--version"]) == 0
    assert capsys.readouterr().out == f"spyrelab {spyrelab.__version__}\n"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["infp"], "unknown verb 'infp'; did you mean 'info'?"),
        (["zzz"], "unknown verb 'zzz'; the verbs are info"),
        (["info", "--nope"], "unrecognized arguments: --nope"),
        (["--nope"], "unrecognized arguments: --nope"),
        (["info", "clck_hz"], "did you mean clock_hz"),
        (["info", "qqqqqqq"], "'spyrelab info' lists them"),
    ],
)
def test_unknown_input_is_one_line_and_code_2(arguments: list[str], said: str) -> None:
    shown = spyre(*arguments)
    assert shown.returncode == 2
    assert shown.stdout == ""
    assert shown.stderr.startswith("spyrelab: ") and said in shown.stderr
    assert shown.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("error", "code", "said"),
    [
        (SpyreLabError("no such thing\nand more"), 2, "no such thing"),
        (KtirError("odd word", line=3, column=7, source_line="  x", hint="write y"), 2, "odd word"),
        (FileNotFoundError(2, "No such file or directory", "a.ktir"), 2, "a.ktir: No such file"),
        (UnicodeDecodeError("utf-8", b"\xff", 0, 1, "invalid start byte"), 2, "not a UTF-8 text"),
        (KeyboardInterrupt(), 130, "interrupted"),
        (ZeroDivisionError("by zero"), 1, "fault of SpyreLab itself: ZeroDivisionError: by zero"),
        (BrokenPipeError(), 141, ""),
    ],
)
def test_no_exception_leaves_the_command_line(
    error: BaseException,
    code: int,
    said: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def fail(argv: list[str]) -> int:
        raise error

    monkeypatch.setattr(cli, "_run", fail)
    monkeypatch.delenv("SPYRELAB_DEBUG", raising=False)
    assert cli.main([]) == code
    shown = capsys.readouterr().err
    assert said in shown
    assert shown.count("\n") == bool(said)


def test_info_as_json() -> None:
    document = json.loads(spyre("info", "--json").stdout)
    assert document["schema"] == 1
    assert set(document["machine"]) == set(FACTS)
    assert document["machine"]["cores"]["value"] == 32
    assert set(document["machine"]["cores"]) >= {"value", "unit", "source", "confidence"}
    assert document["environment"]["spyrelab"] == spyrelab.__version__
    assert document["memory"]["granted"] is True
    assert document["derived"]["peak_flops"]["f16"] == pytest.approx(72.1e12, rel=1e-3)
    only = json.loads(spyre("info", "rings", "clock_hz", "--json").stdout)["machine"]
    assert "clock_hz" in only and "partial_ring_count" in only and "cores" not in only


def test_info_is_plain_when_piped() -> None:
    shown = spyre("info", SPYRELAB_MEMORY_GIB="2")
    assert shown.returncode == 0 and shown.stderr == ""
    assert "\x1b" not in shown.stdout
    assert "2 GiB of address space" in shown.stdout
    assert "torch-spyre docs: scratchpad_planning.md" in shown.stdout
    for name in FACTS:
        assert re.search(rf"\b{name}\b", shown.stdout)


def test_a_reader_that_leaves_early_sees_no_complaint() -> None:
    command = f"'{sys.executable}' -m spyrelab info --json | head -c 1"
    shown = subprocess.run(["bash", "-c", command], capture_output=True, text=True, cwd=ROOT)
    assert (shown.stdout, shown.stderr) == ("{", "")
