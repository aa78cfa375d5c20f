"""Traces and pictures of estimates."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import matplotlib as mpl
import pytest

from spyrelab import kernels
from spyrelab.commands import estimate as estimate_verb
from spyrelab.commands import trace as trace_verb
from spyrelab.errors import UsageError
from spyrelab.timing import estimate, roofline
from spyrelab.timing.measurements import read_measurements
from spyrelab.timing.validation import Prediction
from spyrelab.viz.picture import description
from spyrelab.viz.roofline import draw_roofline
from spyrelab.viz.splits import draw_splits
from spyrelab.viz.validation import draw_scatter

mpl.use("Agg")


def test_a_trace_has_cores_engines_and_counters(tmp_path: Path) -> None:
    path = tmp_path / "t.json"
    made = estimate(kernels.softmax(512, 2048))
    made.to_perfetto(path)
    events = json.loads(path.read_text(encoding="utf-8"))["traceEvents"]
    names = {e["args"]["name"] for e in events if e["ph"] == "M" and "name" in e["args"]}
    assert {"core 0", "core 31", "DDR load", "SFP", "DDR store", "card"} <= names
    assert {e["name"] for e in events if e["ph"] == "C"} == {"DDR bandwidth", "LX"}
    last = max(e["ts"] + e["dur"] for e in events if e["ph"] == "X")
    assert last == pytest.approx(made.seconds * 1e6, rel=1e-3)


def test_ring_transfers_have_arrows(tmp_path: Path) -> None:
    module = Path(__file__).parents[1] / "data" / "ktir_samples" / "08b_group_max.mlir"
    from spyrelab.ktir import parse

    path = tmp_path / "t.json"
    estimate(parse(module.read_text(encoding="utf-8"))).to_perfetto(path)
    events = json.loads(path.read_text(encoding="utf-8"))["traceEvents"]
    starts = [e["id"] for e in events if e["ph"] == "s"]
    assert starts
    assert sorted(starts) == sorted(e["id"] for e in events if e["ph"] == "f")


def test_a_long_loop_keeps_its_trace_small(tmp_path: Path) -> None:
    path = tmp_path / "t.json"
    estimate(kernels.pointwise("x * 2", (32 * 10_000, 4096), tile=4096)).to_perfetto(path)
    assert path.stat().st_size < 40e6


def test_pictures_are_drawn() -> None:
    module = kernels.matmul(1, 512, 4096, 4096, split=(1, 4, 4, 2))
    made = estimate(module)
    assert made.plot().get_xlabel() == "time (µs)"
    assert draw_roofline(roofline(module), made).get_ylabel() == "TFLOP/s"
    assert draw_splits(1, 512, 4096, 4096).get_xlabel() == "parts of n"


def test_the_map_of_splits_says_what_its_colours_mean() -> None:
    axes = draw_splits(1, 512, 4096, 4096)
    bar = axes.figure.axes[-1]
    assert bar.get_ylabel() == "predicted time (µs), logarithmic"
    ticks = [int(text.get_text().replace(",", "")) for text in bar.get_yticklabels()]
    assert len(ticks) >= 3 and ticks == sorted(ticks)
    words = description(axes.figure)
    assert words.startswith("Heat map of the predicted time of 1x512x4096x4096")
    assert "Fastest is m4n8 with" in words and "<colorbar>" not in words
    assert "one core" in description(draw_splits(1, 64, 64, 64, cores=1).figure)


def test_a_roofline_has_plain_numbers_at_its_axes() -> None:
    axes = draw_roofline(roofline(kernels.matmul(1, 512, 4096, 4096, split=(1, 4, 8, 1))))
    axes.figure.canvas.draw()
    texts = [text.get_text() for text in axes.get_xticklabels()]
    assert "1,024" in texts and not any("^" in text for text in texts)


def test_a_scatter_says_what_is_near_and_what_is_not_drawn() -> None:
    rows = read_measurements(Path(__file__).parents[2] / "book/data/spyre_measurements.csv")
    predictions = [Prediction(row, row.measured_us * 1.1) for row in rows]
    axes = draw_scatter(predictions, model="roofline")
    assert axes.get_title() == "predicted by the model 'roofline' against measured"
    assert draw_scatter(predictions).get_title() == "predicted against measured"
    labels = [text.get_text() for text in axes.get_legend().get_texts()]
    assert "within 20%" in labels and labels[0].startswith("profiled: 244 rows")
    assert [text.get_text() for text in axes.texts] == ["not drawn, far below: PS-008, PS-012"]
    assert sum(len(line.get_xdata()) for line in axes.lines[:3]) == len(rows) - 2
    assert axes.get_xlim()[0] > 10
    near = [p for p in predictions if p.row.measured_us > 10]
    assert not draw_scatter(near).texts and not draw_scatter(near[:3]).texts
    assert draw_scatter([]).get_legend() is None


def run(verb: object, *words: str) -> int:
    parser = argparse.ArgumentParser()
    verb.register(parser.add_subparsers())  # type: ignore[attr-defined]
    args = parser.parse_args(list(words))
    return int(args.run(args))


def test_estimate_on_the_command_line(capsys: pytest.CaptureFixture) -> None:
    words = ["estimate", "matmul", "b=1", "m=512", "n=4096", "k=4096", "split=1,4,8,1"]
    assert run(estimate_verb, *words) == 0
    assert "matrix unit" in capsys.readouterr().out
    assert run(estimate_verb, *words, "--json") == 0
    assert json.loads(capsys.readouterr().out)["cores"] == 32


def test_trace_on_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    path = tmp_path / "t.json"
    assert run(trace_verb, "trace", "softmax", "rows=64", "cols=256", "-o", str(path)) == 0
    assert json.loads(path.read_text(encoding="utf-8"))["traceEvents"]
    assert "wrote" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["softmaks"], "did you mean 'softmax'"),
        (["softmax", "rows=4"], "needs cols"),
        (["softmax", "rows=4", "cols=4", "depth=1"], "takes no 'depth'"),
        (["softmax", "rows"], "is not NAME=VALUE"),
    ],
)
def test_wrong_words_are_explained(words: list[str], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        run(estimate_verb, "estimate", *words)
