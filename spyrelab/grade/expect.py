"""Complaints that say where an answer differs, and never how the model answer does it."""

from __future__ import annotations

from dataclasses import is_dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from spyrelab.machine import SPYRE


class WrongError(AssertionError):
    """The answer is not what the task asks for."""


class OverBudgetError(AssertionError):
    """The answer is right but moves, holds or computes too much."""


def expect_equal(actual: Any, expected: Any, what: str) -> None:
    """Fail unless a plain value (int, tuple, str) is the expected one."""
    if isinstance(actual, np.ndarray) or type(actual).__module__.startswith("torch"):
        raise WrongError(f"{what}: expected plain Python numbers, got a {_kind(actual)}")
    if (odd := _decides_equality(actual)) is not None:
        raise WrongError(f"{what}: expected plain Python values, got a {_kind(odd)}")
    if actual != expected:
        raise WrongError(f"{what}: expected {_shown(expected)}, got {_shown(actual)}")


def _decides_equality(value: Any) -> Any:
    """A part of a value whose class, written by the answer, says itself what it equals."""
    if isinstance(value, tuple | list | set | frozenset | dict):
        parts = [*value.items()] if isinstance(value, dict) else value
        inside = (_decides_equality(part) for part in parts)
        found = next((part for part in inside if part is not None), None)
        if found is not None:
            return found
    for kind in type(value).__mro__:
        own = kind.__module__.startswith("_graded_") or kind.__module__ == "__main__"
        written = {"__eq__", "__ne__"}.intersection(vars(kind)) and not is_dataclass(kind)
        if own and written:
            return value
    return None


def expect_at_most(value: int, budget: int, what: str) -> None:
    """Fail if a counter is above its budget."""
    if value > budget:
        ratio = f" ({value / budget:.2f} times)" if budget else ""
        raise OverBudgetError(f"{what}: {value:,}, the budget is {budget:,}{ratio}")


def expect_at_least(value: int, bound: int, what: str) -> None:
    """Fail if a counter is below what the work cannot do without."""
    if value < bound:
        raise WrongError(
            f"{what}: {value:,}, but the work needs at least {bound:,}; the result has to come "
            "from the program and the arrays it is given"
        )


def expect_close(
    actual: NDArray[Any],
    expected: NDArray[Any],
    rtol: float = 0.0,
    atol: float = 0.0,
    what: str = "out",
    cores: int = SPYRE.cores,
) -> None:
    """Fail at the first element outside ``atol + rtol * |expected|``, and say where it lies.

    The core is the one that owns the element's stick (or row, for matrices with at least as
    many rows as cores) when equal runs go to ``cores`` cores.
    """
    if actual.shape != expected.shape:
        raise WrongError(f"{what}: expected the shape {expected.shape}, got {actual.shape}")
    found, wanted = actual.astype(np.float64), expected.astype(np.float64)
    with np.errstate(invalid="ignore"):
        close = np.abs(found - wanted) <= atol + rtol * np.abs(wanted)
    bad = np.argwhere(~(close | (found == wanted)))
    if len(bad):
        first = tuple(int(i) for i in bad[0])
        raise WrongError(
            f"{what}: shape {actual.shape}, {len(bad):,} of {actual.size:,} elements differ; "
            f"first at {list(first)}: expected {wanted[first]:.6g}, got {found[first]:.6g} "
            f"({_place(actual, first, cores)})"
        )


def _place(array: NDArray[Any], index: tuple[int, ...], cores: int) -> str:
    lanes = SPYRE.stick_bytes // array.itemsize
    flat = int(np.ravel_multi_index(index, array.shape))
    stick, lane = divmod(flat, lanes)
    sticks = -(-array.size // lanes)
    if array.ndim > 1 and array.shape[0] >= cores:
        core = index[0] // -(-array.shape[0] // cores)
    else:
        core = stick // -(-sticks // cores)
    return f"core {core} of an even split, stick {stick}, lane {lane}"


def _kind(value: Any) -> str:
    return f"{type(value).__module__}.{type(value).__name__}"


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:77]}..."
