"""The grader launches a Triton kernel that an answer returns, and asks what it would take."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from spyrelab.errors import SpyreLabError
from spyrelab.grade.expect import OverBudgetError, WrongError
from spyrelab.grade.programs import prepare
from spyrelab.grade.seen import note_estimate

if TYPE_CHECKING:
    from spyrelab.triton.dry_runs import DryLaunch

__all__ = ["access_kinds", "launch_kernel", "moved_bytes", "predict_kernel"]


def launch_kernel(kernel: Any, grid: tuple[int, ...], *args: Any) -> None:
    """Run a kernel under the sanitizer.

    Raises
    ------
    WrongError, OverBudgetError
        It is no kernel of the answer's own, does not compile, does not fit, or touches memory
        that it must not touch.
    """
    own = _own(kernel)
    prepare()
    import spyrelab

    with _verdicts(), spyrelab.sanitize():
        own[grid](*args)


def predict_kernel(kernel: Any, grid: tuple[int, ...], *args: Any) -> DryLaunch:
    """A launch that is not run: its estimate, and the scratchpad that it needs."""
    own = _own(kernel)
    from spyrelab.triton import dry

    with _verdicts(), dry() as asked:
        own[grid](*args)
    note_estimate(asked.launches[-1].estimate)
    return asked.launches[-1]


def moved_bytes(launch: DryLaunch, direction: str = "ddr_read") -> int:
    """Bytes that all cores together ask of main memory, however many ask for the same."""
    counts = launch.estimate.counts.get(direction)
    return 0 if counts is None else int(counts.sum())


def access_kinds(kernel: Any, grid: tuple[int, ...], *args: Any) -> list[tuple[str, str, str]]:
    """Argument, operation and kind of every access, as ``explain(stage="access")`` has them."""
    own = _own(kernel)
    from spyrelab.triton import dry

    with _verdicts(), dry():
        compiled = own[grid](*args)
    notes = compiled.function.translation.notes
    return [(note.argument, note.operation, str(note.kind)) for note in notes]


def _own(kernel: Any) -> Any:
    from triton.runtime.jit import JITFunction

    if not isinstance(kernel, JITFunction):
        kind = f"{type(kernel).__module__}.{type(kernel).__name__}".removeprefix("builtins.")
        raise WrongError(f"expected a function under @triton.jit, got a {kind}")
    if str(kernel.fn.__module__).startswith("spyrelab."):
        raise WrongError(f"the answer returns {kernel.fn.__module__}'s kernel; write your own")
    import spyrelab.triton

    spyrelab.triton.install()
    return kernel


@contextmanager
def _verdicts() -> Iterator[None]:
    from triton.compiler.errors import CompilationError
    from triton.runtime.errors import OutOfResources

    try:
        yield
    except OutOfResources as error:
        raise OverBudgetError(str(error)) from None
    except (SpyreLabError, CompilationError) as error:
        raise WrongError(f"the kernel does not run: {error}") from None
