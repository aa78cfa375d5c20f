"""Barriers: between the threads of a program, which has one, and between all programs."""

from __future__ import annotations

from spyrelab.triton.lowering.errors import unsupported
from spyrelab.triton.lowering.kernel import Kernel
from spyrelab.triton.lowering.registry import lowers
from spyrelab.triton.ttir import TtirOperation, element_type

__all__ = ["grid_barrier", "is_barrier", "program_turn"]

_BARRIER_NAMES = ("x_grid_barrier",)
"""Functions that wait for all programs of the launch: what Helion's ``hl.barrier()`` calls."""


def is_barrier(name: str) -> bool:
    """Whether a function waits for all programs, by its name."""
    return any(known in name for known in _BARRIER_NAMES)


@lowers("ttg.barrier", "gpu.barrier", "ttg.local_barrier")
def thread_barrier(kernel: Kernel, operation: TtirOperation) -> None:
    """``tl.debug_barrier``: a program is one thread here."""
    del kernel, operation


@lowers("tt.grid_dependency_wait", "tt.grid_dependency_launch_dependents")
def launch_order(kernel: Kernel, operation: TtirOperation) -> None:
    """``gdc_wait`` and its like: a launch begins when the one before is done."""
    del kernel, operation


@lowers("tt.elementwise_inline_asm")
def assembly(kernel: Kernel, operation: TtirOperation) -> None:
    """Refused, but for the two instructions on the order of launches: up to Triton 3.7."""
    if not operation.attributes["asm_string"].startswith("griddepcontrol."):
        raise unsupported(
            "tt.elementwise_inline_asm has no meaning on the card",
            operation.location,
            "write the computation in Triton: there is no assembly to inline",
        )
    for result in operation.results:
        kernel.define(result, kernel.b.constant(0, element_type(result.type)))


def grid_barrier(kernel: Kernel, operation: TtirOperation) -> None:
    """Wait for all programs; whoever holds the turn gives it up meanwhile."""
    if kernel.takes_turns and kernel.loops:
        raise unsupported(
            "a grid barrier inside a loop, in a kernel with atomics",
            operation.location,
            "unroll the loop with tl.static_range",
        )
    kernel.barriers += 1
    if kernel.takes_turns:
        kernel.b.turn_done()
    kernel.b.barrier()
    if kernel.takes_turns:
        program_turn(kernel)
    if operation.results:
        raise unsupported("a grid barrier that gives a value", operation.location)


def program_turn(kernel: Kernel) -> None:
    """Wait until all programs before this one are done with this phase."""
    b = kernel.b
    number = b.plus(b.times(kernel.total_programs, kernel.barriers), kernel.flat_program)
    b.turn(number)
