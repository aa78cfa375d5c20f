"""The builder's ``spyrelab`` operations: single elements of memory, atomics, scans, turns."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from spyrelab.ktir.builder_emit import Block
from spyrelab.ktir.builder_exchange import ExchangeBuilder
from spyrelab.ktir.builder_values import BuilderError, Element, Handle, Scalar, Tensor, View
from spyrelab.ktir.ir import Region, Value
from spyrelab.ktir.types import I1, I32, INDEX, ScalarType, TensorType

Combine = Callable[..., Any]
"""Takes the earlier scalars, then the later ones; gives their combination (or several)."""


@dataclass(frozen=True)
class Row:
    """What `SpyrelabBuilder.gather_elements` moves behind each offset.

    ``extent`` elements that lie ``stride`` apart, of which those from ``limit`` on are masked.
    """

    extent: int
    stride: Scalar | int = 1
    limit: Scalar | int | None = None


class SpyrelabBuilder(ExchangeBuilder):
    """What Triton kernels need beyond boxes and arithmetic."""

    # ---- single elements of memory ---------------------------------------------------

    def gather_elements(
        self, view: View, offsets: Tensor, mask: Tensor | None = None, row: Row | None = None
    ) -> Tensor:
        """Elements of a view of one dimension, at a tensor of offsets.

        Masked elements, and those outside the view, read as zero.  With ``row`` every offset
        begins a row: the result has one more dimension, of ``row.extent``.
        """
        operands, attributes = self._access((), view, offsets, mask, row)
        kind = TensorType(_shape(offsets, row), view.dtype)
        made = self.emit("spyrelab.gather", operands, [kind], attributes, hint="gathered")
        return self.tensor(made[0])

    def scatter_elements(
        self,
        source: Tensor,
        view: View,
        offsets: Tensor,
        mask: Tensor | None = None,
        row: Row | None = None,
    ) -> None:
        """Store a tensor to the elements that `gather_elements` would load.

        Of elements with one offset the later one (row-major) wins.
        """
        operands, attributes = self._access((source,), view, offsets, mask, row)
        self._fits(source, TensorType(_shape(offsets, row), view.dtype))
        self.emit("spyrelab.scatter", operands, [], attributes)

    def atomic_rmw(
        self,
        kind: str,
        value: Element,
        view: View,
        offsets: Element,
        mask: Element | None = None,
    ) -> Any:
        """``memory = kind(memory, value)`` element by element, row-major; the old values.

        ``kind``: ``add and or xor max min umax umin xchg`` of integers, ``fadd xchg`` of floats.
        A scalar value and offset give a scalar.
        """
        return self._atomic("spyrelab.atomic_rmw", (value,), view, offsets, mask, {"kind": kind})

    def atomic_cas(self, compare: Element, value: Element, view: View, offsets: Element) -> Any:
        """``value`` where memory holds the bits of ``compare``; what memory held before."""
        return self._atomic("spyrelab.atomic_cas", (compare, value), view, offsets, None, {})

    def _atomic(
        self,
        name: str,
        values: Sequence[Element],
        view: View,
        offsets: Element,
        mask: Element | None,
        attributes: dict[str, Any],
    ) -> Any:
        scalar = isinstance(offsets, Scalar)
        given = [self._widened(value) for value in (*values, offsets)]
        wide_mask = None if mask is None else self._widened(mask)
        operands, _ = self._access(given[:-1], view, given[-1], wide_mask, None)
        kind = TensorType(given[-1].shape, view.dtype)
        for value in given[:-1]:
            self._fits(value, kind)
        made = self.tensor(self.emit(name, operands, [kind], attributes, hint="before")[0])
        return made.item(0) if scalar else made

    def _widened(self, source: Element) -> Tensor:
        return self.splat(source, (1,)) if isinstance(source, Scalar) else _tensor(source)

    def _access(
        self,
        values: Sequence[Tensor],
        view: View,
        offsets: Tensor,
        mask: Tensor | None,
        row: Row | None,
    ) -> tuple[list[Handle], dict[str, Any]]:
        if view.rank != 1:
            raise BuilderError(f"{view!r} has {view.rank} dimensions", "offsets need a view of one")
        operands: list[Handle] = [*values, view, offsets]
        attributes: dict[str, Any] = {}
        if row is not None:
            limit = row.extent if row.limit is None else row.limit
            operands += [self._index(row.stride), self._index(limit)]
            attributes["extent"] = row.extent
        if mask is not None:
            self._fits(mask, TensorType(offsets.shape, I1))
            operands.append(mask)
        return operands, attributes

    def _index(self, number: Scalar | int) -> Scalar:
        if isinstance(number, int):
            return self.constant(number)
        scalar: Scalar = self.cast(number, INDEX)
        return scalar

    def _fits(self, source: Tensor, wanted: TensorType) -> None:
        if source.type != wanted:
            raise BuilderError(f"{source!r} does not fit", f"it has to be a {wanted}")

    # ---- order between programs and cores --------------------------------------------

    def turn(self, number: Scalar | int) -> None:
        """Wait until ``number`` turns are done; end this one with `turn_done`."""
        self.emit("spyrelab.turn", [self._index(number)])

    def turn_done(self) -> None:
        """The turn that `turn` waited for is over."""
        self.emit("spyrelab.turn_done")

    def barrier(self) -> None:
        """Wait for all cores of the launch."""
        self.emit("spyrelab.barrier")

    # ---- whole tensors ---------------------------------------------------------------

    def scan(
        self,
        sources: Tensor | Sequence[Tensor],
        axis: int,
        combine: str | Combine = "add",
        reverse: bool = False,
    ) -> Any:
        """Inclusive scan: element ``i`` combines elements ``0 .. i`` (reversed: ``i ..``).

        ``combine`` is the name of a fold or a function of scalars: those of the earlier
        element, then those of the later one, in the order of ``sources``.  The order of the
        combinations is that of Kogge and Stone: distance 1, 2, 4, ...
        """
        given = [sources] if isinstance(sources, Tensor) else list(sources)
        if not given or not -given[0].rank <= axis < given[0].rank:
            raise BuilderError(f"there is no axis {axis} of {given!r}")
        region = self._scan_body(given, combine)
        attributes: dict[str, Any] = {"axis": axis % given[0].rank}
        if reverse:
            attributes["reverse"] = True
        kinds = [source.type for source in given]
        made = self.emit("spyrelab.scan", given, kinds, attributes, [region], "scanned")
        tensors = tuple(map(self.tensor, made))
        return tensors[0] if isinstance(sources, Tensor) else tensors

    def _scan_body(self, sources: Sequence[Tensor], combine: str | Combine) -> Region:
        earlier = [Value(self.unique("before"), source.dtype) for source in sources]
        later = [Value(self.unique("own"), source.dtype) for source in sources]
        block = Block(Region((*earlier, *later)))
        self._blocks.append(block)
        handles = [self.element(value) for value in (*earlier, *later)]
        if isinstance(combine, str):
            if len(sources) != 1:
                raise BuilderError(f"'{combine}' combines one tensor", "give a function")
            results = self.arithmetic(combine, *handles)
        else:
            results = combine(*handles)
        single = isinstance(results, Handle)
        self.emit("linalg.yield", [results] if single else list(results))
        self._blocks.pop()
        return block.region

    def take(self, source: Tensor, indices: Tensor, axis: int) -> Tensor:
        """``source`` at ``indices`` along an axis; both have one shape but for it."""
        if not -source.rank <= axis < source.rank:
            raise BuilderError(f"there is no axis {axis} of {source!r}")
        kind = TensorType(indices.shape, source.dtype)
        attributes = {"axis": axis % source.rank}
        made = self.emit("spyrelab.take", [source, indices], [kind], attributes, hint="taken")
        return self.tensor(made[0])

    def histogram(
        self, source: Tensor, bins: int, mask: Tensor | None = None, dtype: ScalarType = I32
    ) -> Tensor:
        """How often 0, 1, .. ``bins - 1`` occur; other numbers are not counted."""
        operands = [source] if mask is None else [source, mask]
        kind = TensorType((bins,), dtype)
        return self.tensor(self.emit("spyrelab.histogram", operands, [kind], hint="counts")[0])

    # ---- for people ------------------------------------------------------------------

    def print_(
        self,
        text: str,
        *values: Element,
        hex: bool = False,
        program: Sequence[Scalar] = (),
        unsigned: Sequence[int] = (),
    ) -> None:
        """Print values behind a text, one line per element.

        ``program`` are the coordinates of the running program, at most three; ``unsigned``
        lists which of the values (by number) are to be read without a sign.
        """
        attributes: dict[str, Any] = {"text": text}
        if hex:
            attributes["hex"] = True
        if program:
            attributes["program"] = len(program)
        if unsigned:
            attributes["unsigned"] = tuple(unsigned)
        self.emit("spyrelab.print", [*program, *values], [], attributes)

    def assert_(self, condition: Element, message: str) -> None:
        """Stop the launch with `AssertionFailedError` unless the condition holds everywhere."""
        self.emit("spyrelab.assert", [condition], [], {"message": message})


def _shape(offsets: Tensor, row: Row | None) -> tuple[int | None, ...]:
    return offsets.shape if row is None else (*offsets.shape, row.extent)


def _tensor(source: Element) -> Tensor:
    if not isinstance(source, Tensor):
        raise BuilderError(f"{source!r} is no scalar and no tensor")
    return source
