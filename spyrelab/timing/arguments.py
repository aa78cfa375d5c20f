"""Launch arguments: which scalars and index arrays are known."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from spyrelab.ktir import Function, Value
from spyrelab.timing.errors import TimingError
from spyrelab.timing.places import Tile
from spyrelab.timing.scalars import Scalar, Unknown

__all__ = ["Arguments"]

_APART = 1 << 40
"""Elements between the made-up addresses of two pointers."""


class Arguments:
    """What a caller gave, by name: arrays for pointers, numbers for scalars.

    Pointers that were not given get addresses of their own: time does not depend on them.
    """

    def __init__(self, given: Mapping[str, Any] | None) -> None:
        self.given = dict(given or {})
        self.names: dict[int, str] = {}

    def bind(self, function: Function, cores: int) -> dict[Value, Scalar]:
        """A value for every argument of a function.

        Raises
        ------
        TimingError
            A name that the function does not have.
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
                values[argument] = np.full(cores, (number + 1) * _APART, np.int64)
            elif given is None:
                values[argument] = Unknown(f"the argument {argument.name!r}")
            else:
                item = np.asarray(given).reshape(-1)
                if item.size != 1:
                    raise TimingError(f"argument {argument.name!r} is a scalar, not an array")
                values[argument] = np.full(cores, item[0])
        return values

    def base_of(self, address: Scalar) -> str:
        """The pointer behind an address, or the address itself."""
        if isinstance(address, Unknown):
            return "an unknown address"
        number = int(address[0]) // _APART
        return self.names.get(number, f"address {int(address[0])}")

    def read(self, tile: Tile, active: np.ndarray) -> Scalar:
        """The elements of a tile, [cores, *shape], where the array behind it was given."""
        view = tile.parts[0]
        given = self.given.get(view.base)
        if tile.gathered or len(tile.parts) > 1:
            return Unknown(f"an indirect load of {view.base!r}")
        if given is None:
            return Unknown(f"the array argument {view.base!r}")
        flat = _plain(given)
        entries = (view.address, *tile.starts, *tile.lows, *view.strides, *view.lows)
        unknown = next((e for e in entries if isinstance(e, Unknown)), None)
        if unknown is not None:
            return unknown
        shape = tuple(int(np.max(extent)) for extent in tile.extents)  # type: ignore[arg-type]
        place = np.asarray(view.address)[:, None] % _APART
        grid = np.indices(shape).reshape(len(shape), -1)
        for axis, index in enumerate(grid):
            first = tile.starts[axis] + tile.lows[axis] - view.lows[axis]  # type: ignore[operator]
            place = place + (first[:, None] + index[None]) * view.strides[axis][:, None]  # type: ignore[index]
        inside = (place >= 0) & (place < flat.size) & active[:, None]
        found = np.where(inside, flat[np.clip(place, 0, flat.size - 1)], 0)
        return found.reshape(len(active), *shape)


def _plain(array: Any) -> np.ndarray:
    flat = np.asarray(array.numpy() if hasattr(array, "numpy") else array).reshape(-1)
    return flat.astype(np.int64) if flat.dtype.kind in "iub" else flat


def _pointers(function: Function) -> set[Value]:
    """Arguments that reach the address of a view."""
    from spyrelab.emulator.addresses import pointer_itemsizes

    names = pointer_itemsizes(function)
    return {value for value in function.arguments if value.name in names}
