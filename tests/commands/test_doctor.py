"""``spyrelab doctor`` on a healthy installation, and on some that are not."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from spyrelab import cli
from spyrelab.commands import doctor
from spyrelab.commands.doctor import Finding, State, examine


def found() -> dict[str, Finding]:
    return {finding.name: finding for finding in examine()}


def test_a_healthy_installation(capsys):
    assert cli.main(["doctor", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    states = {finding["name"]: finding["state"] for finding in document["findings"]}
    assert document["healthy"] is True and set(doctor.CHECKS) <= set(states)
    needed = set(doctor.CHECKS) - {"browser", "Triton", "Helion"}
    assert {states[name] for name in needed} == {"ok"}

    assert cli.main(["doctor"]) == 0
    shown = capsys.readouterr().out
    assert "All that is needed works." in shown and "private names are there" in shown


def test_packages_that_do_not_fit(monkeypatch):
    asked = ["numpy>=99", "nowhere-to-be-found>=1", 'sphinx-of-old>=1; extra == "book"']
    monkeypatch.setattr(doctor, "requires", lambda name: asked)
    mine = found()
    assert mine["packages"].state is State.BROKEN
    assert "numpy>=99 is asked for" in mine["packages"].advice
    assert "nowhere-to-be-found>=1 is not installed" in mine["packages"].advice
    assert mine["extra book"].state is State.ABSENT
    assert "pip install 'spyrelab[book]'" in mine["extra book"].advice


def test_a_library_that_has_moved_on(monkeypatch, capsys):
    internals = pytest.importorskip("spyrelab.triton.internals")
    monkeypatch.setitem(internals._NEEDED, "triton.gone.away", "says hello")
    assert cli.main(["doctor"]) == 1
    shown = capsys.readouterr().out
    assert "triton.gone.away (says hello)" in shown and "Something is broken." in shown


def test_a_library_that_is_not_there(monkeypatch):
    monkeypatch.setitem(sys.modules, "helion", None)
    assert found()["Helion"].state is State.ABSENT


def installation(place, name: str, statement: str) -> dict[str, Finding]:
    """What is found where a library, when it is imported, does this."""
    (place / name).mkdir()
    (place / name / "__init__.py").write_text(statement + "\n")
    done = subprocess.run(
        [sys.executable, "-m", "spyrelab", "doctor", "--json"],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(place)},
    )
    assert done.stderr.count("Traceback") == 0, done.stderr
    findings = [Finding(**finding) for finding in json.loads(done.stdout)["findings"]]
    return {finding.name: finding for finding in findings}


def test_a_library_without_what_it_asks_for_is_broken_and_not_absent(tmp_path):
    gone = "raise ModuleNotFoundError(\"No module named 'triton'\", name='triton')"
    mine = installation(tmp_path, "triton", gone)
    assert mine["Triton"].state == State.ABSENT and "spyrelab.triton needs" in mine["Triton"].advice
    assert mine["Helion"].state == State.BROKEN and "install triton" in mine["Helion"].advice
    assert mine["torch.compile"].state == mine["device 'spyre'"].state == State.WELL


def test_torch_that_does_not_load(tmp_path):
    mine = installation(tmp_path, "torch", "raise ImportError('libc10.so: cannot open')")
    for name in ("device 'spyre'", "torch.compile"):
        assert mine[name].state == State.BROKEN and "--force-reinstall" in mine[name].advice
    assert "libc10.so" in mine["torch.compile"].advice


def test_triton_without_our_entry_point(monkeypatch):
    monkeypatch.setattr(doctor, "entry_points", lambda group: [])
    assert found()["Triton's backend"].state is State.BROKEN


def broken(**environment: str) -> str:
    code = "import sys; from spyrelab.cli import main; sys.exit(main(['doctor']))"
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        env={**os.environ, **environment},
    )
    assert done.returncode == 1 and "Traceback" not in done.stdout + done.stderr, done.stderr
    return " ".join(done.stdout.split())


def test_a_cache_that_cannot_be_written(tmp_path):
    (tmp_path / "file").write_text("")
    assert "set SPYRELAB_CACHE to a folder that can be written" in broken(
        SPYRELAB_CACHE=str(tmp_path / "file" / "below")
    )


def test_a_reserve_that_makes_no_sense():
    assert "SPYRELAB_MEMORY_GIB" in broken(SPYRELAB_MEMORY_GIB="much")
