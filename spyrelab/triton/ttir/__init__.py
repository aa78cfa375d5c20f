"""Triton's IR as a tree, read from generic MLIR text."""

from spyrelab.triton.ttir.origins import to_origins
from spyrelab.triton.ttir.parser import parse_ttir
from spyrelab.triton.ttir.tree import TtirBlock, TtirOperation, TtirValue
from spyrelab.triton.ttir.types import (
    DescriptorType,
    FunctionType,
    PointerType,
    TtirType,
    element_type,
    shape_of,
)

__all__ = [
    "DescriptorType",
    "FunctionType",
    "PointerType",
    "TtirBlock",
    "TtirOperation",
    "TtirType",
    "TtirValue",
    "element_type",
    "parse_ttir",
    "shape_of",
    "to_origins",
]
