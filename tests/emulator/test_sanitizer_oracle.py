"""Races in random programs, against vector clocks kept element by element."""

from __future__ import annotations

import random
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import pytest

from spyrelab import emulator
from spyrelab.emulator import Kind, SanitizerError
from spyrelab.ktir import parse
from tests.emulator.sanitizer_programs import load, on, ones, over, program, send, store

CORES, SIZE, STEPS = 3, 200, 12
COUNTS = (1, 3, 64, 100)


@dataclass(frozen=True)
class Event:
    """One access, with what its core knew of every other core's accesses before it."""

    core: int
    step: int
    stores: bool
    elements: range
    clock: tuple[int, ...]

    def races(self, other: Event) -> bool:
        if self.core == other.core or not (self.stores or other.stores):
            return False
        if not set(self.elements) & set(other.elements):
            return False
        first, second = self, other
        return (
            first.clock[first.core] > second.clock[first.core]
            and second.clock[second.core] > first.clock[second.core]
        )


def generate(seed: int) -> tuple[str, list[Event]]:
    """A program of accesses and messages, and its accesses."""
    choose = random.Random(seed)
    lines = [over("v", "x", SIZE), ones(), *(ones(f"c{n}x", n) for n in COUNTS)]
    clocks = [[0] * CORES for _ in range(CORES)]
    events = []
    for step in range(STEPS):
        if choose.random() < 0.3:
            producer, consumer = choose.sample(range(CORES), 2)
            lines.append(send(producer, consumer, result=f"got{step}"))
            clocks[consumer] = list(map(max, clocks[producer], clocks[consumer]))
            continue
        core, count, stores = choose.randrange(CORES), choose.choice(COUNTS), choose.random() < 0.4
        start = choose.choice([0, 32, 64, choose.randrange(SIZE - count)])
        start = min(start, SIZE - count)
        at = f"%at{step}"
        access = (
            store(f"c{count}x", "v", at, SIZE, count)
            if stores
            else load(f"l{step}", "v", at, SIZE, count)
        )
        lines.append(on(core, f"{at} = arith.constant {start} : index\n", access))
        clocks[core][core] += 1
        elements = range(start, start + count)
        events.append(Event(core, step, stores, elements, tuple(clocks[core])))
    return program(*lines, cores=CORES, args="x"), events


def _line(text: str, event: Event) -> int:
    lines = text.splitlines()
    first = next(i for i, line in enumerate(lines) if line.startswith(f"%at{event.step} "))
    name = "ktdp.store" if event.stores else "ktdp.load"
    return next(i + 1 for i in range(first, len(lines)) if name in lines[i])


@pytest.mark.parametrize("chunk", range(10))
def test_random_races(chunk: int) -> None:
    raced = 0
    for seed in range(chunk, 200, 10):
        text, events = generate(seed)
        wanted = {
            (Kind.WRITE_WRITE if a.stores and b.stores else Kind.READ_WRITE,
             frozenset({(a.core, _line(text, a)), (b.core, _line(text, b))}))
            for a, b in combinations(events, 2)
            if a.races(b)
        }  # fmt: skip
        found = set()
        try:
            emulator.run(parse(text), {"x": np.zeros(SIZE, np.float16)}, sanitize=True)
        except SanitizerError as error:
            for finding in error.findings:
                if not finding.is_lint:
                    assert finding.position is not None
                    assert finding.other is not None
                    assert finding.other.position is not None
                    ends = (
                        (finding.core, finding.position.line),
                        (finding.other.core, finding.other.position.line),
                    )
                    found.add((finding.kind, frozenset(ends)))
        assert found <= wanted, f"seed {seed}: false reports\n{text}"
        assert bool(found) == bool(wanted), f"seed {seed}: races missed\n{text}"
        raced += bool(wanted)
    assert 3 <= raced <= 19
