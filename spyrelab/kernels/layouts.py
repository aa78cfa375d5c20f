"""Where the layouts of a kernel's arguments put their elements, and what kernels can use."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import count

from spyrelab.kernels.arrays import Array, KernelError
from spyrelab.ktir.types import ScalarType
from spyrelab.layout import Access, SpyreTensorLayout, access, contiguous_strides, pack, unpack

__all__ = [
    "Layouts",
    "adjoining",
    "device_dimensions",
    "known_layouts",
    "lie_alike",
    "packed",
    "placed",
    "unpacked",
]

Layouts = Mapping[str, SpyreTensorLayout]
"""The layout of an argument of a kernel by its name; those that are absent are row-major."""


def placed(
    name: str, size: tuple[int, ...], dtype: ScalarType, layouts: Layouts
) -> tuple[SpyreTensorLayout, Access] | None:
    """The layout of an argument and where it puts the tensor; None for row-major."""
    layout = layouts.get(name)
    if layout is None:
        return None
    if layout.dtype != dtype.name.removeprefix("!spyreop."):
        raise KernelError(
            f"'{name}' has elements of type {dtype.name}, its layout {layout} others: make the"
            " layout for the kernel's dtype"
        )
    found = access(layout, size, contiguous_strides(size))
    if found is None:
        raise KernelError(
            f"'{name}' has size {list(size)}, which {layout} does not describe:"
            f" {_wanted(size, layout)} would"
        )
    return None if _is_row_major(found.access) else (layout, found.access)


def _is_row_major(place: Access) -> bool:
    """Whether elements follow each other in logical order, without gaps."""
    for axis, step in zip(place.axes, contiguous_strides(place.size), strict=True):
        expected = step
        for digit in reversed(axis):
            if digit.count > 1 and digit.stride != expected:
                return False
            expected *= digit.count
    return True


def _wanted(size: Sequence[int], layout: SpyreTensorLayout) -> SpyreTensorLayout:
    return SpyreTensorLayout.default(size, layout.dtype)


def device_dimensions(
    name: str, size: tuple[int, ...], layout: SpyreTensorLayout, place: Access
) -> list[tuple[int, ...]]:
    """The device dimensions of each logical dimension, outermost first.

    A logical dimension of one element has one too, where positions count; where the layout has
    none to spare it comes behind all others.

    Raises
    ------
    KernelError
        Sticks do not run along the last dimension.
    """
    found = _dimensions(name, size, layout, place)
    used = {d for group in found for d in group}
    free = [d for d, n in enumerate(layout.device_size) if n == 1 and d not in used]
    behind = count(len(layout.device_size))
    return [group or ((free.pop(0) if free else next(behind)),) for group in found]


def _dimensions(
    name: str, size: tuple[int, ...], layout: SpyreTensorLayout, place: Access
) -> list[tuple[int, ...]]:
    """The device dimensions of each logical dimension, outermost first."""
    by_stride = {
        stride: d
        for d, stride in enumerate(layout.device_strides)
        if layout.device_size[d] > 1 and layout.stride_map[d] >= 0
    }
    found = []
    for dimension, axis in enumerate(place.axes):
        steps = [digit.stride for digit in axis if digit.count > 1]
        last = dimension == len(size) - 1
        plain = len(steps) <= 1 and (last or 1 not in steps)
        sticks = last and len(steps) == 2 and steps[1] == 1
        whole = len(axis) < 2 or axis[-1].count == layout.elements_per_stick
        if not (plain or (sticks and whole)) or any(step not in by_stride for step in steps):
            raise KernelError(
                f"'{name}' of size {list(size)} lies in {layout}, but the kernel takes sticks"
                f" along its last dimension: {_wanted(size, layout)}. Restickify it first"
            )
        found.append(tuple(by_stride[step] for step in steps))
    return found


def adjoining(size: Sequence[int], place: Access) -> int:
    """The dimension along which sticks follow each other most closely."""
    last = len(size) - 1
    strides = [
        axis[0].stride if axis[0].count > 1 and (d < last or len(axis) > 1) else None
        for d, axis in enumerate(place.axes)
    ]
    known = [(stride, d) for d, stride in enumerate(strides) if stride is not None]
    return min(known)[1] if known else last


def known_layouts(layouts: Layouts | None, names: Sequence[str]) -> Layouts:
    """The layouts given; raises KernelError for one of an argument that does not exist."""
    given = dict(layouts or {})
    for name in given:
        if name not in names:
            raise KernelError(f"layouts names '{name}', which is none of {', '.join(names)}")
    return given


def lie_alike(size: Sequence[int], names: Sequence[str], layouts: Layouts | None) -> bool:
    """Whether arguments of one size have their elements in the same places, without padding."""
    chosen = known_layouts(layouts, names)
    places = set()
    for name in names:
        layout = chosen.get(name) or SpyreTensorLayout.linear(size)
        found = access(layout, tuple(size), contiguous_strides(size))
        if found is None:
            return False
        row_major = _is_row_major(found.access)
        places.add(None if row_major else found.access)
        if not row_major and layout.numel != found.access.numel:
            return False
    return len(places) == 1


def packed(arrays: Mapping[str, Array], layouts: Layouts | None) -> dict[str, Array]:
    """Arguments of a kernel as they lie on the device, padding zero."""
    chosen = known_layouts(layouts, list(arrays))
    return {n: pack(a, chosen[n]) if n in chosen else a for n, a in arrays.items()}


def unpacked(elements: Array, layout: SpyreTensorLayout | None, size: Sequence[int]) -> Array:
    """The host array of ``size`` that lies in device ``elements``."""
    return elements if layout is None else unpack(elements, layout, size)
