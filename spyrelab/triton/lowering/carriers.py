"""How values pass through loops and branches: as few scalars as they can be rebuilt from."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from spyrelab.ktir.builder import Scalar
from spyrelab.ktir.builder_emit import Block
from spyrelab.ktir.builder_values import Element
from spyrelab.ktir.types import INDEX
from spyrelab.triton.lowering.kernel import Kernel, Value
from spyrelab.triton.lowering.lanes import Lanes, Numbers
from spyrelab.triton.lowering.pointers import Descriptor, Origin, Pointer

__all__ = ["LOOSEST", "Carrier", "carrier_for", "made_in"]

LOOSEST = 2
"""The level at which a carrier takes any value."""


class Carrier:
    """Takes a value apart into elements and puts it together again."""

    width = 1
    """Elements that pass."""

    def accepts(self, value: Value) -> bool:
        """Whether a value can pass."""
        raise NotImplementedError

    def packed(self, value: Value) -> list[Element]:
        """The elements that pass."""
        raise NotImplementedError

    def unpacked(self, elements: Sequence[Any]) -> Value:
        """The value on the other side."""
        raise NotImplementedError


class _Whole(Carrier):
    """Numbers as they are."""

    def __init__(self, kernel: Kernel) -> None:
        self.kernel = kernel

    def accepts(self, value: Value) -> bool:
        return True

    def packed(self, value: Value) -> list[Element]:
        return [self.kernel.element(value)]

    def unpacked(self, elements: Sequence[Any]) -> Value:
        (element,) = elements
        return self.kernel.wrapped(element)


class _Base(Carrier):
    """The base of a sum whose terms stay the same."""

    def __init__(self, kernel: Kernel, pattern: Lanes) -> None:
        self.kernel = kernel
        self.pattern = pattern

    def accepts(self, value: Value) -> bool:
        return isinstance(value, Lanes) and self.pattern.has_terms_of(value)

    def packed(self, value: Value) -> list[Element]:
        assert isinstance(value, Lanes)
        return [self.kernel.b.scalar_of(value.base)]

    def unpacked(self, elements: Sequence[Any]) -> Value:
        (base,) = elements
        old, b = self.pattern, self.kernel.b
        return Lanes(b, old.shape, old.dtype, b.index(base), old.terms)


class _Pointer(Carrier):
    """Pointers of one origin; ``offsets`` carries how far they are."""

    def __init__(self, kernel: Kernel, pattern: Pointer, offsets: Carrier) -> None:
        self.kernel = kernel
        self.pattern = pattern
        self.offsets = offsets
        self.width = offsets.width

    def accepts(self, value: Value) -> bool:
        assert isinstance(value, Pointer)
        return value.origin is self.pattern.origin and self.offsets.accepts(value.offset)

    def packed(self, value: Value) -> list[Element]:
        assert isinstance(value, Pointer)
        return self.offsets.packed(value.offset)

    def unpacked(self, elements: Sequence[Any]) -> Value:
        offset = self.kernel.lanes(self.offsets.unpacked(elements), self.pattern.shape)
        return Pointer(self.pattern.origin, self.pattern.element, _as_index(self.kernel, offset))


class _AnyPointer(_Pointer):
    """Pointers that may change their origin: the address passes too."""

    def __init__(self, kernel: Kernel, pattern: Pointer, offsets: Carrier) -> None:
        super().__init__(kernel, pattern, offsets)
        self.width = offsets.width + 1

    def accepts(self, value: Value) -> bool:
        return isinstance(value, Pointer) and self.offsets.accepts(value.offset)

    def packed(self, value: Value) -> list[Element]:
        assert isinstance(value, Pointer)
        address = self.kernel.address(value.origin, self.pattern.element)
        return [address, *super().packed(value)]

    def unpacked(self, elements: Sequence[Any]) -> Value:
        address, *rest = elements
        inner = super().unpacked(rest)
        assert isinstance(inner, Pointer)
        origin = Origin("", -1, {self.pattern.element.itemsize: address})
        return Pointer(origin, inner.element, inner.offset)


class _Descriptor(Carrier):
    """A descriptor: its pointer, sizes and strides."""

    def __init__(self, kernel: Kernel, pattern: Descriptor, pointer: Carrier) -> None:
        self.kernel = kernel
        self.pattern = pattern
        self.pointer = pointer
        self.width = 2 * len(pattern.sizes) + pointer.width

    def accepts(self, value: Value) -> bool:
        return isinstance(value, Descriptor) and self.pointer.accepts(value.pointer)

    def packed(self, value: Value) -> list[Element]:
        assert isinstance(value, Descriptor)
        numbers = [self.kernel.b.scalar_of(n) for n in (*value.sizes, *value.strides)]
        return [*numbers, *self.pointer.packed(value.pointer)]

    def unpacked(self, elements: Sequence[Any]) -> Value:
        rank = len(self.pattern.sizes)
        numbers = [self.kernel.b.index(element) for element in elements[: 2 * rank]]
        pointer = self.pointer.unpacked(elements[2 * rank :])
        assert isinstance(pointer, Pointer)
        sizes, strides = tuple(numbers[:rank]), tuple(numbers[rank:])
        return Descriptor(pointer, sizes, strides, self.pattern.block, self.pattern.fills_nan)


def _as_index(kernel: Kernel, lanes: Lanes) -> Lanes:
    """Offsets of type index."""
    if lanes.dtype == INDEX:
        return lanes
    return Lanes(kernel.b, lanes.shape, INDEX, lanes.base, lanes.terms)


def carrier_for(kernel: Kernel, value: Value, level: int) -> Carrier:
    """What carries a value: 0 keeps all that is known, `LOOSEST` takes any value of its type."""
    if isinstance(value, Lanes) and level == 0:
        return _Base(kernel, value)
    if isinstance(value, Pointer):
        single = value.is_single
        offsets: Carrier = _Base(kernel, value.offset)
        if level >= 1 and not single:
            offsets = _Whole(kernel)
        kind = _AnyPointer if level == LOOSEST else _Pointer
        return kind(kernel, value, offsets)
    if isinstance(value, Descriptor):
        return _Descriptor(kernel, value, carrier_for(kernel, value.pointer, level))
    return _Whole(kernel)


def made_in(value: Value, block: Block) -> bool:
    """Whether what a carrier keeps of a value exists in a block only."""
    if isinstance(value, Descriptor):
        return made_in(value.pointer, block)
    if isinstance(value, Pointer):
        addresses = value.origin.addresses.values()
        return any(a.block is block for a in addresses) or made_in(value.offset, block)
    if not isinstance(value, Lanes):
        return False
    factors = [term.factor for term in value.terms]
    sources = [term.source for term in value.terms]
    return any(isinstance(f, Scalar) and f.block is block for f in factors) or any(
        isinstance(source, Numbers) and source.value.home is block for source in sources
    )
