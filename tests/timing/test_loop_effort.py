"""Looks at loops with conditions and carried indices do not grow with trip counts."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from spyrelab.ktir import Module, parse
from spyrelab.timing import estimate
from tests.emulator.sanitizer_programs import load, over, program, store
from tests.timing.test_effort import Effort, effort  # noqa: F401  (a fixture)
from tests.timing.test_exact_counts import REMAINDER, equals

LARGE = 64 * 64 * 100_000
BODY = load("v", "X", "%i", LARGE) + store("v", "Y", "%i", LARGE)
CARRIED = (
    "%r = scf.for %q = %c0 to %N step %c1 iter_args(%i = %row) -> (index) {\n"
    + BODY
    + "%n = arith.addi %i, %c64 : index\nscf.yield %n : index\n}\n"
)
WHILE = (
    "%r = scf.while (%i = %c0) : (index) -> (index) {\n"
    "%last = arith.muli %N, %c64 : index\n%go = arith.cmpi slt, %i, %last : index\n"
    "scf.condition(%go) %i : index\n} do {\n^bb0(%j: index):\n"
    + BODY.replace("%i]", "%j]")
    + "%n = arith.addi %j, %c64 : index\nscf.yield %n : index\n}\n"
)


def guarded(condition: str) -> str:
    return (
        "scf.for %q = %c0 to %N step %c1 {\n%i = arith.muli %q, %c64 : index\n"
        + condition
        + f"scf.if %is {{\n{BODY}}}\n}}\n"
    )


KINDS = {
    "carried": CARRIED,
    "while": WHILE,
    "one of many": guarded(equals("%q", 50)),
    "every third": guarded(REMAINDER + equals("%m", 1)),
    "digits": (
        "scf.for %q = %c0 to %N step %c1 {\n%m = arith.remui %q, %c64 : index\n"
        "%i = arith.muli %m, %c64 : index\n" + BODY + "}\n"
    ),
}


def built(text: str, turns: int) -> Module:
    views = over("X", "x", LARGE) + over("Y", "y", LARGE)
    count = f"%N = arith.constant {turns} : index\n"
    return parse(program(views, count, text, cores=32))


@pytest.mark.parametrize("kind", KINDS)
def test_looks_do_not_grow_with_trip_counts(
    kind: str,
    effort: Callable[[Module], Effort],  # noqa: F811
) -> None:
    few, many = (effort(built(KINDS[kind], turns)) for turns in (999, 60_000))
    assert many["count_look"] <= few["count_look"] + 3
    assert many["_step"] <= 1.2 * few["_step"]
    assert few["count_look"] <= 24


def test_a_pattern_takes_as_long_as_its_turns() -> None:
    """Moving whole cycles on at once is the same as scheduling each of them."""
    text = KINDS["every third"]
    short, longer, longest = (estimate(built(text, 3 * n)).seconds for n in (60, 61, 120))
    assert longest - short == pytest.approx(60 * (longer - short), rel=1e-3)
