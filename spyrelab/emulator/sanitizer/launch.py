"""A launch under the sanitizer: watched, then diagnosed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from spyrelab.emulator.counters import Counters
from spyrelab.emulator.engines import LaunchOptions
from spyrelab.emulator.sanitizer.diagnosis import diagnose
from spyrelab.emulator.sanitizer.findings import error_of
from spyrelab.emulator.sanitizer.padding import Snapshot, is_worth_it, padding_faults
from spyrelab.emulator.sanitizer.scope import PADDING, current
from spyrelab.emulator.sanitizer.watcher import Watcher
from spyrelab.emulator.vm_launch import Launch, execute
from spyrelab.errors import SpyreLabError
from spyrelab.machine import DeviceMemory

if TYPE_CHECKING:
    from spyrelab.emulator.program import Program


def launch(
    program: Program,
    values: Sequence[int | float],
    memory: DeviceMemory,
    options: LaunchOptions,
    compute: bool,
) -> Counters:
    """Run a program under the sanitizer; see `spyrelab.emulator.Program.launch`."""
    watcher = Watcher(program, program.watched, values, memory)
    repeats = options.sanitize == PADDING and compute
    before = Snapshot(memory, watcher.scratchpads) if repeats else None
    single = replace(options, threads=1)
    watched = Launch(program, values, memory, single, compute, watcher)
    failure = None
    try:
        execute(watched, "watch")
    except SpyreLabError as stopped:
        failure = stopped  # perhaps only the consequence of a fault that was found
    if compute:
        watcher.finish()
    findings = diagnose(watcher)
    watcher.close()
    if before is not None and not (failure or error_of(findings)) and is_worth_it(program, watcher):
        findings = [*padding_faults(program, values, memory, options, before), *findings]
    error = error_of(findings)
    if error is not None:
        raise error from failure
    if failure is not None:
        raise failure
    report = current()
    if report is not None:
        report.launches += 1
        report.findings += findings
    return replace(watched.counters, findings=tuple(findings))
