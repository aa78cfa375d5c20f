"""Where the elements of a tensor lie in device memory: sizes, and the host stride of each."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from typing import NamedTuple

from spyrelab.layout.element import element_type, elements_per_stick
from spyrelab.layout.errors import LayoutError

__all__ = ["Level", "SpyreTensorLayout", "contiguous_strides"]

SYNTHETIC = -1
"""Host stride of a stick dimension that no host dimension runs along."""


class Level(NamedTuple):
    """A device dimension that the host can see: one step of it is ``stride`` host elements."""

    stride: int
    size: int
    device_stride: int


@dataclass(frozen=True)
class SpyreTensorLayout:
    """Row-major device dimensions, each with the host stride that one step along it takes.

    ``host_offset = dot(device_coordinates, stride_map)`` for every element of the tensor; device
    coordinates outside the identity are padding.

    >>> SpyreTensorLayout.default((5, 100, 150), "f16")
    SpyreTensorLayout(device_size=[100, 3, 5, 64], stride_map=[150, 64, 15000, 1], dtype="f16")

    Parameters
    ----------
    device_size : sequence of int
        Extents of the device dimensions, outermost first. In a tiled layout the last is the
        stick: the elements that 128 bytes hold.
    stride_map : sequence of int
        Host elements per step of each device dimension; -1 for a synthetic stick dimension, of
        which only the first element is used.
    dtype : str or torch.dtype
        Element type on the device: "f16", "bf16", "f32", "df16" (the 1-6-9 format), "i64", ...

    Raises
    ------
    LayoutError
        No tensor can lie like this.
    """

    device_size: tuple[int, ...]
    stride_map: tuple[int, ...]
    dtype: str

    def __init__(
        self, device_size: Sequence[int], stride_map: Sequence[int], dtype: object = "f16"
    ) -> None:
        name = element_type(dtype).name.removeprefix("!spyreop.")
        object.__setattr__(self, "device_size", tuple(int(size) for size in device_size))
        object.__setattr__(self, "stride_map", tuple(int(stride) for stride in stride_map))
        object.__setattr__(self, "dtype", name)
        self._check()

    def _check(self) -> None:
        sizes, strides = self.device_size, self.stride_map
        if len(sizes) != len(strides):
            raise LayoutError(
                f"device_size has {len(sizes)} dimensions and stride_map {len(strides)}:"
                " every device dimension needs one host stride"
            )
        if any(size < 0 for size in sizes):
            raise LayoutError(f"device_size {list(sizes)} has a negative extent")
        if any(stride < 0 for stride in strides[:-1]) or (strides and strides[-1] < SYNTHETIC):
            raise LayoutError(
                f"stride_map {list(strides)} has a negative stride: only the last dimension may"
                " have -1, and is a synthetic stick dimension then"
            )
        if 0 in sizes:
            return  # no elements, so none lies in two places
        seen: dict[int, int] = {}
        for position, (size, stride) in enumerate(zip(sizes, strides, strict=True)):
            if size <= 1 or stride == SYNTHETIC:
                continue
            if stride == 0 or stride in seen:
                other = f" dimension {seen[stride]} too" if stride in seen else " no host element"
                raise LayoutError(
                    f"device dimension {position} of {list(sizes)} steps over {stride} host"
                    f" elements, as{other}: elements would lie in two places"
                )
            seen[stride] = position

    # -- the layouts that are made most ------------------------------------------------------

    @classmethod
    def default(
        cls,
        host_size: Sequence[int],
        dtype: object = "f16",
        dim_order: Sequence[int] | None = None,
        host_stride: Sequence[int] | None = None,
    ) -> SpyreTensorLayout:
        """The stick-tiled layout of a host tensor.

        The last dimension of the order is cut into sticks; the first lies next to the sticks, so
        that its rows follow each other; the others are outermost.

        Parameters
        ----------
        dim_order : sequence of int, optional
            A permutation of the host dimensions; default by descending host stride.
        host_stride : sequence of int, optional
            Host strides in elements; default contiguous.
        """
        size = tuple(host_size)
        stride = tuple(host_stride) if host_stride is not None else contiguous_strides(size)
        order = _order(size, stride, dim_order)
        stick = elements_per_stick(element_type(dtype).name)
        if not order:
            return cls((1, stick), (stick, 1), dtype)
        *others, last = order
        first, middle = others[:1], others[1:]
        tiles = -(-size[last] // stick)
        device_size = [*(size[d] for d in middle), tiles, *(size[d] for d in first), stick]
        steps = [stride[d] if size[d] != 1 else _unit(size, stride, d) for d in range(len(size))]
        stride_map = [*(steps[d] for d in middle), stick * steps[last], *(steps[d] for d in first)]
        alone = size[last] == 1 and math.prod(size) > 1
        return cls(device_size, [*stride_map, SYNTHETIC if alone else steps[last]], dtype)

    @classmethod
    def sparse(
        cls,
        host_size: Sequence[int],
        dtype: object = "f16",
        host_stride: Sequence[int] | None = None,
    ) -> SpyreTensorLayout:
        """One element per stick: what a reduction over the stick dimension leaves behind."""
        size = tuple(host_size)
        stride = tuple(host_stride) if host_stride is not None else contiguous_strides(size)
        stick = elements_per_stick(element_type(dtype).name)
        order = _order(size, stride, None)
        return cls(
            [*(size[d] for d in order), stick], [*(stride[d] for d in order), SYNTHETIC], dtype
        )

    @classmethod
    def linear(
        cls,
        host_size: Sequence[int],
        dtype: object = "f16",
        host_stride: Sequence[int] | None = None,
    ) -> SpyreTensorLayout:
        """The host's own order, with no sticks: for engines that reinterpret memory."""
        size = tuple(host_size)
        stride = tuple(host_stride) if host_stride is not None else contiguous_strides(size)
        order = _order(size, stride, None)
        return cls([size[d] for d in order], [stride[d] for d in order], dtype)

    def padded(self, device_size: Sequence[int]) -> SpyreTensorLayout:
        """The same layout with larger extents: more padding, no other difference.

        Raises
        ------
        LayoutError
            It would drop elements, or make it ambiguous where some lie: a second tile beside
            rows that are narrower than a stick would have the host offsets of other rows.
        """
        grown = tuple(device_size)
        if len(grown) != len(self.device_size) or any(
            new < old for new, old in zip(grown, self.device_size, strict=True)
        ):
            raise LayoutError(
                f"padding {list(self.device_size)} to {list(grown)} would drop elements or"
                " dimensions"
            )
        for position, step in enumerate(self.stride_map):
            started = self.device_size[position] == 1 < grown[position] and step != SYNTHETIC
            if started and self._reach_below(step) >= step:
                raise LayoutError(
                    f"dimension {position} of {list(self.device_size)} cannot be padded to"
                    f" {grown[position]}: it steps over {step} host elements, and elements along"
                    " the other dimensions lie there"
                )
        return SpyreTensorLayout(grown, self.stride_map, self.dtype)

    def _reach_below(self, step: int) -> int:
        """How far the dimensions that step over at most ``step`` elements go together."""
        inner = {stride: size for stride, size, _ in self.levels if stride <= step}
        lane = self.stride_map[-1]
        if lane in inner:
            # The last stick may hold padding, so the extent is what the next dimension leaves.
            length = inner.pop(lane) * inner.pop(lane * self.device_size[-1], 1)
            above = min((stride for stride in inner if stride > lane), default=step)
            inner[lane] = min(length, max(-(-above // lane), 1))
        return sum((size - 1) * stride for stride, size in inner.items())

    def canonical(self) -> SpyreTensorLayout:
        """The same placement without dimensions of extent 1 (the stick dimension stays)."""
        last = len(self.device_size) - 1
        kept = [d for d, size in enumerate(self.device_size) if size != 1 or d == last]
        return SpyreTensorLayout(
            [self.device_size[d] for d in kept], [self.stride_map[d] for d in kept], self.dtype
        )

    # -- what it says ------------------------------------------------------------------------

    @cached_property
    def itemsize(self) -> int:
        """Bytes of one element on the device."""
        return element_type(self.dtype).itemsize

    @cached_property
    def elements_per_stick(self) -> int:
        """Elements that one stick of 128 bytes holds."""
        return elements_per_stick(self.dtype)

    @cached_property
    def numel(self) -> int:
        """Elements on the device, padding included."""
        return math.prod(self.device_size)

    @cached_property
    def nbytes(self) -> int:
        """Bytes on the device, padding included."""
        return self.numel * self.itemsize

    @cached_property
    def device_strides(self) -> tuple[int, ...]:
        """Device elements per step of each device dimension."""
        return contiguous_strides(self.device_size)

    @cached_property
    def is_synthetic(self) -> bool:
        """Whether each stick holds a single element."""
        return bool(self.stride_map) and self.stride_map[-1] == SYNTHETIC

    @cached_property
    def is_linear(self) -> bool:
        """Whether device order is host order, without padding."""
        return not self.is_synthetic and all(
            size == 1 or stride == device
            for size, stride, device in zip(
                self.device_size, self.stride_map, self.device_strides, strict=True
            )
        )

    @cached_property
    def levels(self) -> tuple[Level, ...]:
        """Device dimensions of more than one element, by descending host stride."""
        found = [
            Level(stride, size, device)
            for size, stride, device in zip(
                self.device_size, self.stride_map, self.device_strides, strict=True
            )
            if size > 1 and stride != SYNTHETIC
        ]
        return tuple(sorted(found, reverse=True))

    def host_offset(self, coordinates: Sequence[int]) -> int:
        """The host offset, in elements, of the element at device ``coordinates``."""
        if len(coordinates) != len(self.device_size) or any(
            not 0 <= at < size for at, size in zip(coordinates, self.device_size, strict=True)
        ):
            raise LayoutError(f"{list(coordinates)} lies outside {list(self.device_size)}")
        return sum(
            at * max(stride, 0) for at, stride in zip(coordinates, self.stride_map, strict=True)
        )

    def _repr_html_(self) -> str:
        return str(import_module("spyrelab.layout.page").layout_html(self))

    def __repr__(self) -> str:
        return (
            f"SpyreTensorLayout(device_size={list(self.device_size)},"
            f' stride_map={list(self.stride_map)}, dtype="{self.dtype}")'
        )


def contiguous_strides(size: Sequence[int]) -> tuple[int, ...]:
    """Row-major strides, in elements."""
    strides, step = [], 1
    for extent in reversed(size):
        strides.append(step)
        step *= max(extent, 1)
    return tuple(reversed(strides))


def _unit(size: tuple[int, ...], stride: tuple[int, ...], dimension: int) -> int:
    """The stride that a dimension of one element would have in a dense tensor."""
    inner = [
        (step, extent)
        for step, extent in zip(stride[dimension + 1 :], size[dimension + 1 :], strict=True)
        if extent > 1
    ]
    return max((step * extent for step, extent in inner), default=1)


def _order(
    size: tuple[int, ...], stride: tuple[int, ...], dim_order: Sequence[int] | None
) -> tuple[int, ...]:
    if len(size) != len(stride):
        raise LayoutError(f"host size {list(size)} and host stride {list(stride)} differ in rank")
    if dim_order is None:
        dense = [stride[d] if size[d] != 1 else _unit(size, stride, d) for d in range(len(size))]
        return tuple(sorted(range(len(size)), key=lambda d: -dense[d]))
    order = tuple(dim_order)
    if sorted(order) != list(range(len(size))):
        raise LayoutError(
            f"dim_order {list(order)} is no permutation of the {len(size)} dimensions of"
            f" {list(size)}"
        )
    return order
