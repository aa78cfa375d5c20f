"""Trials on file, so that a search that was interrupted goes on where it was."""

from __future__ import annotations

import json
import os
from dataclasses import asdict
from pathlib import Path
from typing import Any

from spyrelab.helion.errors import TuningError
from spyrelab.helion.history import Trial, key_of

__all__ = ["Log", "read"]


class Log:
    """Trials by configuration, written down one by one where a path is given.

    Parameters
    ----------
    path
        A file of JSON lines. What it holds is not tried again.
    subject : str
        The kernel, its arguments and the card: a file about another subject is refused.

    Raises
    ------
    TuningError
        The file is about something else, is no history, or cannot be written.
    """

    def __init__(self, path: str | os.PathLike[str] | None, subject: str) -> None:
        self.path, self.subject = Path(path) if path is not None else None, subject
        self.known: dict[str, Trial] = {}
        if self.path is None:
            return
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            # Nothing is computed before it is clear that it can be kept.
            with self.path.open("ab") as file:
                fresh = file.tell() == 0
        except OSError as error:
            raise TuningError(
                f"trials cannot be written to {path}: {error.strerror}; take another path"
            ) from error
        if fresh:
            self._append({"subject": subject})
        else:
            self._take_up(self.path)

    def _take_up(self, path: Path) -> None:
        found, trials = read(path)
        if found != self.subject:
            raise TuningError(
                f"{path} holds a search for {found}, not for {self.subject}: the kernel, its"
                " arguments, the card or SpyreLab itself has changed; take another file"
            )
        self.known = {key_of(trial.config): trial for trial in trials}
        whole = path.read_bytes().rpartition(b"\n")[0] + b"\n"
        if len(whole) < path.stat().st_size:
            os.truncate(path, len(whole))

    def add(self, trial: Trial) -> None:
        """Keep a trial, at once."""
        self.known[key_of(trial.config)] = trial
        self._append({**asdict(trial), "milliseconds": str(trial.milliseconds)})

    def _append(self, item: dict[str, Any]) -> None:
        if self.path is not None:
            with self.path.open("a") as file:
                file.write(json.dumps(item, default=str) + "\n")


def read(path: str | os.PathLike[str]) -> tuple[str, tuple[Trial, ...]]:
    """What a file is about, and its trials; a last line that was not finished does not count.

    Two processes that begin one file at once may both write what it is about.

    Raises
    ------
    TuningError
        There is no such file, or it is no history.
    """
    try:
        text = Path(path).read_text()
    except (OSError, UnicodeDecodeError) as error:
        raise TuningError(f"{path} cannot be read as a history of trials: {error}") from error
    lines = text.split("\n")[:-1]
    if not lines:
        raise TuningError(f"{path} is no history of trials: it has no line that is finished")
    subject = _parsed(path, 1, lines[0]).get("subject")
    if not isinstance(subject, str):
        raise TuningError(f"{path} is no history of trials: its first line names no subject")
    return subject, tuple(
        _trial(path, n, line) for n, line in enumerate(lines, 1) if line != lines[0]
    )


def _parsed(path: Any, number: int, line: str) -> dict[str, Any]:
    try:
        found = json.loads(line)
    except json.JSONDecodeError:
        found = None
    if not isinstance(found, dict):
        raise TuningError(
            f"{path}, line {number} is damaged: delete the line, or take another file"
        )
    return found


def _trial(path: Any, number: int, line: str) -> Trial:
    item = _parsed(path, number, line)
    try:
        return Trial(**{**item, "milliseconds": float(item["milliseconds"])})
    except (KeyError, TypeError, ValueError) as error:
        raise TuningError(f"{path}, line {number} is no trial: {error}") from error
