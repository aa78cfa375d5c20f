"""``spyrelab estimate CONFIG``: what is printed, and one line for what cannot be."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from spyrelab import cli
from tests.models.small import small_config

HOW = ["--batch", "2", "--prompt", "16", "--tokens", "4", "--planner", "per-op"]


@pytest.fixture
def config(tmp_path: Path) -> str:
    return str(small_config(tmp_path))


def refused(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> str:
    assert cli.main(["estimate", *arguments]) == 2
    shown = capsys.readouterr()
    assert shown.out == "" and "Traceback" not in shown.err
    return " ".join(shown.err.split())


def test_times_and_shares_are_printed(config: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["estimate", config, *HOW]) == 0
    shown = capsys.readouterr().out
    for words in ("prefill of 2 x 16 tokens:", "each further token:", "Error bar:", "share of time",
                  "decode: kernel"):  # fmt: skip
        assert words in shown


def test_json_is_complete(config: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["estimate", str(Path(config).parent), *HOW, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["schema"] == 1 and 0 < found["error"] < 1
    assert (found["batch"], found["prompt"], found["tokens"]) == (2, 16, 4)
    assert 0 < found["token_ms"] <= found["prefill_ms"]
    assert {part["phase"] for part in found["parts"]} == {"prefill", "decode"}


def test_a_model_that_is_too_large(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = small_config(tmp_path, hidden_size=65536, intermediate_size=1 << 20)
    assert "weights take" in refused([str(path)], capsys)


@pytest.mark.parametrize("option", [["--cores", "4"], ["--plot", "x.png"], ["--function", "f"]])
def test_options_for_programs(
    option: list[str], config: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert f"{option[0]} is for programs" in refused([config, *option], capsys)


@pytest.mark.parametrize("how", [["--batch", "0"], ["--prompt", str(1 << 21)]])
def test_impossible_sizes(how: list[str], config: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert refused([config, *how], capsys)


def test_an_unknown_name(capsys: pytest.CaptureFixture[str]) -> None:
    assert "granite-4" in refused(["granite-4"], capsys)


def test_a_file_that_is_no_configuration(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "config.json").write_text("[]")
    assert "names no model_type" in refused([str(tmp_path)], capsys)
