"""Loops that apply a compiled scalar operation to tiles.

Each function here makes one compiled loop for one ``operation``, and that loop vectorises. An
operand of one element broadcasts. ``out`` never overlaps an operand: the vectoriser would have to
assume that every store changes what is read next, which costs a factor of four.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from numba import njit

from spyrelab.emulator.native_primitives import COMPILED

Loop = Callable[..., None]

_names: set[str] = set()


def compiled(function: Any) -> Any:
    """A compiled loop, for compiled callers."""
    return njit(**COMPILED)(function)


def compiled_loop(loop: Any, *operations: Any) -> Any:
    """A compiled loop named after its operations, and after nothing else.

    numba names machine code by qualified name, argument types and a number that starts afresh in
    every process. Closures of one factory share their qualified name, so that code read from the
    cache could be taken for another loop's: each loop must have a name of its own.
    """
    names = "_".join(_name_of(operation) for operation in operations)
    loop.__qualname__ = f"{loop.__qualname__.partition('.')[0]}_{names}"
    key = f"{loop.__module__}.{loop.__qualname__}"
    if key in _names:
        raise ValueError(f"two compiled loops are called {key}")
    _names.add(key)
    return compiled(loop)


def _name_of(operation: Any) -> str:
    function = getattr(operation, "py_func", None)
    if function is None:
        return operation.__name__
    return f"{function.__module__.rpartition('.')[2]}_{function.__name__}"


@compiled
def fill(value: Any, out: Any) -> None:
    """out[i] = value."""
    for i in range(out.size):
        out[i] = value


@compiled
def spread(x: Any, out: Any) -> None:
    """out[i] = x[i]."""
    if x.size == 1:
        fill(x[0], out)
    else:
        for i in range(out.size):
            out[i] = x[i]


def map_in_place(operation: Any) -> Loop:
    """out[i] = operation(out[i])."""

    def loop(out: Any) -> None:
        for i in range(out.size):
            out[i] = operation(out[i])

    return compiled_loop(loop, operation)


def map_one(operation: Any) -> Loop:
    """out[i] = operation(x[i])."""

    def loop(x: Any, out: Any) -> None:
        if x.size == 1:
            fill(operation(x[0]), out)
        else:
            for i in range(out.size):
                out[i] = operation(x[i])

    return compiled_loop(loop, operation)


def map_long_one(operation: Any) -> Loop:
    """`map_one` for a long operation: one copy of it instead of two."""

    def loop(x: Any, out: Any) -> None:
        for i in range(x.size):
            out[i] = operation(x[i])
        if x.size == 1:
            fill(out[0], out)

    return compiled_loop(loop, operation)


def map_two(operation: Any) -> Loop:
    """out[i] = operation(x[i], y[i])."""

    def loop(x: Any, y: Any, out: Any) -> None:
        if y.size == 1:
            right = y[0]
            if x.size == 1:
                fill(operation(x[0], right), out)
            else:
                for i in range(out.size):
                    out[i] = operation(x[i], right)
        elif x.size == 1:
            left = x[0]
            for i in range(out.size):
                out[i] = operation(left, y[i])
        else:
            for i in range(out.size):
                out[i] = operation(x[i], y[i])

    return compiled_loop(loop, operation)


def map_symmetric(operation: Any) -> Loop:
    """`map_two` for operands that may be exchanged: one copy of the loop less."""

    def loop(x: Any, y: Any, out: Any) -> None:
        if x.size == 1:
            x, y = y, x
        if x.size == 1:
            fill(operation(x[0], y[0]), out)
        elif y.size == 1:
            right = y[0]
            for i in range(out.size):
                out[i] = operation(x[i], right)
        else:
            for i in range(out.size):
                out[i] = operation(x[i], y[i])

    return compiled_loop(loop, operation)


def map_long(operation: Any) -> Loop:
    """`map_two` for a long operation: one copy of it, after a copy of ``y`` to ``out``.

    A scalar ``x`` takes a loop that need not vectorise.
    """

    def loop(x: Any, y: Any, out: Any) -> None:
        spread(y, out)
        step = 0 if x.size == 1 else 1
        for i in range(out.size):
            out[i] = operation(x[i * step], out[i])

    return compiled_loop(loop, operation)


def map_three(operation: Any) -> Loop:
    """out[i] = operation(x[i], y[i], z[i]), after a copy of ``x`` to ``out``."""

    def loop(x: Any, y: Any, z: Any, out: Any) -> None:
        spread(x, out)
        step_y = 0 if y.size == 1 else 1
        step_z = 0 if z.size == 1 else 1
        for i in range(out.size):
            out[i] = operation(out[i], y[i * step_y], z[i * step_z])

    return compiled_loop(loop, operation)
