"""Launch arguments: which scalars and index arrays are known."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from spyrelab.ktir import Function, Operation, Value
from spyrelab.ktir.types import element_of
from spyrelab.timing.errors import TimingError
from spyrelab.timing.motion import FAR, Course, Moving, plain
from spyrelab.timing.places import Tile, View
from spyrelab.timing.scalars import Scalar, Unknown, said

__all__ = ["Arguments", "place_of", "start_of"]


class Arguments:
    """What a caller gave, by name: arrays for pointers, numbers for scalars.

    Pointers that were not given get addresses of their own: time does not depend on them.
    """

    APART = 1 << 40
    """Elements between the made-up addresses of two pointers."""

    def __init__(self, given: Mapping[str, Any] | None) -> None:
        self.given = dict(given or {})
        self.names: dict[int, str] = {}
        self.flat: dict[str, np.ndarray] = {}
        self.ranges: dict[str, tuple[int, int] | None] = {}
        self.stored: set[str] = set()

    def bind(self, function: Function, cores: int) -> dict[Value, Scalar]:
        """A value for every argument of a function.

        Raises
        ------
        TimingError
            A name that the function does not have, or a number that is none.
        """
        names = [value.name for value in function.arguments]
        for name in self.given:
            if name not in names:
                raise TimingError(f"@{function.name} has no argument {name!r}; it has {names}")
        pointers = _pointers(function)
        values: dict[Value, Scalar] = {}
        for number, argument in enumerate(function.arguments):
            given = self.given.get(argument.name)
            if argument in pointers:
                self.names[number + 1] = argument.name
                values[argument] = np.full(cores, (number + 1) * self.APART, np.int64)
            elif given is None:
                values[argument] = Unknown(f"the argument {argument.name!r}", passed=True)
            else:
                values[argument] = _number(argument, given, cores)
        return values

    def base_of(self, address: Scalar) -> str:
        """The pointer behind an address, or the address itself."""
        if isinstance(address, Unknown):
            return "an unknown address"
        first = int(plain(address)[0])
        return self.names.get(start_of(first) // self.APART, f"address {first}")

    def array(self, base: str) -> np.ndarray | None:
        """The array behind a pointer, flat; None if it was not given."""
        if base not in self.flat:
            given = self.given.get(base)
            if given is None:
                return None
            self.flat[base] = _flat(base, given)
        return self.flat[base]

    def range_of(self, base: str) -> tuple[int, int] | None:
        """Least and greatest element of an array of integers."""
        if base not in self.ranges:
            data = self.array(base)
            odd = data is None or not data.size or data.dtype.kind == "f"
            self.ranges[base] = None if data is None or odd else (int(data.min()), int(data.max()))
        return self.ranges[base]

    def read(self, course: Course, tile: Tile, operation: Operation) -> Any:
        """The elements of a tile, [cores, *shape], where the array behind it was given.

        Raises
        ------
        TimingError
            The array is shorter than what the program reads.
        """
        view = tile.parts[0]
        if view.base in self.stored:
            return Unknown(f"what the program stores in {view.base!r}")
        if view.space is not None:
            return Unknown(f"what {said(operation)} finds in the scratchpad")
        if view.base not in self.names.values():
            return Unknown(f"memory at {view.base}, which is behind no argument")
        data = self.array(view.base)
        if data is None:
            return Unknown(f"the array argument {view.base!r}", passed=True)
        entries = (view.address, *tile.starts, *tile.lows, *view.strides, *view.lows)
        odd = tile.subscripts or tile.points is not None or view.points is not None
        if odd or len(tile.parts) > 1:
            return Unknown(f"an indirect load of {view.base!r}")
        extents = (*tile.extents, *view.sizes)
        unknown = next((e for e in (*entries, *extents) if isinstance(e, Unknown)), None)
        if unknown is not None:
            return unknown
        found = self._gathered(course, tile, view, data)
        ends = self.range_of(view.base)
        if ends is not None and ends[0] == ends[1] and self._stays_inside(course, tile, view):
            return found
        causes = [e for e in (*entries, *view.sizes) if isinstance(e, Moving)]
        return course.hide(found, causes, *_range(ends))

    def _stays_inside(self, course: Course, tile: Tile, view: View) -> bool:
        """Whether a tile lies in its view, which stays so."""
        axes: Any = zip(tile.starts, tile.lows, tile.extents, view.lows, view.sizes, strict=True)
        gaps = [
            gap
            for start, low, extent, first, size in axes
            for gap in (start + low - first, first + size - start - low - extent)
        ]
        return all(np.all((plain(gap) >= 0)[course.active]) for gap in gaps) and all(
            np.all(course.reaches(gap)[course.active]) for gap in gaps
        )

    def _gathered(self, course: Course, tile: Tile, view: View, data: np.ndarray) -> np.ndarray:
        shape = tuple(int(np.max(course.settle(e))) for e in tile.extents)
        place = place_of(plain(view.address))[:, None]
        grid = np.indices(shape).reshape(len(shape), -1)
        inside: Any = np.broadcast_to(course.active[:, None], (course.cores, grid.shape[1]))
        for axis, index in enumerate(grid):
            low, size = plain(view.lows[axis]), plain(view.sizes[axis])
            first = plain(tile.starts[axis]) + plain(tile.lows[axis]) - low
            step = first[:, None] + index[None]
            inside = inside & (step >= 0) & (step < size[:, None])
            inside = inside & (index[None] < plain(tile.extents[axis])[:, None])
            place = place + step * plain(view.strides[axis])[:, None]
        bad = inside & ((place < 0) | (place >= data.size))
        if bad.any():
            raise TimingError(
                f"array {view.base!r} has {data.size} elements; the program reads element "
                f"{int(place[bad].flat[0])}"
            )
        found = np.where(inside, data[np.where(inside, place, 0)] if data.size else 0, 0)
        return found.reshape(course.cores, *shape)


def _range(ends: tuple[int, int] | None) -> tuple[Any, Any]:
    if ends is None:
        return -FAR, FAR
    # What lies outside of a view reads as zero.
    return min(0, ends[0]), max(0, ends[1])


def _number(argument: Value, given: Any, cores: int) -> np.ndarray:
    name = argument.name
    try:
        item = np.asarray(given).reshape(-1)
    except ValueError:
        item = np.zeros(0)
    if item.size != 1:
        raise TimingError(f"argument {name!r} is a scalar, not an array of {item.size}")
    value, kind = item[0], element_of(argument.type)
    odd = item.dtype.kind not in "iubf" or not np.isfinite(value)
    if odd or (kind.is_integer and value != np.floor(value)):
        raise TimingError(f"argument {name!r} = {given!r} is no {kind}")
    if not kind.is_integer:
        return np.full(cores, value, np.float32)
    bits = max(kind.bits, 1)
    number = int(value)
    if not -(1 << (bits - 1)) <= number < 1 << bits:
        raise TimingError(f"argument {name!r} = {given!r} does not fit {kind}")
    number -= (1 << bits) * (bits > 1 and number >= 1 << (bits - 1))
    return np.full(cores, number, np.int64)


def _flat(name: str, array: Any) -> np.ndarray:
    found = np.asarray(array.numpy() if hasattr(array, "numpy") else array)
    if found.dtype.kind not in "iubf":
        raise TimingError(f"argument {name!r} is no array of numbers")
    flat = found.reshape(-1)
    return flat.astype(np.int64) if flat.dtype.kind in "iub" else flat


def _pointers(function: Function) -> set[Value]:
    """Arguments that reach the address of a view."""
    from spyrelab.emulator.addresses import pointer_itemsizes

    names = pointer_itemsizes(function)
    return {value for value in function.arguments if value.name in names}


def start_of(address: Any) -> Any:
    """The made-up address of the pointer that an address was computed from.

    A view may begin before what it points to, and let nothing there be touched.
    """
    return (address + Arguments.APART // 2) // Arguments.APART * Arguments.APART


def place_of(address: Any) -> Any:
    """Elements from a pointer to an address that was computed from it."""
    return address - start_of(address)
