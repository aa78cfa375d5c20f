"""The program a kernel becomes: its arguments, and the loop that hands programs to cores."""

from __future__ import annotations

from collections.abc import Sequence

from spyrelab.ktir.builder import Scalar
from spyrelab.ktir.types import INDEX, SCALARS, ScalarType
from spyrelab.triton.arguments import KernelArgument, Role
from spyrelab.triton.lowering.barriers import is_barrier, program_turn
from spyrelab.triton.lowering.builder import Index
from spyrelab.triton.lowering.errors import unsupported
from spyrelab.triton.lowering.functions import lower_blocks
from spyrelab.triton.lowering.kernel import Kernel, Value
from spyrelab.triton.lowering.lanes import Lanes
from spyrelab.triton.lowering.pointers import Descriptor, Origin, Pointer
from spyrelab.triton.lowering.registry import lowers
from spyrelab.triton.lowering.written import written_arguments
from spyrelab.triton.ttir import (
    DescriptorType,
    PointerType,
    TtirBlock,
    TtirOperation,
    TtirValue,
    element_type,
)

__all__ = ["CORES", "coordinate", "lower_kernel"]

CORES = 32


def lower_kernel(kernel: Kernel, function: TtirOperation) -> None:
    """Append a kernel: core c runs programs c, c + 32, ..., x fastest."""
    b, blocks = kernel.b, function.regions[0]
    written = written_arguments(function, kernel.functions)
    for number, argument in enumerate(blocks[0].arguments):
        kernel.define(argument, _argument(kernel, argument, number, argument in written))
    kernel.grid = tuple(
        kernel.argument(KernelArgument(f"grid_{name}", Role.GRID, axis))
        for axis, name in enumerate("xyz")
    )
    called = [f for name, f in kernel.functions.items() if not is_barrier(name)]
    operations = [operation for f in (function, *called) for operation in f.walk()]
    kernel.takes_turns = any(
        o.name.startswith("tt.atomic") or o.name == "tt.descriptor_reduce" for o in operations
    )
    waits = any(o.name == "tt.call" and is_barrier(o.attributes["callee"]) for o in operations)
    x, y, z = kernel.grid
    total = b.times(b.times(x, y), z)
    kernel.total_programs = total
    core = b.never_negative(b.compute_tile_id("core"))
    if waits:
        _program(kernel, core, blocks)
        return
    with b.loop(core, b.scalar_of(total), CORES, names="program") as program:
        _program(kernel, b.never_negative(program), blocks)


def _program(kernel: Kernel, program: Scalar, blocks: Sequence[TtirBlock]) -> None:
    b = kernel.b
    kernel.flat_program = program
    if kernel.takes_turns:
        program_turn(kernel)
    lower_blocks(kernel, blocks)
    if kernel.takes_turns:
        b.turn_done()


def _argument(kernel: Kernel, argument: TtirValue, number: int, is_written: bool) -> Value:
    b, kind = kernel.b, argument.type
    if isinstance(kind, PointerType):
        if kind.pointee.name not in SCALARS:
            raise unsupported(
                f"argument {argument.name} points to {kind.pointee}",
                argument.location,
                _instead_of(kind.pointee),
            )
        origin = Origin(argument.name, number, {}, is_written)
        kernel.address(origin, kind.pointee)
        kernel.types[number] = str(kind.pointee)
        return Pointer(origin, kind.pointee, Lanes(b, (), INDEX, 0, ()))
    if isinstance(kind, DescriptorType):
        return _descriptor(kernel, argument, kind, number, is_written)
    return kernel.argument(KernelArgument(argument.name, Role.SCALAR, number), element_type(kind))


def _instead_of(kind: ScalarType) -> str:
    if kind.name == "f64":
        return "the card has no 64-bit floats: pass a tensor of float32"
    return f"the card has {', '.join(name for name in SCALARS if name[0] != '!')}"


def _descriptor(
    kernel: Kernel, argument: TtirValue, kind: DescriptorType, number: int, is_written: bool
) -> Descriptor:
    """A descriptor that the host made."""
    origin = Origin(argument.name, number, {}, is_written)
    kernel.address(origin, kind.element)
    kernel.types[number] = str(kind.element)
    rank = len(kind.shape)
    sizes, strides = (
        tuple(
            kernel.argument(KernelArgument(f"{argument.name}_{role}_{axis}", role, number, axis))
            for axis in range(rank)
        )
        for role in (Role.SHAPE, Role.STRIDE)
    )
    pointer = Pointer(origin, kind.element, Lanes(kernel.b, (), INDEX, 0, ()))
    return Descriptor(pointer, sizes, strides, kind.shape)


@lowers("tt.get_program_id")
def program_id(kernel: Kernel, operation: TtirOperation) -> None:
    place = coordinate(kernel, operation.attributes["axis"])
    kernel.define(operation.result, _typed(kernel, place, element_type(operation.result.type)))


def coordinate(kernel: Kernel, axis: int) -> Index:
    """This program's place along an axis of the grid."""
    b, flat = kernel.b, kernel.flat_program
    x, y, _ = kernel.grid
    if axis == 0:
        return b.rest_of(flat, x)
    rows = b.floor_divided(flat, x)
    return b.rest_of(rows, y) if axis == 1 else b.floor_divided(rows, y)


@lowers("tt.get_num_programs")
def number_of_programs(kernel: Kernel, operation: TtirOperation) -> None:
    count = kernel.grid[operation.attributes["axis"]]
    kernel.define(operation.result, _typed(kernel, count, element_type(operation.result.type)))


def _typed(kernel: Kernel, number: Index, dtype: ScalarType) -> Scalar:
    return kernel.b.scalar_of(number, dtype)
