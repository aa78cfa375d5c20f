"""Crash-proof execution of many cases: worker processes that may die without taking us along."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
SECONDS_PER_CASE = 120.0


class Shard:
    """One queue of cases, worked off by one process after another."""

    def __init__(
        self, cases: Sequence[str], samples: int | None, report: Callable[[str, dict], None]
    ) -> None:
        self.waiting, self.samples, self.report = deque(cases), samples, report

    def run(self) -> None:
        """Until no case is left; a case whose process dies or hangs is reported as a crash."""
        while self.waiting:
            self._run_one_process()

    def _run_one_process(self) -> None:
        command = [sys.executable, "-m", "tests.upstream.worker"]
        command += [] if self.samples is None else ["--samples", str(self.samples)]
        environment = {**os.environ, "OMP_NUM_THREADS": "1", "SPYRELAB_THREADS": "1"}
        process = subprocess.Popen(
            command, cwd=ROOT, env=environment, text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )  # fmt: skip
        feed = "".join(f"{case}\n" for case in self.waiting)
        errors: deque[str] = deque(maxlen=12)
        assert process.stdin and process.stdout and process.stderr
        for target, pipe in (
            (self._feed, (process.stdin, feed)),
            (errors.extend, (process.stderr,)),
        ):
            threading.Thread(target=target, args=pipe, daemon=True).start()
        current: str | None = None
        watchdog: threading.Timer | None = None
        for line in process.stdout:
            if watchdog is not None:
                watchdog.cancel()
            message: dict[str, Any] = json.loads(line)
            if "started" in message:
                current = message["started"]
                watchdog = threading.Timer(SECONDS_PER_CASE, process.kill)
                watchdog.start()
                continue
            self.report(message.pop("case"), message)
            self.waiting.popleft()
            current = None
        process.wait()
        if self.waiting:
            self._crashed(current, process.returncode, errors)

    @staticmethod
    def _feed(pipe: Any, text: str) -> None:
        try:
            with pipe:
                pipe.write(text)
        except (BrokenPipeError, ValueError):
            return  # the worker died: its crash is reported where its output ends

    def _crashed(self, current: str | None, code: int, errors: Sequence[str]) -> None:
        tail = " ".join(line.strip() for line in errors)[-300:]
        if current is None:
            raise RuntimeError(f"the ledger's worker ended with code {code} before a case: {tail}")
        ended = "took too long" if code == -9 else f"ended the process with code {code}"
        self.report(current, {"status": "crash", "reason": f"{ended}: {tail}"})
        self.waiting.popleft()


def run_all(
    cases: Sequence[str],
    workers: int,
    samples: int | None = None,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> dict[str, dict[str, Any]]:
    """Run every case and return its status and reason, by its text."""
    results: dict[str, dict[str, Any]] = {}
    lock = threading.Lock()

    def report(case: str, result: dict[str, Any]) -> None:
        with lock:
            results[case] = result
            progress(len(results), len(cases))

    shards = [Shard(cases[first::workers], samples, report) for first in range(workers)]
    failed: list[BaseException] = []

    def guarded(shard: Shard) -> None:
        try:
            shard.run()
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=guarded, args=(shard,)) for shard in shards]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failed:
        raise failed[0]
    return results
