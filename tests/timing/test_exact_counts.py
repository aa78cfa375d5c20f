"""Counts of an estimate are the emulator's, or the estimate says why they may not be.

200 random programs by default; ``SPYRELAB_FUZZ=10000 pytest tests/timing/test_exact_counts.py``
runs more, ``SPYRELAB_FUZZ_SEED`` says where to start.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from spyrelab import emulator, kernels
from spyrelab.emulator.counters import Column, Counters
from spyrelab.errors import SpyreLabError
from spyrelab.ktir import Module, parse
from spyrelab.timing import Estimate, TimingError, UnknownValueError, estimate
from tests.emulator.random_programs import RandomProgram, random_program, shrunk
from tests.emulator.random_programs_check import repro
from tests.emulator.sanitizer_programs import load, over, program, rows, store

PROGRAMS = int(os.environ.get("SPYRELAB_FUZZ", "200"))
FIRST = int(os.environ.get("SPYRELAB_FUZZ_SEED", "7000"))
CHUNKS = 5
SAMPLES = sorted((Path(__file__).parents[1] / "data" / "ktir_samples").glob("**/*.mlir"))
COUNTED = (
    *(Column.DDR_READ, Column.DDR_WRITE, Column.LX_READ, Column.LX_WRITE, Column.RING),
    *(Column.OPS_PT, Column.OPS_SFP, Column.OPS_SPECIAL, Column.OPS_MOVE),
)


def difference(made: Estimate, counters: Counters) -> str | None:
    """The first count that differs."""
    for column in COUNTED:
        found = made.counts.get(column.name.lower(), np.zeros(counters.cores, int)).tolist()
        if found != counters.column(column).tolist():
            return f"{column.name.lower()} {counters.column(column).tolist()} -> {found}"
    return None


def known(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Numbers, and arrays that may hold indices."""
    return {k: v for k, v in arguments.items() if np.ndim(v) == 0 or v.dtype.kind in "iub"}


# ---- random programs ---------------------------------------------------------------------


def outcome(given: RandomProgram) -> tuple[str, str | None]:
    """``exact``, ``told``, ``refused``, ``not run`` or ``wrong``, and what is."""
    try:
        module = parse(given.text)
        module.verify()
        counters = emulator.run(module, given.arguments, memory=given.memory).counters
    except SpyreLabError:
        return "not run", None
    try:
        made = estimate(module, known(given.arguments))
    except TimingError:
        return "refused", None
    except Exception as error:  # an error that is not typed is a finding like any other
        return "wrong", f"{type(error).__name__}: {error}"
    if made.inexact:
        return "told", None
    message = difference(made, counters)
    return ("wrong", message) if message else ("exact", None)


@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_random_programs_are_counted_exactly_or_say_why_not(chunk: int) -> None:
    seen: list[str] = []
    for seed in range(FIRST + chunk, FIRST + PROGRAMS, CHUNKS):
        given = random_program(seed)
        kind, message = outcome(given)
        if kind == "wrong":
            small = shrunk(given, lambda p: outcome(p)[0] == "wrong")
            pytest.fail(repro(small, outcome(small)[1] or str(message)))
        seen.append(kind)
    ran = len(seen) - seen.count("not run")
    # Indices that a program computes, or that lie at literal addresses, cannot be known.
    assert seen.count("exact") >= 0.75 * ran - 2
    assert seen.count("refused") <= 0.05 * ran + 2


# ---- sample programs ---------------------------------------------------------------------


@pytest.mark.parametrize("path", SAMPLES, ids=lambda path: path.stem)
def test_samples_are_counted_exactly(path: Path) -> None:
    data = dict(np.load(path.with_suffix(".npz")))
    memory = {int(k[4:]): v for k, v in data.items() if k.startswith("mem_")}
    module = parse(path.read_text())
    names = [argument.name for argument in module.function(None).arguments]
    arguments = {k: data[k] if data[k].ndim else data[k].item() for k in names}
    counters = emulator.run(module, arguments, memory=memory).counters
    if path.stem == "11_control_flow":  # it branches on a sum
        with pytest.raises(UnknownValueError):
            estimate(module, arguments)
        return
    made = estimate(module, arguments)
    assert not made.inexact
    assert difference(made, counters) is None


# ---- loops -------------------------------------------------------------------------------

BODY = load("v", "X", "%i", 64 * 512) + store("v", "Y", "%i", 64 * 512)


def guarded(condition: str) -> str:
    return f"{condition}scf.if %is {{\n{BODY}}}\n"


def turns(body: str, count: str = "%c64") -> str:
    at = "%i = arith.muli %q, %c64 : index\n"
    return f"scf.for %q = %c0 to {count} step %c1 {{\n{at}{body}}}\n"


def equals(value: str, wanted: int) -> str:
    return f"%w = arith.constant {wanted} : index\n%is = arith.cmpi eq, {value}, %w : index\n"


REMAINDER = "%m = arith.remui %q, %c3 : index\n"
CARRIED = (
    "%r = scf.for %q = %c0 to %c64 step %c1 iter_args(%i = %row) -> (index) {\n"
    f"{BODY}%n = arith.addi %i, %c64 : index\nscf.yield %n : index\n}}\n"
)
WHILE = (
    "%r = scf.while (%s = %c0) : (index) -> (index) {\n"
    "%go = arith.cmpi slt, %s, %core : index\nscf.condition(%go) %s : index\n} do {\n"
    "^bb0(%a: index):\n%i = arith.muli %a, %c64 : index\n"
    f"{BODY}%n = arith.addi %a, %c1 : index\nscf.yield %n : index\n}}\n"
)
LOOPS = {
    "one of many": turns(guarded(equals("%q", 5))),
    "every third": turns(guarded(REMAINDER + equals("%m", 1))),
    "every odd": turns(guarded("%m = arith.andi %q, %c1 : index\n" + equals("%m", 1))),
    "every odd of two nested": (
        "scf.for %o = %c0 to %c3 step %c1 {\n"
        + turns(guarded("%z = arith.addi %q, %o : index\n%m = arith.remui %z, %c3 : index\n"
                        + equals("%m", 1)))
        + "}\n"
    ),
    "from some turn on": turns(guarded("%is = arith.cmpi sgt, %q, %c32 : index\n")),
    "core by core": turns(BODY, "%core"),
    "triangle": "scf.for %o = %c0 to %c32 step %c1 {\n" + turns(BODY, "%o") + "}\n",
    "digits": turns("%d = arith.divui %q, %c3 : index\n" + guarded(equals("%d", 7))),
    "over the edge": turns(BODY).replace("%c64 : index\n%t", "%c128 : index\n%t"),
    "carried": CARRIED,
    "while": WHILE,
    "what a while gives": WHILE + turns(BODY, "%r"),
}  # fmt: skip


def looping(text: str, cores: int = 8) -> Module:
    both = over("X", "x", 64 * 512) + over("Y", "y", 64 * 512)
    return parse(program(both, text, cores=cores))


@pytest.mark.parametrize("name", LOOPS)
def test_conditions_in_loops_are_counted_exactly(name: str) -> None:
    module = looping(LOOPS[name])
    arguments = {"x": rows(512), "y": np.zeros(512 * 64, np.float16)}
    made = estimate(module)
    assert not made.inexact
    assert difference(made, emulator.run(module, arguments).counters) is None


def test_only_producers_walk_what_they_produce() -> None:
    path = next(p for p in SAMPLES if p.stem == "08d_broadcast_and_rotate")
    made = estimate(parse(path.read_text()))
    assert made.counts["ddr_read"].sum() == 1024


# ---- what cannot be counted is told ------------------------------------------------------


def test_indices_that_are_missing_are_told() -> None:
    kernel = kernels.CATALOGUE["gather"]
    parameters = {"count": 70, "table_rows": 50, "cols": 64}
    module, arguments = kernel.build(**parameters), kernel.arguments(**parameters)
    without = estimate(module)
    assert without.inexact
    assert "not given" in without.inexact[0]
    assert without.to_dict()["inexact"] == list(without.inexact)
    assert not estimate(module, known(arguments)).inexact


def test_indices_outside_of_a_table_are_not_counted() -> None:
    kernel = kernels.CATALOGUE["gather"]
    parameters = {"count": 70, "table_rows": 50, "cols": 64}
    module, arguments = kernel.build(**parameters), kernel.arguments(**parameters)
    (name,) = known(arguments)
    arguments[name] = np.where(np.arange(70) % 3, arguments[name], 99).astype(arguments[name].dtype)
    made = estimate(module, {name: arguments[name]})
    assert not made.inexact
    assert difference(made, emulator.run(module, arguments).counters) is None


def test_an_operation_with_several_results_is_not_evaluated() -> None:
    """A random program of which a branch reads one of two results of a reduction."""
    assert outcome(random_program(31013))[0] != "wrong"


def test_an_empty_loop_that_cores_leave_one_after_the_other() -> None:
    text = "scf.for %q = %c0 to %core step %c1 {\n}\n" + turns(BODY)
    views = over("X", "x", 64 * 512) + over("Y", "y", 64 * 512)
    module = parse(program(views, text, cores=4))
    assert not estimate(module).inexact
