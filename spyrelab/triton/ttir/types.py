"""Types that Triton's IR has beyond those of KTIR: pointers and tensor descriptors."""

from __future__ import annotations

from dataclasses import dataclass

from spyrelab.ktir.types import ScalarType, TensorType

__all__ = ["DescriptorType", "FunctionType", "PointerType", "TtirType", "element_type", "shape_of"]


@dataclass(frozen=True)
class PointerType:
    """``!tt.ptr<T>``, or a tensor of such; ``shape`` is None for a single pointer."""

    pointee: ScalarType
    shape: tuple[int, ...] | None = None

    def __str__(self) -> str:
        text = f"!tt.ptr<{self.pointee}>"
        if self.shape is None:
            return text
        return f"tensor<{''.join(f'{extent}x' for extent in self.shape)}{text}>"


@dataclass(frozen=True)
class DescriptorType:
    """``!tt.tensordesc<16x32xf16>``: a tensor in memory, seen in blocks of ``shape``."""

    shape: tuple[int, ...]
    element: ScalarType

    def __str__(self) -> str:
        return f"!tt.tensordesc<{''.join(f'{extent}x' for extent in self.shape)}{self.element}>"


@dataclass(frozen=True)
class FunctionType:
    """``(T, ..) -> (T, ..)``."""

    arguments: tuple[TtirType, ...]
    results: tuple[TtirType, ...]


TtirType = ScalarType | TensorType | PointerType | DescriptorType | FunctionType
"""Any type of a value."""


def shape_of(kind: TtirType) -> tuple[int, ...] | None:
    """Static extents of a tensor type (of numbers or pointers); None for anything else."""
    if isinstance(kind, TensorType):
        return tuple(extent or 0 for extent in kind.shape)
    return kind.shape if isinstance(kind, PointerType) else None


def element_type(kind: TtirType) -> ScalarType:
    """What numbers a value holds; TypeError for pointers and functions."""
    if isinstance(kind, TensorType | DescriptorType):
        return kind.element
    if isinstance(kind, ScalarType):
        return kind
    raise TypeError(f"{kind} holds no numbers")
