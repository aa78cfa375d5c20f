"""What all allocations of one size, stride and type share: bytes, layout, and known views."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import torch

from spyrelab.device.dtypes import DLPACK_CODES, KTIR_NAMES, TILED
from spyrelab.device.errors import DeviceError
from spyrelab.device.places import Place, find_place
from spyrelab.layout import LayoutError, SpyreTensorLayout, access, contiguous_strides
from spyrelab.opspec.operand import Operand

__all__ = [
    "Form",
    "contiguous_form",
    "form_of",
    "form_with_layout",
    "is_dense",
    "linear_form",
    "raw_form",
    "require_distinct",
    "span",
]

_MOST = 1 << 14


class Form:
    """The shape of an allocation.

    Attributes
    ----------
    size, stride : tuple of int
        Of the tensor that the allocation was made for.
    dtype : torch.dtype
    operands : dict
        What programs see of the views known so far: kept by `spyrelab.device.eager.launch`.
    layout : SpyreTensorLayout or None
        How its elements lie in device memory; None where a device layout cannot say, which
        holds for linear allocations of types that device programs do not know.
    sticks : bool
        Whether the layout is any other than the linear one.
    tiled : bool
        Whether device order differs from host order, so that the host cannot alias elements.
    host_bytes, device_bytes : int
        What torch takes the storage to have, and what it takes in device memory.
    """

    __slots__ = (
        "device_bytes",
        "dtype",
        "head",
        "host_bytes",
        "layout",
        "operands",
        "places",
        "raw",
        "size",
        "sticks",
        "stride",
        "tiled",
    )

    def __init__(
        self,
        size: tuple[int, ...],
        stride: tuple[int, ...],
        dtype: torch.dtype,
        layout: SpyreTensorLayout | None,
        raw: bool = False,
    ) -> None:
        self.size, self.stride, self.dtype, self.layout = size, stride, dtype, layout
        self.host_bytes = span(size, stride) * dtype.itemsize
        self.tiled = layout is not None and not _host_order(layout, size, stride)
        self.sticks = _has_sticks(layout, size, stride)
        self.raw = raw
        tiled_bytes = layout.nbytes if self.tiled and layout is not None else 0
        self.device_bytes = tiled_bytes or self.host_bytes
        self.head = len(size) | DLPACK_CODES[dtype] << 32
        self.places: dict[tuple[object, ...], Place] = {}
        self.operands: dict[tuple[object, ...], tuple[Operand, int]] = {}

    def place(
        self, dtype: torch.dtype, size: Sequence[int], stride: Sequence[int], offset: int
    ) -> Place:
        """Where a view of the allocation lies; host elements of the view's own type."""
        key = (dtype, size, stride, offset)
        found = self.places.get(key)
        if found is None:
            if len(self.places) > _MOST:
                self.places.clear()
            found = find_place(self, dtype, tuple(size), tuple(stride), offset)
            self.places[(dtype, tuple(size), tuple(stride), offset)] = found
        return found


def span(size: Sequence[int], stride: Sequence[int]) -> int:
    """Host elements from the first to the last of a tensor."""
    reach = 1
    for extent, step in zip(size, stride, strict=True):
        if extent == 0:
            return 0
        reach += (extent - 1) * step
    return reach


def is_dense(size: Sequence[int], stride: Sequence[int]) -> bool:
    """Whether elements fill their span without gaps or overlaps, in whatever order."""
    expected = 1
    for step, extent in sorted(zip(stride, size, strict=True)):
        if extent == 1:
            continue
        if step != expected:
            return False
        expected *= extent
    return True


def require_distinct(tensor: torch.Tensor) -> None:
    """Raise as torch does where a tensor to be written is broadcast, so that elements coincide."""
    if 0 in tensor.stride() and any(
        step == 0 and extent > 1 for extent, step in zip(tensor.shape, tensor.stride(), strict=True)
    ):
        raise RuntimeError(
            "unsupported operation: more than one element of the written-to tensor refers to a"
            " single memory location. Please clone() the tensor before performing the operation."
        )


@lru_cache(maxsize=_MOST)
def form_of(size: tuple[int, ...], stride: tuple[int, ...], dtype: torch.dtype) -> Form:
    """The form in which a tensor lies by default.

    A tensor with gaps or overlaps lies as the one-dimensional run of elements that it spans.
    """
    if dtype not in DLPACK_CODES:
        raise DeviceError(f"{dtype} tensors are not supported on device 'spyre'")
    layout = None
    elements = span(size, stride)
    if elements and dtype in TILED:
        name = KTIR_NAMES[dtype]
        if is_dense(size, stride):
            layout = SpyreTensorLayout.default(size, name, host_stride=stride)
        else:
            layout = SpyreTensorLayout.default((elements,), name)
    elif dtype in TILED:
        layout = SpyreTensorLayout.default((0,), KTIR_NAMES[dtype])
    elif dtype in KTIR_NAMES:
        name = KTIR_NAMES[dtype]
        if is_dense(size, stride):
            layout = SpyreTensorLayout.linear(size, name, stride)
        else:
            layout = SpyreTensorLayout.linear((elements,), name)
    return Form(size, stride, dtype, layout)


@lru_cache(maxsize=_MOST)
def contiguous_form(size: tuple[int, ...], dtype: torch.dtype) -> Form:
    """The default form of a contiguous tensor."""
    return form_of(size, contiguous_strides(size), dtype)


@lru_cache(maxsize=_MOST)
def linear_form(size: tuple[int, ...], stride: tuple[int, ...], dtype: torch.dtype) -> Form:
    """The form of a tensor whose elements lie as on the host, whatever the default of its type."""
    return Form(size, stride, dtype, None)


@lru_cache(maxsize=_MOST)
def form_with_layout(size: tuple[int, ...], dtype: torch.dtype, layout: SpyreTensorLayout) -> Form:
    """The form of a contiguous tensor in a chosen layout.

    Raises
    ------
    LayoutError
        The layout does not describe such a tensor.
    """
    name = KTIR_NAMES.get(dtype)
    if name is None or (layout.dtype != name and (name, layout.dtype) != ("f16", "df16")):
        raise LayoutError(f"{layout} holds {layout.dtype} elements, the tensor holds {dtype}")
    stride = contiguous_strides(size)
    if 0 not in size:
        located = access(layout, size, stride)
        if located is None or located.start:
            raise LayoutError(f"{layout} does not describe a tensor of size {list(size)}")
    return Form(size, stride, dtype, layout)


@lru_cache(maxsize=1 << 10)
def raw_form(nbytes: int) -> Form:
    """Bytes in host order that nobody has given a type yet."""
    return Form((nbytes,), (1,), torch.uint8, None, raw=True)


def _has_sticks(
    layout: SpyreTensorLayout | None, size: tuple[int, ...], stride: tuple[int, ...]
) -> bool:
    if layout is None or 0 in size:
        return False
    if not is_dense(size, stride):
        return layout.device_size != (span(size, stride),)
    return layout != SpyreTensorLayout.linear(size, layout.dtype, stride)


def _host_order(layout: SpyreTensorLayout, size: tuple[int, ...], stride: tuple[int, ...]) -> bool:
    """Whether device memory holds the host's own bytes: such an allocation may be retyped."""
    elements = span(size, stride)
    return layout.is_linear and layout.numel == elements and layout.dtype != "df16"
