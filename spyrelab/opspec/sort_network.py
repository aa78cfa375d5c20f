"""Sorting tiles of i64 keys with a bitonic network, and floats packed into such keys.

A key holds an element's rank in its upper 32 bits and its index below, so equal elements keep
their order and one minimum and one maximum compare and exchange value and index together.
"""

from __future__ import annotations

from spyrelab.ktir.builder import Builder, Tensor
from spyrelab.ktir.types import F32, I32, I64, ScalarType, TensorType
from spyrelab.opspec.row_values import count_up

__all__ = ["LAST_KEY", "indices_of", "packed", "padded_width", "sorted_tile", "values_of"]

LAST_KEY = (1 << 63) - 1
"""Sorts behind every element."""

_INDEX_BITS = 32
_SIGN = -(1 << 31)
_MAGNITUDE = (1 << 31) - 1


def padded_width(width: int) -> int:
    """The next power of two."""
    return 1 << max(0, width - 1).bit_length()


def packed(b: Builder, values: Tensor, index: Tensor, descending: bool) -> Tensor:
    """Keys of f32 or (narrow) i64 values.

    NaN is greater than everything; 0 and -0 are equal, and the lowest bit tells them apart.
    """
    mark = None
    rank = values
    if values.dtype.is_float:
        bits = b.pure("arith.bitcast", (values,), _like(values, I32), hint="bits")
        minus_zero = bits.equals(_SIGN)
        mark = minus_zero.to(I64)
        bits = b.select(minus_zero, 0, bits)
        flipped = b.arithmetic("xor", bits, _MAGNITUDE)
        rank = b.select(bits < 0, flipped, bits).to(I64)
    if descending:
        rank = b.arithmetic("sub", -1, rank)
    low = index * 2 if mark is None else index * 2 + mark
    result: Tensor = rank * (1 << _INDEX_BITS) + low
    return result


def _like(tile: Tensor, dtype: ScalarType) -> TensorType:
    return TensorType(tile.shape, dtype)


def indices_of(b: Builder, keys: Tensor) -> Tensor:
    """The index in each key."""
    half = keys & ((1 << _INDEX_BITS) - 1)
    return _shifted_right(b, half, 1)


def values_of(b: Builder, keys: Tensor, floats: bool, descending: bool) -> Tensor:
    """The value in each key, f32 or i64."""
    rank = _shifted_right(b, keys, _INDEX_BITS)
    if descending:
        rank = b.arithmetic("sub", -1, rank)
    if not floats:
        return rank
    bits = rank.to(I32)
    bits = b.select(bits < 0, b.arithmetic("xor", bits, _MAGNITUDE), bits)
    is_marked = (keys & 1).equals(1)
    bits = b.select(is_marked, _SIGN, bits)
    result: Tensor = b.pure("arith.bitcast", (bits,), _like(bits, F32), hint="value")
    return result


def _shifted_right(b: Builder, tile: Tensor, by: int) -> Tensor:
    result: Tensor = b.pure("arith.shrsi", b.matched(tile, by), tile.type, hint="shifted")
    return result


def sorted_tile(b: Builder, keys: Tensor, axis: int, count: int | None = None) -> Tensor:
    """The least ``count`` keys (all by default) in ascending order along an axis.

    The axis is a power of two long, and so is what is left of it: at least ``count``.

    Ranges that a bitonic network sorts downwards hold inverted keys (``-1 - key``), so that
    every exchange puts the lesser key first.  Once ranges are as long as the result, two of
    them are one bitonic range whose lower half is all that is needed.
    """
    width = keys.shape[axis] or 1
    kept = min(width, padded_width(count or width))
    network = _Network(b, keys, axis)
    length = 2
    while length <= kept:
        network.merge(length)
        length *= 2
    while network.width > kept:
        network.halve(kept)
        network.merge(kept)
    return network.keys


class _Network:
    """Keys on their way, and which of them are inverted."""

    def __init__(self, b: Builder, keys: Tensor, axis: int) -> None:
        self._b, self.keys, self._axis = b, keys, axis
        self._inverted: Tensor | None = None

    @property
    def width(self) -> int:
        return self.keys.shape[self._axis] or 1

    def merge(self, length: int) -> None:
        """Sort ranges of ``length``, every other one downwards; their halves are sorted."""
        b = self._b
        mask = None
        if length < self.width:
            place = count_up(b, [self.width], [1], b.constant(0))
            mask = b.arithmetic("sub", 0, _shifted_right(b, place, length.bit_length() - 1) & 1)
        self._invert(mask)
        step = length // 2
        while step:
            self._exchange(step)
            step //= 2

    def halve(self, length: int) -> None:
        """Of each two ranges keep the lesser half."""
        self._invert(None)
        lower, upper, _, _ = self._pairs(length)
        least = self._b.minimum(lower, upper)
        shape = [extent or 0 for extent in self.keys.shape]
        shape[self._axis] //= 2
        self.keys = self._b.reshape(least, shape)

    def _invert(self, mask: Tensor | None) -> None:
        """Invert where ``mask`` is all ones, and nowhere else."""
        b, shape = self._b, [extent or 0 for extent in self.keys.shape]
        masks = [entry for entry in (mask, self._inverted) if entry is not None]
        self._inverted = mask
        if not masks:
            return
        change = masks[0] if len(masks) == 1 else b.arithmetic("xor", *masks)
        others = [dim for dim in range(len(shape)) if dim != self._axis]
        self.keys = b.arithmetic("xor", self.keys, b.broadcast(change, shape, others))

    def _pairs(self, step: int) -> tuple[Tensor, Tensor, Tensor, list[int]]:
        """The lower and upper of all pairs ``step`` apart, what they were cut from, and where."""
        shape, axis = [extent or 0 for extent in self.keys.shape], self._axis
        pairs = [*shape[:axis], shape[axis] // (2 * step), 2, step, *shape[axis + 1 :]]
        split = self._b.reshape(self.keys, pairs)
        sizes = [1 if dim == axis + 1 else extent for dim, extent in enumerate(pairs)]
        above = [int(dim == axis + 1) for dim in range(len(pairs))]
        lower = self._b.extract_slice(split, [0] * len(pairs), sizes)
        return lower, self._b.extract_slice(split, above, sizes), split, above

    def _exchange(self, step: int) -> None:
        b, shape = self._b, [extent or 0 for extent in self.keys.shape]
        lower, upper, split, above = self._pairs(step)
        half = b.insert_slice(b.minimum(lower, upper), split, [0] * len(above))
        self.keys = b.reshape(b.insert_slice(b.maximum(lower, upper), half, above), shape)
