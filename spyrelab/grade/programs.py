"""The grader runs what an answer builds: its KTIR text, on the emulator, under the sanitizer."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING, Any

from spyrelab.errors import SpyreLabError
from spyrelab.grade.clock import off_the_clock
from spyrelab.grade.expect import OverBudgetError, WrongError, expect_at_least
from spyrelab.grade.seen import note_program

if TYPE_CHECKING:
    from spyrelab.emulator import Run
    from spyrelab.ktir import Module
    from spyrelab.timing import Estimate

ENGINE_VARIABLE = "SPYRELAB_GRADE_ENGINE"


def run_program(program: Module | str, arguments: Mapping[str, Any], *, races: bool = True) -> Run:
    """Run a module, or KTIR text, on arrays that its author has not seen.

    Parameters
    ----------
    races : bool
        Whether cores that write one place make an answer wrong.  Chapter 1 does not teach
        races: there such an answer is judged by its result and by what it moves.

    Raises
    ------
    WrongError, OverBudgetError
        Also for programs that do not verify, lower or run.
    """
    module = _read(program)
    from spyrelab.emulator import run

    prepare()
    from spyrelab.emulator.sanitizer import Kind, SanitizerError

    with _verdicts():
        try:
            return run(module, arguments, engine=_engine(), sanitize=True, threads=1)
        except SanitizerError as error:
            if races or not error.kinds <= {Kind.WRITE_WRITE, Kind.READ_WRITE}:
                raise
            return run(module, arguments, engine=_engine(), threads=1)


def expect_work(run: Run, reads: int, writes: int, operations: int = 0) -> None:
    """Fail if a program did less than its result needs, so that it cannot have computed it.

    Parameters
    ----------
    reads, writes : int
        Least bytes of main memory.
    operations : int
        Least elements through the vector unit.
    """
    counters = run.counters
    expect_at_least(int(counters.ddr_read.sum()), reads, "bytes read from DDR")
    expect_at_least(int(counters.ddr_write.sum()), writes, "bytes written to DDR")
    done = int(counters.ops["sfp"].sum() + counters.ops["special"].sum())
    expect_at_least(done, operations, "elements through the vector unit")


def scratchpad_peak(program: Module | str) -> int:
    """Largest number of scratchpad bytes that a program holds on any core; nothing is run."""
    module = _read(program)
    from spyrelab.emulator import lower

    with _verdicts():
        return int(lower(module).lx_peaks.max())


def estimate_program(program: Module | str) -> Estimate:
    """The predicted time of a program, which also has to fit the scratchpad; nothing is run."""
    module = _read(program)
    from spyrelab.emulator import lower
    from spyrelab.timing import estimate

    with _verdicts():
        lower(module)
        return estimate(module)


def _read(program: object) -> Module:
    """Take the program apart and together again, so that nothing but its text counts."""
    from spyrelab.ktir import Module, dumps, parse

    if not isinstance(program, Module | str):
        kind = f"{type(program).__module__}.{type(program).__name__}"
        raise WrongError(
            f"expected a KTIR module, got a {kind.removeprefix('builtins.')}; return what "
            "Builder.build() gives, the grader runs it"
        )
    with _verdicts():
        module = parse(program if isinstance(program, str) else dumps(program))
        module.verify()
        note_program(module)
        return module


@contextmanager
def _verdicts() -> Iterator[None]:
    from spyrelab.emulator import LxOverflowError

    try:
        yield
    except LxOverflowError as error:
        raise OverBudgetError(str(error)) from None
    except SpyreLabError as error:
        raise WrongError(f"the program does not run: {error}") from None


def _engine() -> str:
    return os.environ.get(ENGINE_VARIABLE, "vm")


@cache
def prepare() -> None:
    """Load the engine, or compile it, once per installation."""
    with off_the_clock():
        from spyrelab.emulator import run
        from spyrelab.ktir import parse

        module = parse("module { func.func @warm() { return } }")
        run(module, {}, engine=_engine())
        # The sanitizer is compiled apart, and a task's time must not go by meanwhile.
        run(module, {}, engine=_engine(), sanitize=True)
