"""Types of KTIR: scalars, tensors, memory references, access tiles, futures."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from spyrelab.ktir.affine import AffineSet

Dimension = int | None
"""A static extent, or None where the text says ``?``."""


@dataclass(frozen=True)
class ScalarType:
    """One element type, by its textual name."""

    name: str

    def __str__(self) -> str:
        return self.name

    @cached_property
    def is_float(self) -> bool:
        return self.name in _FLOAT_BITS

    @cached_property
    def is_integer(self) -> bool:
        """True for ``index`` and every ``iN``."""
        return self.name in _INTEGER_BITS

    @cached_property
    def bits(self) -> int:
        """Width of a value; ``i1`` is 1, ``index`` is 64."""
        return _FLOAT_BITS.get(self.name) or _INTEGER_BITS.get(self.name) or 0

    @cached_property
    def itemsize(self) -> int:
        """Bytes of one element in memory (``i1`` takes a whole byte)."""
        return (self.bits + 7) // 8


_FLOAT_BITS = {
    "f16": 16,
    "bf16": 16,
    "f32": 32,
    "!spyreop.df16": 16,
    "f8E4M3FN": 8,
    "f8E5M2": 8,
    "!spyreop.df16_fused": 16,
    "!spyreop.fp16_fused": 16,
    "!spyreop.fp32_fused": 32,
}
_INTEGER_BITS = {"i1": 1, "i8": 8, "i16": 16, "i32": 32, "i64": 64, "index": 64}

INDEX = ScalarType("index")
I1, I8, I16 = ScalarType("i1"), ScalarType("i8"), ScalarType("i16")
I32, I64 = ScalarType("i32"), ScalarType("i64")
F16, BF16, F32 = ScalarType("f16"), ScalarType("bf16"), ScalarType("f32")
DF16 = ScalarType("!spyreop.df16")
F8E4M3, F8E5M2 = ScalarType("f8E4M3FN"), ScalarType("f8E5M2")

SCALARS = {name: ScalarType(name) for name in (*_FLOAT_BITS, *_INTEGER_BITS)}
"""Every element type that the language knows, by name."""


@dataclass(frozen=True)
class MemorySpace:
    """Where a view lies: main memory (``core_local`` False) or a core's scratchpad.

    ``core`` None with ``core_local`` True means the running core's own scratchpad.
    """

    core_local: bool = False
    core: int | None = None

    def __str__(self) -> str:
        if not self.core_local:
            return "#ktdp.memory_space<global>"
        place = "" if self.core is None else f", ct_id = {self.core}"
        return f"#ktdp.memory_space<ct_local{place}>"


GLOBAL = MemorySpace()


def _dimensions(shape: tuple[Dimension, ...]) -> str:
    return "".join(f"{'?' if extent is None else extent}x" for extent in shape)


@dataclass(frozen=True)
class TensorType:
    """A tile value that lives in the scratchpad."""

    shape: tuple[Dimension, ...]
    element: ScalarType

    def __str__(self) -> str:
        return f"tensor<{_dimensions(self.shape)}{self.element}>"


@dataclass(frozen=True)
class MemRefType:
    """A named region of memory; ``space`` only where the text repeats it."""

    shape: tuple[Dimension, ...]
    element: ScalarType
    space: MemorySpace | None = None

    def __str__(self) -> str:
        space = "" if self.space is None else f", {self.space}"
        return f"memref<{_dimensions(self.shape)}{self.element}{space}>"


@dataclass(frozen=True)
class AccessTileType:
    """A set of coordinates of a view, in visiting order."""

    shape: tuple[Dimension, ...]

    def __str__(self) -> str:
        return f"!ktdp.access_tile<{_dimensions(self.shape)}index>"


@dataclass(frozen=True)
class TileFutureType:
    """Partials published by the producers of each group."""

    partials: tuple[Type, ...]
    groups: AffineSet

    def __str__(self) -> str:
        partials = ", ".join(map(str, self.partials))
        return f"!ktdp.tile_future<({partials}), groups = {self.groups}>"


@dataclass(frozen=True)
class RuntimeArgType:
    """A scalar given at launch, with a promised granularity and an upper bound."""

    element: ScalarType
    granularity: int | None = None
    upperbound: int | None = None

    def __str__(self) -> str:
        parts = [str(self.element)]
        if self.granularity is not None:
            parts.append(f"granularity={self.granularity}")
        if self.upperbound is not None:
            parts.append(f"upperbound={self.upperbound}")
        return f"!ktdp.runtime_arg<{', '.join(parts)}>"


Type = ScalarType | TensorType | MemRefType | AccessTileType | TileFutureType | RuntimeArgType
"""Any KTIR type."""


def element_of(kind: Type) -> ScalarType:
    """The element type of a scalar, tensor, memref or runtime argument."""
    if isinstance(kind, ScalarType):
        return kind
    if isinstance(kind, (TensorType, MemRefType, RuntimeArgType)):
        return kind.element
    raise TypeError(f"{kind} has no element type")
