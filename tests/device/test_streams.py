"""Streams and events on the emulated clock, and the record of launches."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch

import spyrelab
from spyrelab.device import clock
from spyrelab.emulator import lower
from spyrelab.kernels import softmax
from spyrelab.ktir import parse
from spyrelab.timing import CONSTANTS, UnknownValueError, estimate

MODULE = softmax(64, 256)
PROGRAM = lower(MODULE)
SECONDS = estimate(MODULE).seconds


def test_streams_are_in_order() -> None:
    assert torch.spyre.current_stream() == torch.spyre.default_stream()
    mine = torch.spyre.Stream()
    with torch.spyre.stream(mine):
        assert torch.spyre.current_stream() is mine
        with torch.spyre.Stream() as inner:
            assert torch.spyre.current_stream() == inner
        assert torch.spyre.current_stream() is mine
    assert torch.spyre.current_stream() == torch.spyre.default_stream()
    mine.wait_stream(torch.spyre.default_stream())
    mine.synchronize()
    assert mine.query()
    with torch.spyre.stream(None):
        pass


def test_events_measure_emulated_time() -> None:
    start, end = (torch.spyre.Event(enable_timing=True) for _ in range(2))
    start.record()
    for _ in range(3):
        clock.launched(PROGRAM)
    end.record()
    assert end.query()
    end.synchronize()
    assert start.elapsed_time(end) == pytest.approx(3 * SECONDS * 1e3)
    later = torch.spyre.current_stream().record_event()
    assert end.elapsed_time(later) == 0


def test_events_that_cannot_be_compared() -> None:
    timed, other = torch.spyre.Event(enable_timing=True), torch.spyre.Event()
    timed.record()
    other.record()
    with pytest.raises(ValueError, match="enable_timing=True"):
        timed.elapsed_time(other)
    with pytest.raises(RuntimeError, match="recorded"):
        timed.elapsed_time(torch.spyre.Event(enable_timing=True))


def test_old_launches_become_their_sum(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clock, "_FOLD", 2000)
    start, before = clock.mark(), clock.now()
    for _ in range(4500):
        clock.launched(PROGRAM)
    assert clock.now() - before == pytest.approx(4500 * SECONDS, rel=1e-6)
    assert start.seconds == before
    assert len(clock._log) <= 2001


def test_record() -> None:
    with spyrelab.record() as r:
        clock.launched(PROGRAM, op="aten::_softmax.out")
        clock.launched(PROGRAM)
    clock.launched(PROGRAM)
    assert [kernel.op for kernel in r.kernels] == ["aten::_softmax.out", r.kernels[1].name]
    assert r.seconds == pytest.approx(2 * SECONDS)
    assert r.kernels[1].start == r.kernels[0].end == pytest.approx(SECONDS)
    assert spyrelab.last_timeline() == r.timeline
    assert "2 kernels" in repr(r)


def test_a_recording_holds_more_than_the_log(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clock, "_FOLD", 100)
    with spyrelab.record() as r:
        for _ in range(3000):
            clock.launched(PROGRAM)
    assert len(r.kernels) == 3000


def test_timelines_are_written_and_drawn(tmp_path: Path) -> None:
    with spyrelab.record() as r:
        clock.launched(PROGRAM, op="softmax")
    r.timeline.to_perfetto(tmp_path / "t.json")
    events = json.loads((tmp_path / "t.json").read_text())["traceEvents"]
    assert [e["args"]["op"] for e in events if e["ph"] == "X"] == ["softmax"]
    axes = r.timeline.plot()
    assert "µs" in axes.get_xlabel()


def test_the_profiler_shows_launches(tmp_path: Path) -> None:
    path = tmp_path / "trace.json"
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as p:
        torch.ones(3, device="spyre").sin()
        clock.launched(PROGRAM, op="softmax")
        clock.launched(PROGRAM, op="softmax")
    p.export_chrome_trace(str(path))
    events = json.loads(path.read_text())["traceEvents"]
    kernels = [e for e in events if e.get("cat") == "kernel" and e["args"]["op"] == "softmax"]
    assert len(kernels) == 2
    assert kernels[0]["dur"] == pytest.approx(SECONDS * 1e6)
    assert kernels[1]["ts"] >= kernels[0]["ts"] + kernels[0]["dur"]
    host = [e["ts"] for e in events if e.get("name") == "aten::sin"]
    assert host and 0 <= kernels[0]["ts"] - host[0] < 5e6
    assert any(entry.key == "aten::sin" for entry in p.key_averages())


def test_a_launch_whose_time_nobody_knows_does_not_stop_the_clock(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    program, known = lower(parse("module { func.func @locked() { return } }")), clock.estimate_of

    def unknown(launch: clock.Launch) -> object:
        if launch.program is program:
            raise UnknownValueError("it depends on a lock")
        return known(launch)

    monkeypatch.setattr(clock, "estimate_of", unknown)
    start = clock.now()
    clock.launched(program)
    with pytest.warns(RuntimeWarning, match="only the launch of locked: it depends on a lock"):
        after = clock.now()
    clock.launched(program)
    assert after - start == pytest.approx(CONSTANTS.launch_seconds)
    assert clock.now() - after == pytest.approx(CONSTANTS.launch_seconds)
