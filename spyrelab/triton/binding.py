"""From the arguments of a launch to the values of KTIR arguments."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from spyrelab.device.allocations import ENTRIES, Entry, entry_of
from spyrelab.device.errors import DeviceError
from spyrelab.device.relayout import make_linear
from spyrelab.triton.errors import ArgumentError, ArgumentTypeError, WrongDeviceError

__all__ = ["Leaf", "Pointer", "flatten", "number_of", "pointer_of"]

_DTYPES: dict[str, tuple[torch.dtype, ...]] = {
    "fp16": (torch.float16,),
    "bf16": (torch.bfloat16,),
    "fp32": (torch.float32,),
    "fp64": (torch.float64,),
    "fp8e4nv": (torch.float8_e4m3fn,),
    "fp8e5": (torch.float8_e5m2,),
    "i1": (torch.bool,),
    "u1": (torch.bool,),
    **{f"{sign}8": (torch.int8, torch.uint8, torch.bool) for sign in "iu"},
    **{f"{sign}16": (torch.int16, torch.uint16) for sign in "iu"},
    **{f"{sign}32": (torch.int32, torch.uint32) for sign in "iu"},
    **{f"{sign}64": (torch.int64, torch.uint64) for sign in "iu"},
}
_MLIR = {"f16": "fp16", "f32": "fp32", "f64": "fp64"}
"""What kernels that were read from a file call types."""


@dataclass(frozen=True)
class Leaf:
    """One argument of a kernel's TTIR function.

    Attributes
    ----------
    name : str
        The kernel's parameter, with its place inside tuples: ``x``, ``pair.1``.
    path : tuple of int
        Where it stands among the arguments of a launch.
    kind : str
        Triton's type: ``*fp16``, ``i32``, ``tensordesc<...>``, or ``shape`` and ``stride`` for
        what a descriptor brings along.
    axis : int
        Dimension of ``shape`` and ``stride``.
    """

    name: str
    path: tuple[int, ...]
    kind: str
    axis: int = 0

    def find(self, args: Sequence[Any]) -> Any:
        """The Python value of the argument.

        Raises
        ------
        ArgumentError
            The launch has too few.
        """
        if self.path[0] >= len(args):
            raise ArgumentError(
                f"argument {self.name!r} is missing: the launch of a compiled kernel has"
                f" {len(args)} arguments; give all of the kernel's, those that are constexpr too"
            )
        value: Any = args
        for step in self.path:
            value = value[step]
        if self.kind == "shape":
            return value.shape[self.axis]
        return value.strides[self.axis] if self.kind == "stride" else value

    @property
    def is_pointer(self) -> bool:
        """Whether it names memory."""
        return self.kind.startswith(("*", "tensordesc"))


def flatten(signature: Mapping[Any, Any]) -> tuple[Leaf, ...]:
    """Arguments of the TTIR function, in order, as Triton's front end expands a signature."""
    leaves: list[Leaf] = []
    for place, (name, kind) in enumerate(signature.items()):
        leaves += _expand(str(name), (place,), kind)
    return tuple(leaves)


def _expand(name: str, path: tuple[int, ...], kind: Any) -> Iterator[Leaf]:
    if isinstance(kind, (tuple, list)):
        for step, inner in enumerate(kind):
            yield from _expand(f"{name}.{step}", (*path, step), inner)
    elif kind == "constexpr":
        return
    elif kind.startswith("tensordesc"):
        yield Leaf(name, path, kind)
        found = re.search(r"\[([^\]]*)\]", kind)
        rank = found[1].count(",") + 1 if found else 0
        for part in ("shape", "stride"):
            yield from (Leaf(f"{name}.{part}.{axis}", path, part, axis) for axis in range(rank))
    else:
        yield Leaf(name, path, kind)


@dataclass
class Pointer:
    """Memory that an argument names: byte address, and bytes from there to the end."""

    address: int
    nbytes: int


def pointer_of(leaf: Leaf, value: Any, relaid: Callable[[Leaf, Entry], None]) -> Pointer:
    """Where a tensor lies; a tiled allocation is laid out in the host's order first.

    As for Triton, anything that has a ``data_ptr()`` will do, and points to what lies there.

    Parameters
    ----------
    relaid : callable
        Told of each allocation that was laid out anew.

    Raises
    ------
    ArgumentTypeError, ArgumentError, WrongDeviceError
    """
    address = _bare_address(value)
    if address is not None:
        return _pointer_at(leaf, address, relaid)
    tensor = _checked(leaf, value)
    try:
        entry = entry_of(tensor)
    except DeviceError:
        if tensor.numel():
            raise
        return Pointer(0, 0)
    if entry.form.tiled:
        make_linear(entry)
        relaid(leaf, entry)
    offset = int(tensor.storage_offset()) * tensor.element_size()
    return Pointer(entry.address + offset, entry.form.host_bytes - offset)


def _bare_address(value: Any) -> int | None:
    """The address that an object gives which neither is a tensor nor wraps one."""
    if isinstance(value, torch.Tensor) or hasattr(value, "base"):
        return None
    give = getattr(value, "data_ptr", None)
    return int(give()) if callable(give) else None


def _pointer_at(leaf: Leaf, address: int, relaid: Callable[[Leaf, Entry], None]) -> Pointer:
    if not address:
        return Pointer(0, 0)
    for base, entry in ENTRIES.items():
        within = address - base
        if 0 <= within < entry.form.host_bytes:
            if entry.form.tiled:
                make_linear(entry)
                relaid(leaf, entry)
            return Pointer(entry.address + within, entry.form.host_bytes - within)
    raise WrongDeviceError(
        f"argument {leaf.name!r} points to {address:#x}, which lies in no tensor on 'spyre': take"
        " the address from the data_ptr() of one, and keep that tensor"
    )


def _checked(leaf: Leaf, value: Any) -> torch.Tensor:
    descriptor = leaf.kind.startswith("tensordesc")
    if descriptor and getattr(value, "padding", "zero") != "zero":
        raise ArgumentError(
            f"argument {leaf.name!r} is a descriptor that pads with {value.padding}: the card pads"
            " with zeros; use padding='zero' and tl.where"
        )
    named = value.base if descriptor and hasattr(value, "base") else value
    # tl.reinterpret wraps a tensor to give it another type; what it wraps is the memory.
    tensor = getattr(named, "base", named) if not isinstance(named, torch.Tensor) else named
    if not isinstance(tensor, torch.Tensor):
        raise ArgumentTypeError(
            f"argument {leaf.name!r} is {_said(value)}, but the kernel was compiled for"
            f" {leaf.kind}: pass a tensor on device 'spyre'"
        )
    if tensor.device.type != "spyre":
        raise WrongDeviceError(
            f"argument {leaf.name!r} is a tensor on {str(tensor.device)!r}: a Triton kernel runs"
            f" on the card; pass {leaf.name}.to('spyre')"
        )
    if tensor.is_neg():
        raise ArgumentError(
            f"argument {leaf.name!r} is negated when it is read: pass {leaf.name}.resolve_neg()"
        )
    if named is tensor:
        _check_dtype(leaf, tensor)
    return tensor


def _check_dtype(leaf: Leaf, tensor: torch.Tensor) -> None:
    kind = leaf.kind
    if kind.startswith("tensordesc"):
        element = kind.partition("<")[2].partition("[")[0]
    else:
        element = kind.removeprefix("*").removeprefix("k")
    element = _MLIR.get(element, element)
    allowed = _DTYPES.get(element)
    if allowed is not None and tensor.dtype not in allowed:
        raise ArgumentTypeError(
            f"argument {leaf.name!r} is a tensor of {tensor.dtype}, but the kernel was compiled"
            f" for {element}: convert the tensor, or launch the kernel itself, which compiles for"
            " each type"
        )


def number_of(leaf: Leaf, value: Any) -> int | float:
    """A number as KTIR takes it: unsigned ones by their bits.

    Raises
    ------
    ArgumentTypeError
        The value is no number.
    ArgumentError
        It does not fit the type that the kernel was compiled for.
    """
    kind = _MLIR.get(leaf.kind, leaf.kind)
    kind = {"shape": "i32", "stride": "i64"}.get(kind, kind)
    if kind.startswith(("fp", "bf")):
        if not isinstance(value, (int, float)):
            raise ArgumentTypeError(
                f"argument {leaf.name!r} is {_said(value)}; the kernel takes a number ({kind})"
            )
        return float(value)
    try:
        number = operator.index(value)
    except TypeError:
        raise ArgumentTypeError(
            f"argument {leaf.name!r} is {_said(value)}; the kernel takes a whole number ({kind})"
        ) from None
    bits = int(kind[1:])
    signed = kind[0] == "i" and bits > 1
    least, most = (-(1 << bits - 1), (1 << bits - 1) - 1) if signed else (0, (1 << bits) - 1)
    if not least <= number <= most:
        raise ArgumentError(
            f"argument {leaf.name!r} = {number} does not fit {kind}, which holds {least} to {most}"
        )
    return number - (1 << bits) if bits > 1 and number >> (bits - 1) == 1 else number


def _said(value: Any) -> str:
    if isinstance(value, (int, float, str, bool)) or value is None:
        return repr(value)
    return f"a {type(value).__name__}"
