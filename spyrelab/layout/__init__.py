"""Dataflow layouts: where the elements of a tensor lie in device memory.

>>> layout = SpyreTensorLayout.default((512, 256), "f16")
>>> layout.device_size, layout.stride_map
((4, 512, 64), (64, 256, 1))
"""

from spyrelab.layout.access import Access, Digit, Located, Piece, access, element_offsets
from spyrelab.layout.codec import convert, pack, read, unpack, write
from spyrelab.layout.errors import LayoutConflictError, LayoutError
from spyrelab.layout.tensor_layout import SpyreTensorLayout, contiguous_strides

__all__ = [
    "Access",
    "Digit",
    "LayoutConflictError",
    "LayoutError",
    "Located",
    "Piece",
    "SpyreTensorLayout",
    "access",
    "contiguous_strides",
    "convert",
    "element_offsets",
    "pack",
    "read",
    "unpack",
    "write",
]
