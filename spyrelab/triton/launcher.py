"""Running a compiled kernel: what Triton calls for each launch."""

from __future__ import annotations

import logging
import operator
from collections import Counter
from collections.abc import Callable
from typing import Any

from triton.runtime.autotuner import OutOfResources

from spyrelab.device import clock
from spyrelab.device.allocations import Entry
from spyrelab.device.eager.recording import refuse
from spyrelab.device.memory import MEMORY
from spyrelab.machine import SPYRE
from spyrelab.triton.addressed import settle_addresses
from spyrelab.triton.arguments import Role
from spyrelab.triton.binding import Leaf, Pointer, flatten, number_of, pointer_of
from spyrelab.triton.capturing import Caught, catcher
from spyrelab.triton.dry_runs import current
from spyrelab.triton.errors import GridError, TritonError
from spyrelab.triton.kernel import Kernel, LaunchArguments

__all__ = ["RELAID", "ScratchpadError", "SpyreLauncher"]

_log = logging.getLogger("spyrelab.triton")

RELAID: Counter[str] = Counter()
"""Kernel and argument: how often a tiled allocation was laid out in the host's order for it."""

MOST_PROGRAMS = (1 << 31) - 1


class ScratchpadError(OutOfResources):  # type: ignore[misc]  # Triton has no types
    """A kernel's tiles do not fit the scratchpad of a core: tuners skip the configuration.

    Attributes
    ----------
    required, limit : int
        Bytes.
    """

    def __init__(self, required: int, limit: int, reason: str) -> None:
        super().__init__(required, limit, "LX scratchpad")
        self.reason = reason

    def __str__(self) -> str:
        return f"{self.reason}; take smaller blocks or fewer num_stages"

    def __reduce__(self) -> Any:
        return type(self), (self.required, self.limit, self.reason)


class SpyreLauncher:
    """What runs one compiled kernel.

    Parameters
    ----------
    source
        Triton's source object: its ``signature`` says which arguments a launch brings.
    metadata
        What the compiler noted.

    Raises
    ------
    ScratchpadError
        The kernel needs more scratchpad than there is.
    """

    def __init__(self, source: Any, metadata: Any) -> None:
        if metadata.shared > SPYRE.lx_bytes:
            raise ScratchpadError(metadata.shared, SPYRE.lx_bytes, metadata.lx_reason)
        self.leaves = flatten(source.signature)
        self.name: str = metadata.name

    def __call__(
        self,
        grid_x: Any,
        grid_y: Any,
        grid_z: Any,
        stream: Any,
        kernel: Kernel,
        packed_metadata: Any,
        launch_metadata: Any,
        enter: Callable[[Any], None] | None,
        leave: Callable[[Any], None] | None,
        *args: Any,
    ) -> None:
        """Run the kernel on a grid; in a dry block, only say how long it would take.

        Raises
        ------
        GridError, ArgumentError, ArgumentTypeError, WrongDeviceError
            Nothing was run.
        """
        refuse(f"the Triton kernel {self.name!r} is launched")
        grid = _checked_grid(self.name, (grid_x, grid_y, grid_z))
        cores = kernel.cores(grid[0] * grid[1] * grid[2])
        watch = current()
        with MEMORY.lock:
            values = self._bind(kernel, grid, args)
            steering = self._steering(kernel, values)
            caught = catcher()
            if caught is not None:
                given = {a.name: v for a, (v, _) in zip(kernel.arguments, values, strict=True)}
                caught.append(Caught(kernel, grid, given, cores, steering))
                return
            if watch is not None:
                peak = int(kernel.program(cores).lx_peaks.max(initial=0))
                watch.note(self.name, kernel.estimate(steering, cores), peak)
                return
            if enter is not None:
                enter(launch_metadata)
            kernel.quick(cores)([value for value, _ in values])
            clock.launched(kernel.program(cores), steering, self.name)
            if leave is not None:
                leave(launch_metadata)

    def _bind(
        self, kernel: Kernel, grid: tuple[int, ...], args: tuple[Any, ...]
    ) -> list[tuple[int | float, Pointer | None]]:
        """Every KTIR argument's value, and the memory behind it."""
        pointers = {
            number: pointer_of(leaf, leaf.find(args), self._relaid)
            for number, leaf in enumerate(self.leaves)
            if leaf.is_pointer
        }
        values: list[tuple[int | float, Pointer | None]] = []
        for argument in kernel.arguments:
            role, number = argument.role, argument.number
            if role is Role.GRID:
                values.append((grid[number], None))
            elif role is Role.POINTER:
                pointer = pointers[number]
                values.append((pointer.address, pointer))
            elif role is Role.ADDRESS:
                values.append((MEMORY.host_base + pointers[number].address, None))
            elif role is Role.HOST_BASE:
                settle_addresses(self.leaves, pointers, args, self._relaid)
                values.append((MEMORY.host_base, None))
            elif role is Role.CAPACITY:
                values.append((MEMORY.device.bytes.size // argument.item_bytes, None))
            elif role is Role.EXTENT:
                values.append((pointers[number].nbytes // argument.item_bytes, None))
            else:
                leaf = self._leaf(kernel, role, number, argument.axis)
                values.append((number_of(leaf, leaf.find(args)), None))
        return values

    def _leaf(self, kernel: Kernel, role: Role, number: int, axis: int) -> Leaf:
        if number >= len(self.leaves):
            raise TritonError(
                f"kernel {kernel.name!r} asks for argument {number} of {len(self.leaves)}: it was"
                " compiled by another version; clear Triton's cache (~/.triton/cache)"
            )
        leaf = self.leaves[number]
        if role is Role.SCALAR:
            return leaf
        return Leaf(f"{leaf.name}.{role}.{axis}", leaf.path, str(role), axis)

    def _steering(
        self, kernel: Kernel, values: list[tuple[int | float, Pointer | None]]
    ) -> LaunchArguments:
        """What the time of the launch depends on, copied: memory may change before it is asked."""
        steering = kernel.steering
        numbers = {name: values[kernel.places[name]][0] for name in steering.scalars}
        arrays: dict[str, bytes] = {}
        for name in steering.arrays:
            pointer = values[kernel.places[name]][1]
            if pointer is not None:
                memory = MEMORY.device.bytes
                arrays[name] = memory[pointer.address : pointer.address + pointer.nbytes].tobytes()
        return kernel.steer(numbers, arrays)

    def _relaid(self, leaf: Leaf, entry: Entry) -> None:
        RELAID[f"{self.name}: {leaf.name}"] += 1
        _log.info(
            "kernel %s: argument %s of size %s was tiled in sticks and is now linear",
            self.name,
            leaf.name,
            list(entry.host_size),
        )


def _checked_grid(name: str, given: tuple[Any, ...]) -> tuple[int, int, int]:
    try:
        x, y, z = (operator.index(extent) for extent in given)
    except TypeError:
        raise GridError(
            f"kernel {name!r} is launched on the grid {given}: its extents are whole numbers;"
            " use triton.cdiv or //"
        ) from None
    if min(x, y, z) < 1:
        raise GridError(
            f"kernel {name!r} is launched on the grid {(x, y, z)}, which has no programs: skip the"
            " launch where there is nothing to do"
        )
    if x * y * z > MOST_PROGRAMS:
        raise GridError(
            f"kernel {name!r} is launched on the grid {(x, y, z)}: {x * y * z:,} programs are more"
            f" than {MOST_PROGRAMS:,}; let each program do more"
        )
    return x, y, z
