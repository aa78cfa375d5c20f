"""One kernel that is being lowered: its values, its arguments, what is known about its memory."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from spyrelab.ktir.builder import Scalar, Tensor, View
from spyrelab.ktir.builder_values import Element
from spyrelab.ktir.ir import Location
from spyrelab.ktir.ir import Value as KtirValue
from spyrelab.ktir.types import I1, INDEX, ScalarType, TensorType
from spyrelab.triton.arguments import AccessKind, AccessNote, KernelArgument, Role
from spyrelab.triton.lowering.builder import Index, KernelBuilder
from spyrelab.triton.lowering.deferred import Deferred
from spyrelab.triton.lowering.errors import place_of, unsupported
from spyrelab.triton.lowering.lanes import Lanes
from spyrelab.triton.lowering.masks import Mask
from spyrelab.triton.lowering.pointers import MEMORY, Descriptor, Origin, Pointer
from spyrelab.triton.lowering.turned import Turned
from spyrelab.triton.ttir import TtirOperation, TtirType, TtirValue, shape_of

__all__ = ["Kernel", "Value"]

Value = Scalar | Tensor | Lanes | Mask | Turned | Pointer | Descriptor
"""What a value of Triton's IR has become.

Numbers are scalars; float tensors are tensors (or `Turned`); integer tensors are `Lanes`, tensors
of i1 are `Mask`.
"""


class Kernel:
    """State of a lowering.

    Attributes
    ----------
    b
        Writes the KTIR.
    functions
        Every function of the module, by name.
    arguments
        Of the KTIR function so far.
    notes
        How each access to memory was recovered.
    """

    def __init__(self, b: KernelBuilder, functions: dict[str, TtirOperation]) -> None:
        self.b = b
        self.functions = functions
        self.makers: dict[TtirValue, TtirOperation] = {}
        self.arguments: list[KernelArgument] = []
        self.notes: list[AccessNote] = []
        self.grid: tuple[Scalar, ...] = ()
        self.flat_program: Index = 0
        self.total_programs: Index = 1
        self.barriers = 0
        self.takes_turns = False
        self.stages = 1
        self.loops = 0
        self.calls: list[str] = []
        self.callers: tuple[Location, ...] = ()
        self.types: dict[int, str] = {}
        self.mapped: tuple[int, ...] | None = None
        """Shape of the elements that a function of single ones is applied to; None outside."""
        self.active: Tensor | None = None
        """Which of them run here; None for all."""
        self.memory: Origin | None = None
        self.host_base: Scalar | None = None
        self.host_addresses: dict[Origin, Scalar] = {}
        self.addresses: set[KtirValue] = set()
        """Numbers made from single pointers."""
        self.splats: dict[KtirValue, int | float] = {}
        self._views: dict[object, View] = {}
        self._values: dict[TtirValue, Value] = {}
        self._extents: dict[tuple[Origin, int], Scalar] = {}

    # ---- values ----------------------------------------------------------------------

    def define(self, value: TtirValue, meaning: Value) -> None:
        """Record what a value has become; named after the kernel's variable."""
        self._values[value] = meaning
        name = _variable(value.name)
        if not name:
            return
        if isinstance(meaning, Deferred):
            meaning.name = meaning.name or name
        elif isinstance(meaning, Tensor) or (
            isinstance(meaning, Scalar) and meaning.constant is None
        ):
            self.b.name_after(meaning, name)

    def value(self, value: TtirValue) -> Value:
        """What a value has become."""
        return self._values[value]

    def values(self, operation: TtirOperation) -> list[Value]:
        """What the operands have become."""
        return [self._values[operand] for operand in operation.operands]

    def element(self, value: Value) -> Any:
        """A scalar or a tensor with the value's numbers."""
        if isinstance(value, Deferred):
            return value.tensor()
        if isinstance(value, Scalar | Tensor):
            return value
        raise unsupported("a pointer where numbers are needed", self.b.location)

    def elements(self, values: Sequence[Value]) -> list[Any]:
        """`element` of each."""
        return [self.element(value) for value in values]

    def wrapped(self, element: Element) -> Value:
        """A computed scalar or tensor as a value."""
        if isinstance(element, Scalar):
            return element
        assert isinstance(element, Tensor)
        if element.dtype.is_float:
            return element
        shape = tuple(extent or 0 for extent in element.shape)
        if element.dtype == I1:
            return Mask.computed(self.b, shape, lambda: element)
        return Lanes.computed(self.b, shape, element.dtype, lambda: element)

    def lanes(self, value: Value, shape: tuple[int, ...]) -> Lanes:
        """An integer value as a tensor of a shape."""
        b = self.b
        if isinstance(value, Scalar):
            scalar = value
            return Lanes(b, shape, value.dtype, b.index(value), (), lambda: b.splat(scalar, shape))
        if isinstance(value, Mask):
            mask = value
            return Lanes.computed(b, shape, I1, mask.tensor)
        if isinstance(value, Tensor):
            tensor = value
            return Lanes.computed(b, shape, value.dtype, lambda: tensor)
        assert isinstance(value, Lanes)
        return value

    # ---- arguments -------------------------------------------------------------------

    def argument(self, entry: KernelArgument, kind: ScalarType = INDEX) -> Scalar:
        """A new argument of the KTIR function; its name may get a suffix."""
        name = self.b.free_name(entry.name)
        values = (entry.role, entry.number, entry.axis, entry.item_bytes)
        self.arguments.append(KernelArgument(name, *values))
        made = self.b.argument(name, kind)
        if entry.role not in (Role.SCALAR, Role.STRIDE):
            self.b.never_negative(made)
        return made

    def address(self, origin: Origin, element: ScalarType) -> Scalar:
        """The address that pointers of an origin start from, in elements of a type."""
        size = element.itemsize
        if size not in origin.addresses:
            if origin.number < 0:
                raise unsupported(
                    "a pointer that may come from several arguments changes its element size",
                    self.b.location,
                    "cast the arguments themselves",
                )
            name = f"{origin.name}_as_{8 * size}_bits" if origin.addresses else origin.name
            entry = KernelArgument(name, Role.POINTER, origin.number, 0, size)
            origin.addresses[size] = self.argument(entry)
        return origin.addresses[size]

    def extent(self, origin: Origin, element: ScalarType) -> Scalar:
        """Elements from an argument's address to the end of its allocation."""
        if origin.number == -1:
            raise unsupported(
                "an access through a pointer that may come from several arguments is neither a "
                "box nor a descriptor",
                self.b.location,
                "branch on the condition around the access, not around the pointer",
            )
        key = origin, element.itemsize
        if key not in self._extents:
            self.address(origin, element)
            role = Role.CAPACITY if origin.number == MEMORY else Role.EXTENT
            entry = KernelArgument(
                f"extent_{origin.name}", role, max(origin.number, 0), 0, element.itemsize
            )
            self._extents[key] = self.argument(entry)
        return self._extents[key]

    def view(
        self, origin: Origin, element: ScalarType, start: Index, dims: Sequence[tuple[Index, Index]]
    ) -> View:
        """A view at an address, with a size and a stride per dimension; equal ones are one."""
        b = self.b
        if origin.number == MEMORY:
            start = self._bare(start)
        key = element, _key(start), *(_key(number) for dim in dims for number in dim)
        known = self._views.get(key)
        if known is not None and b.sees(known):
            return known
        numbers = [start, *(number for dim in dims for number in dim)]
        with b.near([number for number in numbers if isinstance(number, Scalar)]):
            sizes, strides = ([dim[side] for dim in dims] for side in (0, 1))
            made = b.view(start, sizes, element, strides)
            if origin.name:
                b.rename(made.value, f"{origin.name}_view")
        self._views[key] = made
        return made

    def _bare(self, start: Index) -> Index:
        """A place in the whole memory; the product hides offsets, which are no addresses."""
        if isinstance(start, int):
            return start
        with self.b.near([start]):
            made: Scalar = self.b.pure("arith.muli", (start, self.b.constant(1)), INDEX)
        return made

    def limit(self, size: Index, low: Index, extent: int) -> Index:
        """A view's size for a tile that begins at ``-low``.

        Where the tile is known to reach beyond it the size is computed: KTIR takes a tile that
        leaves a view of known size for a mistake, but a mask means it.
        """
        if not isinstance(size, int):
            return size
        if isinstance(low, int) and low <= 0 and extent - low <= size:
            return size
        return self.computed(size)

    def computed(self, number: int) -> Scalar:
        """A number that the verifier does not know."""
        operands = self.b.constant(number), self.b.constant(0)
        with self.b.near(operands):
            made: Scalar = self.b.pure("arith.maxui", operands, INDEX, hint="limit")
        return self.b.never_negative(made)

    # ---- notes -----------------------------------------------------------------------

    def note(
        self, operation: str, origin: Origin, kind: AccessKind, why: str = "", advice: str = ""
    ) -> None:
        """Record how the access at the current location is done; once per place."""
        place = place_of(self.b.location)
        entry = AccessNote(place, operation, origin.name, kind, why, advice)
        if entry not in self.notes:
            self.notes.append(entry)


def _variable(name: str) -> str:
    """The kernel's variable that a value is named after; empty if there is none."""
    stem = re.sub(r"_\d+$", "", name)
    if "#" in name:  # results of loops have the first one's name
        return ""
    return stem if stem and not stem[0].isdigit() and not stem.startswith("arg") else ""


def _key(number: Index) -> object:
    return number if isinstance(number, int) else number.value


def tensor_shape(kind: TtirType) -> tuple[int, ...]:
    """Extents of a tensor type, () for a scalar."""
    return shape_of(kind) or ()


def ktir_type(kind: TtirType) -> TensorType | ScalarType:
    """A type of numbers."""
    if isinstance(kind, TensorType | ScalarType):
        return kind
    raise unsupported(f"a value of type {kind}")
